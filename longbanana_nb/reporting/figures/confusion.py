"""Labels against labels as 3 x 3 tables: people and judge, rater and rater."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from longbanana_nb.reporting.style import DOUBLE, new_figure, paper_style
from longbanana_nb.taxonomy import LABEL_NAMES

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure


def confusion_panels(tables: Mapping[str, tuple[str, str, np.ndarray]]) -> Figure:
    """One square a table: shading is the share of its row, numbers are counts.

    Args:
        tables: by title: what rows are, what columns are, and the counts (3 x 3).
    """
    import numpy as np
    import seaborn as sns

    with paper_style():
        figure = new_figure(DOUBLE * max(len(tables), 2) / 3, DOUBLE / 3 + 0.25)
        panels: Any = figure.subplots(1, len(tables), squeeze=False)[0]
        for axes, (title, (rows, columns, counts)) in zip(panels, tables.items(), strict=True):
            shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
            names = list(LABEL_NAMES.values())
            sns.heatmap(shares, annot=counts, fmt="d", cmap="cividis", vmin=0, vmax=1, cbar=False, square=True, ax=axes,
                        linewidths=0.8, linecolor="white", xticklabels=names, yticklabels=names)  # fmt: skip
            axes.set(xlabel=columns, ylabel=rows)
            axes.set_title(title, fontsize=8)
            axes.tick_params(length=0, labelsize=7)
    return figure


def confusion_panels_alt(tables: Mapping[str, tuple[str, str, np.ndarray]]) -> str:
    """The panels in words."""
    said = [
        f"{title}: {int(counts.trace())} of {int(counts.sum())} labels are equal, {int(counts[0, 2] + counts[2, 0])} opposite"
        for title, (_, _, counts) in tables.items()
    ]
    return f"Tables of labels, Fail, Uncertain and Pass against each other. {'; '.join(said)}."
