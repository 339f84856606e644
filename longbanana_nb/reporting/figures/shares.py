"""What was answered, and where it failed: shares of labels by polarity, and of Fail by dimension and category."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from longbanana_nb.reporting.facts import RunFacts
from longbanana_nb.reporting.figures.rows import figure_rows, label_rows, signs, span
from longbanana_nb.reporting.style import (
    DOUBLE,
    FAIL,
    PASS,
    UNCERTAIN,
    line_count,
    new_figure,
    paper_style,
    wrapped,
)
from longbanana_nb.taxonomy import CATEGORIES, DIMENSIONS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABELS = ((2, "Pass", PASS), (1, "Uncertain", UNCERTAIN), (0, "Fail", FAIL))
POLARITIES = {"positive": "Positive checks", "negative": "Negative checks"}
ACROSS = 4


def label_shares_bars(grid: pd.DataFrame, facts: RunFacts, judge: str) -> Figure:
    """Stacked bars of Pass, Uncertain and Fail, one a system and floor, positive checks left and negative ones right.

    An empty picture passes negative checks: the right bars of the floors show how many.
    """
    from matplotlib.patches import Patch

    shares = _shares(grid, judge)
    with paper_style():
        rows = figure_rows(facts, width=26)
        step = 0.13 * max(line_count(row.label for row in rows), 1) + 0.09
        figure = new_figure(DOUBLE, 0.95 + step * span(rows))
        halves: Any = figure.subplots(1, 2, sharey=True)
        for axes, (polarity, title) in zip(halves, POLARITIES.items(), strict=True):
            axes.set_title(title)
            for row in rows:
                _bar(axes, row.y, shares.get((row.name, polarity)))
            axes.set_xlim(0, 100)
            axes.set_xlabel("% of valid verdicts")
            axes.tick_params(axis="y", length=0)
            axes.spines["left"].set_visible(False)
        label_rows(halves[0], rows)
        figure.legend(
            handles=[Patch(color=colour, label=name) for _, name, colour in LABELS], loc="outside upper center", ncols=3
        )
        if said := signs(facts, frozenset()):
            figure.supxlabel(said, fontsize=8)
    return figure


def label_shares_alt(grid: pd.DataFrame, facts: RunFacts, judge: str) -> str:
    """The bars in words."""
    shares = _shares(grid, judge)
    texts = [
        f"{system.name}, {polarity}: "
        + ", ".join(f"{name} {part:.0f} %" for (_, name, _), part in zip(LABELS, found, strict=True))
        for system in facts.systems
        for polarity in POLARITIES
        if (found := shares.get((system.name, polarity))) is not None
    ]
    return f"Shares of labels by judge {judge} on {facts.release}. {'; '.join(texts)}."


def failure_heatmap(grid: pd.DataFrame, facts: RunFacts, judge: str) -> Figure:
    """One small heat map a system: share of Fail by dimension (rows) and category (columns), in per cent; floors left out.

    Shares are of valid verdicts, pooled over the cases of a category. An empty cell has no check.
    """
    with paper_style():
        systems = facts.competitors or facts.systems
        lines = -(-len(systems) // 2)
        figure = new_figure(DOUBLE, 1.42 * lines + 0.55)
        panels: Any = np.atleast_1d(figure.subplots(lines, min(2, len(systems)), squeeze=False, sharex=True, sharey=True)).ravel()
        labels = {row.name: row.label for row in figure_rows(facts, width=40)}
        image = None
        for axes, system in zip(panels, systems, strict=False):
            image = _heat(axes, _failures(grid, judge, system.name))
            axes.set_title(labels[system.name])
        for axes in panels[len(systems) :]:
            axes.set_axis_off()
        if image is not None:
            bar = figure.colorbar(image, ax=list(panels), fraction=0.025, pad=0.015)
            bar.set_label("Fail, % of verdicts" + (f"    {said}" if (said := signs(facts, frozenset())) else ""))
            bar.outline.set_visible(False)
    return figure


def failure_heatmap_alt(grid: pd.DataFrame, facts: RunFacts, judge: str) -> str:
    """Where each system fails most, in words."""
    texts = []
    for system in facts.competitors or facts.systems:
        found = _failures(grid, judge, system.name)
        if np.isfinite(found).any():
            row, column = np.unravel_index(np.nanargmax(found), found.shape)
            texts.append(f"{system.name} fails most on {DIMENSIONS[row]} in {CATEGORIES[column]} ({found[row, column]:.0f} %)")
    return f"Share of Fail by dimension and category, judge {judge} on {facts.release}: {'; '.join(texts) or 'no verdicts'}."


def _shares(grid: pd.DataFrame, judge: str) -> dict[tuple[str, str], list[float]]:
    valid = grid[(grid["judge"] == judge) & (grid["state"] == "valid") & grid["polarity"].isin(list(POLARITIES))]
    label = valid["label"].astype(float).round().astype(int)
    counts: dict[tuple[str, str, int], int] = valid.groupby(["system", "polarity", label]).size().to_dict()  # type: ignore[assignment]
    found = {}
    for system, polarity in {(system, polarity) for system, polarity, _ in counts}:
        each = [counts.get((system, polarity, wanted), 0) for wanted, _, _ in LABELS]
        found[system, polarity] = [100 * count / sum(each) for count in each]
    return found


def _bar(axes: Axes, y: float, parts: list[float] | None) -> None:
    if parts is None:
        axes.text(1, y, "no data", va="center", fontsize=7, color="#444444")
        return
    left = 0.0
    for (_, _, colour), part in zip(LABELS, parts, strict=True):
        axes.barh(y, part, left=left, color=colour, height=0.62, linewidth=0)
        if part >= 9:
            axes.text(left + part / 2, y, f"{part:.0f}", ha="center", va="center", fontsize=6.5, color="white")
        left += part


def _failures(grid: pd.DataFrame, judge: str, system: str) -> np.ndarray:
    """Share of Fail in per cent, dimensions x categories; NaN where no verdict stands."""
    mine = grid[(grid["judge"] == judge) & (grid["system"] == system) & (grid["state"] == "valid")]
    failed = (mine["label"].astype(float) == 0).groupby([mine["dimension"].astype(str), mine["category"].astype(str)]).mean()
    return np.array([[100 * failed.get((dimension, code), np.nan) for code in CATEGORIES] for dimension in DIMENSIONS])


def _heat(axes: Axes, values: np.ndarray) -> Any:
    image = axes.imshow(values, vmin=0, vmax=100, cmap="Oranges", aspect="auto")
    axes.set_xticks(range(len(CATEGORIES)), CATEGORIES, fontsize=7)
    axes.set_yticks(range(len(DIMENSIONS)), [wrapped(name, 12) for name in DIMENSIONS], fontsize=6.5)
    axes.tick_params(length=0)
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            axes.text(
                column, row, f"{value:.0f}", ha="center", va="center", fontsize=6.5, color="white" if value > 60 else "black"
            )
    return image
