"""How figures look: sizes, fonts, colours that colour-blind readers tell apart, and labels that never overlap or lack glyphs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SINGLE, DOUBLE = 3.25, 6.75  # inches: one column and the full width of a two-column page
# Okabe and Ito's palette, without the yellow that white paper swallows.
LIFTED = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
MARKERS = ("o", "s", "^", "D", "v", "P")
INK, QUIET, FAINT = "#1a1a1a", "#7f7f7f", "#d9d9d9"
FAIL, UNCERTAIN, PASS = "#D55E00", "#999999", "#0072B2"

STYLE: dict[str, Any] = {
    "font.family": ["DejaVu Sans"], "font.size": 8, "axes.titlesize": 8.5, "axes.labelsize": 8, "xtick.labelsize": 8,
    "ytick.labelsize": 8, "legend.fontsize": 8, "figure.titlesize": 9, "text.parse_math": False, "axes.unicode_minus": True,
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.6, "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "axes.titleweight": "bold", "axes.titlelocation": "left", "legend.frameon": False, "figure.facecolor": "white",
    "savefig.facecolor": "white", "pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "longbanana",
    "figure.dpi": 150, "lines.linewidth": 1.0, "axes.grid": False, "image.cmap": "cividis",
}  # fmt: skip


@contextmanager
def paper_style() -> Iterator[None]:
    """Matplotlib's defaults replaced by the paper's style, whatever the user's own settings are."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)  # type: ignore[arg-type]
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of that size in inches, laid out so that nothing overlaps; no state of pyplot is touched."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def plain_labels(names: Iterable[str]) -> dict[str, str]:
    """Each name as the figure's font can show it.

    A character that the font lacks becomes a hollow square; names that would then read the same get a number, so that no two
    rows share a label. Control characters and line breaks become spaces.
    """
    labels: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(names):
        label = "".join(_glyph(letter) for letter in name)
        number = 2
        unique = label
        while unique in taken:
            unique, number = f"{label} ({number})", number + 1
        taken.add(unique)
        labels[name] = unique
    return labels


def wrapped(label: str, width: int = 24) -> str:
    """A long label on several lines, broken after `-`, `_`, `.`, `+` or a space, else where it must be."""
    lines, line = [], ""
    for part in re.findall(r"[^-_.+ ]*[-_.+ ]?", label):
        for piece in [part[start : start + width] for start in range(0, len(part), width)]:
            if line and len(line) + len(piece.rstrip()) > width:
                lines.append(line.rstrip())
                line = ""
            line += piece
    return "\n".join([*lines, line.rstrip()])


def line_count(labels: Iterable[str]) -> int:
    """The most lines that one of the labels has."""
    return max((label.count("\n") + 1 for label in labels), default=1)


def score_axis(axes: Axes, label: str = "Score (0 to 100)") -> None:
    """An x axis for scores, with quiet vertical lines."""
    axes.set_xlabel(label)
    axes.xaxis.grid(visible=True, color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


@cache
def _known_glyphs() -> frozenset[int]:
    from matplotlib import font_manager

    return frozenset(font_manager.get_font(font_manager.findfont("DejaVu Sans")).get_charmap())


def _glyph(letter: str) -> str:
    if ord(letter) < 32 or letter in "\u2028\u2029":
        return " "
    return letter if ord(letter) in _known_glyphs() else "\u25a1"
