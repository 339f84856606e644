"""The one edit that breaks a check: by what its probe asks, variations of a drawing that satisfies it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from longbanana_nb.demo.colours import COLOURS
from longbanana_nb.demo.cutting import recoloured
from longbanana_nb.demo.eye_letters import letter_label
from longbanana_nb.demo.pairs_studio import Box, Studio, Variation, added, changed, layer_of, without
from longbanana_nb.demo.sketch_compose import free_place
from longbanana_nb.release import probes as p

OTHER_WORDS = ("KITE", "BRAVO", "LUMEN", "OTTER", "PIXEL", "QUARTZ", "VELVET", "WAGON")


@dataclass(frozen=True, slots=True)
class Edit:
    """A variation that should break the check, the kind of the one edit, and the edit in words."""

    kind: str
    variation: Variation
    words: str


Breaks = Iterator[Edit]


def edits(studio: Studio, probe: p.Probe, scene: Mapping[str, Any]) -> Breaks:
    """Single edits of the studio's drawing after which a check with this probe should fail; which of them do is for the truth."""
    if isinstance(probe, p.Not):
        yield from _unwanted(studio, probe.probe)
    elif isinstance(probe, p.All):
        for part in probe.probes:
            yield from edits(studio, part, scene)
    elif type(probe) in _BREAKS:
        yield from _BREAKS[type(probe)](studio, probe, scene)


def _present(studio: Studio, probe: p.Present, scene: Mapping[str, Any]) -> Breaks:
    members = studio.members(probe.entity, scene)
    if len(members) != 1:
        return  # taking away a whole group is more than one edit
    gone = without(studio.drawn, members)
    yield Edit("object", gone, f"the {probe.entity.name} taken away")
    box = _box(scene["objects"][members[0]]["box"])
    yield Edit("words", replace(gone, words=((probe.entity.name, box),)), f"the word {probe.entity.name!r} in its place")


def _count(studio: Studio, probe: p.Count, scene: Mapping[str, Any]) -> Breaks:
    members = studio.members(probe.entity, scene)
    if not members:
        return
    name = probe.entity.name
    more = added(studio.drawn, replace(studio.drawn.layers[members[-1]], box=_room(studio, members[-1])))
    fewer = without(studio.drawn, members[-1:])
    both = [Edit("count", more, f"one {name} more"), Edit("count", fewer, f"one {name} fewer")]
    yield from both if studio.chance("count", name).random() < 0.5 else both[::-1]


def _colour(studio: Studio, probe: p.Colour, scene: Mapping[str, Any]) -> Breaks:
    members = studio.members(replace(probe.entity, colour=None), scene)
    if len(members) == 1:
        yield from _recoloured(studio, members[0], probe.entity.name)


def _recoloured(studio: Studio, n: int, name: str) -> Breaks:
    layer = studio.drawn.layers[n]
    if layer.colour is None:
        return
    colour = studio.chance("colour", name).choice([one for one in COLOURS if one != layer.colour])
    rgba = recoloured(layer.rgba, layer.colour, colour)
    if rgba is not layer.rgba:
        made = changed(studio.drawn, n, rgba=rgba, colour=colour, recoloured_to=colour)
        yield Edit("colour", made, f"the {name} {colour} instead of {layer.colour}")


def _text(studio: Studio, probe: p.Text, scene: Mapping[str, Any]) -> Breaks:
    if not isinstance(probe.where, p.Entity):
        return
    members = studio.members(replace(probe.where, text=None), scene)
    if len(members) == 1:
        word = studio.chance("word", probe.where.name).choice(OTHER_WORDS)
        yield from _relettered(studio, members[0], word)


def _relettered(studio: Studio, n: int, word: str) -> Breaks:
    layer = studio.drawn.layers[n]
    if layer.label is None or not layer.text or layer.text == word:
        return
    rgba = letter_label(layer.rgba, layer.label.box, layer.label.turn, word)
    made = changed(studio.drawn, n, rgba=rgba, text=word, relettered_to=word)
    yield Edit("lettering", made, f"{word} on the {layer.kind} instead of {layer.text}")


def _same_as(studio: Studio, probe: p.SameAs, scene: Mapping[str, Any]) -> Breaks:
    members = studio.members(probe.entity, scene)
    if len(members) == 1:
        yield from _recoloured(studio, members[0], probe.entity.name)
        yield from _relettered(studio, members[0], studio.chance("same", probe.entity.name).choice(OTHER_WORDS))


def _absent(studio: Studio, probe: p.Absent, scene: Mapping[str, Any]) -> Breaks:
    found = studio.seen_at(probe.entity.reference_id, probe.entity.box)
    if found is not None:
        percept, seen = found
        layer = layer_of(percept, seen, free_place(_taken(studio), _aspect(seen.box)))
        looks = " ".join(word for word in (seen.colour, seen.kind) if word)
        yield Edit("object", added(studio.drawn, layer), f"a {looks} added")


def _relation(studio: Studio, probe: p.Relation, scene: Mapping[str, Any]) -> Breaks:
    if probe.is_ in ("left_of", "right_of"):
        yield Edit("mirror", _mirrored(studio.drawn), "all places mirrored")
        return
    for n in studio.members(probe.a, scene)[:1]:
        yield from _moved(studio, n)


def _order(studio: Studio, probe: p.Order, scene: Mapping[str, Any]) -> Breaks:
    if probe.along == "x":
        yield Edit("mirror", _mirrored(studio.drawn), "all places mirrored")
        return
    for entity in (probe.entities[0], probe.entities[-1]):
        for n in studio.members(entity, scene)[:1]:
            yield from _moved(studio, n)


def _region(studio: Studio, probe: p.Region, scene: Mapping[str, Any]) -> Breaks:
    x0, _, x1, _ = probe.within
    if x0 > 0.4 or x1 < 0.6:
        yield Edit("mirror", _mirrored(studio.drawn), "all places mirrored")
    members = studio.members(probe.entity, scene)
    if len(members) == 1:
        yield from _moved(studio, members[0])


def _palette(studio: Studio, probe: p.Palette, scene: Mapping[str, Any]) -> Breaks:
    others = [one for one in COLOURS if one not in (probe.colour, studio.drawn.backdrop)]
    colour = studio.chance("backdrop", probe.colour).choice(others)
    yield Edit("backdrop", replace(studio.drawn, backdrop=colour), f"a {colour} backdrop instead of {studio.drawn.backdrop}")


def _unwanted(studio: Studio, probe: p.Probe) -> Breaks:
    """What a negated probe must not find, put in."""
    if isinstance(probe, p.Palette):
        made = replace(studio.drawn, backdrop=probe.colour)
        yield Edit("backdrop", made, f"a {probe.colour} backdrop instead of {studio.drawn.backdrop}")
    elif isinstance(probe, p.Text):
        word = probe.equals or probe.contains or ""
        lettered = [n for n, layer in enumerate(studio.drawn.layers) if layer.label is not None and layer.text]
        for n in lettered[:2]:
            yield from _relettered(studio, n, word)


def _mirrored(variation: Variation) -> Variation:
    """Everything at its place in the mirror; the things themselves, and so their letters, stay as they are."""
    layers = [replace(one, box=(1 - one.box[2], one.box[1], 1 - one.box[0], one.box[3])) for one in variation.layers]
    return replace(variation, layers=tuple(layers))


def _moved(studio: Studio, n: int) -> Breaks:
    """One thing at other places: across the picture, and where most room is."""
    box = studio.drawn.layers[n].box
    for place in ((box[0], 1 - box[3], box[2], 1 - box[1]), _room(studio, n)):
        yield Edit("place", changed(studio.drawn, n, box=place), f"the {studio.drawn.layers[n].kind} moved")


def _room(studio: Studio, n: int) -> Box:
    """A box of a layer's size where it covers least of the others."""
    box = studio.drawn.layers[n].box
    free = free_place([one for k, one in enumerate(_taken(studio)) if k != n], _aspect(box))
    wide, high = box[2] - box[0], box[3] - box[1]
    x, y = (free[0] + free[2]) / 2, (free[1] + free[3]) / 2
    x, y = min(max(x, wide / 2), 1 - wide / 2), min(max(y, high / 2), 1 - high / 2)
    return (x - wide / 2, y - high / 2, x + wide / 2, y + high / 2)


def _taken(studio: Studio) -> list[Box]:
    return [layer.box for layer in studio.drawn.layers]


def _aspect(box: Box) -> float:
    return (box[2] - box[0]) / max(box[3] - box[1], 1e-6)


def _box(values: list[float]) -> Box:
    x0, y0, x1, y1 = values
    return x0, y0, x1, y1


_BREAKS: dict[type, Callable[[Studio, Any, Mapping[str, Any]], Breaks]] = {
    p.Present: _present,
    p.Count: _count,
    p.Colour: _colour,
    p.Text: _text,
    p.SameAs: _same_as,
    p.Absent: _absent,
    p.Relation: _relation,
    p.Order: _order,
    p.Region: _region,
    p.Palette: _palette,
}
