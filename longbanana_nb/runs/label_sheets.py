"""Sheets that raters fill in: a CSV a rater with the paths of the pictures to look at, blind to system and judge."""

from __future__ import annotations

import csv
import io
import os
import random
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import write_atomic
from longbanana_nb.runs.label_design import DrawnUnit, LabelDesign
from longbanana_nb.runs.labels import Label, Round, Unit, labels_folder
from longbanana_nb.spreadsheets import escape

if TYPE_CHECKING:
    from longbanana_nb.release import Evaluation, Release
    from longbanana_nb.runs.run import Run

COLUMNS = ("unit", "label", "note", "question", "guide", "means", "picture", "references", "design", "round")
THIRD_COLUMNS = (*COLUMNS[:3], "first_label", "first_note", "second_label", "second_note", *COLUMNS[3:])


def write_sheets(run: Run, design: LabelDesign, release: Release, evaluation: Evaluation) -> dict[str, Path]:
    """Write one sheet for each rater of a design into `labels/sheets/`; returns them by rater.

    Pictures are copied to `labels/pictures/` under names that tell neither system nor case. Each rater has an order of their own.
    A sheet that stands there already is left as it is: a rater may be filling it in.
    """
    sheets = {}
    for rater in design.raters:
        mine = [unit for unit in design.units if rater in unit.raters]
        random.Random(f"{design.id}-{rater}").shuffle(mine)
        path = labels_folder(run) / "sheets" / f"{design.id}-{rater}.csv"
        rows = [
            {**_row(run, design, unit, release, evaluation), "round": str(unit.raters.index(rater) + 1), "label": "", "note": ""}
            for unit in mine
        ]
        sheets[rater] = _write(run, path, COLUMNS, rows)
    return sheets


def write_third_view(
    run: Run, design: LabelDesign, rater: str, pairs: Sequence[tuple[Label, Label]], release: Release, evaluation: Evaluation
) -> Path:
    """Write the sheet of a third rater: the units on which two labels differ, with both labels and notes, still blind."""
    units = {(unit.system, unit.case_id, unit.sample, unit.check_id): unit for unit in design.units}
    rows = []
    for first, second in pairs:
        seen = {"first_label": _said(first), "first_note": first.note, "second_label": _said(second), "second_note": second.note}
        row = _row(run, design, units[first.unit], release, evaluation)
        rows.append({**row, **seen, "round": "adjudicated", "label": "", "note": ""})
    path = labels_folder(run) / "sheets" / f"{design.id}-{rater}-adjudicated.csv"
    return _write(run, path, THIRD_COLUMNS, rows)


def disagreements(design: LabelDesign, labels: Mapping[tuple[Unit, Round], Label]) -> list[tuple[Label, Label]]:
    """The units of a design whose two labels differ and which nobody has adjudicated, in the order of the design."""
    found = []
    for unit in design.doubled:
        key = (unit.system, unit.case_id, unit.sample, unit.check_id)
        first, second = labels.get((key, 1)), labels.get((key, 2))
        if first and second and first.label != second.label and (key, "adjudicated") not in labels:
            found.append((first, second))
    return found


def _row(run: Run, design: LabelDesign, unit: DrawnUnit, release: Release, evaluation: Evaluation) -> dict[str, str]:
    check = next(one for one in evaluation.checks[unit.case_id] if one.check_id == unit.check_id)
    case = release.cases[unit.case_id]
    pictures = {one.id: one.path for one in (*case.references, *([case.background] if case.background else []))}
    sheets = labels_folder(run) / "sheets"
    shown = [os.path.relpath(release.root / pictures[name], sheets) for name in check.reference_ids]
    means = "; ".join(f"{option.value} = {option.name}: {option.description}".rstrip(": ") for option in check.options)
    return {
        "unit": unit.name,
        "question": check.question,
        "guide": check.guide,
        "means": means or check.option_note,
        "picture": os.path.relpath(_blind_picture(run, unit), sheets),
        "references": " | ".join(shown),  # paths may hold spaces
        "design": design.id,
    }


def _blind_picture(run: Run, unit: DrawnUnit) -> Path:
    """A copy of the candidate's image whose name is its hash."""
    slot = run.candidate(unit.system, unit.case_id, unit.sample)
    record = slot.record()
    if record is None or record.image is None:
        fault = Fault(str(slot.folder), "no_image", "no image", "the candidate that was drawn", "Restore it, or draw anew.")
        raise DataError("A drawn unit has lost its image.", [fault])
    source = slot.folder / record.image.file
    copy = labels_folder(run) / "pictures" / f"{unit.candidate_sha256[:24]}{source.suffix}"
    if not copy.is_file():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
    return copy


def _write(run: Run, path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> Path:
    if path.is_file():
        return path
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: escape(row[name]) for name in columns})
    with run.owner():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, stream.getvalue().encode("utf-8-sig"))  # with the mark by which spreadsheets know UTF-8
    return path


def _said(label: Label) -> str:
    return "?" if label.label is None else str(label.label)
