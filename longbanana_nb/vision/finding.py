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
from longbanana_nb.vision.layout import Box, iou, overlaps, share_inside
from longbanana_nb.vision.searching import Hint, Probe, hints, probes

VERSION = "finding-2"
ROUGH_SIDE = 36
FINE_SIDE = 72
SIZE_STEP = 1.12
FINE_STEP = 1.045
RIVALS = 3
RIVAL_GAP = 0.16
ACCEPT = 0.48
ROUGH_LOSS = 0.08  # a rough pose may gain this much when it is sharpened
SCAN_SIDE = 24
TURNS = (-10.0, 0.0, 10.0)
HOPELESS = 0.43  # agreement in the first look under which a hint is dropped
SURE, SURE_GAP = 0.72, 0.08
RIM = 48
HALVE_AT = 1.15  # a picture is halved while the part asked for would still be at most so much enlarged


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
        views = Views(pixels)
        rough: list[Pose] = []
        taken = _Taken()
        for start in (_start(hint, views.longer) for hint in shortlist(hints(pixels, self.prepared))):
            if not taken.holds(start) and (pose := self._refine(views, start)) is not None:
                rough.append(pose)
                taken.add(pose, start.score)
        fine = [self._sharpen(views, pose) for pose in _rivals(rough)]
        return settle([pose for pose in fine if pose.score >= ACCEPT])

    def _template(self, kind: int, side: float, angle: float) -> Template:
        key = (kind, round(side, 2), angle)
        if key not in self._templates:
            source = self._small[kind] if side < 56 else self.cutouts[kind]
            self._templates[key] = template(source, side, angle)
        return self._templates[key]

    def _refine(self, views: Views, start: Pose) -> Pose | None:
        """A hint in a closer look: turned, then larger and smaller; None as soon as that speaks against it."""
        window = _shared_window(views, start, SCAN_SIDE)
        turned = self._best(window, start, SCAN_SIDE, [], [(1.0, angle) for angle in TURNS])
        if turned.score < HOPELESS:
            return None
        window = _shared_window(views, start, ROUGH_SIDE)
        sizes = [(factor, turned.angle) for factor in (1 / SIZE_STEP, 1.0, SIZE_STEP)]
        best = self._best(window, start, ROUGH_SIDE, [], sizes)
        return best if best.score > ACCEPT - ROUGH_LOSS else None

    def _sharpen(self, views: Views, pose: Pose) -> Pose:
        window = _own_window(views, pose)
        best = self._best(window, pose, FINE_SIDE, [], [(1.0, pose.angle + turn) for turn in (-4.5, 0.0, 4.5)])
        sizes = [(factor, best.angle) for factor in (1 / FINE_STEP, FINE_STEP)]
        return self._best(window, pose, FINE_SIDE, [best], sizes)

    def _best(
        self, window: _Window, start: Pose, side: int, tried: list[Pose], sizes_and_angles: Sequence[tuple[float, float]]
    ) -> Pose:
        """The best pose near `start` among those tried and those to try."""
        tried = tried + [self._at(window, start, side, factor, angle) for factor, angle in sizes_and_angles]
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


class Views:
    """A picture at its own size, at a half, a quarter ...: a part of it at any scale is then a quick cut."""

    def __init__(self, pixels: Pixels) -> None:
        self._halved = [pixels]
        self._edges: dict[float, Field] = {}
        self.longer = max(pixels.shape[:2])

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


def _start(hint: Hint, longer: int) -> Pose:
    x0, y0, x1, y1 = (value * longer for value in hint.box)
    return Pose(hint.kind, hint.score, ((x0 + x1) / 2, (y0 + y1) / 2), hint.side * longer, 0.0, (x0, y0, x1, y1))


def _reach(start: Pose, side: int, slack: float) -> tuple[float, float]:
    """Half the width and height of the neighbourhood to look at, where the object would be `side` pixels long."""
    scale = side / start.side
    wide, high = (start.box[2] - start.box[0]) / 2 * scale, (start.box[3] - start.box[1]) / 2 * scale
    return wide * 1.1 + side * (slack + 0.16) + 3, high * 1.1 + side * (slack + 0.16) + 3


def _shared_window(views: Views, start: Pose, side: int) -> _Window:
    """The neighbourhood of a hint, cut from the edges of the whole picture."""
    scale = side / start.side
    field = views.edges(scale)
    wide, high = _reach(start, side, 0.03)
    x, y = start.centre[0] * scale + RIM, start.centre[1] * scale + RIM
    x0, y0 = max(0, round(x - wide)), max(0, round(y - high))
    part = field[y0 : round(y + high), x0 : round(x + wide)]
    return _Window(part, ((x0 - RIM) / scale, (y0 - RIM) / scale), scale)


def _own_window(views: Views, start: Pose) -> _Window:
    """The neighbourhood of a pose, scaled so that the object would be FINE_SIDE pixels long."""
    scale = FINE_SIDE / start.side
    reach = _reach(start, FINE_SIDE, 0.03)
    size = (int(2 * reach[0]), int(2 * reach[1]))
    origin = (start.centre[0] - size[0] / 2 / scale, start.centre[1] - size[1] / 2 / scale)
    return _Window(edge_field(views.part(origin, scale, size)), origin, scale)


class _Taken:
    """Places where a pose surely stands, with the score of the hint that led to it."""

    def __init__(self) -> None:
        self._boxes: list[Box] = []
        self._hints: list[float] = []

    def add(self, pose: Pose, hint: float) -> None:
        """Take the place of a pose if it is sure."""
        if pose.score >= SURE:
            self._boxes.append(pose.box)
            self._hints.append(hint)

    def holds(self, start: Pose) -> bool:
        """Whether a hint is at a place that is taken after a clearly better hint."""
        if not self._boxes:
            return False
        shared, inside = overlaps(start.box, np.array(self._boxes))
        at_place = (shared > 0.38) | (inside > 0.8)
        return bool((at_place & (start.score < np.array(self._hints) - SURE_GAP)).any())


def _moved(box: Box, x: int, y: int, origin: tuple[float, float], scale: float) -> Box:
    return (
        origin[0] + (x + box[0]) / scale,
        origin[1] + (y + box[1]) / scale,
        origin[0] + (x + box[2]) / scale,
        origin[1] + (y + box[3]) / scale,
    )


def shortlist(found: Sequence[Hint], limit: int = 250) -> list[Hint]:
    """Of overlapping hints of one kind the best, and of kinds at one place the best few; at most `limit`."""
    kept: list[Hint] = []
    boxes = np.zeros((limit, 4))
    for hint in found:
        shared, _ = overlaps(hint.box, boxes[: len(kept)])
        near = [kept[n] for n in np.flatnonzero(shared > 0.4)]
        if any(other.kind == hint.kind for other in near):
            continue
        if len(near) >= RIVALS + 1 or (near and hint.score < near[0].score - RIVAL_GAP - 0.06):
            continue
        boxes[len(kept)] = hint.box
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
