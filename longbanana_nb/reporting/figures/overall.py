"""Overall scores as dots with intervals: systems, floors in grey, and the truth as open diamonds where it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longbanana_nb.reporting.facts import RunFacts, ScoreFrames
from longbanana_nb.reporting.figures.rows import figure_rows, label_rows, provisional_systems, scores_of, signs, span
from longbanana_nb.reporting.numbers import is_missing
from longbanana_nb.reporting.style import DOUBLE, LIFTED, QUIET, SINGLE, line_count, new_figure, paper_style, score_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def overall_dots(scores: ScoreFrames, facts: RunFacts, judge: str, *, single: bool = False) -> Figure:
    """Overall score of every system and floor with its interval over cases.

    A provisional score also shows its bounds (what is missing as 0 and as 2) as a pale bar. `single` fits one column.
    """
    with paper_style():
        provisional = provisional_systems(scores, judge)
        rows = figure_rows(facts, width=18 if single else 30, provisional=provisional)
        step = 0.13 * max(line_count(row.label for row in rows), 1) + 0.1
        figure = new_figure(SINGLE if single else DOUBLE, 0.95 + step * span(rows))
        axes = figure.add_subplot()
        found = scores_of(scores, judge, "overall")
        truth = facts.truth if facts.truth and facts.truth.name != judge else None
        truths = scores_of(scores, truth.name, "overall") if truth else {}
        for row in rows:
            colour = QUIET if row.is_floor else LIFTED[0]
            score = found.get((row.name, "overall"))
            if score is None:
                axes.text(1, row.y, "no data", va="center", fontsize=7, color="#444444")
                continue
            if score.provisional and not is_missing(score.score_low):
                axes.plot(
                    [score.score_low, score.score_high],
                    [row.y, row.y],
                    color=colour,
                    alpha=0.25,
                    linewidth=5,
                    solid_capstyle="butt",
                )
            if not is_missing(score.ci_low):
                axes.plot([score.ci_low, score.ci_high], [row.y, row.y], color=colour, linewidth=1.4, solid_capstyle="butt")
            axes.plot(score.score, row.y, marker="s" if row.is_floor else "o", color=colour, markersize=5, linestyle="none")
            if (row.name, "overall") in truths:
                axes.plot(truths[row.name, "overall"].score, row.y, marker="D", markerfacecolor="none", markeredgecolor=LIFTED[1],
                          markersize=7, markeredgewidth=1.1, linestyle="none")  # fmt: skip
        label_rows(axes, rows)
        axes.set_xlim(0, 100)
        caption = signs(facts, provisional)
        score_axis(axes, "Overall score (0 to 100)" + (f"\n{caption}" if caption else ""))
        _legend(figure, axes, facts, has_truth=truth is not None, single=single)
    return figure


def overall_dots_alt(scores: ScoreFrames, facts: RunFacts, judge: str) -> str:
    """The dot plot in words: every score with its interval."""
    found, parts = scores_of(scores, judge, "overall"), []
    for system in facts.systems:
        score = found.get((system.name, "overall"))
        if score is None:
            parts.append(f"{system.name} no data")
            continue
        interval = "" if is_missing(score.ci_low) else f" [{score.ci_low:.1f}, {score.ci_high:.1f}]"
        parts.append(f"{system.name} {score.score:.1f}{interval}{' provisional' if score.provisional else ''}")
    return f"Overall scores by judge {judge} on {facts.release}, with {100 * facts.level:g} % intervals: {'; '.join(parts)}."


def _legend(figure: Figure, axes: Axes, facts: RunFacts, *, has_truth: bool, single: bool) -> None:
    from matplotlib.lines import Line2D

    interval = f"{100 * facts.level:g} % interval over cases"
    handles = [Line2D([], [], marker="o", color=LIFTED[0], markersize=5, linewidth=1.4, label=f"system, {interval}")]
    handles += [Line2D([], [], marker="s", color=QUIET, markersize=5, linewidth=1.4, label="floor")] if facts.floors else []
    if has_truth:
        handles.append(
            Line2D(
                [],
                [],
                marker="D",
                markerfacecolor="none",
                markeredgecolor=LIFTED[1],
                markersize=7,
                linestyle="none",
                label="truth",
            )
        )
    figure.legend(handles=handles, loc="outside upper center", ncols=1 if single else 3, handletextpad=0.5, columnspacing=1.6)
