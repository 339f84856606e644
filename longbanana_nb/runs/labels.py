"""Labels: what people answered on the units that judges answer, one line a label, never rewritten."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from longbanana_nb.errors import CallError, DataError, Fault
from longbanana_nb.files import sha256_file
from longbanana_nb.names import require_name
from longbanana_nb.runs.grid import current_record
from longbanana_nb.runs.journal import Journal

if TYPE_CHECKING:
    from longbanana_nb.runs.run import Run

Round = Literal[1, 2, "adjudicated"]
Unit = tuple[str, str, int, str]
"""System, case, sample and check: what a label is about."""
SIMULATED = "simulated-"
"""How the name of every rater that is no person begins, and of no other."""


class Drawn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """By which design a unit was drawn, and with which probability."""

    id: str
    p: float


class Label(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One answer of a rater (`lb.label.v1`).

    `label` is null where the rater could not tell. `blind` says that neither system nor judge was shown. `design` is null where
    the unit was not drawn by a design, so that it stands for nothing but itself.
    """

    schema_: Literal["lb.label.v1"] = msgspec.field(name="schema", default="lb.label.v1")
    rater: str
    round: Round
    blind: bool
    system: str
    case_id: str
    sample: int
    check_id: str
    candidate_sha256: str
    label: Literal[0, 1, 2] | None
    note: str = ""
    at: str = ""
    design: Drawn | None = None

    @property
    def unit(self) -> Unit:
        """What the label is about."""
        return (self.system, self.case_id, self.sample, self.check_id)

    @property
    def is_simulated(self) -> bool:
        """Whether no person gave it."""
        return self.rater.startswith(SIMULATED)

    def says_the_same(self, other: Label) -> bool:
        """Whether both are the same answer to the same question, whenever they were given."""
        return msgspec.structs.replace(self, at="") == msgspec.structs.replace(other, at="")


def labels_folder(run: Run) -> Path:
    """Where the labels of a run lie, with their designs, sheets and pictures."""
    return run.path / "labels"


def require_rater(name: str, *, simulated: bool = False) -> str:
    """A rater's name, fit for a file; CallError where it is not, or where a person would pass for a simulated rater."""
    require_name("a rater's name", name)
    if name.startswith(SIMULATED) != simulated:
        raise CallError(
            f"rater {name!r}: names that begin with {SIMULATED!r} are those of simulated raters and of no others. Choose another."
        )
    return name


def read_labels(run: Run) -> list[Label]:
    """Every label of the run, rater by rater, in the order they were given; what was corrected later too.

    Raises:
        DataError: naming every line that is no label.
    """
    found: list[Label] = []
    faults: list[Fault] = []
    for path in sorted(labels_folder(run).glob("*.jsonl")):
        for number, line in enumerate(Journal(path).lines(), start=1):
            try:
                found.append(_decoder.decode(line))
            except (msgspec.DecodeError, ValueError) as error:
                fix = "The file was changed or damaged: restore the line, or remove it."
                faults.append(Fault(f"{path} line {number}", "label", str(error), "a label (lb.label.v1)", fix))
    if faults:
        raise DataError("The labels of the run cannot be read.", faults)
    return found


def add_labels(run: Run, labels: Iterable[Label]) -> int:
    """Add labels durably, one journal a rater; one that says what its rater's newest on the unit says is not added again.

    Returns:
        How many were added.
    """
    known = {(label.rater, label.round, label.unit): label for label in read_labels(run)}
    fresh: dict[str, list[bytes]] = {}
    for label in labels:
        old = known.get((label.rater, label.round, label.unit))
        if old is None or not old.says_the_same(label):
            fresh.setdefault(label.rater, []).append(msgspec.json.encode(label))
    with run.owner():
        for rater, lines in fresh.items():
            Journal(labels_folder(run) / f"{rater}.jsonl").append_many(lines)
    return sum(map(len, fresh.values()))


def newest(labels: Iterable[Label], hashes: Mapping[tuple[str, str, int], str]) -> dict[tuple[Unit, Round], Label]:
    """The label that counts for each unit and round: the newest one on the candidate as it is now.

    Labels on an image that was changed since are stale and are left out; so is what was corrected.

    Args:
        hashes: of the current candidates, by system, case and sample (`candidate_hashes`).
    """
    current = [label for label in labels if hashes.get(label.unit[:3]) == label.candidate_sha256]
    current.sort(key=lambda label: label.at)
    return {(label.unit, label.round): label for label in current}


def settled(labels: Iterable[Label], hashes: Mapping[tuple[str, str, int], str]) -> dict[Unit, Label]:
    """The label of each unit after the protocol: the adjudicated one, else that of round 1, else of round 2."""
    chosen: dict[Unit, Label] = {}
    by_round = newest(labels, hashes)
    for wanted in (2, 1, "adjudicated"):
        chosen |= {unit: label for (unit, given), label in by_round.items() if given == wanted}
    return chosen


def candidate_hashes(run: Run) -> dict[tuple[str, str, int], str]:
    """SHA-256 of the image of every current candidate, hashed anew, by system, case and sample."""
    found = {}
    for name, entry in run.systems.items():
        for case in run.cases():
            for sample in range(entry.system().samples):
                record = current_record(run, name, case.case_id, sample)
                if record is None or record.image is None:
                    continue
                path = run.candidate(name, case.case_id, sample).folder / record.image.file
                if path.is_file():
                    found[name, case.case_id, sample] = sha256_file(path)
    return found


_decoder = msgspec.json.Decoder(Label)
