"""How much is the image model, how much the harness: dumbbells over systems that differ in one of the two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from longbanana_nb.reporting.facts import RunFacts, ScoreFrames, SystemFacts
from longbanana_nb.reporting.figures.rows import scores_of
from longbanana_nb.reporting.style import (
    DOUBLE,
    FAINT,
    LIFTED,
    MARKERS,
    line_count,
    new_figure,
    paper_style,
    plain_labels,
    score_axis,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

Lines = dict[str, list[tuple[str, float]]]  # what is the same -> (what differs, score)


def backend_harness(scores: ScoreFrames, facts: RunFacts, judge: str) -> Figure:
    """Left: the same harness with different backends. Right: the same backend under different harnesses.

    A harness counts with its workflow and agent model. Each line joins overall scores of systems that differ only in what the
    panel is about (and in limits); where no two systems do, the panel says so.
    """
    with paper_style():
        parts = (
            ("Backends under the same harness", _lines(scores, facts, judge, by_backend=True)),
            ("Harnesses with the same backend", _lines(scores, facts, judge, by_backend=False)),
        )
        rows = max(1, *(len(lines) for _, lines in parts))
        named = ({kind for line in lines.values() for kind, _ in line} for _, lines in parts)
        kinds = max(1, *(sum(line_count([wrapped(kind, 30)]) for kind in each) for each in named))
        tall = line_count(wrapped(name, 16) for _, lines in parts for name in lines)
        figure = new_figure(DOUBLE, 0.95 + (0.18 + 0.14 * tall) * rows + 0.17 * kinds)
        halves: Any = figure.subfigures(1, 2, wspace=0.04)
        for part, (title, lines) in zip(halves, parts, strict=True):
            part.suptitle(title, fontweight="bold", fontsize=8.5)
            _dumbbells(part, lines)
    return figure


def backend_harness_alt(scores: ScoreFrames, facts: RunFacts, judge: str) -> str:
    """The dumbbells in words: every compared pair or group with its scores."""
    texts = []
    for by_backend, title in ((True, "Same harness, different backends"), (False, "Same backend, different harnesses")):
        lines = _lines(scores, facts, judge, by_backend=by_backend)
        each = [f"{name}: {', '.join(f'{kind} {score:.1f}' for kind, score in line)}" for name, line in lines.items()]
        texts.append(f"{title}: {'; '.join(each) or 'nothing to compare'}.")
    return f"Overall scores by judge {judge} on {facts.release}. {' '.join(texts)}"


def _lines(scores: ScoreFrames, facts: RunFacts, judge: str, *, by_backend: bool) -> Lines:
    found = scores_of(scores, judge, "overall")
    lines: Lines = {}
    for system in facts.competitors:
        if system.backend is None or (system.name, "overall") not in found:
            continue
        same, kind = (_way(system), system.backend) if by_backend else (system.backend, _way(system))
        lines.setdefault(same, []).append((kind, float(found[system.name, "overall"].score)))
    return {same: line for same, line in lines.items() if len({kind for kind, _ in line}) > 1}


def _way(system: SystemFacts) -> str:
    return ", ".join(part for part in (system.harness, system.workflow, system.agent_model) if part)


def _dumbbells(part: SubFigure, lines: Lines) -> None:
    axes = part.subplots()
    kinds = list(dict.fromkeys(kind for line in lines.values() for kind, _ in line))
    labels = plain_labels([*lines, *kinds])
    for y, line in enumerate(lines.values()):
        scores = [score for _, score in line]
        axes.plot([min(scores), max(scores)], [y, y], color=FAINT, linewidth=3, zorder=1, solid_capstyle="round")
        for kind, score in line:
            place = kinds.index(kind)
            axes.plot(
                score,
                y,
                marker=MARKERS[place % len(MARKERS)],
                color=LIFTED[place % len(LIFTED)],
                markersize=6,
                linestyle="none",
                zorder=2,
            )
    for place, kind in enumerate(kinds):
        axes.plot(
            [],
            [],
            marker=MARKERS[place % len(MARKERS)],
            color=LIFTED[place % len(LIFTED)],
            markersize=6,
            linestyle="none",
            label=wrapped(labels[kind], 30),
        )
    axes.set_yticks(range(len(lines)), [wrapped(labels[same], 16) for same in lines], linespacing=0.95)
    axes.set_ylim(max(len(lines), 1) - 0.4, -0.6)
    axes.set_xlim(0, 100)
    score_axis(axes, "Overall score (0 to 100)")
    if lines:
        part.legend(loc="outside lower center", ncols=1)
        return
    axes.set_axis_off()
    axes.text(50, 0, "nothing to compare:\nno two systems differ in this alone", ha="center", va="center", color="#444444")
