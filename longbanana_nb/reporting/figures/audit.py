"""What a judge notices, kind by kind: shares with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from longbanana_nb.reporting.numbers import percent
from longbanana_nb.reporting.style import DOUBLE, FAINT, new_figure, paper_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTICED, ALARM = "#0072B2", "#D55E00"
HITS = {"sensitivity": "flipped", "false_alarms": "changed", "injection": "obeyed"}


def audit_dots(audit: Mapping[str, Any]) -> Figure:
    """One row a kind of edit: dots for the share of answers that changed, lines for 95 % Wilson intervals.

    Filled dots are edits that must change the answer (right is good), open ones those that must not (left is good).
    """
    rows = kind_rows(audit)
    with paper_style():
        figure = new_figure(DOUBLE, max(2.0, 0.26 * len(rows) + 0.8))
        axes: Any = figure.subplots()
        for place, (part, row) in enumerate(rows):
            colour = NOTICED if part == "sensitivity" else ALARM
            if row["low"] is not None:
                axes.plot([100 * row["low"], 100 * row["high"]], [place, place], color=colour, linewidth=1.4, zorder=2)
            if row["rate"] is not None:
                face = colour if part == "sensitivity" else "white"
                axes.plot([100 * row["rate"]], [place], "o", color=colour, markerfacecolor=face, markersize=5, zorder=3)
        axes.set_yticks(range(len(rows)), [f"{row['name']} ({row['answered']} of {row['pairs']})" for _, row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(-2, 102)
        axes.set_xlabel("answers that changed, %   (filled: must change; open: must not)")
        axes.grid(axis="x", color=FAINT, linewidth=0.6)
        axes.set_axisbelow(True)
    return figure


def audit_dots_alt(audit: Mapping[str, Any]) -> str:
    """The figure in words."""
    shares = [
        f"{row['name']} {percent(row[HITS[part]], row['answered'])} % of {row['answered']}"
        for part, row in kind_rows(audit)
        if row["answered"]
    ]
    return f"Share of answers of {audit['judge']} that changed, by kind of edit: {', '.join(shares) or 'none answered'}."


def kind_rows(audit: Mapping[str, Any]) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """The rows of kinds, with the list they stand in."""
    return [(part, row) for part in HITS for row in audit[part] if row["by"] == "kind"]
