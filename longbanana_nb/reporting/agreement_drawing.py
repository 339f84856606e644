"""The figure of a run's labels: judge beside people, and rater beside rater."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longbanana_nb.reporting.agreement_tables import beside_people, pairs_twice
from longbanana_nb.reporting.gallery import Drawing
from longbanana_nb.reporting.run_labels import labels_of_run
from longbanana_nb.scoring.agreement import agreement

if TYPE_CHECKING:
    import numpy as np

    from longbanana_nb.runs import Run

CAPTION = "Labels against labels: rows add up to the shading, numbers are counts. Opposite answers stand in the corners."


def agreement_drawing(run: Run, *, keep: bool = False) -> Drawing | None:
    """The confusion tables of a run's labels as one figure; None where no unit has a label and a valid verdict.

    Args:
        keep: also write it to `figures/` as PDF, SVG and PNG.
    """
    from longbanana_nb.reporting.figures.confusion import confusion_panels, confusion_panels_alt
    from longbanana_nb.reporting.figures.saving import save_figure

    tables = _tables(run)
    if not tables:
        return None
    figure, alt = confusion_panels(tables), confusion_panels_alt(tables)
    if keep:
        save_figure(figure, run.path / "figures", "agreement", alt=alt)
    return Drawing.of(figure, "agreement", alt, CAPTION)


def _tables(run: Run) -> dict[str, tuple[str, str, np.ndarray]]:
    if labels_of_run(run).empty:
        return {}
    beside, (twice, _) = beside_people(run), pairs_twice(run)
    found = {}
    if len(beside.matched.pairs):
        counts = agreement(beside.matched.pairs).confusion
        found[f"Judge and {beside.said}"] = (beside.said, f"judge {beside.judge}", counts)
    if len(twice):
        found[f"Two {'simulated raters' if beside.said != 'people' else 'raters'}"] = (
            "label of round 1", "label of round 2", agreement(twice).confusion,
        )  # fmt: skip
    return found
