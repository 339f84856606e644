"""Colour differences after CIEDE2000 and the twelve colour names, from pixels under a mask."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from longbanana_nb.vision.arrays import Mask, Pixels

VERSION = "colour-2"

Floats = npt.NDArray[np.floating[Any]]

HUES = ("red", "orange", "yellow", "green", "teal", "blue", "purple", "pink")
GREYS = ("white", "grey", "black")
NAMES = (*HUES, *GREYS, "brown")
CHROMA_MIN = 18.0


def to_lab(pixels: Pixels) -> Floats:
    """CIE L*a*b* (D65) of sRGB pixels of any shape (..., 3), uint8."""
    import cv2

    flat = np.ascontiguousarray(pixels.reshape(1, -1, 3)).astype(np.float32) / 255
    lab: npt.NDArray[Any] = np.asarray(cv2.cvtColor(flat, cv2.COLOR_RGB2Lab))
    return lab.reshape(pixels.shape)


def ciede2000(lab1: Floats, lab2: Floats) -> Floats:
    """CIEDE2000 colour difference of two arrays (..., 3) that broadcast.

    Source: Sharma, Wu, Dalal, "The CIEDE2000 Color-Difference Formula", 2005 (kL = kC = kH = 1).
    """
    first, second = np.asarray(lab1, dtype=np.float64), np.asarray(lab2, dtype=np.float64)
    l1, a1, b1 = np.moveaxis(first, -1, 0)
    l2, a2, b2 = np.moveaxis(second, -1, 0)
    mean_c7 = ((np.hypot(a1, b1) + np.hypot(a2, b2)) / 2) ** 7
    g = 0.5 * (1 - np.sqrt(mean_c7 / (mean_c7 + 25.0**7)))
    c1, c2 = np.hypot((1 + g) * a1, b1), np.hypot((1 + g) * a2, b2)
    h1, h2 = np.arctan2(b1, (1 + g) * a1) % (2 * np.pi), np.arctan2(b2, (1 + g) * a2) % (2 * np.pi)
    grey = c1 * c2 == 0
    dh = (h2 - h1 + np.pi) % (2 * np.pi) - np.pi
    dh = np.where(grey, 0.0, dh)
    mean_h = np.where(grey, h1 + h2, (h1 + dh / 2) % (2 * np.pi))
    return _weighted(l1, l2, c1, c2, dh, mean_h)


def _weighted(l1: Floats, l2: Floats, c1: Floats, c2: Floats, dh: Floats, mean_h: Floats) -> Floats:
    dl, dc, d_big_h = l2 - l1, c2 - c1, 2 * np.sqrt(c1 * c2) * np.sin(dh / 2)
    mean_l, mean_c = (l1 + l2) / 2, (c1 + c2) / 2
    t = (
        1
        - 0.17 * np.cos(mean_h - np.radians(30))
        + 0.24 * np.cos(2 * mean_h)
        + 0.32 * np.cos(3 * mean_h + np.radians(6))
        - 0.20 * np.cos(4 * mean_h - np.radians(63))
    )
    sl = 1 + 0.015 * (mean_l - 50) ** 2 / np.sqrt(20 + (mean_l - 50) ** 2)
    sc, sh = 1 + 0.045 * mean_c, 1 + 0.015 * mean_c * t
    turn = np.radians(30) * np.exp(-(((np.degrees(mean_h) - 275) / 25) ** 2))
    rt = -2 * np.sqrt(mean_c**7 / (mean_c**7 + 25.0**7)) * np.sin(2 * turn)
    result: Floats = np.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (d_big_h / sh) ** 2 + rt * (dc / sc) * (d_big_h / sh))
    return result


HUE_ANCHORS: dict[str, tuple[float, float, float]] = {
    "red": (46.0, 66.0, 33.0),
    "orange": (66.0, 71.0, 64.0),
    "yellow": (85.0, 77.0, 86.0),
    "green": (59.0, 56.0, 139.0),
    "teal": (59.0, 34.0, 200.0),
    "blue": (45.0, 64.0, 287.0),
    "purple": (38.0, 68.0, 311.0),
    "pink": (66.0, 54.0, 350.0),
}
"""Lightness, chroma and hue (degrees, CIE LCh of L*a*b*) of a typical surface of each hue name."""


def lch(lab: Floats) -> tuple[Floats, Floats, Floats]:
    """Lightness, chroma and hue in degrees (0 to 360) of L*a*b* values over the last axis."""
    return lab[..., 0], np.hypot(lab[..., 1], lab[..., 2]), np.degrees(np.arctan2(lab[..., 2], lab[..., 1])) % 360


_ROUND = sorted(range(len(HUES)), key=lambda n: HUE_ANCHORS[HUES[n]][2])
_TURNS = np.array([HUE_ANCHORS[HUES[n]][2] for n in _ROUND])
_BETWEEN = (np.append(_TURNS[-1] - 360, _TURNS[:-1]) + _TURNS) / 2  # hues half-way to each anchor from the one before
_NEAREST = np.array([_ROUND[-1], *_ROUND])


def name_of(lab: Floats) -> npt.NDArray[np.int64]:
    """Index into NAMES of each L*a*b* colour (..., 3): the greys by chroma, brown as dark orange, else the nearest hue."""
    lightness, chroma, hue = lch(lab)
    names = _NEAREST[np.searchsorted(_BETWEEN, hue)]
    red = names == HUES.index("red")
    pinkish = red & (lightness > 62) & (hue < 25)
    names = np.where(pinkish, HUES.index("pink"), names)
    brown = (hue > 35) & (hue < 85) & (lightness < 50) & (chroma < 50)
    names = np.where(brown, NAMES.index("brown"), names)
    grey = np.where(lightness > 80, NAMES.index("white"), np.where(lightness < 28, NAMES.index("black"), NAMES.index("grey")))
    return np.where(chroma < CHROMA_MIN * np.clip(lightness / 50, 0.5, 1.0), grey, names)


def shares(pixels: Pixels, mask: Mask | None = None) -> dict[str, float]:
    """Share of each of NAMES among the masked pixels (sums to 1; empty where there are none)."""
    chosen = pixels.reshape(-1, 3) if mask is None else pixels[mask]
    if len(chosen) == 0:
        return {}
    counts = np.bincount(name_of(to_lab(chosen)).ravel(), minlength=len(NAMES))
    return {name: float(count) / len(chosen) for name, count in zip(NAMES, counts, strict=True) if count}
