"""What each workflow adds: scores of judge and truth joined by a line, and the difference to minimal with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from longbanana_nb.reporting.ablation import Comparison, Line, comparisons, difference
from longbanana_nb.reporting.facts import RunFacts
from longbanana_nb.reporting.figures.rows import scores_of, signs
from longbanana_nb.reporting.style import (
    DOUBLE,
    FAINT,
    INK,
    LIFTED,
    MARKERS,
    new_figure,
    paper_style,
    plain_labels,
    score_axis,
    wrapped,
)
from longbanana_nb.reporting.table import FLAGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from longbanana_nb.scoring import Scores

APART = 0.17  # of a row, between the two judges' marks


def ablation_dots(scores: Scores, facts: RunFacts, judge: str) -> Figure:
    """Left: overall scores by workflow, the judge's and, where there is one, the truth's. Right: what is gained over minimal.

    One block of rows a harness and image model. Whiskers are intervals over cases, paired on the right.
    """
    found, judges = comparisons(facts), _judges(facts, judge)
    rows = [(of, line) for of in found for line in of.lines]
    with paper_style():
        figure = new_figure(DOUBLE, 1.1 + 0.3 * max(1, len(rows)) + 0.12 * len(found))
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.15, 1))
        for place, name in enumerate(judges):
            shift = APART * (place - (len(judges) - 1) / 2)
            _scores(left, scores, name, rows, shift, place)
            _gains(right, scores, name, rows, shift, place)
        labels = plain_labels(_marked(line) for _, line in rows)
        left.set_yticks(range(len(rows)), [wrapped(labels[_marked(line)], 26) for _, line in rows], linespacing=0.95)
        left.set_ylim(max(len(rows), 1) - 0.4, -0.6)
        right.axvline(0, color=INK, linewidth=0.7, linestyle=(0, (4, 3)), zorder=1)
        said = signs(facts, frozenset())
        score_axis(left, "Overall score (0 to 100)" + (f"\n{said}" if said else ""))
        score_axis(right, "Over minimal, points (paired)")
        for start in _starts(found)[1:]:
            for axes in (left, right):
                axes.axhline(start - 0.5, color=FAINT, linewidth=0.8)
        handles, names = left.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=2)
    return figure


def ablation_dots_alt(scores: Scores, facts: RunFacts, judge: str) -> str:
    """The figure in words."""
    parts = []
    for of in comparisons(facts):
        for name in _judges(facts, judge):
            known = scores_of(scores, name, "overall")
            told = []
            for line in of.lines:
                if (row := known.get((line.system.name, "overall"))) is None:
                    continue
                gain = None if line.is_base else difference(scores, name, line.system.name, of.base)
                told.append(f"{line.label} {row.score:.1f}" + ("" if gain is None else f" ({gain.points:+.1f})"))
            parts.append(f"{of.title}, by {name}: {', '.join(told) or 'nothing scored'}")
    return f"Overall scores by workflow, and the difference to minimal, on {facts.release}. {'; '.join(parts)}."


def _marked(line: Line) -> str:
    return line.label + "".join(FLAGS[flag][0] for flag in line.system.flags)


def _judges(facts: RunFacts, judge: str) -> list[str]:
    return [judge, *([facts.truth.name] if facts.truth is not None and facts.truth.name != judge else [])]


def _starts(found: list[Comparison]) -> list[int]:
    starts = [0]
    for one in found[:-1]:
        starts.append(starts[-1] + len(one.lines))
    return starts


def _scores(axes: Any, scores: Scores, judge: str, rows: list[tuple[Comparison, Line]], shift: float, place: int) -> None:
    known = scores_of(scores, judge, "overall")
    for y, (_, line) in enumerate(rows):
        if (row := known.get((line.system.name, "overall"))) is not None:
            _mark(axes, (row.ci_low, float(row.score), row.ci_high), y + shift, place)
    axes.plot([], [], MARKERS[place], color=LIFTED[place], markersize=5, label=f"judge {judge}")


def _gains(axes: Any, scores: Scores, judge: str, rows: list[tuple[Comparison, Line]], shift: float, place: int) -> None:
    for y, (of, line) in enumerate(rows):
        gain = None if line.is_base else difference(scores, judge, line.system.name, of.base)
        if gain is not None:
            _mark(axes, (gain.low, gain.points, gain.high), y + shift, place)


def _mark(axes: Any, value: tuple[float | None, float, float | None], y: float, place: int) -> None:
    low, middle, high = value
    if low is not None and high is not None and low == low and high == high:
        axes.plot([low, high], [y, y], color=LIFTED[place], linewidth=1.2, solid_capstyle="round", zorder=2)
    axes.plot(middle, y, MARKERS[place], color=LIFTED[place], markersize=5, zorder=3)
