"""Which colours a picture's backdrop has, with the things on it left out."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from longbanana_nb.vision import colour
from longbanana_nb.vision.arrays import Pixels
from longbanana_nb.vision.layout import Box

VERSION = "palette-1"
SIDE = 128


def backdrop_shares(pixels: Pixels, things: Sequence[Box], window: Box | None = None) -> dict[str, float]:
    """Share of each colour name among the pixels of the backdrop.

    Args:
        things: boxes (in pixels of the picture) of what stands on the backdrop.
        window: the part to look at (fractions); None takes all.

    Returns:
        Shares that sum to 1; empty where the things leave less than 2 % of the window.
    """
    h, w = pixels.shape[:2]
    scale = SIDE / max(h, w)
    small = cv2.resize(pixels, (max(1, round(w * scale)), max(1, round(h * scale))), interpolation=cv2.INTER_AREA)
    free = np.ones(small.shape[:2], dtype=bool)
    for box in things:
        x0, y0, x1, y1 = (value * scale for value in box)
        free[max(0, int(y0) - 2) : int(y1) + 3, max(0, int(x0) - 2) : int(x1) + 3] = False
    inside = np.ones_like(free)
    if window is not None:
        inside[:] = False
        rows, columns = small.shape[:2]
        inside[int(window[1] * rows) : round(window[3] * rows), int(window[0] * columns) : round(window[2] * columns)] = True
    chosen = free & inside
    if chosen.sum() < 0.02 * max(1, int(inside.sum())):
        return {}
    return colour.shares(small, chosen)
