"""The sketch's eye: what one picture shows - things with kind, colour and lettering, marks, palette cards, and its backdrop."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from longbanana_nb.demo.colours import COLOURS, anchor_lch, oklab
from longbanana_nb.demo.cutting import colour_shares, freed
from longbanana_nb.demo.eye_kinds import KindLibrary, Named
from longbanana_nb.demo.eye_letters import Label, read_labels, read_sticker, white_share
from longbanana_nb.demo.eye_segment import WORK, Blob, joined, things_in
from longbanana_nb.demo.kinds import kinds
from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation.images import NotAPictureError, upright

EYE_VERSION = "eye-2"
Bytes = NDArray[Any]  # uint8; OpenCV's annotations do not keep element types
Floats = NDArray[Any]  # float32
Box = tuple[float, float, float, float]

FULL = 512
"""Edge length, in pixels, of the picture that is read and cut from; larger and smaller ones are scaled to it."""
LEAST_COLOURED = 0.06
SWATCH, SOLID = 40, 204
REMEMBERED = 128
FRAGMENT_GAP = 0.16
TAG_WHITE = 0.45
"""Least white share of a thing for it to be looked at as a tag."""


@dataclass(slots=True, eq=False)
class Cut:
    """The part of a picture that shows a thing, from which its pixels are freed the first time they are wanted.

    `opacity` and `behind` (the backdrop, RGB), both 0 to 255, may be of another size than the crop; they are stretched over it.
    """

    crop: Bytes
    opacity: Bytes
    behind: Floats
    _freed: Bytes | None = None

    @property
    def rgba(self) -> Bytes:
        """The thing's pixels, free of the old backdrop; the same array each time."""
        if self._freed is None:
            size = (self.crop.shape[1], self.crop.shape[0])
            opacity = cv2.resize(self.opacity.astype(np.float32) / 255, size, interpolation=cv2.INTER_LINEAR)
            behind = cv2.resize(self.behind, size, interpolation=cv2.INTER_LINEAR)
            self._freed = freed(self.crop, opacity, behind)
        return self._freed


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """One thing in a picture: what it is taken for, where it is (fractions), and how it is cut free.

    `clearness` (0 to 1) is how well outline and shading fit the kind; `label` lies in pixels of the cut; `turn` in degrees.
    """

    kind: str
    clearness: float
    box: Box
    cut: Cut
    colour: str | None
    text: str | None
    label: Label | None
    turn: float


@dataclass(frozen=True, slots=True, eq=False)
class Percept:
    """What one picture shows: `marks` are tags such as "DAY 3" or "TRAY"; `card` is a palette card's colour, or None."""

    sha256: str
    width: int
    height: int
    seen: tuple[Seen, ...]
    marks: tuple[str, ...]
    card: str | None
    backdrop: str | None


class Eye:
    """Looks at pictures and remembers them by the hash of their bytes."""

    def __init__(self, work: int = WORK) -> None:
        """Take the edge length at which things are parted from the backdrop."""
        self.work = work
        self._seen: OrderedDict[str, Percept] = OrderedDict()

    def look(self, picture: bytes) -> Percept:
        """What a picture shows; the same bytes give the same percept.

        Raises:
            ValueError: if the bytes are no picture.
        """
        digest = sha256_bytes(picture)
        if digest in self._seen:
            self._seen.move_to_end(digest)
            return self._seen[digest]
        percept = _perceive(_decoded(picture), digest, self.work)
        self._seen[digest] = percept
        while len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
        return percept


@lru_cache(maxsize=1)
def library() -> KindLibrary:
    """The cut-out library, prepared once a process."""
    from PIL import Image

    cutouts = {}
    for name, kind in kinds().items():
        with Image.open(kind.file) as opened:
            cutouts[name] = np.array(opened.convert("RGBA"))
    return KindLibrary(cutouts, {name: (kind.hue, kind.hue_width) for name, kind in kinds().items()})


def _decoded(picture: bytes) -> Bytes:
    from PIL import Image

    try:
        opened = upright(picture)
    except NotAPictureError as error:
        raise ValueError(f"no picture: {error}") from None
    return np.array(opened.convert("RGB").resize((FULL, FULL), Image.Resampling.LANCZOS, reducing_gap=2.0))


def _perceive(rgb: Bytes, digest: str, work: int) -> Percept:
    half = cv2.resize(rgb, (FULL // 2, FULL // 2), interpolation=cv2.INTER_AREA)
    small = cv2.resize(half, (work, work), interpolation=cv2.INTER_AREA if work <= FULL // 4 else cv2.INTER_LINEAR)
    blobs, backdrop = things_in(small)
    things, marks, card = [], [], None
    for blob in blobs:
        area = _area(blob, work)
        crop = rgb[area[1] : area[3], area[0] : area[2]]
        labels = read_labels(crop) if white_share(_shown(small, blob), blob.mask) > TAG_WHITE else []
        if labels and _covers(labels[0], crop):
            marks.append(labels[0].text)
        elif (found := _card_colour(rgb, blob, area)) is not None:
            card = found
        else:
            things.append(blob)
    seen = tuple(_thing(rgb, blob, named, work, backdrop) for blob, named in _whole(things, small))
    return Percept(digest, FULL, FULL, seen, tuple(marks), card, colour_name(np.median(backdrop.reshape(-1, 3), axis=0)))


def _whole(blobs: list[Blob], small: Bytes) -> list[tuple[Blob, Named]]:
    """The things with their names; a fragment is joined to the larger thing it hovers over if both look more like one."""
    known = library()
    rest, things = list(blobs), []
    while rest:
        blob = rest.pop(0)
        named = known.name(_shown(small, blob), blob.mask)
        fragments = [other for other in rest if _hovers(other, blob, FRAGMENT_GAP * small.shape[0])]
        if fragments:
            union = joined([blob, *fragments])
            together = known.name(_shown(small, union), union.mask)
            if together.likeness > named.likeness - 0.01:
                blob, named = union, together
                rest = [other for other in rest if all(other is not one for one in fragments)]
        things.append((blob, named))
    return things


def _hovers(fragment: Blob, blob: Blob, gap: float) -> bool:
    """Whether a blob is much smaller than another and lies over or under it, at most `gap` pixels away."""
    left, right = max(fragment.box[0], blob.box[0]), min(fragment.box[2], blob.box[2])
    apart = max(fragment.box[1], blob.box[1]) - min(fragment.box[3], blob.box[3])
    return fragment.area < 0.4 * blob.area and right - left > 0.5 * (fragment.box[2] - fragment.box[0]) and apart < gap


def _shown(small: Bytes, blob: Blob) -> Bytes:
    x0, y0, x1, y1 = blob.box
    return small[y0:y1, x0:x1]


def _area(blob: Blob, work: int) -> tuple[int, int, int, int]:
    x0, y0, x1, y1 = (round(v * FULL / work) for v in blob.box)
    return x0, y0, x1, y1


def _covers(label: Label, crop: Bytes) -> bool:
    """Whether a label is the thing itself: a tag."""
    x0, y0, x1, y1 = label.box
    return bool((x1 - x0) * (y1 - y0) > 0.7 * crop.shape[0] * crop.shape[1])


def _card_colour(rgb: Bytes, blob: Blob, area: tuple[int, int, int, int]) -> str | None:
    """The colour of a palette card: a large plain upright square in one named colour; None for anything else."""
    x0, y0, x1, y1 = area
    if min(x1 - x0, y1 - y0) < 0.45 * FULL or blob.area < 0.9 * blob.mask.size:
        return None
    inner = cv2.resize(rgb[y0 + 20 : y1 - 20, x0 + 20 : x1 - 20], (32, 32), interpolation=cv2.INTER_AREA).reshape(-1, 3)
    middle = np.median(inner, axis=0)
    even = np.abs(inner.astype(np.float32) - middle).max(axis=1) < 12
    return colour_name(middle) if float(even.mean()) > 0.9 else None


def _thing(rgb: Bytes, blob: Blob, named: Named, work: int, backdrop: Floats) -> Seen:
    known = library()
    area = _area(blob, work)
    crop = rgb[area[1] : area[3], area[0] : area[2]]
    if named.overlap > 0.8:
        opacity = known.outline(named.kind, named.turn)
    else:
        opacity = np.asarray(cv2.GaussianBlur(blob.mask, (0, 0), 0.5), np.uint8)
    x0, y0, x1, y1 = blob.box
    box = (x0 / work, y0 / work, x1 / work, y1 / work)
    colour = _colour(crop, opacity, named.kind, named.turn)
    room = kinds()[named.kind].label
    label = read_sticker(crop, named.turn, room) if room else None
    cut = Cut(crop.copy(), opacity, _part_of(backdrop, box))
    return Seen(named.kind, named.clearness, box, cut, colour, label.text if label else None, label, named.turn)


def _part_of(backdrop: Floats, box: Box) -> Floats:
    """The part of a backdrop, given for the whole picture, that lies behind a box."""
    side = backdrop.shape[0]
    x0, y0 = int(box[0] * side), int(box[1] * side)
    return backdrop[y0 : max(y0 + 1, round(box[3] * side)), x0 : max(x0 + 1, round(box[2] * side))].copy()


def _colour(crop: Bytes, opacity: Bytes, kind: str, turn: float) -> str | None:
    """The named colour of a thing's paintable part, or None where the kind has none."""
    part = library().paintable(kind, turn, (SWATCH, SWATCH))
    swatch = cv2.resize(crop, (SWATCH, SWATCH), interpolation=cv2.INTER_AREA)
    solid = cv2.resize(opacity, (SWATCH, SWATCH), interpolation=cv2.INTER_AREA) > SOLID
    shares = colour_shares(swatch, np.asarray(part * solid, np.float32))
    best = max(shares, key=lambda name: shares[name])
    return best if shares[best] > LEAST_COLOURED else None


def colour_name(rgb: NDArray[Any] | NDArray[Any]) -> str | None:
    """The nearest of the eight named colours by hue, or None for a colour too grey to have one."""
    lab = oklab(np.asarray(rgb, np.float64) / 255.0)
    if float(np.hypot(lab[1], lab[2])) < 0.03:
        return None
    shares = colour_shares(np.asarray(rgb, np.uint8).reshape(1, 1, 3), np.ones((1, 1), np.float32))
    return max(COLOURS, key=lambda name: (shares[name], -abs(anchor_lch(name)[0] - float(lab[0]))))
