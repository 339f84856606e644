"""The judge beside the truth: case scores against each other, and the labels of each system as a 3 x 3 table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longbanana_nb.reporting.facts import RunFacts
from longbanana_nb.reporting.numbers import percent
from longbanana_nb.reporting.style import (
    DOUBLE,
    FAINT,
    LIFTED,
    MARKERS,
    QUIET,
    line_count,
    new_figure,
    paper_style,
    plain_labels,
    wrapped,
)
from longbanana_nb.reporting.verdict_tables import matched_verdicts
from longbanana_nb.taxonomy import LABEL_NAMES

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

ACROSS = 3  # small tables in a line


def judge_against_truth(grid: pd.DataFrame, facts: RunFacts, judge: str, truth: str) -> Figure:
    """Left: one dot per system and case, judge over truth. Right: labels of truth (rows) and judge (columns) per system.

    Only checks that both answered count. Shading is the share of the truth's row; the numbers are counts.
    """
    pairs = matched_verdicts(grid, judge, truth)
    with paper_style():
        lines = math.ceil(len(facts.systems) / ACROSS)
        figure = new_figure(DOUBLE, max(3.4, 1.25 * lines + 0.35))
        halves: Any = figure.subfigures(1, 2, width_ratios=[1, 1.3], wspace=0.03)
        left, right = halves
        _scatter(left, pairs, facts)
        _confusions(right.subplots(), pairs, facts)
        right.supxlabel("label of the judge", fontsize=8)
        right.supylabel("label of the truth", fontsize=8)
    return figure


def judge_against_truth_alt(grid: pd.DataFrame, facts: RunFacts, judge: str, truth: str) -> str:
    """The panel in words: exact and opposite shares over all systems."""
    pairs = matched_verdicts(grid, judge, truth)
    if pairs.empty:
        return f"Judge {judge} against truth {truth}: no check was answered by both."
    gap = (pairs["label"] - pairs["label_other"]).abs()
    exact, opposite = percent(int((gap == 0).sum()), len(pairs)), percent(int((gap >= 2).sum()), len(pairs))
    return (
        f"Judge {judge} against truth {truth} on {facts.release}: case scores scattered about the diagonal, and a table of "
        f"labels per system. Over {len(pairs)} checks, {exact} % of labels are equal and {opposite} % are opposite."
    )


def _scatter(part: SubFigure, pairs: pd.DataFrame, facts: RunFacts) -> None:
    axes = part.subplots()
    axes.plot([0, 100], [0, 100], color=FAINT, linewidth=1, zorder=0)
    cases = pairs.groupby(["system", "case_id"], sort=False)[["label", "label_other"]].mean() * 50
    competitors = [system.name for system in facts.competitors]
    colours = {name: LIFTED[place] for place, name in enumerate(competitors)} if len(competitors) <= 4 else {}
    labels = plain_labels(system.name for system in facts.systems)
    has = set(cases.index.get_level_values("system"))
    for place, system in enumerate((*facts.floors, *facts.competitors)):
        if system.name not in has:
            continue
        points = cases.loc[system.name]
        coloured = system.name in colours
        label = wrapped(labels[system.name], 24) if coloured else None
        marker = MARKERS[competitors.index(system.name)] if coloured else "."
        colour = colours.get(system.name, QUIET if system.is_floor else LIFTED[0])
        dots: dict[str, Any] = {"marker": marker, "markersize": 3.6 if coloured else 5, "markeredgewidth": 0, "linestyle": "none"}
        axes.plot(points["label_other"], points["label"], color=colour, alpha=0.8, label=label, zorder=2 + place, **dots)
    if not colours and competitors:
        axes.plot([], [], marker=".", linestyle="none", color=LIFTED[0], label="systems")
    if facts.floors:
        axes.plot([], [], marker=".", linestyle="none", color=QUIET, label="floors")
    axes.set(xlim=(0, 100), ylim=(0, 100), aspect="equal", xlabel="case score of the truth", ylabel="case score of the judge")
    axes.set_anchor("N")
    if pairs.empty:
        axes.text(50, 50, "no data", ha="center", va="center")
    part.legend(loc="outside upper left", ncols=2, handletextpad=0.2, columnspacing=0.9, fontsize=7, borderaxespad=0.1)


def _confusions(axes: Axes, pairs: pd.DataFrame, facts: RunFacts) -> None:
    """All small tables as blocks of one heatmap, which is drawn in a fraction of the time that one axes a table takes."""
    import seaborn as sns

    axes.tick_params(length=0, labelsize=6.5)
    if not facts.systems:
        axes.set_axis_off()
        return
    labels = plain_labels(system.name for system in facts.systems)
    titles = [wrapped(labels[system.name], 18) for system in facts.systems]
    blocks = _Blocks(len(titles), above=1 if line_count(titles) <= 2 else 2)
    counts = blocks.laid_out([_counts(pairs[pairs["system"] == system.name]) for system in facts.systems])
    shares = blocks.laid_out([_shares(_counts(pairs[pairs["system"] == system.name])) for system in facts.systems])
    sns.heatmap(shares, annot=counts, fmt=".0f", cmap="cividis", vmin=0, vmax=1, cbar=False, ax=axes, linewidths=0.6,
                linecolor="white", xticklabels=False, yticklabels=False, annot_kws={"fontsize": 7})  # fmt: skip
    short = [name[:4] if name != "Uncertain" else "Unc." for name in LABEL_NAMES.values()]
    for place, title in enumerate(titles):
        top, left = blocks.corner(place)
        axes.text(left + 1.5, top - 0.18, title, ha="center", va="baseline", fontsize=6.5, linespacing=0.95)
        if place + ACROSS >= len(titles):
            for column, name in enumerate(short):
                axes.text(left + column + 0.5, top + 3.12, name, ha="center", va="top", fontsize=6.5)
    firsts = [blocks.corner(place)[0] for place in range(0, len(titles), ACROSS)]
    axes.set_yticks([top + row + 0.5 for top in firsts for row in range(3)], short * len(firsts), rotation=0)


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Tables of 3 x 3 in lines of `ACROSS`, a column apart, with `above` rows over each line for the titles."""

    tables: int
    above: int

    def corner(self, place: int) -> tuple[int, int]:
        """Row and column of a table's first cell."""
        return self.above + place // ACROSS * (3 + self.above), place % ACROSS * 4

    def laid_out(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        """The tables in one matrix; what lies between them is NaN, which a heatmap leaves white."""
        import numpy as np

        across, lines = min(ACROSS, self.tables), -(-self.tables // ACROSS)
        matrix = np.full((lines * (3 + self.above), across * 4 - 1), np.nan)
        for place, table in enumerate(tables):
            top, left = self.corner(place)
            matrix[top : top + 3, left : left + 3] = table
        return matrix


def _counts(pairs: pd.DataFrame) -> np.ndarray:
    """How often each label of the judge (columns) met each of the truth (rows)."""
    import numpy as np

    counts = np.zeros((3, 3))
    truth, judged = (pairs[name].round().astype(int).to_numpy() for name in ("label_other", "label"))
    np.add.at(counts, (truth, judged), 1)
    return counts


def _shares(counts: np.ndarray) -> np.ndarray:
    import numpy as np

    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
