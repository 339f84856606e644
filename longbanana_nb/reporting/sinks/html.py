"""A table as an HTML fragment that takes its colours from the page around it, so it reads on dark and on light."""

from __future__ import annotations

from html import escape as escape_html
from pathlib import Path

from longbanana_nb.reporting.table import FLAGS, Cell, Column, Row, Table

STYLE = (Path(__file__).parent.parent / "styles" / "table.css").read_text(encoding="utf-8").strip()

ALIGN = {"left": ' class="l"', "center": ' class="c"', "right": ""}


def escape(text: str) -> str:
    """Foreign text as HTML text: markup characters become entities, invisible direction marks become visible codes."""
    return escape_html("".join(_visible(letter) for letter in text), quote=True)


def render(table: Table, *, style: bool = True) -> str:
    """The table as one `figure` of class `lb-table`; `style` adds its style sheet."""
    sheet = f"<style>{STYLE}</style>\n" if style else ""
    notes = "".join(f"<li>{escape(line)}</li>" for line in table.legend())
    footer = f'<ul class="lb-notes">{notes}</ul>\n' if notes else ""
    return (
        f'{sheet}<figure class="lb-table" id="table-{escape(table.name)}">\n<div class="lb-scroll"><table>\n'
        f"<caption>{escape(table.title)}</caption>\n<thead>\n{_head(table)}</thead>\n{_bodies(table)}</table></div>\n{footer}</figure>\n"
    )


def _head(table: Table) -> str:
    lines = []
    if any(label is not None for label, _ in table.spans()):
        cells = "".join(
            "<th></th>"
            if label is None
            else f'<th class="span" colspan="{width}" scope="colgroup"><span>{escape(label)}</span></th>'
            for label, width in table.spans()
        )
        lines.append(f"<tr>{cells}</tr>\n")
    headings = "".join(f'<th scope="col"{ALIGN[column.align]}>{escape(column.label)}</th>' for column in table.columns)
    lines.append(f"<tr>{headings}</tr>\n")
    return "".join(lines)


def _bodies(table: Table) -> str:
    parts = []
    for place, group in enumerate(table.groups):
        parts.append('<tbody class="ruled">\n' if place else "<tbody>\n")
        if group.label:
            parts.append(
                f'<tr><th class="group" colspan="{len(table.columns)}" scope="rowgroup">{escape(group.label)}</th></tr>\n'
            )
        parts.extend(_row(row, table.columns) for row in group.rows)
        parts.append("</tbody>\n")
    return "".join(parts)


def _row(row: Row, columns: tuple[Column, ...]) -> str:
    first = f'<th scope="row"{ALIGN[columns[0].align]}>{_inner(row.cells[0])}</th>'
    rest = "".join(
        f"<td{ALIGN[column.align]}>{_inner(cell)}</td>" for cell, column in zip(row.cells[1:], columns[1:], strict=True)
    )
    return f"<tr>{first}{rest}</tr>\n"


def _inner(cell: Cell) -> str:
    text = escape(cell.text)
    kind = "missing" if cell.missing else cell.mark
    if kind:
        text = f'<span class="{kind}">{text}</span>'
    signs = "".join(FLAGS[flag][0] for flag in cell.flags)
    return f"{text}<sup>{signs}</sup>" if signs else text


def _visible(letter: str) -> str:
    code = ord(letter)
    hidden = 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069 or code in (0x061C, 0x200E, 0x200F, 0xFEFF)
    control = (code < 32 and letter not in "\t\n") or 0x7F <= code <= 0x9F
    surrogate = 0xD800 <= code <= 0xDFFF
    return f"[U+{code:04X}]" if hidden or control or surrogate else letter
