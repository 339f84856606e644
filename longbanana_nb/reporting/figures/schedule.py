"""The schedule of one case: which references each stage sends, and which units and relations it draws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from longbanana_nb.reporting.style import DOUBLE, FAINT, LIFTED, new_figure, paper_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def schedule_figure(schedule: Mapping[str, Any], title: str) -> Figure:
    """Stages (rows) by references (columns, in the order first sent); beside each stage what it draws.

    Args:
        schedule: the content of a candidate's `schedule.json` (`lb.schedule.v1`); without stages the figure has no rows.
    """
    stages = list(schedule["stages"])
    names = list(dict.fromkeys(name for stage in stages for name in stage["references"]))
    with paper_style():
        figure = new_figure(DOUBLE, 1.1 + 0.42 * max(len(stages), 1))
        axes: Any = figure.subplots()
        axes.set_title(f"{title}: {_quality(schedule)}")
        for row, stage in enumerate(stages):
            sent = [names.index(name) for name in stage["references"]]
            axes.plot(sent, [row] * len(sent), "s", color=LIFTED[row % len(LIFTED)], markersize=9, clip_on=False)
            axes.text(1.02, row, _drawn(stage), transform=axes.get_yaxis_transform(), va="center", fontsize=7)
        axes.set_xticks(range(len(names)), names, rotation=60, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(len(stages)), [f"stage {n}" for n in range(1, len(stages) + 1)])
        axes.set_xlim(-0.6, max(len(names), 1) - 0.4)
        axes.set_ylim(max(len(stages), 1) - 0.5, -0.5)
        axes.grid(color=FAINT, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.tick_params(length=0)
    return figure


def schedule_alt(schedule: Mapping[str, Any], title: str) -> str:
    """The schedule in words."""
    each = [
        f"stage {n} sends {', '.join(stage['references']) or 'no reference'} and draws {_drawn(stage, ', ')}"
        for n, stage in enumerate(schedule["stages"], start=1)
    ]
    return f"Schedule of {title}, {_quality(schedule)}: {'; '.join(each) or 'no stages'}."


def _drawn(stage: Mapping[str, Any], between: str = "\n") -> str:
    units, relations = " ".join(stage["units"]), " ".join(stage["relations"])
    return between.join(part for part in (units, relations) if part) or "the backdrop"


def _quality(schedule: Mapping[str, Any]) -> str:
    return "proved best" if schedule["gap"] == 0 else f"{schedule['status']}, gap {100 * schedule['gap']:.1f} %"
