"""What the sketch does to a cut-out: freeing its edge of the old backdrop, another colour, other letters, melting."""

from __future__ import annotations

import random
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from longbanana_nb.demo.colours import COLOURS, anchor_lch, oklab, paint

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
    share = np.maximum(inner, 0.25)[..., None]
    pure = (rgb.astype(np.float32) - (1 - share) * backdrop) / share
    core = np.where(inner[..., None] > 0.98, rgb.astype(np.float32), np.clip(pure, 0, 255))
    spread = _spread_inwards(rgb, inner)
    mixed = np.where((inner > 0.98)[..., None], core, 0.35 * core + 0.65 * spread)
    return np.dstack([np.clip(np.rint(mixed), 0, 255).astype(np.uint8), np.rint(inner * 255).astype(np.uint8)])


def _spread_inwards(rgb: Bytes, opacity: Floats) -> Floats:
    """The colours of the solid inside carried outwards over the rim."""
    solid = (opacity > 0.98).astype(np.float32)
    weight = cv2.GaussianBlur(solid, (0, 0), 2.0)
    colour = cv2.GaussianBlur(rgb.astype(np.float32) * solid[..., None], (0, 0), 2.0)
    return np.asarray(np.where(weight[..., None] > 0.01, colour / np.maximum(weight[..., None], 1e-3), rgb), np.float32)


def colour_shares(rgb: Bytes, weight: Floats) -> dict[str, float]:
    """How much of the chromatic part of a crop has each named colour's hue: shares of the weighted pixels, 0 to 1."""
    lab = oklab(rgb.astype(np.float64) / 255.0)
    chroma = np.hypot(lab[..., 1], lab[..., 2])
    angle = np.arctan2(lab[..., 2], lab[..., 1])
    amount = weight * np.clip((chroma - 0.04) / 0.04, 0, 1)
    total = float(weight.sum()) or 1.0
    apart = {name: _distance(lab, angle, name) for name in COLOURS}
    nearest = np.argmin(np.stack(list(apart.values())), axis=0)
    return {name: float((amount * (nearest == n)).sum()) / total for n, name in enumerate(apart)}


def _distance(lab: NDArray[Any], angle: NDArray[Any], name: str) -> NDArray[Any]:
    """Distance to a named colour: mostly hue, a little lightness (red and pink, orange and yellow)."""
    lightness, _, hue = anchor_lch(name)
    turn = np.abs(np.angle(np.exp(1j * (angle - hue))))
    return np.asarray(turn + 0.5 * np.abs(lab[..., 0] - lightness), np.float64)


def recoloured(rgba: Bytes, seen: str, wanted: str) -> Bytes:
    """A cut-out whose part in the colour `seen` takes the colour `wanted`; unchanged if no pixel has it."""
    _, _, hue = anchor_lch(seen)
    lab = oklab(rgba[..., :3].astype(np.float64) / 255.0)
    turn = np.abs(np.angle(np.exp(1j * (np.arctan2(lab[..., 2], lab[..., 1]) - hue))))
    if not ((turn < PAINT_REACH) & (np.hypot(lab[..., 1], lab[..., 2]) > 0.08) & (rgba[..., 3] > 0)).any():
        return rgba
    return paint(rgba, hue, PAINT_REACH, wanted)


def misspelt(text: str, rng: random.Random) -> str:
    """A word with one of its letters replaced by a clearly different one."""
    place = rng.randrange(len(text))
    unlike = [letter for letter in "AEHKLMNRTWXZ" if letter != text[place]]
    return text[:place] + rng.choice(unlike) + text[place + 1 :]


def melted(rgba: Bytes, rng: random.Random) -> Bytes:
    """A cut-out drawn beyond recognition: bent by large slow waves, outline and inside washed together."""
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
