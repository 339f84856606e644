"""How the sketch's eye names a thing: its outline and shading against the cut-out library, blind to hue, over small turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]

GRID = 32
TURNS = tuple(range(-16, 17, 4))
"""Turns of the library, in degrees, counter-clockwise."""

OUTLINE, SHADING = 1.0, 0.8


@dataclass(frozen=True, slots=True)
class Named:
    """A kind the eye believes in: its likeness (0 to 1), the turn in degrees, and how far the next best kind lies behind."""

    kind: str
    likeness: float
    turn: int
    lead: float


class KindLibrary:
    """Silhouettes and shading of every known kind, turned; what the sketch has learned before it sees any reference."""

    def __init__(self, cutouts: Mapping[str, Bytes], parts: Mapping[str, Floats] | None = None) -> None:
        """Take cut-outs (kind to RGBA picture), how much each of their pixels takes colour (0 to 1), and prepare all turns."""
        self.cutouts = dict(cutouts)
        self.parts = dict(parts or {})
        self._names: list[tuple[str, int]] = []
        signatures = []
        for kind in sorted(self.cutouts):
            for turn in TURNS:
                picture = trimmed(turned(cv2.resize(self.cutouts[kind], (96, 96), interpolation=cv2.INTER_AREA), turn))
                self._names.append((kind, turn))
                signatures.append(signature(picture[..., :3], picture[..., 3]))
        self._signatures = np.stack(signatures)
        self._kinds = np.array([kind for kind, _ in self._names])

    def name(self, rgb: Bytes, mask: Bytes) -> Named:
        """Name what a crop shows, given its mask (255 inside), both trimmed to the thing."""
        likeness = self._signatures @ signature(rgb, mask)
        best = int(np.argmax(likeness))
        kind, turn = self._names[best]
        others = likeness[self._kinds != kind]
        lead = float(likeness[best] - others.max()) if len(others) else 1.0
        return Named(kind, float(np.clip(likeness[best], 0.0, 1.0)), turn, lead)

    def likeness(self, kind: str, rgb: Bytes, mask: Bytes) -> float:
        """How much a crop looks like a kind (0 to 1), over all turns."""
        return float(np.clip((self._signatures[self._kinds == kind] @ signature(rgb, mask)).max(), 0.0, 1.0))

    def outline(self, kind: str, turn: float, size: tuple[int, int]) -> Floats:
        """The kind's own opacity (0 to 1), turned, trimmed and stretched to a size (width, height)."""
        picture = trimmed(turned(self.cutouts[kind], turn))
        return np.asarray(cv2.resize(picture[..., 3].astype(np.float32) / 255.0, size, interpolation=cv2.INTER_AREA), np.float32)

    def aspect(self, kind: str) -> float:
        """Width over height of a kind, upright; 1 for an unknown one."""
        if kind not in self.cutouts:
            return 1.0
        picture = trimmed(self.cutouts[kind])
        return picture.shape[1] / picture.shape[0]

    def paintable(self, kind: str, turn: float, size: tuple[int, int]) -> Floats | None:
        """How much each pixel of a turned, stretched kind takes colour (0 to 1), or None where no part of it does."""
        part = self.parts.get(kind)
        if part is None:
            return None
        rgba = self.cutouts[kind].copy()
        rgba[..., 0] = np.rint(part * 255)
        picture = trimmed(turned(rgba, turn))
        return np.asarray(cv2.resize(picture[..., 0].astype(np.float32) / 255.0, size, interpolation=cv2.INTER_AREA), np.float32)

    def fitted_outline(self, kind: str, turn: int, mask: Bytes) -> tuple[Floats, float, float]:
        """The outline that fits a mask best among turns near `turn`: opacity of the mask's size, turn, and overlap (0 to 1)."""
        size = (mask.shape[1], mask.shape[0])
        inside = mask > 127
        best: tuple[Floats, float, float] | None = None
        for near in (0, -3, -2, -1, 1, 2, 3):
            opacity = self.outline(kind, turn + near, size)
            solid = opacity > 0.5
            overlap = float((solid & inside).sum() / max((solid | inside).sum(), 1))
            if best is None or overlap > best[2]:
                best = (opacity, float(turn + near), overlap)
        assert best is not None  # noqa: S101 - the loop ran
        return best


def turned(rgba: Bytes, degrees: float) -> Bytes:
    """A cut-out turned about its centre (counter-clockwise), on a canvas large enough; colours weighted by opacity."""
    height, width = rgba.shape[:2]
    margin = int(0.25 * max(height, width)) if degrees else 2
    padded = cv2.copyMakeBorder(rgba, margin, margin, margin, margin, cv2.BORDER_CONSTANT, value=(0, 0, 0, 0)).astype(np.float32)
    if not degrees:
        return padded.astype(np.uint8)
    padded[..., :3] *= padded[..., 3:] / 255.0
    matrix = cv2.getRotationMatrix2D((padded.shape[1] / 2, padded.shape[0] / 2), degrees, 1.0)
    moved = cv2.warpAffine(padded, matrix, padded.shape[1::-1], flags=cv2.INTER_LINEAR)
    moved[..., :3] *= 255.0 / np.maximum(moved[..., 3:], 1.0)
    return np.clip(np.rint(moved), 0, 255).astype(np.uint8)


def trimmed(rgba: Bytes) -> Bytes:
    """A cut-out without its empty rim (opacity up to 100 counts as empty)."""
    rows, columns = np.where(rgba[..., 3] > 100)
    if len(rows) == 0:
        return rgba
    return rgba[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]


def signature(rgb: Bytes, mask: Bytes) -> Floats:
    """A unit vector of outline and shading on a square grid, the thing centred with its aspect kept; hue plays no part."""
    height, width = mask.shape[:2]
    side = GRID - 4
    scale = side / max(height, width)
    size = (max(2, round(width * scale)), max(2, round(height * scale)))
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    opacity = cv2.resize(mask.astype(np.float32) / 255.0, size, interpolation=method)
    grey = cv2.resize(cv2.cvtColor(np.ascontiguousarray(rgb), cv2.COLOR_RGB2GRAY).astype(np.float32), size, interpolation=method)
    outline = np.zeros((GRID, GRID), np.float32)
    shading = np.zeros((GRID, GRID), np.float32)
    top, left = (GRID - size[1]) // 2, (GRID - size[0]) // 2
    window = (slice(top, top + size[1]), slice(left, left + size[0]))
    outline[window] = opacity
    inside = opacity > 0.6
    mean = float(grey[inside].mean()) if inside.any() else 0.0
    shading[window] = np.where(inside, grey - mean, 0.0)
    edges = np.hypot(cv2.Sobel(shading, cv2.CV_32F, 1, 0, ksize=3), cv2.Sobel(shading, cv2.CV_32F, 0, 1, ksize=3)) * outline
    edges = cv2.GaussianBlur(np.sqrt(edges), (0, 0), 0.8)
    shape = cv2.GaussianBlur(outline, (0, 0), 0.8) - 0.45
    vector = np.concatenate([OUTLINE * _unit(shape), SHADING * _unit(edges - edges.mean())])
    return np.asarray(_unit(vector), np.float32)


def _unit(values: Floats) -> Floats:
    flat = values.ravel()
    return np.asarray(flat / max(float(np.linalg.norm(flat)), 1e-6), np.float32)
