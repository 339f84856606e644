"""Rows of a CSV or JSONL file as text, each with the line it stands on; nothing is guessed about types."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pandas as pd

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import read_json_lines, read_text
from longbanana_nb.scoring.grids import KEY, refuse_faults

MAX_CELL = 2**31 - 1  # rationales are long; the file is in memory as a whole anyway


def read_rows(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Read a `.csv` or `.jsonl` file into text columns.

    Returns:
        The rows, every cell a text ("" where empty or null), and for each row where it stands ("FILE line 7").

    Raises:
        DataError: another suffix, not UTF-8, a ragged row, a repeated column or key, a line that is no object; all at once
            where the file can still be read on.
    """
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return _csv_rows(path)
    if suffix in (".jsonl", ".ndjson"):
        return _json_rows(path)
    fault = Fault(str(path), "suffix", f"{path.suffix or 'no suffix'!r}", "a .csv or .jsonl file", "Rename or convert it.")
    raise DataError("A verdict table cannot be read.", [fault])


def _csv_rows(path: Path) -> tuple[pd.DataFrame, list[str]]:
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    csv.field_size_limit(MAX_CELL)
    rows: list[list[str]] = []
    starts: list[int] = []
    header: list[str] = []
    faults: list[Fault] = []
    line, width, place = 1, 0, f"{path} line "
    try:
        for row in reader:
            start, line = line, reader.line_num + 1
            if len(row) == width and width:
                rows.append(row)
                starts.append(start)
            elif row and not header:
                header = [cell.strip() for cell in row]
                width = len(header)
                faults += _header_faults(f"{place}{start}", header)
            elif row:
                expected = f"{width}, as in the header"
                faults.append(Fault(f"{place}{start}", "columns", f"{len(row)} cells", expected, "Quote cells that hold commas."))
    except csv.Error as error:
        faults.append(Fault(f"{path} line {reader.line_num}", "csv", str(error), "quoted CSV", "Correct the quoting."))
    if not header:
        faults.append(Fault(str(path), "empty", "no header", "a header line and rows", "Write the table again."))
    refuse_faults("A verdict table cannot be read.", faults)
    names = [f"{place}{start}" for start in starts]
    columns = list(zip(*rows, strict=True)) or [()] * width
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in zip(header, columns, strict=True)}), names


def _header_faults(where: str, header: list[str]) -> list[Fault]:
    twice = sorted({name for name in header if header.count(name) > 1})
    return [Fault(where, "columns", f"column {name!r} twice", "each column once", "Rename one.") for name in twice]


def _json_rows(path: Path) -> tuple[pd.DataFrame, list[str]]:
    records: list[dict[str, Any]] = []
    names: list[str] = []
    faults: list[Fault] = []
    for number, value in read_json_lines(path):
        where = f"{path} line {number}"
        if isinstance(value, dict):
            records.append(value)
            names.append(where)
            faults += _value_faults(where, value)
        else:
            faults.append(Fault(where, "row", f"{type(value).__name__}", "an object", "Write one object a line."))
    refuse_faults("A verdict table cannot be read.", faults)
    columns = list(dict.fromkeys(key for record in records for key in record))
    rows = {name: pd.Series([_cell(record.get(name)) for record in records], dtype=object) for name in columns}
    return pd.DataFrame(rows), names


def _value_faults(where: str, record: dict[str, Any]) -> list[Fault]:
    """Ids and facts must be texts (whole numbers are taken by their digits): 1e5 or true would have lost what was written."""
    faults = []
    for column in (*KEY, "category", "dimension", "polarity", "outcome", "label"):
        value = record.get(column)
        is_kept = value is None or isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))
        if not is_kept and not (column == "label" and isinstance(value, float)):
            faults.append(Fault(where, column, f"{column} {value!r}", "a text", "Put it in quotes as it is meant."))
    if "label" not in record:
        faults.append(Fault(where, "label", "no label", "a label, or null where the answer is invalid", "Add it."))
    return faults


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else str(value)
