"""The pass rate over thresholds: how much of an order of systems is owed to where the line was drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from longbanana_nb.reporting.facts import RunFacts
from longbanana_nb.reporting.figures.rows import figure_rows, provisional_systems, signs
from longbanana_nb.reporting.style import (
    DOUBLE,
    FAINT,
    INK,
    LIFTED,
    MARKERS,
    QUIET,
    new_figure,
    paper_style,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from longbanana_nb.scoring import Scores

MOST = len(LIFTED)
SHOWN_AT = (50, 60, 70, 80, 90)


def threshold_curve(scores: Scores, facts: RunFacts, judge: str) -> Figure:
    """Share of cases at or above each threshold from 50 to 90, one step line a system; floors in grey, the run's threshold ruled.

    With more systems than colours the best at the run's threshold are coloured and the others are grey.
    """
    with paper_style():
        figure = new_figure(DOUBLE, 3.1)
        axes: Any = figure.subplots()
        axes.axvline(scores.policy.threshold, color=INK, linewidth=0.7, linestyle=(0, (4, 3)), zorder=1)
        provisional = provisional_systems(scores, judge)
        labels = {row.name: row.label for row in figure_rows(facts, width=26, provisional=provisional)}
        lines = _lines(scores, judge)
        floors = {system.name for system in facts.floors}
        lifted = _lifted(scores, judge, [name for name in lines if name not in floors])
        for name, (thresholds, rates) in lines.items():
            place = lifted.index(name) if name in lifted else None
            colour = QUIET if place is None else LIFTED[place]
            label = labels[name] if place is not None else None
            axes.step(
                thresholds, rates, where="mid", color=colour, linewidth=1.6 if place is not None else 0.8, label=label, zorder=2
            )
            if place is not None:
                marked = [index for index, at in enumerate(thresholds) if at in SHOWN_AT]
                axes.plot(
                    [thresholds[i] for i in marked],
                    [rates[i] for i in marked],
                    MARKERS[place],
                    color=colour,
                    markersize=4.5,
                    clip_on=False,
                )
        if len(lifted) < len(lines):
            axes.plot(
                [], [], color=QUIET, linewidth=0.8, label="floors" if set(lines) - set(lifted) <= floors else "others and floors"
            )
        axes.set_xlim(50, 90)
        axes.set_ylim(-2, 102)
        said = signs(facts, provisional)
        label = f"threshold (dashed: {scores.policy.threshold:g}, as declared); weights {scores.weights.name}"
        axes.set_xlabel(label + (f"\n{said}" if said else ""))
        axes.set_ylabel("cases at or above, %")
        axes.grid(color=FAINT, linewidth=0.6)
        axes.set_axisbelow(True)
        figure.legend(loc="outside right upper")
    return figure


def threshold_curve_alt(scores: Scores, facts: RunFacts, judge: str) -> str:
    """The curves in words, at five thresholds."""
    parts = []
    for name, (thresholds, rates) in _lines(scores, judge).items():
        known = dict(zip(thresholds, rates, strict=True))
        parts.append(f"{name} " + ", ".join(f"{known[at]:.0f} % at {at}" for at in SHOWN_AT))
    return f"Share of cases at or above each threshold by judge {judge} on {facts.release}: {'; '.join(parts)}."


def _lines(scores: Scores, judge: str) -> dict[str, tuple[list[int], list[float]]]:
    """Thresholds and rates in per cent by system, in the order of the run; systems without a scored case have no line."""
    mine = scores.curve[(scores.curve["judge"] == judge) & scores.curve["pass_rate"].notna()]
    return {
        str(name): ([int(at) for at in rows["threshold"]], [100 * float(rate) for rate in rows["pass_rate"]])
        for name, rows in mine.groupby("system", sort=False)
    }


def _lifted(scores: Scores, judge: str, names: list[str]) -> list[str]:
    rates = scores.pass_rates[scores.pass_rates["judge"] == judge].set_index("system")["pass_rate"]
    best = sorted(names, key=lambda name: -float(rates[name]))[:MOST]
    return [name for name in names if name in best]
