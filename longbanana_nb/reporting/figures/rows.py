"""The rows of a figure: which systems, in which order, under which label, with a gap before the floors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longbanana_nb.reporting.facts import RunFacts, ScoreFrames
from longbanana_nb.reporting.numbers import is_missing
from longbanana_nb.reporting.style import plain_labels, wrapped
from longbanana_nb.reporting.table import FLAGS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP = 0.55  # of a row, between systems and floors


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One system's place on the y axis (downwards, from 0) and the label beside it."""

    name: str
    label: str
    y: float
    is_floor: bool


def figure_rows(facts: RunFacts, *, width: int = 27, provisional: frozenset[str] = frozenset()) -> tuple[FigureRow, ...]:
    """Systems, a gap, floors; a star marks provisional ones and a dagger simulated ones."""
    labels = plain_labels(system.name for system in facts.systems)
    rows, y = [], 0.0
    for part in (facts.competitors, facts.floors):
        for system in part:
            flags = (*(["provisional"] if system.name in provisional else []), *system.flags)
            label = labels[system.name] + "".join(FLAGS[flag][0] for flag in flags)
            rows.append(FigureRow(system.name, wrapped(label, width), y, system.is_floor))
            y += 1
        y += GAP if part else 0
    return tuple(rows)


def span(rows: Sequence[FigureRow]) -> float:
    """Height of all rows in row units."""
    return (rows[-1].y + 1) if rows else 1.0


def label_rows(axes: Axes, rows: Sequence[FigureRow]) -> None:
    """Put the labels on the y axis, first row on top."""
    axes.set_yticks([row.y for row in rows], [row.label for row in rows], linespacing=0.95)
    for tick, row in zip(axes.get_yticklabels(), rows, strict=True):
        tick.set_color("#5a5a5a" if row.is_floor else "#1a1a1a")
    axes.set_ylim((rows[-1].y if rows else 0) + 0.6, -0.6)


def scores_of(scores: ScoreFrames, judge: str, scope: str) -> dict[tuple[str, str], Any]:
    """Score rows of one judge and scope by (system, name), those without a score left out."""
    frame = scores.scores
    frame = frame[(frame["judge"] == judge) & (frame["scope"] == scope)].rename(columns={"name": "name_"})
    rows: list[Any] = list(frame.itertuples(index=False))
    return {(row.system, row.name_): row for row in rows if not is_missing(row.score)}


def provisional_systems(scores: ScoreFrames, judge: str) -> frozenset[str]:
    """Systems whose overall score is provisional."""
    return frozenset(name for (name, _), row in scores_of(scores, judge, "overall").items() if row.provisional)


def signs(facts: RunFacts, provisional: frozenset[str]) -> str:
    """What the signs at the labels mean, for the caption; empty if there are none."""
    words = ["* provisional"] if provisional else []
    used = {flag for system in facts.systems for flag in system.flags}
    words += [f"{FLAGS[flag][0]} {FLAGS[flag][1].split(':')[0]}" for flag in FLAGS if flag in used]
    return "   ".join(words)
