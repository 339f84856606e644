"""Labels from files of the common shapes: filled-in sheets, CSV, JSONL, spreadsheets saved as text; every bad row is named."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longbanana_nb.errors import CallError, DataError, Fault
from longbanana_nb.files import read_json_lines
from longbanana_nb.names import nearest
from longbanana_nb.runs.label_design import LabelDesign
from longbanana_nb.runs.labels import Drawn, Label, Round
from longbanana_nb.spreadsheets import delimiter_of, read_text, unescape

ALSO_CALLED = {
    "model": "system", "case": "case_id", "task": "case_id", "check": "check_id", "item": "check_id", "score": "label",
    "rating": "label", "verdict": "label", "annotator": "rater", "comment": "note", "comments": "note", "notes": "note",
}  # fmt: skip
KNOWN = (
    "unit",
    "design",
    "system",
    "case_id",
    "sample",
    "check_id",
    "candidate_sha256",
    "rater",
    "round",
    "blind",
    "label",
    "note",
)
LABELS = {"0": 0, "1": 1, "2": 2, "fail": 0, "uncertain": 1, "pass": 2}
CANNOT_TELL = ("?", "cannot tell")
ROUNDS: dict[str, Round] = {"1": 1, "2": 2, "adjudicated": "adjudicated"}
Hashes = Mapping[tuple[str, str, int], str]


@dataclass(frozen=True, slots=True)
class Given:
    """What a file held: its labels, how many rows were left empty, and how many labels are on an image changed since."""

    labels: list[Label]
    empty: int
    stale: int


@dataclass(frozen=True, slots=True)
class Desk:
    """What rows are held against: the designs of the run, its current candidates and its planned checks."""

    designs: Mapping[str, LabelDesign]
    hashes: Hashes
    checks: frozenset[tuple[str, str]]


def read_label_file(path: Path, desk: Desk, *, at: str, rater: str | None = None, round_: Round | None = None) -> Given:
    """Read labels from a sheet we wrote, or from a table with `system, case_id, check_id, label`.

    CSV with commas, semicolons or tabs (UTF-8, also with a mark, or UTF-16 as spreadsheets save it), or JSONL. Headings may be
    written in any case, and some have other names (`ALSO_CALLED`). A label is 0, 1, 2 (also 2.0 and 2,0) or Fail, Uncertain,
    Pass in any case; `?` is a rater who cannot tell; an empty cell is no label yet and is counted. A row of a table without a
    `candidate_sha256` is about the image as it is now.

    Args:
        rater, round_: for rows that do not say; a file's own word must agree.

    Raises:
        DataError: with every bad row. CallError: no such file, or nobody says who labelled.
    """
    if not path.is_file():
        raise CallError(
            f"labels: found no file {str(path)!r}; expected a filled-in sheet, or a .csv or .jsonl table. Check the path."
        )
    rows = _rows(path)
    faults: list[Fault] = []
    labels: list[Label] = []
    empty = 0
    for where, row in rows:
        if not row.get("label", "").strip():
            empty += 1
            continue
        try:
            labels.append(_label(row, where, desk, at=at, rater=rater, round_=round_))
        except _Bad as bad:
            faults += bad.faults
    faults += _doubles(labels, [where for where, row in rows if row.get("label", "").strip()]) if not faults else []
    if faults:
        raise DataError(f"{path}: no label was taken, for {len(faults)} rows cannot be used.", faults[:100])
    stale = sum(desk.hashes.get(label.unit[:3]) != label.candidate_sha256 for label in labels)
    return Given(labels, empty, stale)


class _Bad(Exception):  # noqa: N818 - carries faults from a row to the reader, never leaves this file
    def __init__(self, faults: list[Fault]) -> None:
        self.faults = faults


def _label(row: Mapping[str, str], where: str, desk: Desk, *, at: str, rater: str | None, round_: Round | None) -> Label:
    faults: list[Fault] = []
    named = row.get("rater", "").strip() or rater or ""
    if rater and named != rater:
        faults.append(Fault(where, "rater", repr(named), repr(rater), "Take each rater's rows from a file of their own."))
    if not named:
        faults.append(Fault(where, "rater", "no rater", "who labelled", "Name the rater (--rater), or add a column 'rater'."))
    value = _value(row["label"], where, faults)
    said = _round(row.get("round", ""), round_, where, faults)
    unit = _by_design(row, where, desk, faults) if row.get("unit") else _by_name(row, where, desk, faults)
    if faults or unit is None:
        raise _Bad(faults)
    note = row.get("note", "").strip()
    return Label(rater=named, round=said, label=value, note=note, at=at, **unit)


def _value(text: str, where: str, faults: list[Fault]) -> Any:
    bare = re.sub(r"^([012])[.,]0+$", r"\1", text.strip().lower())
    if bare in CANNOT_TELL:
        return None
    if bare not in LABELS:
        expected = "0, 1, 2, Fail, Uncertain, Pass, ? where nobody can tell, or nothing"
        faults.append(Fault(where, "label", f"label {text.strip()!r}", expected, "Correct the cell."))
    return LABELS.get(bare)


def _round(text: str, wanted: Round | None, where: str, faults: list[Fault]) -> Round:
    bare = text.strip().lower().removesuffix(".0")
    if bare and bare not in ROUNDS:
        faults.append(Fault(where, "round", repr(text), "1, 2 or adjudicated", "Correct the cell."))
    said = ROUNDS.get(bare)
    if said and wanted and said != wanted:
        faults.append(Fault(where, "round", repr(said), repr(wanted), "Leave --round away, or correct the cell."))
    return said or wanted or 1


def _by_design(row: Mapping[str, str], where: str, desk: Desk, faults: list[Fault]) -> dict[str, Any] | None:
    name, chosen = row.get("design", "").strip(), row["unit"].strip()
    design = desk.designs.get(name) or (next(iter(desk.designs.values())) if not name and len(desk.designs) == 1 else None)
    if design is None:
        faults.append(
            Fault(where, "design", repr(name), f"one of {', '.join(desk.designs) or 'none'}", "Take it into its own run.")
        )
        return None
    unit = next((one for one in design.units if one.name == chosen), None)
    if unit is None:
        faults.append(Fault(where, "unit", repr(chosen), f"a unit of design {design.id}", "Keep the column as it was written."))
        return None
    keys = ("system", "case_id", "sample", "check_id", "candidate_sha256")
    return {key: getattr(unit, key) for key in keys} | {"blind": True, "design": Drawn(design.id, unit.p)}


def _by_name(row: Mapping[str, str], where: str, desk: Desk, faults: list[Fault]) -> dict[str, Any] | None:
    names = {key: row.get(key, "").strip() for key in ("system", "case_id", "check_id")}
    sample, blind = (row.get("sample", "").strip() or "0").removesuffix(".0"), row.get("blind", "").strip().lower()
    lost = [key for key, value in names.items() if not value]
    faults += [Fault(where, key, "an empty cell", "an id", "Fill it in.") for key in lost]
    if not sample.isdecimal():
        faults.append(Fault(where, "sample", repr(sample), "a whole number", "Correct the cell."))
    if blind not in ("", "true", "false", "0", "1"):
        faults.append(Fault(where, "blind", repr(blind), "true or false", "Correct the cell."))
    if lost or not sample.isdecimal():
        return None
    place = (names["system"], names["case_id"], int(sample))
    if (names["case_id"], names["check_id"]) not in desk.checks:
        faults.append(_unknown(where, names, desk))
        return None
    shown = row.get("candidate_sha256", "").strip() or desk.hashes.get(place)
    if shown is None:
        found = f"system {place[0]!r}, sample {place[2]}: no image"
        near = nearest(place[0], {system for system, _, _ in desk.hashes})
        fix = f"Is {near!r} meant?" if near else "Label what has an image."
        faults.append(Fault(where, "candidate", found, "a candidate of the run", fix, names["case_id"], names["check_id"]))
        return None
    return {**names, "sample": int(sample), "candidate_sha256": shown, "blind": blind in ("true", "1")}


def _unknown(where: str, names: Mapping[str, str], desk: Desk) -> Fault:
    near = nearest(names["check_id"], {check for case, check in desk.checks if case == names["case_id"]})
    near_case = nearest(names["case_id"], {case for case, _ in desk.checks})
    hint = (near and f"Is check {near!r} meant?") or (near_case and f"Is case {near_case!r} meant?") or "Correct the row."
    return Fault(where, "check", "a check the run does not plan", "a planned check", hint, names["case_id"], names["check_id"])


def _doubles(labels: list[Label], places: list[str]) -> list[Fault]:
    first: dict[object, str] = {}
    faults = []
    for label, where in zip(labels, places, strict=True):
        key = (label.rater, label.round, label.unit)
        if key in first:
            found = f"a second label of {label.rater!r} (round {label.round}) on the unit of {first[key]}"
            faults.append(Fault(where, "duplicate", found, "one", "Keep the right one.", label.case_id, label.check_id))
        first.setdefault(key, where)
    return faults


def _rows(path: Path) -> list[tuple[str, dict[str, str]]]:
    """Rows with where each stands; headings by our names."""
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        found = [(f"{path} line {number}", value) for number, value in read_json_lines(path)]
        wrong = [
            Fault(where, "row", type(value).__name__, "an object", "Correct it.")
            for where, value in found
            if type(value) is not dict
        ]
        if wrong:
            raise DataError(f"{path}: rows cannot be read.", wrong)
        names = _names(path, list(dict.fromkeys(key for _, value in found for key in value)))
        return [(where, _texts(value, names)) for where, value in found]
    text = read_text(path)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(text))
    header = next(reader, [])
    names = _names(path, header)
    rows, faults = [], []
    for cells in reader:
        where = f"{path} line {reader.line_num}"
        if any(cell.strip() for cell in cells[len(header) :]) or (0 < len(cells) < len(header)):
            faults.append(
                Fault(where, "columns", f"{len(cells)} cells", f"{len(header)}, as in the header", "Quote cells with commas.")
            )
        elif any(cell.strip() for cell in cells):
            rows.append((where, _texts(dict(zip(header, cells, strict=False)), names)))
    if faults:
        raise DataError(f"{path}: rows cannot be read.", faults)
    return rows


def _names(path: Path, header: list[str]) -> dict[str, str]:
    """Our name for each heading that has one; a clash, and a table that cannot be labels, is refused."""
    names: dict[str, str] = {}
    for heading in header:
        bare = heading.strip().lower().replace(" ", "_")
        name = ALSO_CALLED.get(bare, bare)
        if name in names.values() and name in KNOWN:
            fault = Fault(
                f"{path} line 1", "columns", f"two columns for {name!r}: {', '.join(header)}", "one", "Remove or rename one."
            )
            raise DataError(f"{path}: the headings cannot be read.", [fault])
        names[heading] = name
    ours = set(names.values())
    needed = ("label",) if "unit" in ours else ("system", "case_id", "check_id", "label")
    lost = [name for name in needed if name not in ours]
    if lost:
        near = {name: nearest(name, [one for one in names.values() if one not in KNOWN]) for name in lost}
        faults = [
            Fault(f"{path} line 1", "columns", f"columns {', '.join(header) or 'none'}", f"a column {name!r}",
                  f"Is {near[name]!r} meant?" if near[name] else "Add it.")
            for name in lost
        ]  # fmt: skip
        raise DataError(f"{path}: the headings cannot be read.", faults)
    return names


def _texts(row: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, str]:
    return {names[key]: "" if value is None else unescape(str(value)) for key, value in row.items() if key in names}
