"""A table as CSV that a spreadsheet opens without running anything and that a program reads back unchanged."""

from __future__ import annotations

import csv
import io

from longbanana_nb.reporting.table import Row, Table
from longbanana_nb.spreadsheets import escape


def render(table: Table) -> str:
    """One header line, then one line a row: group, the columns, `marks` (rank and flags by column), `notes`.

    The notes stand in the first row only, so that coverage and policy travel with the numbers and columns stay columns.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    headings = [escape(f"{column.span}: {column.label}" if column.span else column.label) for column in table.columns]
    writer.writerow(["group", *headings, "marks", "notes"])
    notes = escape(" | ".join(table.legend()))
    for group in table.groups:
        for row in group.rows:
            values = [cell.text if cell.number else escape(cell.text) for cell in row.cells]
            writer.writerow([escape(group.label), *values, escape(_marks(row, table)), notes])
            notes = ""
    return stream.getvalue()


def _marks(row: Row, table: Table) -> str:
    """For example `SCC best; Overall provisional`."""
    words = []
    for cell, column in zip(row.cells, table.columns, strict=True):
        words += [f"{column.label} {word}" for word in (*([cell.mark] if cell.mark else []), *cell.flags)]
    return "; ".join(words)
