"""The sketch's eye: what one picture shows - things with kind, colour and lettering, marks, palette cards, and its backdrop."""

from __future__ import annotations

import io
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from longbanana_nb.demo.colours import COLOURS, anchor_lch, oklab, painted_part
from longbanana_nb.demo.cutting import colour_shares, freed
from longbanana_nb.demo.eye_kinds import KindLibrary
from longbanana_nb.demo.eye_letters import Label, read_labels, read_sticker
from longbanana_nb.demo.eye_segment import WORK, Blob, things_in
from longbanana_nb.demo.kinds import kinds
from longbanana_nb.files import sha256_bytes

EYE_VERSION = "eye-1"
Bytes = NDArray[Any]  # uint8; OpenCV's annotations do not keep element types
Floats = NDArray[Any]  # float32
Box = tuple[float, float, float, float]

FULL = 512
"""Edge length, in pixels, of the picture that is read and cut from; larger and smaller ones are scaled to it."""
LEAST_COLOURED = 0.06
SWATCH = 48
REMEMBERED = 512


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """One thing in a picture: what it is taken for, where it is (fractions), and its pixels cut free (RGBA).

    `clearness` (0 to 1) is how well outline and shading fit the kind; `label` lies in pixels of `rgba`; `turn` in degrees.
    """

    kind: str
    clearness: float
    box: Box
    rgba: Bytes
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

    cutouts, parts = {}, {}
    for name, kind in kinds().items():
        with Image.open(kind.file) as opened:
            cutouts[name] = np.array(opened.convert("RGBA"))
        parts[name] = np.asarray(painted_part(cutouts[name], kind.hue, kind.hue_width), np.float32)
    return KindLibrary(cutouts, parts)


def _decoded(picture: bytes) -> Bytes:
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(picture)) as opened:
            upright = ImageOps.exif_transpose(opened)
            return np.array(upright.convert("RGB").resize((FULL, FULL), Image.Resampling.LANCZOS, reducing_gap=2.0))
    except (UnidentifiedImageError, OSError) as error:
        raise ValueError(f"no picture: {error}") from None


def _perceive(rgb: Bytes, digest: str, work: int) -> Percept:
    small = cv2.resize(rgb, (work, work), interpolation=cv2.INTER_AREA)
    blobs, backdrop_lab = things_in(small)
    backdrop = np.asarray(cv2.cvtColor(backdrop_lab, cv2.COLOR_LAB2RGB) * 255, np.float32)
    seen, marks, card = [], [], None
    for blob in blobs:
        area = _area(blob, work)
        crop = rgb[area[1] : area[3], area[0] : area[2]]
        labels = read_labels(crop)
        if labels and _covers(labels[0], crop):
            marks.append(labels[0].text)
        elif (found := _card_colour(rgb, blob, area)) is not None:
            card = found
        else:
            seen.append(_thing(rgb, small, blob, backdrop))
    return Percept(digest, FULL, FULL, tuple(seen), tuple(marks), card, colour_name(np.median(backdrop.reshape(-1, 3), axis=0)))


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


def _thing(rgb: Bytes, small: Bytes, blob: Blob, backdrop: Floats) -> Seen:
    known = library()
    x0, y0, x1, y1 = blob.box
    named = known.name(small[y0:y1, x0:x1], blob.mask)
    area = _area(blob, small.shape[0])
    size = (area[2] - area[0], area[3] - area[1])
    crop = rgb[area[1] : area[3], area[0] : area[2]]
    behind = cv2.resize(backdrop[y0:y1, x0:x1], size, interpolation=cv2.INTER_LINEAR)
    if named.overlap > 0.8:
        opacity = known.outline(named.kind, named.turn, size)
    else:
        opacity = cv2.GaussianBlur(
            cv2.resize(blob.mask.astype(np.float32) / 255, size, interpolation=cv2.INTER_LINEAR), (0, 0), 1.0
        )
    rgba = freed(crop, np.asarray(opacity, np.float32), behind)
    box = (area[0] / FULL, area[1] / FULL, area[2] / FULL, area[3] / FULL)
    clearness = named.likeness * min(1.0, named.overlap / 0.9)
    colour = _colour(rgba, named.kind, named.turn)
    room = kinds()[named.kind].label
    label = read_sticker(rgba, named.turn, room) if room else None
    return Seen(named.kind, clearness, box, rgba, colour, label.text if label else None, label, named.turn)


def _colour(rgba: Bytes, kind: str, turn: float) -> str | None:
    """The named colour of a thing's paintable part, or None where the kind has none."""
    part = library().paintable(kind, turn, (SWATCH, SWATCH))
    if part is None:
        return None
    small = cv2.resize(rgba, (SWATCH, SWATCH), interpolation=cv2.INTER_AREA)
    shares = colour_shares(small[..., :3], np.asarray(part * (small[..., 3] > 200), np.float32))
    best = max(shares, key=lambda name: shares[name])
    return best if shares[best] > LEAST_COLOURED else None


def colour_name(rgb: NDArray[Any] | NDArray[Any]) -> str | None:
    """The nearest of the eight named colours by hue, or None for a colour too grey to have one."""
    lab = oklab(np.asarray(rgb, np.float64) / 255.0)
    if float(np.hypot(lab[1], lab[2])) < 0.03:
        return None
    shares = colour_shares(np.asarray(rgb, np.uint8).reshape(1, 1, 3), np.ones((1, 1), np.float32))
    return max(COLOURS, key=lambda name: (shares[name], -abs(anchor_lch(name)[0] - float(lab[0]))))
