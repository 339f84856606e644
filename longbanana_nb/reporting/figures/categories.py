"""Scores by category as dots: up to four systems lifted in colour and shape, the others grey."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from longbanana_nb.errors import CallError
from longbanana_nb.names import nearest
from longbanana_nb.reporting.facts import RunFacts, ScoreFrames
from longbanana_nb.reporting.figures.rows import scores_of
from longbanana_nb.reporting.numbers import is_missing
from longbanana_nb.reporting.style import DOUBLE, LIFTED, MARKERS, new_figure, paper_style, plain_labels, score_axis, wrapped
from longbanana_nb.taxonomy import CATEGORIES, CATEGORY_NAMES, SUITES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def category_dots(scores: ScoreFrames, facts: RunFacts, judge: str, *, lifted: Sequence[str] | None = None) -> Figure:
    """Every system's score in every category; `lifted` names the systems in colour (at most four; default: the four best).

    Lifted systems carry their intervals over cases. A category without any score shows `no data`.

    Raises:
        CallError: for an unknown system, or more than four.
    """
    chosen = _lifted(scores, facts, judge, lifted)
    with paper_style():
        from matplotlib.lines import Line2D

        found = scores_of(scores, judge, "category")
        figure = new_figure(DOUBLE, 5.2)
        axes = figure.add_subplot()
        places = {code: place + 0.6 * suite for suite, codes in enumerate(SUITES.values()) for place, code in
                  ((CATEGORIES.index(code), code) for code in codes)}  # fmt: skip
        others = [system for system in facts.systems if system.name not in chosen]
        for code, y in places.items():
            if not any((system.name, code) in found for system in facts.systems):
                axes.text(1, y, "no data", va="center", fontsize=7, color="#444444")
            for system in others:
                if (system.name, code) in found:
                    axes.plot(
                        found[system.name, code].score,
                        y,
                        marker="|" if system.is_floor else "o",
                        color="#b5b5b5",
                        markersize=6 if system.is_floor else 4,
                        linestyle="none",
                        zorder=1,
                    )
            for place, name in enumerate(chosen):
                if (name, code) not in found:
                    continue
                row, height = found[name, code], y + 0.17 * (place - (len(chosen) - 1) / 2)
                if not is_missing(row.ci_low):
                    axes.plot(
                        [max(row.ci_low, 0), min(row.ci_high, 100)], [height, height], color=LIFTED[place], linewidth=1, zorder=2
                    )
                axes.plot(row.score, height, marker=MARKERS[place], color=LIFTED[place], markersize=5, linestyle="none", zorder=3,
                          markerfacecolor="white" if row.provisional else LIFTED[place])  # fmt: skip
        axes.set_yticks(
            list(places.values()), [f"{wrapped(CATEGORY_NAMES[code], 30)}  {code}" for code in places], linespacing=0.95
        )
        axes.set_ylim(max(places.values()) + 0.6, -0.6)
        axes.set_xlim(0, 100)
        score_axis(axes, "Category score (0 to 100)")
        labels = plain_labels(chosen)
        handles = [
            Line2D([], [], marker=MARKERS[place], color=LIFTED[place], markersize=5, linewidth=1, label=wrapped(labels[name]))
            for place, name in enumerate(chosen)
        ]
        if any(not system.is_floor for system in others):
            handles.append(Line2D([], [], marker="o", color="#b5b5b5", markersize=4, linestyle="none", label="other systems"))
        if any(system.is_floor for system in others):
            handles.append(Line2D([], [], marker="|", color="#b5b5b5", markersize=6, linestyle="none", label="floors"))
        figure.legend(handles=handles, loc="outside upper center", ncols=3, columnspacing=1.6)
    return figure


def category_dots_alt(scores: ScoreFrames, facts: RunFacts, judge: str, *, lifted: Sequence[str] | None = None) -> str:
    """The dots in words: each lifted system's nine scores."""
    found = scores_of(scores, judge, "category")
    parts = []
    for name in _lifted(scores, facts, judge, lifted):
        each = [f"{code} {found[name, code].score:.1f}" if (name, code) in found else f"{code} no data" for code in CATEGORIES]
        parts.append(f"{name}: {', '.join(each)}")
    return f"Category scores by judge {judge} on {facts.release}. {'; '.join(parts)}."


def _lifted(scores: ScoreFrames, facts: RunFacts, judge: str, lifted: Sequence[str] | None) -> list[str]:
    known = [system.name for system in facts.systems]
    if lifted is None:
        found = scores_of(scores, judge, "overall")
        names = [system.name for system in facts.competitors if (system.name, "overall") in found]
        return sorted(names, key=lambda name: (-float(found[name, "overall"].score), names.index(name)))[:4]
    for name in lifted:
        if name not in known:
            raise CallError(
                f"lifted: found {name!r}; expected a system of this run ({', '.join(known)}). Nearest: {nearest(name, known)}."
            )
    if len(lifted) > 4:
        raise CallError(
            f"lifted: found {len(lifted)} systems; expected at most 4, which colours and shapes can still tell apart."
        )
    return list(lifted)
