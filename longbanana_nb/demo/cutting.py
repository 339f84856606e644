"""What the sketch does to a cut-out: freeing its edge of the old backdrop, another colour, other letters, melting."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from longbanana_nb.demo.colours import COLOURS, anchor_lch, oklab_of_levels, paint

Bytes = NDArray[Any]  # uint8; OpenCV's annotations do not keep element types
Floats = NDArray[Any]  # float32

PAINT_REACH = 0.42
"""Hues within this angle (radians) of a seen colour are repainted."""


def freed(rgb: Bytes, opacity: Floats, backdrop: Floats) -> Bytes:
    """A cut-out of a crop: where the edge is mixed with the backdrop, the backdrop's part is taken out again.

    Args:
        rgb: the crop, height x width x 3.
        opacity: of the thing, height x width, 0 to 1.
        backdrop: what the backdrop would be there, height x width x 3 (0 to 255).
    """
    inner = np.clip((opacity - 0.30) / 0.62, 0.0, 1.0)
    rgba = np.dstack([rgb, np.rint(inner * 255).astype(np.uint8)])
    rim = np.flatnonzero((inner <= 0.98) & (inner > 0))
    seen = rgb.reshape(-1, 3)[rim].astype(np.float32)
    share = np.maximum(inner.ravel()[rim], 0.25)[:, None]
    pure = np.clip((seen - (1 - share) * backdrop.reshape(-1, 3)[rim]) / share, 0, 255)
    spread = _spread_outwards(rgb, inner).reshape(-1, 3)[rim]
    rgba.reshape(-1, 4)[rim, :3] = np.clip(np.rint(0.35 * pure + 0.65 * spread), 0, 255).astype(np.uint8)
    return rgba


def _spread_outwards(rgb: Bytes, opacity: Floats) -> Bytes:
    """The colours of the solid inside carried outwards over the rim, at half the size and back."""
    size = (max(1, rgb.shape[1] // 2), max(1, rgb.shape[0] // 2))
    solid = cv2.resize((opacity > 0.98).astype(np.float32), size, interpolation=cv2.INTER_AREA)
    colour = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA).astype(np.float32)
    planes = cv2.GaussianBlur(np.dstack([colour * solid[..., None], solid]), (0, 0), 1.2)
    weight = planes[..., 3:]
    near = np.where(weight > 0.01, planes[..., :3] / np.maximum(weight, 1e-3), colour)
    return np.asarray(cv2.resize(near.astype(np.uint8), rgb.shape[1::-1], interpolation=cv2.INTER_LINEAR), np.uint8)


def colour_shares(rgb: Bytes, weight: Floats) -> dict[str, float]:
    """How much of the chromatic part of a crop has each named colour's hue: shares of the weighted pixels, 0 to 1."""
    used = weight > 0
    weight = weight[used]
    lab = oklab_of_levels(rgb[used])
    amount = weight * np.clip((np.hypot(lab[:, 1], lab[:, 2]) - 0.04) / 0.04, 0, 1)
    nearest = np.argmin(_distances(lab), axis=1)
    sums = np.bincount(nearest, amount, minlength=len(COLOURS)) / (float(weight.sum()) or 1.0)
    return dict(zip(COLOURS, sums.tolist(), strict=True))


def _distances(lab: Floats) -> Floats:
    """Distance of each pixel (n x 3) to each named colour: mostly hue, a little lightness (red and pink, orange and yellow)."""
    lightness, _, hue = _anchors()
    turn = np.abs((np.arctan2(lab[:, 2], lab[:, 1])[:, None] - hue + np.pi) % (2 * np.pi) - np.pi)
    return np.asarray(turn + 0.5 * np.abs(lab[:, :1] - lightness), np.float32)


@lru_cache(maxsize=1)
def _anchors() -> Floats:
    """Lightness, chroma and hue of the named colours, 3 x colours."""
    return np.array([anchor_lch(name) for name in COLOURS], np.float32).T


def recoloured(rgba: Bytes, seen: str, wanted: str) -> Bytes:
    """A cut-out whose part in the colour `seen` takes the colour `wanted`; unchanged if no pixel has it."""
    _, _, hue = anchor_lch(seen)
    lab = oklab_of_levels(rgba[rgba[..., 3] > 0][:, :3])
    turn = np.abs((np.arctan2(lab[:, 2], lab[:, 1]) - hue + np.pi) % (2 * np.pi) - np.pi)
    if not ((turn < PAINT_REACH) & (np.hypot(lab[:, 1], lab[:, 2]) > 0.08)).any():
        return rgba
    return paint(rgba, hue, PAINT_REACH, wanted)


def misspelt(text: str, rng: random.Random) -> str:
    """A word with one of its letters replaced by a clearly different one."""
    place = rng.randrange(len(text))
    unlike = [letter for letter in "AEHKLMNRTWXZ" if letter != text[place]]
    return text[:place] + rng.choice(unlike) + text[place + 1 :]


def melted(rgba: Bytes, rng: random.Random) -> Bytes:
    """A cut-out drawn beyond recognition: bent by large slow waves, outline and inside washed together.

    Nothing fine is left, so half the size is enough.
    """
    rgba = cv2.resize(rgba, (max(8, rgba.shape[1] // 2), max(8, rgba.shape[0] // 2)), interpolation=cv2.INTER_AREA)
    height, width = rgba.shape[:2]
    side = max(height, width)
    margin = side // 5
    padded = cv2.copyMakeBorder(rgba, margin, margin, margin, margin, cv2.BORDER_CONSTANT, value=(0, 0, 0, 0)).astype(np.float32)
    padded[..., :3] *= padded[..., 3:] / 255.0
    noise = np.random.default_rng(rng.getrandbits(64))
    shape = padded.shape[:2]
    waves = [
        cv2.resize(noise.uniform(-1, 1, (5, 5)).astype(np.float32), shape[::-1], interpolation=cv2.INTER_CUBIC) for _ in "xy"
    ]
    x, y = np.meshgrid(np.arange(shape[1], dtype=np.float32), np.arange(shape[0], dtype=np.float32))
    bent: Floats = cv2.remap(
        padded, x + 0.26 * side * waves[0], y + 0.26 * side * waves[1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT
    )
    bent = cv2.GaussianBlur(bent, (0, 0), 0.045 * side)
    opacity = np.clip((bent[..., 3:] - 90) / 60, 0, 1) * 255
    colour = bent[..., :3] * (255.0 / np.maximum(bent[..., 3:], 1.0))
    return np.dstack([np.clip(colour, 0, 255), opacity]).astype(np.uint8)
