"""A table as Markdown with pipes; foreign text can neither end a cell nor start markup."""

from __future__ import annotations

import re

from longbanana_nb.reporting.sinks.html import escape as escape_html
from longbanana_nb.reporting.table import FLAGS, Cell, Table

RULE = {"left": ":--", "center": ":-:", "right": "--:"}
MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|~$])")
ADDRESS = re.compile(r"(?i)\b(https?|ftp|mailto)(:)|(www)(\.)|(?<=\w)(@)(?=[\w-]+\.)")


def escape(text: str) -> str:
    """Foreign text as Markdown text: HTML becomes entities, markup is escaped, lines are joined, addresses do not link."""
    line = escape_html(" ".join(text.split()) if text.strip() else "").replace("&#x27;", "'").replace("&quot;", '"')
    line = MARKUP.sub(r"\\\1", line)
    line = ADDRESS.sub(
        lambda match: (match[1] or match[3] or "") + "".join(f"&#{ord(sign)};" for sign in match[2] or match[4] or match[5]), line
    )
    return re.sub(r"^(\d+)([.)])", r"\1\\\2", re.sub(r"^(-|=)", r"\\\1", line))


def render(table: Table) -> str:
    """The table under a bold title; a column's span stands before its heading; group names are rows; notes are a list."""
    headings = [escape(f"{column.span}: {column.label}" if column.span else column.label) for column in table.columns]
    lines = [f"**{escape(table.title)}**", "", _line(headings), _line([RULE[column.align] for column in table.columns])]
    for group in table.groups:
        if group.label:
            lines.append(_line([f"*{escape(group.label)}*"] + [""] * (len(table.columns) - 1)))
        lines.extend(_line([_cell(cell) for cell in row.cells]) for row in group.rows)
    notes = [f"- {escape(note)}" for note in table.legend()]
    return "\n".join([*lines, "", *notes]) + "\n"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(cell: Cell) -> str:
    text = cell.text if cell.number else escape(cell.text)
    if cell.mark:
        text = f"**{text}**" if cell.mark == "best" else f"<u>{text}</u>"
    signs = "".join(FLAGS[flag][0] for flag in cell.flags)
    return text + signs.replace("*", r"\*")
