"""Finding every instance of every known kind in a picture: coarse hints, refined poses, and one kind for each place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field as own

import cv2
import numpy as np

from longbanana_nb.vision.arrays import Field, Pixels
from longbanana_nb.vision.cutout import Cutout
from longbanana_nb.vision.edges import Template, edge_field, likeness_map, reduced, template
from longbanana_nb.vision.layout import Box, iou, share_inside
from longbanana_nb.vision.searching import Hint, Probe, hints, probes

VERSION = "finding-1"
ROUGH_SIDE = 36
FINE_SIDE = 72
SIZE_STEP = 1.12
FINE_STEP = 1.045
RIVALS = 3
RIVAL_GAP = 0.16
ACCEPT = 0.40


@dataclass(frozen=True, slots=True)
class Pose:
    """A kind at a place: kind number, score (-1 to 1), centre and longer side in pixels of the picture, angle in degrees.

    `box` is the silhouette's box in pixels of the picture.
    """

    kind: int
    score: float
    centre: tuple[float, float]
    side: float
    angle: float
    box: Box


@dataclass(slots=True)
class Finder:
    """The kinds of one case, prepared once and used on many pictures; `cutouts` holds one cut-out a kind."""

    cutouts: Sequence[Cutout]
    prepared: list[Probe] = own(default_factory=list)
    _small: list[Cutout] = own(default_factory=list)
    _templates: dict[tuple[int, float, float], Template] = own(default_factory=dict)

    def __post_init__(self) -> None:
        self.prepared = probes(self.cutouts)
        self._small = [reduced(cutout, 56) for cutout in self.cutouts]

    def find(self, pixels: Pixels) -> list[Pose]:
        """All instances of all kinds, best first; where several kinds claim a place, the one that explains it best has it."""
        rough = [self._refine(pixels, hint) for hint in shortlist(hints(pixels, self.prepared))]
        kept = _rivals([pose for pose in rough if pose.score > ACCEPT - 0.08])
        fine = [self._sharpen(pixels, pose) for pose in kept]
        return settle([pose for pose in fine if pose.score >= ACCEPT])

    def _template(self, kind: int, side: float, angle: float) -> Template:
        key = (kind, round(side, 2), angle)
        if key not in self._templates:
            source = self._small[kind] if side < 56 else self.cutouts[kind]
            self._templates[key] = template(source, side, angle)
        return self._templates[key]

    def _refine(self, pixels: Pixels, hint: Hint) -> Pose:
        longer = max(pixels.shape[:2])
        box = tuple(value * longer for value in hint.box)
        start = Pose(hint.kind, hint.score, ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2), hint.side * longer, 0.0, box)
        return self._best(pixels, start, ROUGH_SIDE, [1 / SIZE_STEP, SIZE_STEP], [-9.0, 0.0, 9.0], 0.14)

    def _sharpen(self, pixels: Pixels, pose: Pose) -> Pose:
        angles = [pose.angle - 4.5, pose.angle, pose.angle + 4.5]
        return self._best(pixels, pose, FINE_SIDE, [1 / FINE_STEP, FINE_STEP], angles, 0.07)

    def _best(
        self, pixels: Pixels, start: Pose, side: int, sizes: Sequence[float], angles: Sequence[float], slack: float
    ) -> Pose:
        """The best pose near `start`: first the angle, then the size.

        The neighbourhood is scaled so that the object would be `side` pixels long.
        """
        scale = side / start.side
        half = (start.box[2] - start.box[0]) / 2 * scale, (start.box[3] - start.box[1]) / 2 * scale
        reach = [h * 1.10 + side * (slack + 0.16) + 3 for h in half]
        size = (int(2 * reach[0]), int(2 * reach[1]))
        origin = (start.centre[0] - size[0] / 2 / scale, start.centre[1] - size[1] / 2 / scale)
        window = _Window(edge_field(_window(pixels, origin, scale, size)), origin, scale)
        tried = [self._at(window, start, side, 1.0, angle) for angle in angles]
        turned = max(tried, key=lambda pose: pose.score)
        tried += [self._at(window, start, side, factor, turned.angle) for factor in sizes]
        return max(tried, key=lambda pose: pose.score)

    def _at(self, window: _Window, start: Pose, side: int, factor: float, angle: float) -> Pose:
        """The best place for one size and angle."""
        shape = self._template(start.kind, side * factor, angle)
        field, strength = window.at_least(*shape.weights.shape)
        _, top, _, (x, y) = cv2.minMaxLoc(likeness_map(field, strength, shape))
        box = _moved(shape.box, x, y, window.origin, window.scale)
        middle = ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
        return Pose(start.kind, float(top), middle, start.side * factor, angle, box)


class _Window:
    """Edges of a part of the picture, the place of its corner in the picture, and its scale."""

    def __init__(self, field: Field, origin: tuple[float, float], scale: float) -> None:
        self.field, self.origin, self.scale = np.ascontiguousarray(field), origin, scale
        self.strength = (field**2).sum(axis=-1)

    def at_least(self, h: int, w: int) -> tuple[Field, Field]:
        """Field and strength, grown by emptiness on the right and below to hold a template."""
        down, right = max(0, h - self.field.shape[0]), max(0, w - self.field.shape[1])
        if down or right:
            self.field = np.pad(self.field, ((0, down), (0, right), (0, 0)))
            self.strength = np.pad(self.strength, ((0, down), (0, right)))
        return self.field, self.strength


def _window(pixels: Pixels, origin: tuple[float, float], scale: float, size: tuple[int, int]) -> Pixels:
    """A part of the picture, scaled; what lies outside repeats the edge."""
    matrix = np.array([[1 / scale, 0, origin[0]], [0, 1 / scale, origin[1]]], dtype=np.float64)
    x0, y0 = max(0, int(origin[0]) - 4), max(0, int(origin[1]) - 4)
    x1 = min(pixels.shape[1], int(origin[0] + size[0] / scale) + 5)
    y1 = min(pixels.shape[0], int(origin[1] + size[1] / scale) + 5)
    part = pixels[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)]
    if part.size == 0:
        return np.zeros((size[1], size[0], 3), dtype=np.uint8)
    if scale < 0.85:
        part = cv2.GaussianBlur(part, (0, 0), 0.4 / scale)
    matrix[:, 2] -= (x0, y0)
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    found: Pixels = cv2.warpAffine(part, matrix, size, flags=flags, borderMode=cv2.BORDER_REPLICATE)
    return found


def _moved(box: Box, x: int, y: int, origin: tuple[float, float], scale: float) -> Box:
    return (
        origin[0] + (x + box[0]) / scale,
        origin[1] + (y + box[1]) / scale,
        origin[0] + (x + box[2]) / scale,
        origin[1] + (y + box[3]) / scale,
    )


def shortlist(found: Sequence[Hint], limit: int = 60) -> list[Hint]:
    """Of overlapping hints of one kind the best, and of kinds at one place the best few; at most `limit`."""
    kept: list[Hint] = []
    for hint in found:
        near = [other for other in kept if iou(other.box, hint.box) > 0.4]
        if any(other.kind == hint.kind for other in near):
            continue
        if len(near) >= RIVALS + 1 or (near and hint.score < near[0].score - RIVAL_GAP - 0.06):
            continue
        kept.append(hint)
        if len(kept) == limit:
            break
    return kept


def _rivals(poses: list[Pose]) -> list[Pose]:
    kept: list[Pose] = []
    for pose in sorted(poses, key=lambda p: -p.score):
        near = [other for other in kept if iou(other.box, pose.box) > 0.4 or share_inside(pose.box, other.box) > 0.85]
        if any(other.kind == pose.kind and iou(other.box, pose.box) > 0.4 for other in near) or len(near) >= RIVALS:
            continue
        if near and pose.score < near[0].score - RIVAL_GAP:
            continue
        kept.append(pose)
    return kept


def settle(poses: Sequence[Pose]) -> list[Pose]:
    """One kind a place: taken best first, a pose that mostly covers or lies in a better one falls away."""
    kept: list[Pose] = []
    for pose in sorted(poses, key=lambda p: -p.score):
        if any(_same_place(pose, other) for other in kept):
            continue
        kept.append(pose)
    return kept


def _same_place(pose: Pose, better: Pose) -> bool:
    if iou(pose.box, better.box) > 0.38:
        return True
    return share_inside(pose.box, better.box) > 0.8 and pose.score < better.score - 0.12
