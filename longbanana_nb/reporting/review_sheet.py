"""The sheet on which people review derived units and probes: a CSV for a spreadsheet, and what they wrote read back."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.names import nearest
from longbanana_nb.spreadsheets import delimiter_of, escape, read_text, unescape

COLUMNS = (
    "case_id", "check_id", "reviewed", "dimension", "polarity", "probe", "by", "look_here", "cues",
    "question", "guide", "pass_means", "reference_ids",
)  # fmt: skip
EDITED = ("case_id", "check_id", "reviewed", "dimension", "polarity", "probe")


def sheet_text(rows: Iterable[Mapping[str, str]]) -> str:
    """The sheet, one row a check; foreign text cannot start a formula."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: escape(row[name]) for name in COLUMNS})
    return stream.getvalue()


def read_sheet(path: Path) -> list[dict[str, str]]:
    """The rows of a sheet, of each only what people edit; `line` is where it stands. Other columns may be missing.

    Raises:
        DataError: where the file cannot be read or a column is missing or written otherwise.
    """
    text = read_text(path)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter_of(text))
    found = reader.fieldnames or []
    faults = [_missing(path, name, found) for name in EDITED if name not in found]
    if faults:
        raise DataError("The review sheet cannot be used.", faults)
    return [{name: unescape((row[name] or "").strip()) for name in EDITED} | {"line": str(reader.line_num)} for row in reader]


def _missing(path: Path, name: str, found: Iterable[str]) -> Fault:
    near = nearest(name, [column for column in found if column])
    fix = f"Is {near!r} meant? Keep the headings as they were written." if near else "Keep the headings as they were written."
    return Fault(f"{path} line 1", "column", f"no column {name!r}", ", ".join(EDITED), fix)
