"""The truth about a candidate whose scene is known: what it shows, worked out from where its pixels came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from longbanana_nb.demo.kinds import kinds
from longbanana_nb.generation.scenes import place
from longbanana_nb.judging.looks import Entity, Lettering, NoScene, Sighting, Unanswerable
from longbanana_nb.vision.layout import area, centre, iou, share_inside
from longbanana_nb.vision.lettering import LEGIBLE_PX

TRUTH_VERSION = "truth-1"
Box = tuple[float, float, float, float]

TAG = ((0.66, 0.02, 0.98, 0.16), 0.068)
CARD = ((0.33, 0.20, 0.67, 0.28), 0.043)
"""Where a tag's or a card's words stand on the whole reference, and the height of their capitals (fractions of it)."""
SHOWN_IN_PIECE = 0.6
SAME_BOX = 0.5
OTHER_LOOKS = 0.25
"""Likeness of a thing to one of its kind in another colour or with other lettering."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One thing that truly stands on the candidate."""

    kind: str
    colour: str | None
    text: str | None
    box: Box
    visible: float
    drift: float


@dataclass(frozen=True, slots=True)
class CaseTruth:
    """What a case's references truly show: reference id by hash, and by id what it shows, its tag and its backdrop."""

    ids: Mapping[str, str]
    references: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, graph: Mapping[str, Any], ids: Mapping[str, str]) -> CaseTruth:
        """From a graph (`lb.graph.v1`) and the reference ids by the hash of their bytes, the background's included."""
        return cls(dict(ids), {reference["id"]: reference for reference in graph["references"]})

    def exemplar(self, reference_id: str, box: Box) -> Mapping[str, Any] | None:
        """What a box of a reference shows, or None if it shows nothing known."""
        shows = self.references.get(reference_id, {}).get("shows", ())
        return max(shows, key=lambda shown: iou(_box(shown["box"]), box), default=None)


class SceneLook:
    """A look at a candidate that knows the truth; the same protocol as a look through pixels."""

    def __init__(self, scene: Mapping[str, Any] | None, case: CaseTruth) -> None:
        """Take the scene of the candidate's image and the truth about its case.

        Raises:
            NoScene: if there is no scene, or pixels of unknown origin are in it.
        """
        if scene is None:
            raise NoScene("no scene is kept for this image")
        if not scene["complete"]:
            raise NoScene("the scene holds pixels of unknown origin")
        self.size: tuple[int, int] = (int(scene["width"]), int(scene["height"]))
        self._scene = scene
        self._case = case
        self.shown: tuple[Shown, ...] = tuple(thing for piece in scene["objects"] for thing in self._resolved(piece))

    def find(self, entity: Entity) -> list[Sighting]:
        """Every thing of the exemplar's kind, most like the exemplar and most visible first.

        `score` is the visible share of its surface, less what it has drifted; `likeness` says how much it is like the exemplar:
        1 for the same kind, colour and lettering, `OTHER_LOOKS` for the same kind with other looks, less drift.
        """
        exemplar = self._case.exemplar(entity.reference_id, entity.box)
        if exemplar is None:
            raise Unanswerable(f"the graph says of no object at this box of {entity.reference_id!r}")
        sightings = [self._sighting(thing, exemplar, entity) for thing in self.shown if thing.kind == exemplar["kind"]]
        return sorted(sightings, key=lambda sighting: (-sighting.likeness, -sighting.score, sighting.box))

    def lettering(self, box: Box | None = None) -> list[Lettering]:
        """All lettering large enough to read, in the picture or with its middle in a box."""
        found = [Lettering(thing.text, thing.box, 1.0) for thing in self.shown if thing.text and self._is_legible(thing)]
        found += [Lettering(word["text"], _box(word["box"]), 1.0) for word in self._scene["words"]]
        found += [Lettering(text, where, 1.0) for text, where in self._tags()]
        return [one for one in found if box is None or _holds(box, centre(one.box))]

    def palette(self, box: Box | None = None) -> dict[str, float]:
        """Shares of the backdrop (of the picture, or of a box) by colour; whole pasted pictures bring their own backdrops."""
        window = box or (0.0, 0.0, 1.0, 1.0)
        shares: dict[str, float] = {}
        rest = 1.0
        for piece in self._scene["objects"]:
            if not _is_whole(piece):
                continue
            part = share_inside(window, _box(piece["box"]))
            colour = self._reference(piece).get("backdrop")
            rest -= part
            if colour:
                shares[colour] = shares.get(colour, 0.0) + part
        colour = self._scene["backdrop"]["colour"]
        if colour and rest > 1e-9:
            shares[colour] = shares.get(colour, 0.0) + rest
        return shares

    def _reference(self, piece: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._case.references.get(self._case.ids.get(piece["source_sha256"], ""), {})

    def _resolved(self, piece: Mapping[str, Any]) -> Iterable[Shown]:
        """What a piece of pixels truly shows: the one thing its box was cut around, or all that lie in it."""
        source = _box(piece["source_box"])
        shows: Sequence[Mapping[str, Any]] = self._reference(piece).get("shows", ())
        nearest = max(shows, key=lambda shown: iou(_box(shown["box"]), source), default=None)
        if nearest is not None and not _is_whole(piece) and iou(_box(nearest["box"]), source) >= SAME_BOX:
            yield self._as_shown(nearest, piece, _box(piece["box"]))
            return
        for shown in shows:
            if share_inside(_box(shown["box"]), source) >= SHOWN_IN_PIECE:
                yield self._as_shown(shown, piece, place(shown["box"], piece))

    @staticmethod
    def _as_shown(shown: Mapping[str, Any], piece: Mapping[str, Any], box: Box) -> Shown:
        text = shown["text"] if piece["relettered_to"] is None else piece["relettered_to"] or None
        colour = piece["recoloured_to"] or shown["colour"]
        return Shown(shown["kind"], colour, text, box, float(piece["visible"]), float(piece["drift"]))

    def _sighting(self, thing: Shown, exemplar: Mapping[str, Any], entity: Entity) -> Sighting:
        same = thing.colour == exemplar["colour"] and thing.text == exemplar["text"]
        likeness = (1.0 if same else OTHER_LOOKS) * (1.0 - thing.drift)
        texts = (thing.text,) if thing.text and self._is_legible(thing) else ()
        score = thing.visible * (1.0 - thing.drift)
        shows_colour = 1.0 if entity.colour in (None, thing.colour) else 0.0
        return Sighting(thing.box, score, thing.colour, shows_colour, texts, likeness)

    def _is_legible(self, thing: Shown) -> bool:
        return capital_height(thing, self.size) >= LEGIBLE_PX

    def _tags(self) -> Iterable[tuple[str, Box]]:
        """Words of tags and cards on whole references that were pasted, where they are large enough to read."""
        for piece in self._scene["objects"]:
            if not _is_whole(piece):
                continue
            reference, box = self._reference(piece), _box(piece["box"])
            written = [(reference.get("mark"), TAG), ("BACKDROP" if reference.get("role") == "card" else None, CARD)]
            for text, (where, capitals) in written:
                if text and (box[3] - box[1]) * self.size[1] * capitals >= LEGIBLE_PX:
                    yield text.replace(" ", ""), place(where, piece)


def capital_height(thing: Shown, size: tuple[int, int]) -> float:
    """Height in pixels of the capitals on a thing's sticker, from the room the kind has for it and the length of the word."""
    label = kinds()[thing.kind].label
    if label is None or not thing.text:
        return 0.0
    wide = (label[2] - label[0]) * (thing.box[2] - thing.box[0]) * size[0]
    high = (label[3] - label[1]) * (thing.box[3] - thing.box[1]) * size[1]
    return min(0.70 * high, (0.70 * wide) / (0.86 * len(thing.text)))


def _is_whole(piece: Mapping[str, Any]) -> bool:
    return area(_box(piece["source_box"])) > 0.98


def _box(values: Sequence[float]) -> Box:
    x0, y0, x1, y1 = values
    return float(x0), float(y0), float(x1), float(y1)


def _holds(box: Box, point: tuple[float, float]) -> bool:
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


def scene_look(scene: Mapping[str, Any], graph: Mapping[str, Any], ids: Mapping[str, str]) -> SceneLook:
    """The look at one candidate: its scene, the graph of its case, and the ids of the case's pictures by hash of bytes."""
    return SceneLook(scene, CaseTruth.of(graph, ids))
