"""Figures as files: PDF with embedded fonts, SVG with live text, PNG; the same bytes on every run in one environment."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.files import write_atomic
from longbanana_nb.reporting.style import paper_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("pdf", "svg", "png")


def save_figure(figure: Figure, folder: Path, name: str, *, alt: str = "") -> dict[str, Path]:
    """Write `name`.pdf, .svg and .png into `folder` and return their paths by format.

    `alt` is what the figure shows, in words; it is stored in each file's own description field. No file carries a date.
    """
    fix_layout(figure)
    paths = {}
    for kind in FORMATS:
        paths[kind] = folder / f"{name}.{kind}"
        write_atomic(paths[kind], figure_bytes(figure, kind, alt=alt))
    return paths


def figure_bytes(figure: Figure, kind: str, *, alt: str = "", outlines: bool = False, dpi: int = 300) -> bytes:
    """The figure as `pdf`, `svg` or `png` bytes; `outlines` draws an SVG's letters as shapes, for readers without the font."""
    import matplotlib as mpl

    fix_layout(figure)
    stream = io.BytesIO()
    with paper_style(), mpl.rc_context({"svg.fonttype": "path" if outlines else "none"}):
        figure.savefig(stream, format=kind, dpi=dpi, metadata=_metadata(kind, alt))
    return stream.getvalue()


def fix_layout(figure: Figure) -> None:
    """Lay the figure out once, so that every format shows the same arrangement."""
    if figure.get_layout_engine() is not None:
        with paper_style():
            figure.draw_without_rendering()
            figure.set_layout_engine(None)  # "none" leaves a place holder, for which every format would be drawn twice more
        _round_places(figure)


def _round_places(figure: Figure) -> None:
    """Round what the layout's solver found: its last bits differ from run to run, and SVG names clip boxes by them."""
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure
    from matplotlib.transforms import Bbox

    for part in figure.findobj(SubFigure):
        if isinstance(part, SubFigure):
            part.bbox_relative.set_points(np.round(part.bbox_relative.get_points(), 6))
    for axes in figure.findobj(Axes):
        if isinstance(axes, Axes):
            axes.set_position(Bbox(np.round(axes.get_position(original=True).get_points(), 6)))


def _metadata(kind: str, alt: str) -> dict[str, Any]:
    text = alt or None
    if kind == "pdf":
        return {"CreationDate": None, "ModDate": None, "Producer": None, "Creator": None} | ({"Subject": text} if text else {})
    if kind == "svg":
        return {"Date": None, "Creator": None} | ({"Description": text} if text else {})
    return {"Software": None} | ({"Description": text.encode("ascii", "replace").decode()} if text else {})
