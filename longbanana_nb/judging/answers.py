"""Answering a probe from a look: each leaf is one measured number, labelled by its bounds, with its evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal

from longbanana_nb.judging import texts
from longbanana_nb.judging.looks import Box, Entity, Look, Sighting, Unanswerable
from longbanana_nb.release import probes as p
from longbanana_nb.runs.judgments import Evidence, EvidenceImage
from longbanana_nb.vision import layout

VERSION = "answers-2"
SURE = 0.60
POSSIBLE = 0.35
MATCHING = 0.5
NOTHING = -1.0  # what a relation, an order measures where an end of it is not in the picture

Label = Literal[0, 1, 2]


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: a label or the reason there is none, what was measured (None for composed probes), and the evidence."""

    label: Label | None
    invalid: Literal["unanswerable", "no_scene"] | None = None
    measured: float | None = None
    evidence: list[Evidence] = field(default_factory=list)
    rationale: str = ""


@dataclass(frozen=True, slots=True)
class _Found:
    """What a leaf measured, and on which boxes."""

    value: float
    boxes: tuple[Box, ...] = ()
    seen: Any = None


def answer(probe: p.Probe, look: Look, image: tuple[str, str] = ("candidate", "")) -> Answer:
    """Answer a probe from what a look sees.

    Args:
        image: id and SHA-256 under which the evidence names the picture.

    `not` maps Pass to Fail and keeps Uncertain; `all` is the least and `any` the greatest label of the parts; a part that cannot
    be answered makes the whole invalid, unless the other parts settle it.
    """
    evidence: list[Evidence] = []
    label, invalid, measured = _label(probe, look, evidence, image)
    words = "; ".join(_words(one) for one in evidence)
    return Answer(label, invalid, measured, evidence, words[:1000])


Labelled = tuple[Label | None, Literal["unanswerable"] | None, float | None]


def _label(probe: p.Probe, look: Look, evidence: list[Evidence], image: tuple[str, str]) -> Labelled:
    if isinstance(probe, p.Not):
        label, invalid, measured = _label(probe.probe, look, evidence, image)
        turned: dict[Label | None, Label | None] = {0: 2, 1: 1, 2: 0, None: None}
        return turned[label], invalid, measured
    if isinstance(probe, p.All | p.Any):
        parts = [_label(part, look, evidence, image)[0] for part in probe.probes]
        known = [part for part in parts if part is not None]
        settled, choose = (0, min) if isinstance(probe, p.All) else (2, max)
        if len(known) < len(parts) and settled not in known:
            return None, "unanswerable", None
        return choose(known), None, None
    return _leaf(probe, look, evidence, image)


def _leaf(leaf: p.Leaf, look: Look, evidence: list[Evidence], image: tuple[str, str]) -> Labelled:
    tool = type(leaf).__name__.lower()
    arguments = _arguments(leaf)
    try:
        found = MEASURES[type(leaf)](leaf, look)
    except Unanswerable as why:
        shown = EvidenceImage(image[0], image[1])
        evidence.append(Evidence(len(evidence) + 1, tool, arguments, {"unanswerable": str(why)}, shown))
        return None, "unanswerable", None
    label: Label = 2 if found.value >= leaf.hi else 0 if found.value <= leaf.lo else 1
    result = {"measured": round(found.value, 4), "lo": leaf.lo, "hi": leaf.hi, "label": label, "seen": found.seen}
    boxes: list[Box | None] = [*found.boxes[:4]] or [None]
    for box in boxes:
        where = None if box is None else [round(float(value), 4) for value in box]
        shown = EvidenceImage(image[0], image[1], where)
        evidence.append(Evidence(len(evidence) + 1, tool, arguments, result, shown))
    return label, None, found.value


def match(sighting: Sighting, entity: Entity) -> float:
    """How far a sighting is the entity itself, 0 to 1: the least of kind, colour and lettering, as far as it names them."""
    values = [sighting.score]
    if entity.colour is not None:
        values.append(sighting.colour_score)
    if entity.text is not None:
        values.append(_lettered(sighting, entity.text))
    return min(values)


def _lettered(sighting: Sighting, text: str) -> float:
    """Likeness of lettering on the scale of `present`: equal 1, doubtful between its bounds, one letter off 0.2."""
    best = max((texts.equal(found, text, sighting.text_confidence) for found in sighting.texts), default=0.0)
    return {texts.DOUBTFUL: (SURE + POSSIBLE) / 2, texts.ONE_OFF: 0.2}.get(best, best)


def instances(entity: Entity, look: Look) -> list[tuple[float, Sighting]]:
    """Sightings of the entity's kind with their match, best first."""
    found = [(match(sighting, entity), sighting) for sighting in look.find(entity)]
    return sorted(found, key=lambda pair: -pair[0])


def matching(entity: Entity, look: Look) -> list[Sighting]:
    """The sightings that rather are the entity than not."""
    return [sighting for value, sighting in instances(entity, look) if value >= MATCHING]


def _present(leaf: p.Present, look: Look) -> _Found:
    found = instances(leaf.entity, look)
    return _best(found) if found else _Found(0.0, seen="not found")


def _absent(leaf: p.Absent, look: Look) -> _Found:
    found = instances(leaf.entity, look)
    if not found:
        return _Found(1.0, seen="not found")
    best = _best(found)
    return _Found(1.0 - best.value, best.boxes, best.seen)


def _best(found: list[tuple[float, Sighting]]) -> _Found:
    value, sighting = found[0]
    return _Found(value, (sighting.box,), _seen(sighting))


def _count(leaf: p.Count, look: Look) -> _Found:
    """Minus the distance of the count to the allowed range; half of one where doubtful instances decide."""
    found = instances(leaf.entity, look)
    sure = sum(value >= SURE for value, _ in found)
    possible = sum(value > POSSIBLE for value, _ in found)
    low = leaf.equals if leaf.equals is not None else (leaf.minimum or 0)
    high = leaf.equals if leaf.equals is not None else leaf.maximum
    distances = {_distance(count, low, high) for count in range(sure, possible + 1)}
    value = -float(min(distances)) if len(distances) == 1 or min(distances) > 0 else -0.5
    boxes = tuple(sighting.box for match_value, sighting in found if match_value > POSSIBLE)
    return _Found(value, boxes, {"count": sure, "possible": possible})


def _distance(count: int, low: int, high: int | None) -> int:
    return max(low - count, 0 if high is None else count - high, 0)


def _text(leaf: p.Text, look: Look) -> _Found:
    wanted = leaf.equals if leaf.equals is not None else leaf.contains or ""
    compare = texts.equal if leaf.equals is not None else texts.contains
    if isinstance(leaf.where, Entity):
        unlettered = replace(leaf.where, text=None)
        readings = [
            (text, sighting.text_confidence, sighting.box) for sighting in matching(unlettered, look) for text in sighting.texts
        ]
    else:
        readings = [(one.text, one.confidence, one.box) for one in look.lettering(leaf.where)]
    scored = [(compare(text, wanted, confidence), text, box) for text, confidence, box in readings]
    if not scored:
        bearers = [replace(leaf.where, text=None)] if isinstance(leaf.where, Entity) else []
        return _missing(leaf, bearers, look, 0.0, "no lettering found")
    value, text, box = max(scored, key=lambda one: one[0])
    return _Found(value, (box,), {"text": text})


def _colour(leaf: p.Colour, look: Look) -> _Found:
    lettered = replace(leaf.entity, colour=None)
    found = [(s.colour_score, s) for s in look.find(replace(lettered, colour=leaf.is_)) if match(s, lettered) >= MATCHING]
    if not found:
        return _missing(leaf, [lettered], look, 0.0)
    return _best(sorted(found, key=lambda pair: -pair[0]))


def _relation(leaf: p.Relation, look: Look) -> _Found:
    pairs = [(a, b) for a, b in product(matching(leaf.a, look), matching(leaf.b, look)) if a.box != b.box]
    if not pairs:
        return _missing(leaf, [leaf.a, leaf.b], look, NOTHING)
    scored = [(layout.relation(a.box, b.box, leaf.is_, leaf.margin), a, b) for a, b in pairs]
    value, a, b = max(scored, key=lambda one: one[0])
    return _Found(value, (a.box, b.box), {"a": _seen(a), "b": _seen(b)})


def _order(leaf: p.Order, look: Look) -> _Found:
    choices = [matching(entity, look)[:4] for entity in leaf.entities]
    if not all(choices):
        return _missing(leaf, leaf.entities, look, NOTHING, "not all found")
    rows = [(layout.order([one.box for one in row], leaf.along), row) for row in product(*choices)]
    value, row = max(rows, key=lambda one: one[0])
    return _Found(value, tuple(one.box for one in row), [_seen(one) for one in row])


def _same_as(leaf: p.SameAs, look: Look) -> _Found:
    pictured = replace(leaf.entity, reference_id=leaf.reference_id, box=leaf.box)
    found = [(sighting.likeness, sighting) for sighting in look.find(pictured) if sighting.score >= MATCHING]
    if not found:
        return _missing(leaf, [replace(pictured, colour=None, text=None)], look, 0.0)
    value, sighting = max(found, key=lambda pair: pair[0])
    return _Found(value, (sighting.box,), _seen(sighting))


def _region(leaf: p.Region, look: Look) -> _Found:
    found = [(layout.within(sighting.box, leaf.within), sighting) for sighting in matching(leaf.entity, look)]
    if not found:
        return _missing(leaf, [leaf.entity], look, 0.0)
    return _best(sorted(found, key=lambda pair: -pair[0]))


def _missing(leaf: Any, entities: Sequence[Entity], look: Look, nothing: float, seen: str = "not found") -> _Found:
    """What a leaf measures without the things it is about: `nothing`; between its bounds where each may yet be there."""
    doubtful = [[s for value, s in instances(entity, look) if value > POSSIBLE][:1] for entity in entities]
    if not all(doubtful) or all(matching(entity, look) for entity in entities):
        return _Found(nothing, seen=seen)
    return _Found((leaf.lo + leaf.hi) / 2, tuple(one.box for found in doubtful for one in found), "doubtful")


def _palette(leaf: p.Palette, look: Look) -> _Found:
    shares = look.palette(leaf.within)
    seen = {name: round(share, 3) for name, share in sorted(shares.items(), key=lambda pair: -pair[1])[:4]}
    return _Found(shares.get(leaf.colour, 0.0), () if leaf.within is None else (leaf.within,), seen)


def _seen(sighting: Sighting) -> dict[str, Any]:
    return {
        "score": round(sighting.score, 3),
        "colour": sighting.colour,
        "colour_score": round(sighting.colour_score, 3),
        "texts": list(sighting.texts),
        "likeness": round(sighting.likeness, 3),
    }


def _arguments(leaf: p.Leaf) -> dict[str, Any]:
    """The leaf's own fields as plain values; entities by what tells them apart, without boxes of other pictures."""
    fields = {name: getattr(leaf, name) for name in leaf.__slots__ if name not in ("lo", "hi")}
    return {name.rstrip("_"): _plain(value) for name, value in fields.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, Entity):
        looks = {"colour": value.colour, "text": value.text}
        return {"name": value.name, "reference_id": value.reference_id, **{k: v for k, v in looks.items() if v is not None}}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value


def _words(one: Evidence) -> str:
    if not isinstance(one.result, dict) or "measured" not in one.result:
        return f"{one.tool}: cannot be answered"
    return f"{one.tool} measured {one.result['measured']:g} (Pass from {one.result['hi']:g}, Fail to {one.result['lo']:g})"


MEASURES: dict[type, Callable[[Any, Look], _Found]] = {
    p.Present: _present,
    p.Absent: _absent,
    p.Count: _count,
    p.Text: _text,
    p.Colour: _colour,
    p.Relation: _relation,
    p.Order: _order,
    p.SameAs: _same_as,
    p.Region: _region,
    p.Palette: _palette,
}
