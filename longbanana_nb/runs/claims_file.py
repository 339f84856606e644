"""Claims as a file declares them (`lb.claims.v1`), and the journal of declarations in a run: what was declared, and when."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from pydantic import Field, model_validator

from longbanana_nb.errors import CallError, Fault
from longbanana_nb.files import canonical_json, sha256_bytes, utc_now
from longbanana_nb.names import nearest
from longbanana_nb.runs.journal import Journal
from longbanana_nb.runs.shapes import StrictShape, inconsistent, parse_shape
from longbanana_nb.runs.strict_yaml import read_yaml
from longbanana_nb.taxonomy import CATEGORIES, DIMENSIONS, SUITES

if TYPE_CHECKING:
    from longbanana_nb.runs.run import Run

SCOPES = ("overall", *SUITES, *CATEGORIES, *DIMENSIONS)


class DeclaredClaim(StrictShape):
    """One claim: `a` beats `b` by more than `by` points, or `a` lies above `above`. Exactly one of `b` and `above` is there."""

    name: str
    a: str
    b: str | None = None
    by: Annotated[float, Field(ge=0, le=100)] = 0.0
    above: Annotated[float, Field(ge=0, le=100)] | None = None
    metric: Literal["score", "pass_rate"] = "score"
    scope: str = "overall"
    says: str = ""

    @model_validator(mode="after")
    def _is_one_claim(self) -> DeclaredClaim:
        problems = []
        if (self.b is None) == (self.above is None):
            problems.append(("b and above", "Name b (a beats b), or above (a lies above so many points), and not both."))
        if self.a == self.b:
            problems.append((f"{self.a!r} against itself", "Name two systems."))
        if self.scope not in SCOPES:
            near = nearest(self.scope, SCOPES)
            problems.append((f"scope {self.scope!r}", f"Did you mean {near!r}?" if near else f"Choose from {', '.join(SCOPES)}."))
        if self.metric == "pass_rate" and self.scope in DIMENSIONS:
            problems.append(("a pass rate of a dimension", "Cases pass as a whole: choose overall, a suite or a category."))
        inconsistent(problems, "a claim")
        return self


class ClaimsFile(StrictShape):
    """A family of claims, and whose verdicts they are about (null: the run's first judge that looks at pixels)."""

    schema_: Literal["lb.claims.v1"] = Field(alias="schema")
    judge: str | None = None
    claims: list[DeclaredClaim] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_are_distinct(self) -> ClaimsFile:
        names = [claim.name for claim in self.claims]
        twice = sorted({name for name in names if names.count(name) > 1})
        inconsistent([(f"claim {name!r} twice", "Rename one.") for name in twice], "a name of its own for each claim")
        return self


class Declaration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of `claims.jsonl`: the claims, their hash, and how many verdicts the run held when they were declared."""

    at: str
    sha256: str
    verdicts_before: int
    claims: dict[str, Any]


def read_claims(path: Path) -> ClaimsFile:
    """Read a claims file; CallError with every fault."""
    return parse_shape(ClaimsFile, read_yaml(path), str(path))


def declare(run: Run, claims: ClaimsFile, verdicts: int) -> Declaration:
    """Enter claims in the run's journal; the same claims keep their first date.

    Args:
        verdicts: how many valid verdicts the run holds now; above 0 the claims were made in sight of results.

    Raises:
        CallError: where a claim names a system or judge the run does not have.
    """
    _require_known(run, claims)
    content = claims.model_dump(mode="json", by_alias=True)
    sha256 = sha256_bytes(canonical_json(content))
    known = {one.sha256: one for one in declarations(run)}
    if sha256 in known:
        return known[sha256]
    declaration = Declaration(utc_now(), sha256, verdicts, content)
    with run.owner():
        Journal(run.path / "claims.jsonl").append(msgspec.json.encode(declaration))
    return declaration


def declarations(run: Run) -> list[Declaration]:
    """All declarations of a run, in the order they were made."""
    return [msgspec.json.decode(line, type=Declaration) for line in Journal(run.path / "claims.jsonl").lines()]


def _require_known(run: Run, claims: ClaimsFile) -> None:
    faults = []
    for claim in claims.claims:
        for name in (claim.a, claim.b):
            if name is not None and name not in run.systems:
                near = nearest(name, run.systems)
                fix = f"Did you mean {near!r}?" if near else f"Choose from {', '.join(run.systems)}."
                faults.append(Fault(f"claim {claim.name!r}", "unknown_system", repr(name), "a system of the run", fix))
    if claims.judge is not None and run.judges and claims.judge not in run.judges:
        faults.append(Fault("judge", "unknown_judge", repr(claims.judge), f"one of {', '.join(run.judges)}", "Correct it."))
    if faults:
        raise CallError("The claims do not fit the run.", faults)
