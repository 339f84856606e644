"""Finding every instance of every known kind in a picture: coarse hints, refined poses, and one kind for each place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field as own

import cv2
import numpy as np
import numpy.typing as npt

from longbanana_nb.vision.arrays import Pixels
from longbanana_nb.vision.cutout import Cutout
from longbanana_nb.vision.edges import Template, likeness_of_free_part, posed_mask, reduced, template
from longbanana_nb.vision.layout import Box, iou, overlaps, share_inside
from longbanana_nb.vision.matching import Spectra, likeness_maps, template_spectra, transform_side
from longbanana_nb.vision.poses import Pose
from longbanana_nb.vision.searching import Hint, Probe, hints, probes
from longbanana_nb.vision.views import Views, Window, own_window, shared_window

VERSION = "finding-4"
ROUGH_SIDE = 36
FINE_SIDE = 72
SIZE_STEP = 1.12
FINE_STEP = 1.045
RIVALS = 3
RIVAL_GAP = 0.16
ACCEPT = 0.48
ROUGH_LOSS = 0.05  # a rough pose may gain this much when it is sharpened
RIVAL_GAIN = 0.12  # more than a rough pose gains by being sharpened: one that is further behind at its place cannot win it
SIZE_GAIN = 0.08  # and a sharpened one this much when its size is
SCAN_SIDE = 24
TURNS = (-10.0, 0.0, 10.0)
HOPELESS = 0.43  # agreement in the first look under which a hint is dropped
SURE, SURE_GAP = 0.72, 0.08
FRONT = 0.60  # a pose of this score is taken to cover what is behind it
BEHIND, HOPELESS_BEHIND = 0.65, 0.48  # agreement of the free part of a thing that is behind another
MOSTLY_FREE = 0.95
COVERED_LOOKS = 24
SPECTRA_KEPT = 600  # of templates: at most 120 MB
LEAST_COVERED, MOST_COVERED = 0.10, 0.65  # of a box, by things in front


@dataclass(slots=True)
class Finder:
    """The kinds of one case, prepared once and used on many pictures; `cutouts` holds one cut-out a kind."""

    cutouts: Sequence[Cutout]
    prepared: list[Probe] = own(default_factory=list)
    _small: list[Cutout] = own(default_factory=list)
    _templates: dict[tuple[int, float, float], Template] = own(default_factory=dict)
    _spectra: dict[tuple[int, float, float, int], Spectra] = own(default_factory=dict)

    def __post_init__(self) -> None:
        self.prepared = probes(self.cutouts)
        self._small = [reduced(cutout, 56) for cutout in self.cutouts]

    def find(self, pixels: Pixels) -> list[Pose]:
        """All instances of all kinds, best first; where several kinds claim a place, the one that explains it best has it."""
        views = Views(pixels)
        rough: list[Pose] = []
        taken = _Taken()
        found = hints(pixels, self.prepared)
        for start in (_start(hint, views.longer) for hint in shortlist(found)):
            if not taken.holds(start) and (pose := self._refine(views, start)) is not None:
                rough.append(pose)
                taken.add(pose, start.score)
        fine: list[Pose] = []
        for pose in _rivals(rough):
            if not any(pose.score + RIVAL_GAIN < better.score and _same_place(pose, better) for better in fine):
                fine.append(self._sharpen(views, pose))
        stand = settle([pose for pose in fine if pose.score >= ACCEPT])
        return stand + self._behind(views, stand, found)

    def _behind(self, views: Views, stand: Sequence[Pose], found: Sequence[Hint]) -> list[Pose]:
        """What stands partly behind things already found: compared by the part of it that they leave free."""
        fronts = [pose for pose in stand if pose.score >= FRONT]
        if not fronts:
            return []
        uncovered = self._free(views, fronts)
        free = Views(uncovered)
        behind: list[Pose] = []
        for start in _covered_starts(found, stand, uncovered, views.longer):
            window = own_window(views, start, ROUGH_SIDE, free)
            best = self._best(window, start, ROUGH_SIDE, [], [(1.0, angle) for angle in TURNS])
            if best.score < HOPELESS_BEHIND:
                continue
            best = self._best(window, start, ROUGH_SIDE, [best], [(factor, best.angle) for factor in (1 / SIZE_STEP, SIZE_STEP)])
            best = self._sharpen(views, best, free)
            if best.score >= BEHIND and best.visible < MOSTLY_FREE:
                behind.append(best)
        return [pose for pose in settle(behind) if not any(_is_same_thing(pose, other) for other in stand)]

    def _free(self, views: Views, fronts: Sequence[Pose]) -> Pixels:
        """255 where no thing that was found covers the picture, else 0."""
        free = np.full(views.shape, 255, dtype=np.uint8)
        for pose in fronts:
            mask, _ = posed_mask(self._small[pose.kind], pose.side, pose.angle)
            ys, xs = np.nonzero(mask > 0.5)
            solid = mask[ys.min() : ys.max() + 1, xs.min() : xs.max() + 1] > 0.5
            rim = max(2, round(0.03 * pose.side))
            solid = cv2.dilate(np.pad(solid.astype(np.uint8), rim), np.ones((2 * rim + 1, 2 * rim + 1), np.uint8)) > 0
            left, top = round(pose.box[0]) - rim, round(pose.box[1]) - rim
            x0, y0 = max(0, left), max(0, top)
            region = free[y0 : top + solid.shape[0], x0 : left + solid.shape[1]]
            region[solid[y0 - top :, x0 - left :][: region.shape[0], : region.shape[1]]] = 0
        return free

    def _template(self, kind: int, side: float, angle: float) -> Template:
        key = (kind, side, angle)
        if key not in self._templates:
            source = self._small[kind] if side < 56 else self.cutouts[kind]
            self._templates[key] = template(source, side, angle)
        return self._templates[key]

    def _refine(self, views: Views, start: Pose) -> Pose | None:
        """A hint in a closer look: turned, then larger and smaller; None as soon as that speaks against it."""
        window = shared_window(views, start, SCAN_SIDE)
        turned = self._best(window, start, SCAN_SIDE, [], [(1.0, angle) for angle in TURNS])
        if turned.score < HOPELESS:
            return None
        window = shared_window(views, start, ROUGH_SIDE)
        sizes = [(factor, turned.angle) for factor in (1 / SIZE_STEP, 1.0, SIZE_STEP)]
        best = self._best(window, start, ROUGH_SIDE, [], sizes)
        return best if best.score > ACCEPT - ROUGH_LOSS else None

    def _sharpen(self, views: Views, pose: Pose, free: Views | None = None) -> Pose:
        window = own_window(views, pose, FINE_SIDE, free)
        best = self._best(window, pose, FINE_SIDE, [], [(1.0, pose.angle + turn) for turn in (-4.5, 0.0, 4.5)])
        if best.score < ACCEPT - SIZE_GAIN:
            return best
        sizes = [(factor, best.angle) for factor in (1 / FINE_STEP, FINE_STEP)]
        return self._best(window, pose, FINE_SIDE, [best], sizes)

    def _best(
        self, window: Window, start: Pose, side: int, tried: list[Pose], sizes_and_angles: Sequence[tuple[float, float]]
    ) -> Pose:
        """The best pose near `start` among those tried and those to try."""
        keys = [(start.kind, round(side * factor, 2), angle) for factor, angle in sizes_and_angles]
        shapes = [self._template(*key) for key in keys]
        window.hold([shape.weights.shape for shape in shapes])
        if window.free is None:
            n = transform_side(window.strength.shape)
            spectra = [self._template_spectra(key, n) for key in keys]
            maps = likeness_maps(window.spectra(n), window.strength.shape, shapes, spectra)
            tops = [(*_highest(likeness), 1.0) for likeness in maps]
        else:
            tops = [_highest_of_free_part(window, window.free, shape) for shape in shapes]
        tried = list(tried)
        for shape, (factor, angle), (top, x, y, visible) in zip(shapes, sizes_and_angles, tops, strict=True):
            box = _moved(shape.box, x, y, window.origin, window.scale)
            middle = ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
            tried.append(Pose(start.kind, top, middle, start.side * factor, angle, box, visible))
        return max(tried, key=lambda pose: pose.score)

    def _template_spectra(self, key: tuple[int, float, float], n: int) -> Spectra:
        if (*key, n) not in self._spectra:
            if len(self._spectra) >= SPECTRA_KEPT:
                self._spectra.clear()
            self._spectra[(*key, n)] = template_spectra(self._templates[key], n)
        return self._spectra[(*key, n)]


def _highest(likeness: npt.NDArray[np.float32]) -> tuple[float, int, int]:
    _, top, _, (x, y) = cv2.minMaxLoc(likeness)
    return float(top), x, y


def _highest_of_free_part(window: Window, free: npt.NDArray[np.float32], shape: Template) -> tuple[float, int, int, float]:
    likeness, shares = likeness_of_free_part(window.field, window.strength, free, shape)
    top, x, y = _highest(likeness)
    return top, x, y, float(shares[y, x])


def _start(hint: Hint, longer: int) -> Pose:
    x0, y0, x1, y1 = (value * longer for value in hint.box)
    return Pose(hint.kind, hint.score, ((x0 + x1) / 2, (y0 + y1) / 2), hint.side * longer, 0.0, (x0, y0, x1, y1))


def _covered_starts(found: Sequence[Hint], stand: Sequence[Pose], free: Pixels, longer: int) -> list[Pose]:
    """Hints that things in front partly cover, best first, one for each kind and place, without what was found already."""
    sums = cv2.integral((free == 0).astype(np.uint8))
    starts: list[Pose] = []
    for hint in found:
        start = _start(hint, longer)
        x0, y0, x1, y1 = (int(np.clip(value, 0, sums.shape[1 - n % 2] - 1)) for n, value in enumerate(start.box))
        covered = float(sums[y1, x1] - sums[y0, x1] - sums[y1, x0] + sums[y0, x0]) / max(1, (x1 - x0) * (y1 - y0))
        if not LEAST_COVERED < covered < MOST_COVERED:
            continue
        if any(other.kind == start.kind and iou(other.box, start.box) > 0.4 for other in [*stand, *starts]):
            continue
        starts.append(start)
        if len(starts) == COVERED_LOOKS:
            break
    return starts


def _is_same_thing(pose: Pose, other: Pose) -> bool:
    return pose.kind == other.kind and iou(pose.box, other.box) > 0.3


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
