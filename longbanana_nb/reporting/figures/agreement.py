"""The judge beside the truth: case scores against each other, and the labels of each system as a 3 x 3 table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from longbanana_nb.reporting.facts import RunFacts
from longbanana_nb.reporting.numbers import percent
from longbanana_nb.reporting.style import DOUBLE, FAINT, LIFTED, MARKERS, QUIET, new_figure, paper_style, plain_labels, wrapped
from longbanana_nb.reporting.verdict_tables import matched_verdicts
from longbanana_nb.taxonomy import LABEL_NAMES

if TYPE_CHECKING:
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
        halves: Any = figure.subfigures(1, 2, width_ratios=[1, 1.12], wspace=0.03)
        left, right = halves
        _scatter(left, pairs, facts)
        panels = right.subplots(max(lines, 1), min(ACROSS, max(len(facts.systems), 1)), squeeze=False, sharex=True, sharey=True)
        labels = plain_labels(system.name for system in facts.systems)
        for place, axes in enumerate(panels.flat):
            if place >= len(facts.systems):
                axes.set_visible(False)
                continue
            name = facts.systems[place].name
            _confusion(axes, pairs[pairs["system"] == name], wrapped(labels[name], 18))
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


def _confusion(axes: Axes, pairs: pd.DataFrame, title: str) -> None:
    import numpy as np
    import seaborn as sns

    counts = np.zeros((3, 3), dtype=int)
    for truth, judged in zip(pairs["label_other"].round(), pairs["label"].round(), strict=True):
        counts[int(truth), int(judged)] += 1
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    short = [name[:4] if name != "Uncertain" else "Unc." for name in LABEL_NAMES.values()]
    sns.heatmap(shares, annot=counts, fmt="d", cmap="cividis", vmin=0, vmax=1, cbar=False, ax=axes, linewidths=0.6,
                linecolor="white", xticklabels=short, yticklabels=short, annot_kws={"fontsize": 7})  # fmt: skip
    axes.tick_params(axis="x", rotation=0, labelsize=6.5)
    axes.tick_params(axis="y", rotation=0, labelsize=6.5)
    axes.tick_params(length=0)
    axes.set_title(title, fontsize=6.5, fontweight="normal", loc="center", linespacing=0.95)
