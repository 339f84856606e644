"""The plan of a run: the frozen cases and checks every denominator comes from (`cases.jsonl`, `checks.jsonl`)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import write_atomic
from longbanana_nb.runs.disk import saving

if TYPE_CHECKING:
    from longbanana_nb.release import Case, Check, Evaluation, Reference, Unit

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


class PlannedCheck(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A check of the plan; dimension, polarity and unit are null where nothing states them."""

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


def plan_case(n: int, case: Case) -> PlannedCase:
    """The frozen row of a release's case."""
    background = _planned(case.background) if case.background is not None else None
    references = [_planned(reference) for reference in case.references]
    return PlannedCase(n, case.case_id, case.category, case.prompt, references, background)


def plan_checks(case: Case, evaluation: Evaluation) -> list[PlannedCheck]:
    """The frozen rows of a case's checks, in the release's order."""
    units = evaluation.units
    return [_planned_check(check, units.get((case.case_id, check.check_id))) for check in evaluation.checks[case.case_id]]


def _planned(reference: Reference) -> PlannedReference:
    return PlannedReference(reference.id, reference.path, reference.sha256)


def _planned_check(check: Check, unit: Unit | None) -> PlannedCheck:
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
    )


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
