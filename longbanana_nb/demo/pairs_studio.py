"""A case drawn without errors, its variations, and the truth about each: what the demo's minimal pairs are cut from."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from longbanana_nb.demo import brief
from longbanana_nb.demo.eye import Eye, Percept, Seen
from longbanana_nb.demo.sketch import SIDE, scene_of
from longbanana_nb.demo.sketch_brief import commission_of
from longbanana_nb.demo.sketch_compose import Drawing, compose
from longbanana_nb.demo.sketch_errors import Dice
from longbanana_nb.demo.sketch_paint import Layer, paint_picture
from longbanana_nb.demo.truth import CaseTruth, SceneLook
from longbanana_nb.files import sha256_bytes
from longbanana_nb.judging import Unanswerable, answer
from longbanana_nb.judging.answers import MATCHING, match
from longbanana_nb.release import Case, parse_probe
from longbanana_nb.release.probes import Entity, Probe
from longbanana_nb.vision.layout import iou

Box = tuple[float, float, float, float]
SAME_THING = 0.5
_EYE = Eye()  # what pictures show is a fact about their bytes


class Faultless(Dice):
    """The chances of a call in which nothing goes wrong; what is left to chance, such as a tilt, has its source still."""

    def __init__(self, parts: Sequence[str]) -> None:
        super().__init__("strong", 0.0, parts)

    def strikes(self, error: str, subject: str) -> bool:
        """Never."""
        return False


@dataclass(frozen=True, slots=True)
class Variation:
    """A drawing to be painted: layers, backdrop, and words written over it (text, box)."""

    layers: tuple[Layer, ...]
    backdrop: str | None
    words: tuple[tuple[str, Box], ...] = ()


@dataclass(frozen=True, slots=True)
class Shot:
    """A painted variation: its bytes, their hash, and its scene."""

    data: bytes
    scene: Mapping[str, Any]
    sha256: str = field(default="")

    @classmethod
    def of(cls, data: bytes, scene: Mapping[str, Any]) -> Shot:
        """With the hash of the bytes, and the scene naming it."""
        digest = sha256_bytes(data)
        return cls(data, {**scene, "image_sha256": digest}, digest)


class Studio:
    """One case: the faultless drawing of its prompt, and the labels that are right for any variation of it."""

    def __init__(self, case: Case, graph: Mapping[str, Any], seed: int) -> None:
        self.case = case
        self.graph = graph
        self.truth = CaseTruth.of(graph, {one.sha256: one.id for one in case.inputs})
        self.percepts: dict[str, Percept] = {one.id: _EYE.look(one.file.read_bytes()) for one in case.inputs}
        given = [self.percepts[one.id] for one in case.references]
        background = self.percepts[case.background.id] if case.background is not None else None
        commission = commission_of(brief.parse(case.prompt))
        self.dice = Faultless((str(seed), case.case_id))
        drawing = compose(commission, given, background, Drawing(), self.dice)
        self.drawn = Variation(tuple(drawing.layers), drawing.backdrop)

    def chance(self, *names: str) -> random.Random:
        """A source of chance for a question of this case."""
        return self.dice.source(*names)

    def paint(self, variation: Variation) -> Shot:
        """The picture and the scene of a variation."""
        from longbanana_nb.judging.audit.edits import encoded, pixels_of, written

        drawing = Drawing(list(variation.layers), variation.backdrop)
        painted = paint_picture(drawing.layers, drawing.backdrop, SIDE)
        scene = scene_of(painted, drawing)
        data = painted.jpeg
        if variation.words:
            pixels = pixels_of(data)
            for text, box in variation.words:
                pixels = written(pixels, text, box)
            data = encoded(pixels)
            scene["words"] = [{"text": text.upper().replace(" ", ""), "box": list(box)} for text, box in variation.words]
        return Shot.of(data, scene)

    def look(self, scene: Mapping[str, Any]) -> SceneLook:
        """The look that knows the truth."""
        return SceneLook(scene, self.truth)

    def label(self, probe: Probe, scene: Mapping[str, Any]) -> int | None:
        """The right label, None where the truth does not decide."""
        return answer(probe, self.look(scene)).label

    def members(self, entity: Entity, scene: Mapping[str, Any]) -> list[int]:
        """Which of the layers truly are the entity, each alone."""
        found = []
        for n, piece in enumerate(scene["objects"]):
            alone = self.look({**scene, "objects": [piece]})
            try:
                sightings = alone.find(entity)
            except Unanswerable:
                return []
            found += [n] if any(match(one, entity) >= MATCHING for one in sightings) else []
        return found

    def seen_at(self, reference_id: str, box: Box) -> tuple[Percept, Seen] | None:
        """What stands at a box of a reference, as it can be cut out; None where nothing was seen there."""
        percept = self.percepts.get(reference_id)
        if percept is None:
            return None
        best = max(percept.seen, key=lambda seen: iou(seen.box, box), default=None)
        return (percept, best) if best is not None and iou(best.box, box) >= SAME_THING else None


def layer_of(percept: Percept, seen: Seen, box: Box) -> Layer:
    """A thing cut from a reference, to stand in a box."""
    layer = Layer("", seen.kind, seen.cut.rgba, percept.sha256, seen.box, box, -0.5 * seen.turn)
    layer.colour, layer.text, layer.label = seen.colour, seen.text, seen.label
    return layer


def without(variation: Variation, gone: Sequence[int]) -> Variation:
    """The variation less some layers."""
    return replace(variation, layers=tuple(layer for n, layer in enumerate(variation.layers) if n not in set(gone)))


def changed(variation: Variation, n: int, **changes: Any) -> Variation:
    """The variation with one layer changed."""
    layers = list(variation.layers)
    layers[n] = replace(layers[n], **changes)
    return replace(variation, layers=tuple(layers))


def added(variation: Variation, layer: Layer) -> Variation:
    """The variation with one layer more."""
    return replace(variation, layers=(*variation.layers, layer))


def probe_of(value: Mapping[str, Any], check_id: str) -> Probe:
    """A probe of the release, read."""
    return parse_probe(value, f"probe of check {check_id!r}")
