"""A picture at several sizes, and the edges of its parts at the scale at which a thing is compared."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from longbanana_nb.vision.arrays import Field, Pixels
from longbanana_nb.vision.edges import edge_field, strength_of
from longbanana_nb.vision.matching import Spectra, spectra
from longbanana_nb.vision.poses import Pose

VERSION = "views-3"
RIM = 48  # pixels around the edges of a whole picture, so that what is cut off at its border is found
HALVE_AT = 1.15  # a picture is halved while the part asked for would still be at most so much enlarged


class Window:
    """Edges of a part of the picture, the place of its corner in the picture, and its scale."""

    def __init__(self, field: Field, origin: tuple[float, float], scale: float, free: Field | None = None) -> None:
        self.field, self.origin, self.scale, self.free = field, origin, scale, free
        self.strength = strength_of(field)
        self._spectra: Spectra | None = None

    def hold(self, shapes: Sequence[Sequence[int]]) -> None:
        """Grow by emptiness on the right and below, to hold templates of these heights and widths."""
        h, w = (max(sides) for sides in zip(*shapes, strict=True))
        down, right = max(0, h - self.field.shape[0]), max(0, w - self.field.shape[1])
        if down or right:
            self.field = np.pad(self.field, ((0, down), (0, right), (0, 0)))
            self.strength = np.pad(self.strength, ((0, down), (0, right)))
            if self.free is not None:
                self.free = np.pad(self.free, ((0, down), (0, right)))

    def spectra(self, n: int) -> Spectra:
        """Transforms of field and strength in a square of side `n`; the last ones are kept."""
        if self._spectra is None or self._spectra.shape[1] != n:
            self._spectra = spectra(self.field, self.strength, n)
        return self._spectra


class Views:
    """A picture at its own size, at a half, a quarter ...: a part of it at any scale is then a quick cut."""

    def __init__(self, pixels: Pixels) -> None:
        self._halved = [pixels]
        self._edges: dict[float, Field] = {}
        self.longer = max(pixels.shape[:2])
        self.shape = pixels.shape[:2]

    def part(self, origin: tuple[float, float], scale: float, size: tuple[int, int]) -> Pixels:
        """The part of `size` (width, height) whose corner is `origin`, scaled; what lies outside repeats the edge."""
        step = 0
        while scale * 2 ** (step + 1) <= HALVE_AT and min(self._half(step).shape[:2]) > 1:
            step += 1
        source = self._half(step)
        fx, fy = (source.shape[n] / self._halved[0].shape[n] for n in (1, 0))
        matrix = np.array([[fx / scale, 0, (origin[0] + 0.5) * fx - 0.5], [0, fy / scale, (origin[1] + 0.5) * fy - 0.5]])
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        found: Pixels = cv2.warpAffine(source, matrix, size, flags=flags, borderMode=cv2.BORDER_REPLICATE)
        return found

    def edges(self, scale: float) -> Field:
        """Edges of the whole picture at a scale, with a rim of RIM pixels; kept."""
        if scale not in self._edges:
            h, w = self._halved[0].shape[:2]
            size = (round(w * scale) + 2 * RIM, round(h * scale) + 2 * RIM)
            self._edges[scale] = edge_field(self.part((-RIM / scale, -RIM / scale), scale, size))
        return self._edges[scale]

    def _half(self, step: int) -> Pixels:
        while len(self._halved) <= step:
            last = self._halved[-1]
            size = (max(1, last.shape[1] // 2), max(1, last.shape[0] // 2))
            self._halved.append(cv2.resize(last, size, interpolation=cv2.INTER_AREA))
        return self._halved[step]


def _reach(start: Pose, side: int, slack: float) -> tuple[float, float]:
    """Half the width and height of the neighbourhood to look at, where the object would be `side` pixels long."""
    scale = side / start.side
    wide, high = (start.box[2] - start.box[0]) / 2 * scale, (start.box[3] - start.box[1]) / 2 * scale
    return wide * 1.1 + side * (slack + 0.16) + 3, high * 1.1 + side * (slack + 0.16) + 3


def shared_window(views: Views, start: Pose, side: int) -> Window:
    """The neighbourhood of a hint, cut from the edges of the whole picture."""
    scale = side / start.side
    field = views.edges(scale)
    wide, high = _reach(start, side, 0.03)
    x, y = start.centre[0] * scale + RIM, start.centre[1] * scale + RIM
    x0, y0 = max(0, round(x - wide)), max(0, round(y - high))
    part = field[y0 : round(y + high), x0 : round(x + wide)]
    return Window(part, ((x0 - RIM) / scale, (y0 - RIM) / scale), scale)


def own_window(views: Views, start: Pose, side: int, free: Views | None = None) -> Window:
    """The neighbourhood of a pose, scaled so that the object would be `side` pixels long; only what is `free`, if given."""
    scale = side / start.side
    reach = _reach(start, side, 0.03)
    size = (int(2 * reach[0]), int(2 * reach[1]))
    origin = (start.centre[0] - size[0] / 2 / scale, start.centre[1] - size[1] / 2 / scale)
    field = edge_field(views.part(origin, scale, size))
    if free is None:
        return Window(field, origin, scale)
    seen = (free.part(origin, scale, size) > 250).astype(np.float32)
    return Window(field * seen[..., None], origin, scale, seen)
