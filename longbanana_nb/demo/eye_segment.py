"""How the sketch's eye parts things from a studio backdrop: a smooth backdrop is fitted, what does not fit it is a thing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]  # float32
Mask = NDArray[Any]  # uint8, 0 or 255

WORK = 256
"""Edge length, in pixels, of the picture that is segmented; whatever came in is scaled to it."""

DIFFERENT, EDGE, LEAST_AREA = 11.0, 7.0, 110
SHADE_SPREAD = 0.09
COARSE = 64
JOINS = tuple(np.linspace(0.48, 0.80, 13))


@dataclass(frozen=True, slots=True)
class Blob:
    """One thing found: pixel box (x0, y0, x1, y1) in the working picture and its mask (255 inside) of that size."""

    box: tuple[int, int, int, int]
    mask: Mask

    @property
    def area(self) -> int:
        """Pixels inside."""
        return int(np.count_nonzero(self.mask))


@lru_cache(maxsize=1)
def _bases() -> tuple[Floats, ...]:
    """For each height at which a wall may meet the floor: what a studio is made of, at every pixel of a COARSE picture.

    A cubic surface, a soft step from wall to floor, and the step's own slopes.
    """
    axis = np.linspace(-1, 1, COARSE, dtype=np.float32)
    x, y = np.meshgrid(axis, axis)
    surface = [x**i * y**j for i in range(4) for j in range(4 - i)]
    bases = []
    for join in JOINS:
        step = np.clip(((y + 1) / 2 - join + 0.045) / 0.09, 0, 1)
        step = step * step * (3 - 2 * step)
        bases.append(np.stack([part.ravel() for part in (*surface, step, step * y, step * x)], axis=1).astype(np.float32))
    return tuple(bases)


def backdrop_of(lab: Floats) -> Floats:
    """A studio backdrop (same shape as `lab`, CIELAB): fitted to the picture's rim, then to everything that agrees with it."""
    small = cv2.resize(lab, (COARSE, COARSE), interpolation=cv2.INTER_AREA)
    values = small.reshape(-1, 3)
    rim = np.zeros((COARSE, COARSE), bool)
    rim[:3] = rim[-3:] = rim[:, :3] = rim[:, -3:] = True
    rim_at = np.flatnonzero(rim.ravel())
    basis, weights = min((_fit_rim(terms, values, rim_at) for terms in _bases()), key=lambda fit: fit[2])[:2]
    for limit in (8.0, 6.0, 4.5, 4.0):
        use = np.linalg.norm(basis @ weights - values, axis=1) < limit
        if use.sum() > 300:
            weights = _solved(basis[use], values[use])
    fitted = (basis @ weights).reshape(COARSE, COARSE, 3).astype(np.float32)
    return np.asarray(cv2.resize(fitted, lab.shape[1::-1], interpolation=cv2.INTER_CUBIC), np.float32)


def _fit_rim(terms: Floats, values: Floats, rim: NDArray[np.intp]) -> tuple[Floats, Floats, float]:
    """A fit to the rim that passes over the tag and whatever stands at the edge; with its typical residual."""
    some, seen = terms[rim], values[rim]
    use = np.ones(len(rim), bool)
    for _ in range(4):
        weights = _solved(some[use], seen[use])
        residual = np.linalg.norm(some @ weights - seen, axis=1)
        use = residual <= max(2.0, float(np.percentile(residual, 75)))
    return terms, weights, float(np.minimum(residual, 6.0).mean())


def _solved(terms: Floats, values: Floats) -> Floats:
    return np.asarray(
        np.linalg.solve(terms.T @ terms + 1e-2 * np.eye(terms.shape[1], dtype=np.float32), terms.T @ values), np.float32
    )


def things_in(rgb: NDArray[Any]) -> tuple[list[Blob], Floats]:
    """Everything that stands out from the backdrop of a WORK x WORK picture, largest first, and the backdrop in CIELAB."""
    lab = cv2.cvtColor(rgb.astype(np.float32) / 255.0, cv2.COLOR_RGB2LAB)
    backdrop = backdrop_of(lab)
    solid = _solid(lab, backdrop)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(solid, connectivity=8)
    blobs = []
    for n in range(1, count):
        x, y, w, h, area = stats[n]
        if area >= LEAST_AREA and min(w, h) >= 6:
            part = np.where(labels[y : y + h, x : x + w] == n, np.uint8(255), np.uint8(0))
            blobs.append(Blob((int(x), int(y), int(x + w), int(y + h)), part))
    return sorted(blobs, key=lambda blob: -blob.area), backdrop


def _solid(lab: Floats, backdrop: Floats) -> Mask:
    """255 where a thing stands: not the backdrop, not its shade, holes of closed outlines filled."""
    apart = lab - backdrop
    distance = np.linalg.norm(apart, axis=2)
    edges = _edges(lab)
    shade = _is_shade(lab, backdrop)
    seen = ((distance > DIFFERENT) & ~shade) | (edges > EDGE) | (apart[..., 0] > 5.0)
    mask = np.where(seen, np.uint8(255), np.uint8(0))
    mask = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    filled = np.zeros_like(mask)
    cv2.drawContours(filled, contours, -1, 255, cv2.FILLED)
    holes = cv2.bitwise_and(filled, cv2.bitwise_not(mask))
    open_air = (distance < 5.0).astype(np.uint8)
    open_air = cv2.morphologyEx(cv2.bitwise_and(holes, open_air * 255), cv2.MORPH_OPEN, np.ones((5, 5), np.uint8))
    solid = cv2.bitwise_and(filled, cv2.bitwise_not(open_air))
    return np.asarray(cv2.morphologyEx(solid, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)), np.uint8)


def _edges(lab: Floats) -> Floats:
    """Gradient magnitude in CIELAB units a pixel."""
    dx = cv2.Sobel(lab, cv2.CV_32F, 1, 0, ksize=3, scale=0.125)
    dy = cv2.Sobel(lab, cv2.CV_32F, 0, 1, ksize=3, scale=0.125)
    return np.asarray(np.sqrt((dx**2 + dy**2).sum(axis=2)), np.float32)


def _is_shade(lab: Floats, backdrop: Floats) -> NDArray[np.bool_]:
    """Where a pixel may be the backdrop in shadow: darker, its chroma shrunk along with its lightness."""
    light = np.clip(lab[..., 0] / np.maximum(backdrop[..., 0], 1.0), 0.0, 2.0)
    expected = backdrop[..., 1:] * light[..., None] ** 0.8
    off = np.linalg.norm(lab[..., 1:] - expected, axis=2)
    reach = 5.0 + SHADE_SPREAD * np.linalg.norm(backdrop[..., 1:], axis=2)
    return np.asarray((light < 1.01) & (light > 0.45) & (off < reach), np.bool_)
