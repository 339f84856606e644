"""Are labels, designs and claims of a run what they say: readable, in their rater's file, on what the run knows."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import canonical_json, sha256_bytes
from longbanana_nb.runs.claims_file import Declaration
from longbanana_nb.runs.journal import Journal
from longbanana_nb.runs.label_design import designs
from longbanana_nb.runs.labels import Label, labels_folder, read_labels
from longbanana_nb.runs.run import CHECKS, Run

FIX = "Restore the file from a copy of the run, or remove the line."


def said_faults(run: Run) -> list[Fault]:
    """Faults of `labels/` and `claims.jsonl`, places relative to the run. A label on an earlier image is history, no fault."""
    return [*_label_faults(run), *_claim_faults(run)]


def _label_faults(run: Run) -> list[Fault]:
    try:
        read_labels(run)
        drawn = {design.id: {(u.system, u.case_id, u.sample, u.check_id): u.p for u in design.units} for design in designs(run)}
    except DataError as error:
        return [
            Fault(one.where.removeprefix(f"{run.path}/"), one.code, one.found, one.expected, one.fix, one.case_id, one.id)
            for one in error.faults
        ]
    planned = {(one.case_id, one.check_id) for one in run.checks()} if (run.path / CHECKS).is_file() else set()
    faults: list[Fault] = []
    for path in sorted(labels_folder(run).glob("*.jsonl")):
        for number, line in enumerate(Journal(path).lines(), start=1):
            label = msgspec.json.decode(line, type=Label)
            where = f"labels/{path.name} line {number}"
            for code, found, wanted in _contradictions(run, label, path.stem, planned, drawn):
                faults.append(Fault(where, code, found, wanted, FIX, label.case_id, label.check_id))
    return faults


def _contradictions(
    run: Run, label: Label, owner: str, planned: set[tuple[str, str]], drawn: dict[str, dict[tuple[str, str, int, str], float]]
) -> Iterator[tuple[str, str, str]]:
    if label.rater != owner:
        yield "misplaced", f"a label of {label.rater!r}", f"one of {owner!r}"
    if label.system not in run.systems:
        yield "unknown_system", repr(label.system), "a system of run.json"
    if (label.case_id, label.check_id) not in planned:
        yield "unknown_check", repr(label.check_id), "a planned check"
    if label.design is not None:
        p = drawn.get(label.design.id, {}).get(label.unit)
        if p != label.design.p:
            found = f"design {label.design.id!r}, p {label.design.p}"
            yield "design", found, "a unit of a design in labels/designs" if p is None else f"p {p}, as in the design"


def _claim_faults(run: Run) -> Iterator[Fault]:
    for number, line in enumerate(Journal(run.path / "claims.jsonl").lines(), start=1):
        where = f"claims.jsonl line {number}"
        try:
            declared = msgspec.json.decode(line, type=Declaration)
        except (msgspec.DecodeError, ValueError) as error:
            yield Fault(where, "claims", str(error), "a declaration of claims", FIX)
            continue
        sha256 = sha256_bytes(canonical_json(declared.claims))
        if sha256 != declared.sha256:
            yield Fault(where, "sha256", f"claims with sha256 {sha256}", declared.sha256, FIX)
