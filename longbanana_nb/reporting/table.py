"""One table as people read it: columns under spans, rows in groups, cells with a rank and flags, notes; four sinks render it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

Align = Literal["left", "right", "center"]
Better = Literal["high", "low"]
Mark = Literal["best", "second"]

FLAGS: dict[str, tuple[str, str]] = {
    "provisional": ("*", "provisional: some of its checks have no valid judgment; not ranked"),
    "simulated": ("†", "simulated: made by the embedded default, not by an image model"),
    "privileged": ("‡", "privileged: was given the entity-relation graph"),
    "unsandboxed": ("¶", "ran without a sandbox"),
    "noncompliant": ("§", "its agent did what its workflow asks in under 80 % of candidates"),
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its heading, the span it stands under, its alignment, and which direction is better (None: not ranked)."""

    label: str
    span: str | None = None
    align: Align = "right"
    better: Better | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """What one cell shows.

    `number` says that `text` is a number the workbench wrote (so no sink may treat it as foreign text); only numbers
    are ranked. `missing` says that there is nothing to show and `text` tells why. `flags` are keys of `FLAGS`.
    """

    text: str
    number: bool = False
    missing: bool = False
    flags: tuple[str, ...] = ()
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One row; `ranked` is False for rows that never compete, such as floors."""

    cells: tuple[Cell, ...]
    ranked: bool = True


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows under one heading."""

    label: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A whole table. `name` is its file name and label; `notes` are the lines under it.

    The first column holds row names. Every row has one cell a column.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    groups: tuple[RowGroup, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows():
            if len(row.cells) != len(self.columns):
                raise ValueError(f"table {self.name}: a row has {len(row.cells)} cells; there are {len(self.columns)} columns")

    def rows(self) -> Iterator[Row]:
        """Every row, in order."""
        for group in self.groups:
            yield from group.rows

    def flags(self) -> list[str]:
        """The flags that occur, in the order of `FLAGS`."""
        used = {flag for row in self.rows() for cell in row.cells for flag in cell.flags}
        return [flag for flag in FLAGS if flag in used]

    def legend(self) -> list[str]:
        """What the signs in the cells mean, then the notes."""
        return [f"{FLAGS[flag][0]} {FLAGS[flag][1]}." for flag in self.flags()] + list(self.notes)

    def spans(self) -> list[tuple[str | None, int]]:
        """The spans over the columns: (label or None, number of columns)."""
        result: list[tuple[str | None, int]] = []
        for column in self.columns:
            if result and column.span is not None and result[-1][0] == column.span:
                result[-1] = (column.span, result[-1][1] + 1)
            else:
                result.append((column.span, 1))
        return result

    def html(self, *, style: bool = True) -> str:
        """An HTML fragment; with `style` it carries its own style sheet."""
        from longbanana_nb.reporting.sinks.html import render

        return render(self, style=style)

    def latex(self) -> str:
        """A LaTeX `table*` that needs the package booktabs alone."""
        from longbanana_nb.reporting.sinks.latex import render

        return render(self)

    def markdown(self) -> str:
        """A Markdown table with pipes."""
        from longbanana_nb.reporting.sinks.markdown import render

        return render(self)

    def csv(self) -> str:
        """Comma-separated text, one header line; marks and flags stand in a last column so that numbers stay numbers."""
        from longbanana_nb.reporting.sinks.csv import render

        return render(self)

    def _repr_html_(self) -> str:
        return self.html()


def ranked(table: Table) -> Table:
    """The table with the best and the second best of each ranked column marked.

    Values are compared as they are shown, so what reads equal is marked equal. Rows that are not `ranked` and cells that are
    missing or provisional do not compete. With fewer than two competitors nothing is marked.
    """
    marks: dict[int, dict[str, Mark]] = {
        place: _marks_of((row.cells[place] for row in table.rows() if row.ranked), column.better)
        for place, column in enumerate(table.columns)
        if column.better is not None
    }

    def marked(row: Row) -> Row:
        if not row.ranked:
            return row
        cells = tuple(
            replace(cell, mark=marks[place].get(cell.text)) if place in marks and _competes(cell) else cell
            for place, cell in enumerate(row.cells)
        )
        return replace(row, cells=cells)

    groups = tuple(replace(group, rows=tuple(marked(row) for row in group.rows)) for group in table.groups)
    return replace(table, groups=groups)


def _competes(cell: Cell) -> bool:
    return cell.number and not cell.missing and "provisional" not in cell.flags


def _marks_of(cells: Iterable[Cell], better: Better) -> dict[str, Mark]:
    """The mark each shown text deserves: the best value, and the next different one."""
    texts = [cell.text for cell in cells if _competes(cell)]
    if len(texts) < 2:
        return {}
    values = sorted({float(text) for text in texts}, reverse=better == "high")
    names: dict[float, Mark] = dict(zip(values[:2], ("best", "second"), strict=False))
    return {text: names[float(text)] for text in texts if float(text) in names}
