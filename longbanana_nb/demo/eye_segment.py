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

WORK = 192
"""Edge length, in pixels, of the picture that is segmented; whatever came in is scaled to it."""

DIFFERENT, LIGHTER, EDGE = 11.0, 5.0, 7.0 * 256
"""CIELAB distances that tell a thing from its backdrop; an edge's is a gradient, over the width of the picture."""
LEAST_AREA, LEAST_SIDE = 110 / 256**2, 6 / 256
SHADE_SPREAD = 0.09
COARSE, RIM = 48, 3
JOINS = tuple(np.linspace(0.48, 0.80, 13))
RIDGE = np.float32(1e-2)


@dataclass(frozen=True, slots=True)
class Blob:
    """One thing found: pixel box (x0, y0, x1, y1) in the working picture and its mask (255 inside) of that size."""

    box: tuple[int, int, int, int]
    mask: Mask

    @property
    def area(self) -> int:
        """Pixels inside."""
        return int(np.count_nonzero(self.mask))


def joined(blobs: list[Blob]) -> Blob:
    """Several blobs as one."""
    x0, y0 = min(blob.box[0] for blob in blobs), min(blob.box[1] for blob in blobs)
    x1, y1 = max(blob.box[2] for blob in blobs), max(blob.box[3] for blob in blobs)
    mask = np.zeros((y1 - y0, x1 - x0), np.uint8)
    for blob in blobs:
        left, top, right, bottom = blob.box
        mask[top - y0 : bottom - y0, left - x0 : right - x0] |= blob.mask
    return Blob((x0, y0, x1, y1), mask)


@lru_cache(maxsize=1)
def _bases() -> Floats:
    """For each height at which a wall may meet the floor: what a studio is made of, at every pixel of a COARSE picture.

    A cubic surface, a soft step from wall to floor, and the step's own slopes; joins x pixels x terms.
    """
    axis = np.linspace(-1, 1, COARSE, dtype=np.float32)
    x, y = np.meshgrid(axis, axis)
    surface = [x**i * y**j for i in range(4) for j in range(4 - i)]
    bases = []
    for join in JOINS:
        step = np.clip(((y + 1) / 2 - join + 0.045) / 0.09, 0, 1)
        step = step * step * (3 - 2 * step)
        bases.append(np.stack([part.ravel() for part in (*surface, step, step * y, step * x)], axis=1))
    return np.asarray(np.stack(bases), np.float32)


@lru_cache(maxsize=1)
def _rim() -> tuple[NDArray[np.intp], Floats]:
    """Every other pixel of a COARSE picture's rim, and the terms of all joins there."""
    rim = np.zeros((COARSE, COARSE), bool)
    rim[:RIM] = rim[-RIM:] = rim[:, :RIM] = rim[:, -RIM:] = True
    row, column = np.mgrid[:COARSE, :COARSE]
    at = np.flatnonzero((rim & ((row + column) % 2 == 0)).ravel())
    return at, np.ascontiguousarray(_bases()[:, at])


def backdrop_of(lab: Floats) -> Floats:
    """A studio backdrop (COARSE x COARSE, CIELAB): fitted to the picture's rim, then to everything that agrees with it."""
    values = cv2.resize(lab, (COARSE, COARSE), interpolation=cv2.INTER_AREA).reshape(-1, 3)
    join, weights = _fit_rim(values)
    basis = _bases()[join]
    for limit in (8.0, 6.0, 4.5, 4.0):
        use = _length(basis @ weights - values) < limit
        if use.sum() > 300:
            some = basis[use]
            weights = _solved(some.T @ some, some.T @ values[use])
    return np.asarray((basis @ weights).reshape(COARSE, COARSE, 3), np.float32)


def _fit_rim(values: Floats) -> tuple[int, Floats]:
    """The join that explains the rim best, with its weights; the fit passes over the tag and whatever stands at the edge."""
    at, terms = _rim()
    seen = values[at]
    use = np.ones(terms.shape[:2], np.float32)
    for _ in range(4):
        some = (terms * use[..., None]).transpose(0, 2, 1)
        weights = _solved(some @ terms, some @ seen)
        residual = _length(terms @ weights - seen)
        quartile = np.partition(residual, residual.shape[1] * 3 // 4, axis=1)[:, residual.shape[1] * 3 // 4, None]
        use = np.asarray(residual <= np.maximum(2.0, quartile), np.float32)
    join = int(np.argmin(np.minimum(residual, 6.0).mean(axis=1)))
    return join, np.asarray(weights[join], np.float32)


def _solved(gram: Floats, moments: Floats) -> Floats:
    return np.asarray(np.linalg.solve(gram + RIDGE * np.eye(gram.shape[-1], dtype=np.float32), moments), np.float32)


def _length(vectors: Floats) -> Floats:
    """Euclidean length over the last axis."""
    return np.asarray(np.sqrt(np.einsum("...k,...k->...", vectors, vectors)), np.float32)


def things_in(rgb: NDArray[Any]) -> tuple[list[Blob], Floats]:
    """What stands out from the backdrop of a square picture, largest first, and the backdrop (RGB, 0 to 255, COARSE)."""
    side = rgb.shape[0]
    lab = cv2.cvtColor(rgb.astype(np.float32) / np.float32(255), cv2.COLOR_RGB2LAB)
    coarse = backdrop_of(lab)
    solid = _solid(lab, np.asarray(cv2.resize(coarse, (side, side), interpolation=cv2.INTER_LINEAR), np.float32))
    count, labels, stats, _ = cv2.connectedComponentsWithStats(solid, connectivity=8)
    blobs = []
    for n in range(1, count):
        x, y, w, h, area = stats[n]
        if area >= LEAST_AREA * side**2 and min(w, h) >= LEAST_SIDE * side:
            part = np.where(labels[y : y + h, x : x + w] == n, np.uint8(255), np.uint8(0))
            blobs.append(Blob((int(x), int(y), int(x + w), int(y + h)), part))
    backdrop = np.asarray(cv2.cvtColor(coarse, cv2.COLOR_LAB2RGB) * 255, np.float32)
    return sorted(blobs, key=lambda blob: -blob.area), backdrop


def _solid(lab: Floats, backdrop: Floats) -> Mask:
    """255 where a thing stands: not the backdrop, not its shade, holes of closed outlines filled."""
    apart = lab - backdrop
    distance = _length(apart)
    seen = (_edges(lab) > EDGE / lab.shape[0]) | (apart[..., 0] > LIGHTER)
    doubtful = np.flatnonzero((distance > DIFFERENT) & ~seen)
    seen.ravel()[doubtful] = ~_is_shade(lab.reshape(-1, 3)[doubtful], backdrop.reshape(-1, 3)[doubtful])
    mask = np.where(seen, np.uint8(255), np.uint8(0))
    mask = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    filled = np.zeros_like(mask)
    cv2.drawContours(filled, contours, -1, 255, cv2.FILLED)
    holes = cv2.bitwise_and(filled, cv2.bitwise_not(mask))
    open_air = np.where(distance < 5.0, np.uint8(255), np.uint8(0))
    open_air = cv2.morphologyEx(cv2.bitwise_and(holes, open_air), cv2.MORPH_OPEN, np.ones((5, 5), np.uint8))
    solid = cv2.bitwise_and(filled, cv2.bitwise_not(open_air))
    return np.asarray(cv2.morphologyEx(solid, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)), np.uint8)


def _edges(lab: Floats) -> Floats:
    """Gradient magnitude in CIELAB units a pixel."""
    dx = cv2.Sobel(lab, cv2.CV_32F, 1, 0, ksize=3, scale=0.125)
    dy = cv2.Sobel(lab, cv2.CV_32F, 0, 1, ksize=3, scale=0.125)
    return np.asarray(np.hypot(_length(dx), _length(dy)), np.float32)


def _is_shade(lab: Floats, backdrop: Floats) -> NDArray[np.bool_]:
    """Which pixels (n x 3) may be the backdrop in shadow: darker, their chroma shrunk along with their lightness."""
    light = np.clip(lab[:, 0] / np.maximum(backdrop[:, 0], 1.0), 0.0, 2.0)
    expected = backdrop[:, 1:] * light[:, None] ** np.float32(0.8)
    off = _length(lab[:, 1:] - expected)
    reach = 5.0 + SHADE_SPREAD * _length(backdrop[:, 1:])
    return np.asarray((light < 1.01) & (light > 0.45) & (off < reach), np.bool_)
