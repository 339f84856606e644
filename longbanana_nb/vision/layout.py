"""Relations between two boxes as one number that grows with how well the relation holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

VERSION = "layout-1"

Box = tuple[float, float, float, float]


def width(box: Box) -> float:
    """Width of a box, never negative."""
    return max(0.0, box[2] - box[0])


def height(box: Box) -> float:
    """Height of a box, never negative."""
    return max(0.0, box[3] - box[1])


def area(box: Box) -> float:
    """Area of a box."""
    wide, high = box[2] - box[0], box[3] - box[1]
    return wide * high if wide > 0 and high > 0 else 0.0


def centre(box: Box) -> tuple[float, float]:
    """Centre (x, y) of a box."""
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def shared(a: Box, b: Box) -> float:
    """Area that two boxes share."""
    wide = (a[2] if a[2] < b[2] else b[2]) - (a[0] if a[0] > b[0] else b[0])
    if wide <= 0:
        return 0.0
    high = (a[3] if a[3] < b[3] else b[3]) - (a[1] if a[1] > b[1] else b[1])
    return wide * high if high > 0 else 0.0


def iou(a: Box, b: Box) -> float:
    """Shared area over joint area, 0 to 1 (0 for empty boxes)."""
    both = shared(a, b)
    joint = area(a) + area(b) - both
    return both / joint if joint > 0 else 0.0


def overlaps(box: Box, others: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Of a box and many others (n, 4): intersection over union with each, and the share of the box that lies in each."""
    x0, y0, x1, y1 = others.T
    wide, high = np.minimum(x1, box[2]) - np.maximum(x0, box[0]), np.minimum(y1, box[3]) - np.maximum(y0, box[1])
    joint = np.maximum(wide, 0) * np.maximum(high, 0)
    areas = np.maximum(x1 - x0, 0) * np.maximum(y1 - y0, 0)
    own = area(box)
    return joint / np.maximum(own + areas - joint, 1e-12), joint / max(own, 1e-12)


def share_inside(inner: Box, outer: Box) -> float:
    """Share of `inner` that lies in `outer`, 0 to 1."""
    return shared(inner, outer) / area(inner) if area(inner) > 0 else 0.0


def relation(a: Box, b: Box, is_: str, margin: float = 0.0) -> float:
    """By how much of the picture `a` stands in a relation to `b` beyond `margin`; negative where it does not.

    Directions: distance of the centres along the axis.
    `inside`: 0 where 60 % of `a` lie in `b`, +-0.02 for each 10 % more or less.
    `overlaps`: 0 where 4 % of the smaller box are covered, -0.02 where nothing is.
    `on`: the least of: the centre of `a` is above that of `b`; 0 where the columns share 25 % of the narrower box, +-0.02 for
    each 15 %; 0 where the bottom of `a` is off the top of `b` by 30 % of the height of `a` (+-0.02 for each 10 %); it may
    stand in front of `b` down to the middle of `b`.

    Raises:
        KeyError: for an unknown relation (the probe grammar admits none).
    """
    return RELATIONS[is_](a, b) - margin


def _right(a: Box, b: Box) -> float:
    return centre(a)[0] - centre(b)[0]


def _below(a: Box, b: Box) -> float:
    return centre(a)[1] - centre(b)[1]


def _inside(a: Box, b: Box) -> float:
    return (share_inside(a, b) - 0.6) * 0.2


def _overlaps(a: Box, b: Box) -> float:
    return (shared(a, b) / max(min(area(a), area(b)), 1e-9) - 0.04) * 0.5


def _on(a: Box, b: Box) -> float:
    columns = max(0.0, min(a[2], b[2]) - max(a[0], b[0])) / max(min(width(a), width(b)), 1e-6)
    gap = max(b[1] - a[3], a[3] - centre(b)[1], 0.0) / max(height(a), 1e-6)
    return min(-_below(a, b), (columns - 0.25) / 7.5, (0.3 - gap) * 0.2)


RELATIONS: dict[str, Callable[[Box, Box], float]] = {
    "left_of": lambda a, b: -_right(a, b),
    "right_of": _right,
    "above": lambda a, b: -_below(a, b),
    "below": _below,
    "inside": _inside,
    "overlaps": _overlaps,
    "on": _on,
}


def order(boxes: Sequence[Box], along: str) -> float:
    """The smallest step between neighbouring centres along "x" (left to right) or "y" (top to bottom), of the picture."""
    step = _right if along == "x" else _below
    return min((step(b, a) for a, b in pairwise(boxes)), default=1.0)


def within(box: Box, region: Box) -> float:
    """How much of a box's middle lies in a region: share of its central half (0 to 1)."""
    x, y = centre(box)
    dx, dy = max(width(box), 1e-6) / 4, max(height(box), 1e-6) / 4
    return share_inside((x - dx, y - dy, x + dx, y + dy), region)
