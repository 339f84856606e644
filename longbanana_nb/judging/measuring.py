"""The vision tools as instruments of a critic: plain values in and out, over pixels of the candidate and of bound references."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import cv2

from longbanana_nb.judging import pixels as pixel_look
from longbanana_nb.judging.exemplars import exemplars
from longbanana_nb.judging.looks import Entity, Sighting, Unanswerable
from longbanana_nb.judging.pixels import PixelLook
from longbanana_nb.judging.transcodes import crop
from longbanana_nb.release.probes import Present
from longbanana_nb.vision import colour, decoding, layout, lettering

if TYPE_CHECKING:
    from longbanana_nb.judging.looks import Box
    from longbanana_nb.judging.protocols import PictureFile
    from longbanana_nb.vision.arrays import Pixels

READING_SIDE = 640  # a part of a picture is enlarged to this long side before it is read
SEEN = 0.5  # score of a sighting from which it is counted
MOST_LISTED = 12
SLACK = 1e-3  # by which a box may leave the image: models round

Value = TypeVar("Value")

_reading = threading.Lock()  # the reader of lettering keeps its settings in itself: one use at a time in a process


class ToolFault(Exception):  # noqa: N818 - told to the model
    """What a tool was asked cannot be done; the text is for the model."""


class ToolMissing(Exception):  # noqa: N818 - a state of this machine
    """This machine lacks what a tool needs."""


def versions() -> dict[str, str]:
    """Versions of every instrument."""
    return {f"tool {name}": version for name, version in pixel_look.versions().items()}


def box_of(value: Any, name: str = "box") -> Box:
    """Four numbers as a box within the image.

    Raises:
        ToolFault: where they are none.
    """
    if not isinstance(value, list | tuple) or len(value) != 4 or not all(_is_number(one) for one in value):
        raise ToolFault(f"{name} is four numbers: x0, y0, x1, y1")
    x0, y0, x1, y1 = (min(1.0, max(0.0, float(one))) if -SLACK <= one <= 1 + SLACK else math.nan for one in value)
    if not (x0 < x1 and y0 < y1):
        raise ToolFault(f"{name} is x0, y0, x1, y1 as fractions of the image from 0 to 1, with x0 < x1 and y0 < y1")
    return x0, y0, x1, y1


def relations(a: Box, b: Box) -> dict[str, float]:
    """Every relation of `a` to `b`, positive where it holds, and how much they cover each other (0 to 1)."""
    found = {name: round(layout.relation(a, b, name), 3) for name in layout.RELATIONS}
    return {**found, "shared_over_joint_area": round(layout.iou(a, b), 3)}


class Instruments:
    """What pixels say, for one answer; pictures are decoded and searched once. None names the candidate."""

    def __init__(self, candidate: PictureFile, references: Mapping[str, PictureFile]) -> None:
        self._candidate, self._references = candidate, references
        self._decoded: dict[str | None, Pixels] = {}
        self._looks: dict[tuple[str, Box], tuple[PixelLook, Entity]] = {}

    def read(self, id_: str | None, box: Box) -> list[dict[str, Any]]:
        """Lettering in a box: text, box in the whole image, confidence."""
        part = crop(self._pixels(id_), box)
        scale = READING_SIDE / max(part.shape[:2])
        if scale > 1:
            size = (max(1, round(part.shape[1] * scale)), max(1, round(part.shape[0] * scale)))
            part = cv2.resize(part, size, interpolation=cv2.INTER_CUBIC)
        with _reading:
            found = _carried_out("ocr", lambda: lettering.read_picture(part))
        return [
            {"text": one.text, "box": _rounded(_outward(one.box, box)), "confidence": round(one.confidence, 2)}
            for one in found[:MOST_LISTED]
        ]

    def colours(self, id_: str | None, box: Box) -> dict[str, float]:
        """Shares of named colours in a box, the largest first."""
        shares = _carried_out("colour", lambda: colour.shares(crop(self._pixels(id_), box)))
        largest = sorted(shares.items(), key=lambda pair: -pair[1])
        return {name: round(share, 3) for name, share in largest if share >= 0.005}

    def count(self, reference_id: str, box: Box) -> dict[str, Any]:
        """How many things shaped like the one in the reference's box the candidate shows, and where."""
        seen = [one for one in self._sightings(reference_id, box, "count") if one.score >= SEEN]
        places = [{"box": _rounded(one.box), "sure": round(one.score, 2)} for one in seen[:MOST_LISTED]]
        return {"count": len(seen), "things": places}

    def match(self, reference_id: str, box: Box, within: Box) -> list[dict[str, Any]]:
        """Things within a box of the candidate that have the shape of the reference's, most alike first."""
        seen = [one for one in self._sightings(reference_id, box, "match") if layout.share_inside(one.box, within) > 0.5]
        return [
            {
                "box": _rounded(one.box),
                "likeness": round(one.likeness, 2),
                "shape": round(one.score, 2),
                "colour": one.colour,
                "lettering": list(one.texts),
            }
            for one in seen[:MOST_LISTED]
        ]

    def _sightings(self, reference_id: str, box: Box, tool: str) -> list[Sighting]:
        try:
            with _reading:
                return _carried_out(tool, lambda: self._found(reference_id, box))
        except Unanswerable:
            raise ToolFault("that box of the reference shows nothing that stands out from its ground; choose another") from None

    def _found(self, reference_id: str, box: Box) -> list[Sighting]:
        if (reference_id, box) not in self._looks:
            entity = Entity("thing", reference_id, box)
            known = exemplars([Present(entity)], lambda id_: self._references[id_].read())
            known.of(entity)
            self._looks[reference_id, box] = PixelLook(self._candidate.read(), known), entity
        look, entity = self._looks[reference_id, box]
        return look.find(entity)

    def _pixels(self, id_: str | None) -> Pixels:
        if id_ not in self._decoded:
            file = self._candidate if id_ is None else self._references[id_]
            self._decoded[id_] = decoding.decode(file.read(), str(file.file)).pixels
        return self._decoded[id_]


def _carried_out(tool: str, measure: Callable[[], Value]) -> Value:
    """The measurement; what an instrument cannot do with these pixels is told to the model, what it lacks is not."""
    try:
        return measure()
    except (ImportError, FileNotFoundError) as error:
        raise ToolMissing(f"{tool}: {type(error).__name__}: {error}"[:300]) from error
    except (ValueError, ArithmeticError, IndexError, cv2.error) as error:
        raise ToolFault(f"{tool} cannot measure this: {type(error).__name__}") from error


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e6 < value < 1e6


def _outward(inner: Box, outer: Box) -> Box:
    wide, high = outer[2] - outer[0], outer[3] - outer[1]
    return (
        outer[0] + inner[0] * wide,
        outer[1] + inner[1] * high,
        outer[0] + inner[2] * wide,
        outer[1] + inner[3] * high,
    )


def _rounded(box: Box) -> list[float]:
    return [round(value, 3) for value in box]
