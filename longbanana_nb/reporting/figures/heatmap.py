"""The main figure: systems by category as a heatmap with a gap between suites, every number printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from longbanana_nb.reporting.facts import RunFacts, ScoreFrames
from longbanana_nb.reporting.figures.rows import FigureRow, figure_rows, label_rows, provisional_systems, scores_of, signs, span
from longbanana_nb.reporting.style import DOUBLE, INK, line_count, new_figure, paper_style
from longbanana_nb.taxonomy import CATEGORIES, SUITES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLOCKS: tuple[tuple[str, tuple[str, ...]], ...] = (
    *((suite, tuple(codes)) for suite, codes in SUITES.items()),
    ("", ("Overall",)),
)


def category_heatmap(scores: ScoreFrames, facts: RunFacts, judge: str) -> Figure:
    """Scores of systems and floors by category and overall, 0 to 100; the best system of each column is outlined.

    Best is compared as printed; ties share the outline; floors and provisional numbers do not compete. A category without a
    score shows `no data`, one that is provisional a star.
    """
    with paper_style():
        provisional = provisional_systems(scores, judge)
        rows = figure_rows(facts, provisional=provisional)
        step = 0.145 * max(line_count(row.label for row in rows), 1) + 0.13
        figure = new_figure(DOUBLE, 1.05 + step * span(rows))
        grid = figure.add_gridspec(1, len(BLOCKS), width_ratios=[len(codes) for _, codes in BLOCKS])
        cells = _cells(scores, judge)
        panels = [figure.add_subplot(grid[0, place]) for place in range(len(BLOCKS))]
        for place, (axes, (suite, codes)) in enumerate(zip(panels, BLOCKS, strict=True)):
            _block(axes, rows, codes, cells)
            axes.set_title(suite, loc="center")
            if place == 0:
                label_rows(axes, rows)
            else:
                axes.set_yticks([])
                axes.set_ylim(panels[0].get_ylim())
        bar = figure.colorbar(panels[0].collections[0], ax=panels, location="bottom", shrink=0.4, aspect=45, pad=0.03)
        bar.outline.set_visible(False)
        bar.set_label("  ".join(filter(None, ("Score (0 to 100)   □ best in column", signs(facts, provisional)))))
    return figure


def category_heatmap_alt(scores: ScoreFrames, facts: RunFacts, judge: str) -> str:
    """The heatmap in words: its shape, the best system of each category, and what has no data."""
    cells = _cells(scores, judge)
    best = [
        f"{code} {' and '.join(names)} ({_text(cells, names[0], code)})"
        for code in CATEGORIES
        if (names := _best(facts, cells, code))
    ]
    gone = [code for code in CATEGORIES if not any((system.name, code) in cells for system in facts.systems)]
    text = (
        f"Heatmap of {len(facts.competitors)} systems and {len(facts.floors)} floors by nine categories in three suites, "
        f"scores 0 to 100 by judge {judge} on {facts.release}."
    )
    text += f" Best in column: {', '.join(best)}." if best else ""
    return text + (f" No data: {', '.join(gone)}." if gone else "")


def _cells(scores: ScoreFrames, judge: str) -> dict[tuple[str, str], Any]:
    overall = {(name, "Overall"): row for (name, _), row in scores_of(scores, judge, "overall").items()}
    return scores_of(scores, judge, "category") | overall


def _text(cells: dict[tuple[str, str], Any], name: str, code: str) -> str:
    return f"{float(cells[name, code].score):.1f}".replace("-0.0", "0.0")


def _best(facts: RunFacts, cells: dict[tuple[str, str], Any], code: str) -> list[str]:
    names = [s.name for s in facts.competitors if (s.name, code) in cells and not cells[s.name, code].provisional]
    if len(names) < 2:
        return []
    top = max(float(_text(cells, name, code)) for name in names)
    return [name for name in names if float(_text(cells, name, code)) == top]


def _block(axes: Axes, rows: tuple[FigureRow, ...], codes: tuple[str, ...], cells: dict[tuple[str, str], Any]) -> None:
    """Draw one suite: coloured cells with their numbers."""
    import matplotlib as mpl
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    known = [(row, x, cells[row.name, code]) for row in rows for x, code in enumerate(codes) if (row.name, code) in cells]
    tiles = PatchCollection(
        [Rectangle((x - 0.5, row.y - 0.5), 1, 1) for row, x, _ in known], cmap="cividis", edgecolor="white", linewidth=0.8
    )
    tiles.set_array([float(cell.score) for _, _, cell in known])
    tiles.set_clim(0, 100)
    axes.add_collection(tiles)
    colours = mpl.colormaps["cividis"]
    for row, x, cell in known:
        red, green, blue, _ = colours(float(cell.score) / 100)
        ink = "white" if 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.45 else INK
        axes.text(x, row.y, f"{cell.score:.1f}{'*' if cell.provisional else ''}", ha="center", va="center", color=ink, fontsize=8)
    for row in rows:
        for x, code in enumerate(codes):
            if (row.name, code) not in cells:
                axes.add_patch(
                    Rectangle((x - 0.5, row.y - 0.5), 1, 1, facecolor="#f2f2f2", edgecolor="white", hatch="////", linewidth=0.8)
                )
                axes.text(x, row.y, "no data", ha="center", va="center", fontsize=6.5, color="#444444",
                          bbox={"facecolor": "#f2f2f2", "edgecolor": "none", "pad": 0.8})  # fmt: skip
    _outline(axes, rows, codes, cells)
    axes.set_xlim(-0.52, len(codes) - 0.48)
    axes.set_xticks(range(len(codes)), codes)
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    for edge in axes.spines.values():
        edge.set_visible(False)


def _outline(axes: Axes, rows: tuple[FigureRow, ...], codes: tuple[str, ...], cells: dict[tuple[str, str], Any]) -> None:
    from matplotlib.patches import Rectangle

    for x, code in enumerate(codes):
        fit = [row for row in rows if not row.is_floor and (row.name, code) in cells and not cells[row.name, code].provisional]
        top = max((float(_text(cells, row.name, code)) for row in fit), default=None)
        for row in fit if len(fit) > 1 else []:
            if float(_text(cells, row.name, code)) == top:
                axes.add_patch(
                    Rectangle((x - 0.44, row.y - 0.42), 0.88, 0.84, fill=False, edgecolor="#D55E00", linewidth=1.6, zorder=5)
                )
