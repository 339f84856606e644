"""The journal of declared contrasts in a run: which pairs are tested, since when, and how many verdicts were there by then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from longbanana_nb.files import canonical_json, sha256_bytes, utc_now
from longbanana_nb.runs.journal import Journal

if TYPE_CHECKING:
    from longbanana_nb.runs.run import Run

JOURNAL = "contrasts.jsonl"


class DeclaredContrasts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of `contrasts.jsonl`; `verdicts_before` above 0 says that they were declared in sight of results."""

    at: str
    sha256: str
    verdicts_before: int
    compare: list[list[str]]


def contrasts_of(run: Run) -> list[list[str]]:
    """The pairs that the run's experiment declares (`analysis.compare`)."""
    return [list(pair) for pair in run.meta.analysis.get("compare") or ()]


def declare_contrasts(run: Run, verdicts: int) -> DeclaredContrasts | None:
    """Enter the contrasts of the run's experiment; the same family keeps its first date. None where there are none.

    Args:
        verdicts: how many valid verdicts the run holds now.
    """
    pairs = contrasts_of(run)
    if not pairs:
        return None
    sha256 = sha256_bytes(canonical_json(pairs))
    known = declaration_of(run, pairs)
    if known is not None:
        return known
    declaration = DeclaredContrasts(utc_now(), sha256, verdicts, pairs)
    with run.owner():
        Journal(run.path / JOURNAL).append(msgspec.json.encode(declaration))
    return declaration


def declaration_of(run: Run, pairs: list[list[str]]) -> DeclaredContrasts | None:
    """When these pairs were declared first; None where they never were."""
    sha256 = sha256_bytes(canonical_json(pairs))
    lines = (msgspec.json.decode(line, type=DeclaredContrasts) for line in Journal(run.path / JOURNAL).lines())
    return next((one for one in lines if one.sha256 == sha256), None)
