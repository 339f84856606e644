"""What a score cost, and how much of it is luck: cost against quality, and the split of variance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from longbanana_nb.reporting.facts import RunFacts, ScoreFrames
from longbanana_nb.reporting.figures.rows import figure_rows, scores_of, signs
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
)  # fmt: skip

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Records = Iterable[Mapping[str, Any]]
PARTS = (("case", "case", LIFTED[0]), ("sample", "sample", LIFTED[5]), ("repeat", "judge asked again", LIFTED[3]))


def cost_quality(scores: ScoreFrames, facts: RunFacts, judge: str, candidates: Records) -> Figure:
    """Overall score with its interval over what a case cost: dollars where any system was paid, else image calls.

    Systems that no other beats in both are joined by a line.
    """
    points, unit = _points(scores, facts, judge, candidates)
    with paper_style():
        figure = new_figure(DOUBLE, 3.1)
        axes: Any = figure.subplots()
        labels = {row.name: row.label for row in figure_rows(facts, width=26)}
        front = _front(points)
        axes.plot([points[name][0] for name in front], [points[name][1] for name in front], color=FAINT, linewidth=3, zorder=1)
        floors = {system.name for system in facts.floors}
        for place, (name, (cost, score, low, high)) in enumerate(points.items()):
            colour = QUIET if name in floors else LIFTED[place % len(LIFTED)]
            marker = "s" if name in floors else MARKERS[place % len(MARKERS)]
            if not math.isnan(low):
                axes.plot([cost, cost], [low, high], color=colour, linewidth=1.2, zorder=2)
            label = labels[name] if name not in floors else None
            axes.plot(cost, score, marker, color=colour, markersize=5.5, zorder=3, label=label)
        if floors & set(points):
            axes.plot([], [], "s", color=QUIET, markersize=5.5, label="floors")
        axes.set_ylim(0, 100)
        axes.set_xlim(-0.02 * _widest(points), 1.08 * _widest(points))
        said = signs(facts, frozenset())
        axes.set_xlabel(f"{unit} a case" + (f"\n{said}" if said else ""))
        axes.set_ylabel("overall score")
        axes.grid(color=FAINT, linewidth=0.6)
        axes.set_axisbelow(True)
        if points:
            figure.legend(loc="outside right upper")
    return figure


def cost_quality_alt(scores: ScoreFrames, facts: RunFacts, judge: str, candidates: Records) -> str:
    """The points in words."""
    points, unit = _points(scores, facts, judge, candidates)
    each = [f"{name} {score:.1f} at {cost:.3g}" for name, (cost, score, _, _) in points.items()]
    front = ", ".join(_front(points))
    return f"Overall score by judge {judge} over {unit} a case: {'; '.join(each)}. Beaten by none in both: {front}."


def variance_bars(split: pd.DataFrame, facts: RunFacts, judge: str) -> Figure:
    """Standard deviation of case scores by case, sample and judge repeat, one group a system; what was not varied is left out."""
    with paper_style():
        mine = split[split["judge"] == judge].set_index("system")
        names = [system.name for system in facts.systems if system.name in mine.index]
        labels = plain_labels(names)
        texts = [wrapped(labels[name], 26) for name in names]
        figure = new_figure(DOUBLE, 0.9 + (0.12 * line_count(texts) + 0.24) * max(len(names), 1))
        axes: Any = figure.subplots()
        shown = [part for part in PARTS if mine[part[0]].notna().any()]
        for place, (column, label, colour) in enumerate(shown):
            heights = [y + (place - (len(shown) - 1) / 2) * 0.26 for y in range(len(names))]
            known = mine[column].astype(float).to_dict()
            widths = [0.0 if math.isnan(known[name]) else math.sqrt(known[name]) for name in names]
            axes.barh(heights, widths, height=0.22, color=colour, label=label)
        axes.set_yticks(range(len(names)), texts)
        axes.invert_yaxis()
        axes.set_xlabel("standard deviation of case scores, points")
        axes.xaxis.grid(visible=True, color=FAINT, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.tick_params(axis="y", length=0)
        figure.legend(loc="outside upper center", ncols=3)
    return figure


def variance_bars_alt(split: pd.DataFrame, facts: RunFacts, judge: str) -> str:
    """The bars in words."""
    rows: list[Any] = list(split[split["judge"] == judge].itertuples(index=False))
    each = []
    for row in rows:
        known = [(label, float(getattr(row, column))) for column, label, _ in PARTS]
        parts = ", ".join(f"{label} {math.sqrt(value):.1f}" for label, value in known if not math.isnan(value))
        each.append(f"{row.system}: {parts or 'unknown'}")
    return f"Standard deviation of case scores in points by judge {judge} on {facts.release}. {'; '.join(each)}."


def _points(
    scores: ScoreFrames, facts: RunFacts, judge: str, candidates: Records
) -> tuple[dict[str, tuple[float, float, float, float]], str]:
    spent: dict[str, list[tuple[float, float]]] = {}
    for one in candidates:
        spent.setdefault(one["system"], []).append((float(one["cost_usd"] or 0), float(one["calls"]["image"] or 0)))
    is_paid = any(cost for each in spent.values() for cost, _ in each)
    found = scores_of(scores, judge, "overall")
    points = {}
    for system in facts.systems:
        row, each = found.get((system.name, "overall")), spent.get(system.name)
        if row is not None and each:
            mean = sum(cost if is_paid else calls for cost, calls in each) / len(each)
            points[system.name] = (mean, float(row.score), float(row.ci_low), float(row.ci_high))
    return points, "USD" if is_paid else "image calls"


def _front(points: Mapping[str, tuple[float, float, float, float]]) -> list[str]:
    """The systems that no other beats in cost and score, cheapest first."""
    best, front = -math.inf, []
    for name, (_, score, _, _) in sorted(points.items(), key=lambda item: (item[1][0], -item[1][1])):
        if score > best:
            best = score
            front.append(name)
    return front


def _widest(points: Mapping[str, tuple[float, float, float, float]]) -> float:
    return max([cost for cost, *_ in points.values()], default=0.0) or 1.0
