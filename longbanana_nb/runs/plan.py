"""The plan of a run: the frozen cases and checks every denominator comes from (`cases.jsonl`, `checks.jsonl`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import write_atomic
from longbanana_nb.release import parse_probe
from longbanana_nb.release.probes import reference_ids
from longbanana_nb.runs.disk import saving
from longbanana_nb.runs.identity import judgment_key
from longbanana_nb.runs.judge_spec import JudgeSpec

if TYPE_CHECKING:
    from longbanana_nb.release import Case, Check, Evaluation, Reference

Row = TypeVar("Row", bound=msgspec.Struct)


class PlannedReference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An image of a case, as far as pages and figures need it."""

    id: str
    path: str
    sha256: str


class PlannedCase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A case of the plan; `n` is its place in the release, from 0."""

    n: int
    case_id: str
    category: str
    prompt: str
    references: list[PlannedReference]
    background: PlannedReference | None = None

    @property
    def pictures(self) -> dict[str, str]:
        """SHA-256 by id of every picture a check may bind, the background too."""
        background = [self.background] if self.background is not None else []
        return {one.id: one.sha256 for one in (*background, *self.references)}


class PlannedCheck(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A check of the plan; dimension, polarity and unit are null where nothing states them, `probe_sha256` where it has no probe.

    `exemplars` are the references its probe looks at: SHA-256 by id, in the order of ids.
    """

    case_id: str
    check_id: str
    category: str
    check_sha256: str
    dimension: str | None
    polarity: str | None
    dimension_source: Literal["units", "derived", "reviewed"] | None
    unit: str | None
    question: str
    reference_ids: list[str]
    probe_sha256: str | None
    exemplars: dict[str, str]
    probe_is_derived: bool = False  # and nobody reviewed it

    def probe_key(self, revision: str, candidate_sha256: str, judge_sha256: str, judge_sample: int) -> str:
        """The key of a probe judge's answer: a changed probe, or a changed exemplar, is another key."""
        asked = f"{self.check_sha256}+{self.probe_sha256}"
        return judgment_key(revision, asked, candidate_sha256, list(self.exemplars.values()), judge_sha256, judge_sample)

    def model_key(
        self,
        revision: str,
        candidate_sha256: str,
        judge_sha256: str,
        judge_sample: int,
        pictures: Mapping[str, str],
        dimension: str,
    ) -> str:
        """The key of a model judge's answer: changed bytes of a bound picture, or another order of them, are another key.

        Args:
            pictures: SHA-256 of the case's pictures by id; see `PlannedCase.pictures`.
            dimension: the check's, where it decides which critic is asked; else "".
        """
        bound = [pictures.get(name, "") for name in self.reference_ids]
        asked = f"{self.check_sha256}+{dimension}" if dimension else self.check_sha256
        return judgment_key(revision, asked, candidate_sha256, bound, judge_sha256, judge_sample)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one judge's answers to one case: the same for whoever asks and for whoever lays a grid."""

    revision: str
    judge_sha256: str
    asks_model: bool
    has_critics: bool
    pictures: Mapping[str, str]

    @classmethod
    def of(cls, profile: JudgeSpec, judge_sha256: str, revision: str, case: PlannedCase) -> Keys:
        """The keys of a judge on a planned case."""
        return cls(revision, judge_sha256, profile.asks_model, profile.protocol == "agentic", case.pictures)

    def key(self, check: PlannedCheck, candidate_sha256: str, judge_sample: int) -> str:
        """The key that a current answer to this check carries."""
        if not self.asks_model:
            return check.probe_key(self.revision, candidate_sha256, self.judge_sha256, judge_sample)
        dimension = (check.dimension or "none") if self.has_critics else ""
        return check.model_key(self.revision, candidate_sha256, self.judge_sha256, judge_sample, self.pictures, dimension)


def plan_case(n: int, case: Case) -> PlannedCase:
    """The frozen row of a release's case."""
    background = _planned(case.background) if case.background is not None else None
    references = [_planned(reference) for reference in case.references]
    return PlannedCase(n, case.case_id, case.category, case.prompt, references, background)


def plan_checks(case: Case, evaluation: Evaluation) -> list[PlannedCheck]:
    """The frozen rows of a case's checks, in the release's order."""
    return [_planned_check(case, check, evaluation) for check in evaluation.checks[case.case_id]]


def _planned(reference: Reference) -> PlannedReference:
    return PlannedReference(reference.id, reference.path, reference.sha256)


def _planned_check(case: Case, check: Check, evaluation: Evaluation) -> PlannedCheck:
    unit = evaluation.units.get((case.case_id, check.check_id))
    return PlannedCheck(
        case_id=check.case_id,
        check_id=check.check_id,
        category=check.category,
        check_sha256=check.sha256,
        dimension=unit.dimension if unit is not None else None,
        polarity=unit.polarity if unit is not None else None,
        dimension_source=unit.source if unit is not None else None,  # type: ignore[arg-type, unused-ignore]
        unit=unit.unit if unit is not None else None,
        question=check.question,
        reference_ids=list(check.reference_ids),
        probe_sha256=evaluation.probe_sha256(case.case_id, check.check_id),
        exemplars=_exemplars(case, check, evaluation),
        probe_is_derived=(case.case_id, check.check_id) in evaluation.derived_probes,
    )


def _exemplars(case: Case, check: Check, evaluation: Evaluation) -> dict[str, str]:
    probe = evaluation.probes.get((case.case_id, check.check_id))
    if probe is None:
        return {}
    named = sorted(reference_ids(parse_probe(probe, f"probe of {case.case_id!r} {check.check_id!r}")))
    return {reference.id: reference.sha256 for name in named if (reference := case.reference(name)) is not None}


def write_rows(path: Path, rows: Iterable[Any]) -> None:
    """Write rows as JSONL, atomically; a file that already says the same is left alone."""
    block = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
    if path.exists() and path.read_bytes() == block:
        return
    with saving(path):
        write_atomic(path, block)


def read_rows(path: Path, shape: type[Row]) -> list[Row]:
    """Read rows; DataError where the file is missing or a row is broken."""
    try:
        return msgspec.json.Decoder(shape).decode_lines(path.read_bytes())
    except FileNotFoundError:
        fault = Fault(str(path), "no_plan", "no such file", "the run's frozen plan", "Run `generate` or `judge` on it first.")
    except (msgspec.DecodeError, ValueError) as error:
        fault = Fault(str(path), "plan", str(error), "one row a line", "Restore it from a copy, or run `judge` again.")
    raise DataError("A run's plan cannot be read.", [fault])
