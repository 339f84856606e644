"""How the sketch's eye names a thing: its outline and shading against the cut-out library, blind to hue, over small turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from longbanana_nb.demo.colours import painted_part

Floats = NDArray[Any]  # float32
Bytes = NDArray[Any]  # uint8; OpenCV's annotations do not keep element types

GRID = 32
TURNS = tuple(range(-16, 17, 4))
"""Turns of the library, in degrees, counter-clockwise."""

OUTLINE, SHADING = 1.0, 0.8
FINALISTS, OUTLINE_WEIGHT = 5, 0.7
SMALL, FIT = 64, 48


@dataclass(frozen=True, slots=True)
class Named:
    """A kind the eye believes in: likeness (0 to 1), turn (degrees), overlap of outlines (0 to 1)."""

    kind: str
    likeness: float
    turn: float
    overlap: float

    @property
    def clearness(self) -> float:
        """How well outline and shading fit the kind, 0 to 1."""
        return self.likeness * min(1.0, self.overlap / 0.9)


class KindLibrary:
    """Silhouettes and shading of every known kind, turned; what the sketch has learned before it sees any reference."""

    def __init__(self, cutouts: Mapping[str, Bytes], hues: Mapping[str, tuple[float, float]]) -> None:
        """Take cut-outs (kind to RGBA picture), the hue and its width of their paintable parts, and prepare all turns."""
        self.cutouts = dict(cutouts)
        self._small: dict[str, Bytes] = {}
        self._hues = dict(hues)
        self._outlines: dict[tuple[str, int], Bytes] = {}
        self._parts: dict[str, tuple[Bytes, Bytes]] = {}
        self._names: list[tuple[str, int]] = []
        signatures = []
        for kind in sorted(self.cutouts):
            small = self._small[kind] = cv2.resize(self.cutouts[kind], (SMALL, SMALL), interpolation=cv2.INTER_AREA)
            grey, solid = cv2.cvtColor(small[..., :3], cv2.COLOR_RGB2GRAY), np.ascontiguousarray(small[..., 3])
            for turn in TURNS:
                opacity = turned_plane(solid, turn)
                window = _solid_window(opacity)
                self._names.append((kind, turn))
                signatures.append(signature(turned_plane(grey, turn)[window], opacity[window]))
        self._signatures = np.stack(signatures)
        self._kinds = np.array([kind for kind, _ in self._names])

    def name(self, rgb: Bytes, mask: Bytes) -> Named:
        """Name what a crop shows, given its mask (255 inside), both trimmed to the thing."""
        likeness = self._signatures @ signature(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY), mask)
        firsts: list[int] = []
        for n in np.argsort(-likeness):
            if self._kinds[n] not in self._kinds[firsts]:
                firsts.append(int(n))
            if len(firsts) == FINALISTS:
                break
        judged = []
        for n in firsts:
            turn, overlap = self.fitted(*self._names[n], mask)
            judged.append((float(likeness[n]) + OUTLINE_WEIGHT * overlap, self._names[n][0], float(likeness[n]), turn, overlap))
        _, kind, like, turn, overlap = min(judged, key=lambda one: (-one[0], one[1]))
        return Named(kind, min(max(like, 0.0), 1.0), turn, overlap)

    def outline(self, kind: str, turn: float) -> Bytes:
        """The kind's own opacity (0 to 255), turned and trimmed."""
        return trimmed_plane(turned_plane(self.cutouts[kind][..., 3], turn))

    def _small_outline(self, kind: str, turn: int) -> Bytes:
        """Where a kind is solid, turned, trimmed and stretched to FIT x FIT; kept."""
        if (kind, turn) not in self._outlines:
            plane = trimmed_plane(turned_plane(self._small[kind][..., 3], turn))
            self._outlines[kind, turn] = np.asarray(cv2.resize(plane, (FIT, FIT), interpolation=cv2.INTER_AREA) > 127)
        return self._outlines[kind, turn]

    def aspect(self, kind: str) -> float:
        """Width over height of a kind, upright; 1 for an unknown one."""
        if kind not in self.cutouts:
            return 1.0
        picture = trimmed(self.cutouts[kind])
        return float(picture.shape[1] / picture.shape[0])

    def paintable(self, kind: str, turn: float, size: tuple[int, int]) -> Floats:
        """How much each pixel of a turned, stretched kind takes colour (0 to 1)."""
        if kind not in self._parts:
            small = self._small[kind]
            part = painted_part(small, *self._hues[kind])
            self._parts[kind] = np.rint(part * 255).astype(np.uint8), np.ascontiguousarray(small[..., 3])
        part, opacity = self._parts[kind]
        window = _solid_window(turned_plane(opacity, turn))
        stretched = cv2.resize(turned_plane(part, turn)[window], size, interpolation=cv2.INTER_AREA)
        return np.asarray(stretched.astype(np.float32) / 255.0, np.float32)

    def fitted(self, kind: str, turn: int, mask: Bytes) -> tuple[float, float]:
        """The turn near `turn` whose outline fits a mask best, stretched onto it, and their overlap (0 to 1)."""
        size = (FIT, FIT)
        inside = cv2.resize(mask, size, interpolation=cv2.INTER_AREA) > 127
        best_turn, best_overlap = turn, -1.0
        for near in (0, -3, -2, -1, 1, 2, 3):
            solid = self._small_outline(kind, turn + near)
            overlap = float(np.count_nonzero(solid & inside)) / max(int(np.count_nonzero(solid | inside)), 1)
            if overlap > best_overlap + 0.002:
                best_turn, best_overlap = turn + near, overlap
        return float(best_turn), best_overlap


def turned_plane(plane: Bytes, degrees: float) -> Bytes:
    """Planes of a cut-out turned about its centre (counter-clockwise), on a canvas large enough."""
    margin = int(0.25 * max(plane.shape[:2]))
    padded = cv2.copyMakeBorder(plane, margin, margin, margin, margin, cv2.BORDER_CONSTANT, value=0)
    if not degrees:
        return np.asarray(padded, np.uint8)
    matrix = cv2.getRotationMatrix2D((padded.shape[1] / 2, padded.shape[0] / 2), degrees, 1.0)
    return np.asarray(cv2.warpAffine(padded, matrix, padded.shape[1::-1], flags=cv2.INTER_LINEAR), np.uint8)


def trimmed_plane(plane: Bytes) -> Bytes:
    """An opacity plane without its empty rim."""
    return plane[_solid_window(plane)]


def _solid_window(plane: Bytes) -> tuple[slice, slice]:
    x, y, wide, high = cv2.boundingRect(cv2.threshold(plane, 100, 255, cv2.THRESH_BINARY)[1])
    return (slice(y, y + high), slice(x, x + wide)) if wide else (slice(None), slice(None))


def trimmed(rgba: Bytes) -> Bytes:
    """A cut-out without its empty rim (opacity up to 100 counts as empty)."""
    return rgba[_solid_window(rgba[..., 3])]


def signature(shades: Bytes, mask: Bytes) -> Floats:
    """A unit vector of outline and shading (from grey shades and mask) on a square grid, the thing centred, its aspect kept."""
    height, width = mask.shape[:2]
    side = GRID - 4
    scale = side / max(height, width)
    size = (max(2, round(width * scale)), max(2, round(height * scale)))
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    opacity = cv2.resize(mask.astype(np.float32) / 255.0, size, interpolation=method)
    grey = cv2.resize(shades.astype(np.float32), size, interpolation=method)
    outline: Floats = np.zeros((GRID, GRID), np.float32)
    shading: Floats = np.zeros((GRID, GRID), np.float32)
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
