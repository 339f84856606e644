"""The loss funnel as bars, and what the pictures of one case fixed and broke as a timeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from longbanana_nb.reporting.facts import RunFacts
from longbanana_nb.reporting.figures.rows import figure_rows, label_rows, signs, span
from longbanana_nb.reporting.funnel import STAGES, stage_counts
from longbanana_nb.reporting.style import DOUBLE, FAIL, FAINT, INK, LIFTED, PASS, QUIET, line_count, new_figure, paper_style
from longbanana_nb.taxonomy import CATEGORIES

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "no picture": INK, "not opened": LIFTED[5], "not sent": LIFTED[1], "met, then lost": LIFTED[3], "never met": LIFTED[0],
    "sent, not met": LIFTED[4], "let in": LIFTED[2], "unknown": "#bbbbbb",
}  # fmt: skip


def loss_bars(funnel: pd.DataFrame, facts: RunFacts, judge: str) -> Figure:
    """Left: failed checks of each system by the stage at which they were lost. Right: shares by category, all systems together.

    Floors are left out: nothing is lost where nothing was tried.
    """
    mine = funnel[funnel["system"].isin([system.name for system in facts.competitors])]
    with paper_style():
        rows = [row for row in figure_rows(facts, width=24) if not row.is_floor]
        step = 0.13 * max(line_count(row.label for row in rows), 1) + 0.12
        figure = new_figure(DOUBLE, max(2.6, 1.25 + step * span(rows)))
        left, right = figure.subplots(1, 2, width_ratios=[1.15, 1])
        by_system, by_category = stage_counts(mine), stage_counts(mine, "category")
        for row in rows:
            _bar(left, row.y, by_system.get(row.name, {}), 0.5)
        label_rows(left, rows)
        left.set_xlabel("failed checks" + (f"    {said}" if (said := signs(facts, frozenset())) else ""))
        shown = [code for code in CATEGORIES if code in by_category]
        for place, code in enumerate(shown):
            counts = by_category[code]
            _bar(right, place, {stage: 100 * count / sum(counts.values()) for stage, count in counts.items()}, 0.62)
        right.set_yticks(range(len(shown)), shown)
        right.set_ylim(len(shown) - 0.4, -0.6)
        right.set_xlim(0, 100)
        right.set_xlabel("% of failed checks in a category")
        for axes in (left, right):
            axes.tick_params(axis="y", length=0)
            axes.spines["left"].set_visible(False)
        _legend(figure, list(next(iter(by_system.values()), {})))
    return figure


def loss_bars_alt(funnel: pd.DataFrame, facts: RunFacts, judge: str) -> str:
    """The bars in words."""
    by_system = stage_counts(funnel)
    texts = [
        f"{system.name}: " + ", ".join(f"{stage} {count}" for stage, count in by_system[system.name].items() if count)
        for system in facts.competitors
        if system.name in by_system
    ]
    return f"Failed checks by the stage at which they were lost, judge {judge} on {facts.release}. {'; '.join(texts) or 'None.'}"


def timeline_figure(frame: pd.DataFrame, title: str) -> Figure:
    """What each picture of a case fixed (up) and broke (down), and above each step how many checks it met in all."""
    from matplotlib.ticker import MaxNLocator

    with paper_style():
        figure = new_figure(DOUBLE, 2.3)
        axes: Any = figure.subplots()
        axes.set_title(title)
        axes.axhline(0, color=QUIET, linewidth=0.8)
        rows: list[Any] = list(frame.itertuples(index=False))
        for place, row in enumerate(rows):
            fixed, broke = (0 if _is_missing(value) else int(value) for value in (row.fixed, row.broke))
            axes.bar(place, fixed, color=PASS, width=0.6)
            axes.bar(place, -broke, color=FAIL, width=0.6)
            text = "not judged" if _is_missing(row.met) else f"{int(row.met)} met"
            axes.text(place, fixed + 0.4, text, ha="center", va="bottom", fontsize=7)
        labels = [f"step {row.step}\n{row.references_sent} sent" for row in rows]
        axes.set_xticks(range(len(rows)), labels)
        axes.set_ylabel("checks fixed (up),\nbroken (down)")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, symmetric=False))
        axes.yaxis.grid(visible=True, color=FAINT, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.margins(y=0.18)
    return figure


def timeline_alt(frame: pd.DataFrame, title: str) -> str:
    """The timeline in words."""
    texts = []
    for row in frame.itertuples(index=False):
        change = "" if _is_missing(row.fixed) else f", fixed {row.fixed}, broke {row.broke}"
        texts.append(f"step {row.step}: " + ("not judged" if _is_missing(row.met) else f"{row.met} met{change}"))
    return f"{title}. {'; '.join(texts) or 'No picture.'}"


def _bar(axes: Axes, y: float, counts: Mapping[str, float], height: float) -> None:
    left = 0.0
    for stage in STAGES:
        width = float(counts.get(stage, 0))
        if width:
            axes.barh(y, width, left=left, color=COLOURS[stage], height=height, linewidth=0)
            left += width


def _legend(figure: Figure, stages: list[str]) -> None:
    from matplotlib.patches import Patch

    figure.legend(handles=[Patch(color=COLOURS[stage], label=stage) for stage in stages], loc="outside upper center", ncols=4)


def _is_missing(value: Any) -> bool:
    import pandas as pd

    return bool(pd.isna(value))
