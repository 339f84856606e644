"""What a judge answered on pictures on the way (`step_judgments/`): for the loss funnel, never for a score."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.names import case_folder, require_name
from longbanana_nb.runs.journal import Journal

if TYPE_CHECKING:
    from longbanana_nb.runs.run import Run

FOLDER = "step_judgments"
PATTERN = f"{FOLDER}/*/*/*.jsonl"


class StepAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One answer on one step's picture (`lb.step-answer.v1`); `label` is null where the judge could not answer.

    It counts while the judge's hash, the check's text and probe and the picture's hash are what they are now.
    """

    schema_: Literal["lb.step-answer.v1"] = msgspec.field(name="schema", default="lb.step-answer.v1")
    judge_sha256: str
    system: str
    case_id: str
    sample: int
    step: int
    image_sha256: str
    check_id: str
    check_sha256: str
    probe_sha256: str | None
    label: Literal[0, 1, 2] | None
    at: str


def step_journal(run: Run, judge: str, system: str, case_id: str) -> Journal:
    """Where a judge's answers on the steps of one system and case are kept."""
    for what, name in (("a judge's name", judge), ("a system's name", system)):
        require_name(what, name)
    return Journal(run.path / FOLDER / judge / system / f"{case_folder(case_id)}.jsonl")


def read_step_answers(run: Run, judge: str, system: str, case_id: str) -> list[StepAnswer]:
    """All answers of a judge on the steps of one system and case, oldest first.

    Raises:
        DataError: naming every line that is no such answer.
    """
    journal = step_journal(run, judge, system, case_id)
    found, faults = [], []
    for number, line in enumerate(journal.lines(), start=1):
        try:
            found.append(_decoder.decode(line))
        except (msgspec.DecodeError, ValueError) as error:
            fix = "The file was changed or damaged: restore the line, or remove the file and judge the steps again."
            faults.append(Fault(f"{journal.path} line {number}", "step_answer", str(error), "lb.step-answer.v1", fix))
    if faults:
        raise DataError("Answers on steps cannot be read.", faults)
    return found


def add_step_answers(run: Run, judge: str, answers: Iterable[StepAnswer]) -> None:
    """Append answers durably; inside `run.owner()`."""
    by_place: dict[tuple[str, str], list[bytes]] = {}
    for answer in answers:
        by_place.setdefault((answer.system, answer.case_id), []).append(msgspec.json.encode(answer))
    for (system, case_id), lines in by_place.items():
        step_journal(run, judge, system, case_id).append_many(lines)


def step_files(run: Run) -> list[Path]:
    """Every file of answers on steps."""
    return sorted(run.path.glob(PATTERN))


_decoder = msgspec.json.Decoder(StepAnswer)
