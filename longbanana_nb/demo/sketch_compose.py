"""One drawing call of the sketch: what is kept, what is newly found, what goes wrong, and where each thing is put."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from longbanana_nb.demo.colours import COLOURS
from longbanana_nb.demo.cutting import melted, misspelt, recoloured
from longbanana_nb.demo.eye import Percept, library
from longbanana_nb.demo.eye_letters import letter_label
from longbanana_nb.demo.placement import Box, Layout, Piece, member_boxes, place
from longbanana_nb.demo.sketch_errors import Dice
from longbanana_nb.demo.sketch_paint import Layer
from longbanana_nb.demo.sketch_wishes import Commission, Sight, Wish, best, colour_wanted, is_lookalike, meets, sights

TALLY_ROOM = 6
"""For how many members room is kept where the count must be found in the pictures."""
REPAIR = 0.75
"""How often a look-alike that was drawn is replaced once the right thing is given."""
STRAY_SIDE = 0.16
Slots = dict[str, tuple[Box, ...]]


@dataclass(slots=True)
class Drawing:
    """What a picture of the sketch is made of: layers, backdrop colour, and colours of other things met on the way."""

    layers: list[Layer] = field(default_factory=list)
    backdrop: str | None = None
    donors: dict[str, str] = field(default_factory=dict)


def compose(
    commission: Commission, given: Sequence[Percept], background: Percept | None, carried: Drawing, dice: Dice
) -> Drawing:
    """The next drawing: the carried one, with what the given pictures add, errors included.

    Args:
        commission: everything the prompt asks.
        given: percepts of the references, in order.
        background: percept of the background picture, if it was given.
        carried: the drawing of the carried picture; an empty one for a fresh start.
        dice: the chances of this call.
    """
    seen = sights(given)
    slots = slots_of(commission)
    drawing = Drawing(_kept(carried.layers, dice), carried.backdrop, dict(carried.donors))
    _adopt(commission, drawing.layers)
    for wish in commission.wishes:
        if (colour := colour_wanted(wish, seen)) is not None:
            drawing.donors[wish.key] = colour
        _fulfil(wish, seen, slots[wish.key], drawing, dice, commission)
    _let_in(commission, given, drawing, slots, dice)
    drawing.backdrop = _backdrop(commission, given, background, carried.backdrop, dice)
    depths = depths_of(commission)
    for layer in drawing.layers:
        layer.depth = depths.get(layer.wish, 0)
    return drawing


def slots_of(commission: Commission) -> Slots:
    """The planned boxes of every wish, whether its picture was given yet or not, so that all calls of one brief agree."""
    known = library()
    pieces = tuple(Piece(wish.key, wish.count or TALLY_ROOM, round(known.aspect(wish.kind), 3)) for wish in commission.wishes)
    return place(Layout(pieces, commission.relations, commission.regions, commission.orders))


def depths_of(commission: Commission) -> dict[str, int]:
    """What stands on, in or over another thing is painted after it."""
    depths = {wish.key: 0 for wish in commission.wishes}
    for _ in range(len(depths)):
        for relation, a, b in commission.relations:
            if relation in ("on", "inside", "overlaps") and depths[a] <= depths[b] < len(depths):
                depths[a] = depths[b] + 1
    return depths


def _kept(layers: Sequence[Layer], dice: Dice) -> list[Layer]:
    """The carried layers, less those that this call forgets."""
    return [replace(layer) for n, layer in enumerate(layers) if not dice.strikes("forget", f"{n} {layer.wish}")]


def _adopt(commission: Commission, layers: Sequence[Layer]) -> None:
    """Take things on the carried picture that no wish of this brief put there for what a wish asks, where their looks fit."""
    keys = {wish.key for wish in commission.wishes}
    for wish in commission.wishes:
        if any(layer.wish == wish.key for layer in layers):
            continue
        free = [layer for layer in layers if layer.wish not in keys and layer.kind == wish.kind]
        free = [layer for layer in free if wish.colour in (None, layer.colour) and wish.text in (None, layer.text)]
        for layer in free[: wish.count or TALLY_ROOM]:
            layer.wish = wish.key


def _fulfil(
    wish: Wish, seen: Sequence[Sight], slots: tuple[Box, ...], drawing: Drawing, dice: Dice, commission: Commission
) -> None:
    """Add or mend what one wish asks for, as far as the given pictures allow."""
    right = [sight for sight in seen if meets(wish, sight)]
    have = [layer for layer in drawing.layers if layer.wish == wish.key]
    if wish.count is None:
        _tally(wish, right, slots, drawing, dice)
        return
    if have and not (have[0].lookalike and right and dice.source("repair", wish.key).random() < REPAIR):
        _mend_colour(wish, have, drawing)
        return
    source = best(wish, right)
    lookalike = source is None and dice.strikes("lookalike", wish.key)
    if lookalike:
        source = best(wish, [sight for sight in seen if is_lookalike(wish, sight)])
    if source is None or dice.strikes("omit", wish.key):
        return
    drawing.layers = [layer for layer in drawing.layers if layer.wish != wish.key]
    count = _miscounted(wish.count, wish.key, dice) if wish.count > 1 else 1
    boxes = _slipped(wish, slots, commission, dice)
    if count != len(boxes):
        boxes = member_boxes(_union(boxes), count, _aspect(boxes[0]))
    sources = right if len(right) >= count and not lookalike else [source]
    for n in range(count):
        layer = _layer(wish, sources[n % len(sources)], boxes[n], drawing, dice)
        layer.lookalike = lookalike
        drawing.layers.append(_spoilt(layer, n, wish, commission, dice))


def _tally(wish: Wish, right: Sequence[Sight], slots: tuple[Box, ...], drawing: Drawing, dice: Dice) -> None:
    """Count what the pictures marked TRAY show, one member for each thing seen, and arrange all members anew."""
    have = [layer for layer in drawing.layers if layer.wish == wish.key]
    known = {layer.origin for layer in have}
    new = [sight for sight in right if sight.origin not in known]
    if new and not dice.strikes("omit", wish.key):
        count = _miscounted(len(new), wish.key, dice)
        have += [_layer(wish, new[n % len(new)], slots[0], drawing, dice) for n in range(count)]
    if not have:
        return
    drawing.layers = [layer for layer in drawing.layers if layer.wish != wish.key] + have
    room = _union(slots)
    boxes = member_boxes(room, max(len(have), TALLY_ROOM), _aspect(slots[0]))
    for layer, box in zip(have, boxes, strict=False):
        layer.box = box


def _mend_colour(wish: Wish, have: Sequence[Layer], drawing: Drawing) -> None:
    """Give a thing that is already there the colour of another one met only now."""
    colour = drawing.donors.get(wish.key)
    for layer in have:
        if colour and layer.colour and layer.recoloured_to is None and layer.colour != colour:
            layer.rgba = recoloured(layer.rgba, layer.colour, colour)
            layer.colour = layer.recoloured_to = colour


def _layer(wish: Wish, sight: Sight, box: Box, drawing: Drawing, dice: Dice) -> Layer:
    """A thing cut from a given picture, in the colour wished for."""
    seen = sight.seen
    tilt = dice.source("tilt", wish.key, str(sight.origin)).uniform(-4.0, 4.0)
    layer = Layer(wish.key, seen.kind, seen.cut.rgba, sight.percept.sha256, seen.box, box, tilt - 0.5 * seen.turn)
    layer.colour, layer.text, layer.label = seen.colour, seen.text, seen.label
    _mend_colour(wish, [layer], drawing)
    return layer


def _spoilt(layer: Layer, n: int, wish: Wish, commission: Commission, dice: Dice) -> Layer:
    """The errors that change what a thing looks like: another's colour, a wrong letter, melting."""
    if n > 0:
        return layer
    rng = dice.source("spoil", wish.key)
    if layer.colour and dice.strikes("swap", wish.key):
        others = [other.colour for other in commission.wishes if other.colour and other.colour != layer.colour]
        colour = rng.choice(others or [name for name in COLOURS if name != layer.colour])
        layer.rgba = recoloured(layer.rgba, layer.colour, colour)
        layer.colour = layer.recoloured_to = colour
    label = layer.label
    if layer.text and label is not None and dice.strikes("misletter", wish.key):
        layer.text = layer.relettered_to = misspelt(layer.text, rng)
        layer.rgba = letter_label(layer.rgba, label.box, label.turn, layer.text)
    if dice.strikes("melt", wish.key):
        layer.rgba = melted(layer.rgba, rng)
        layer.drift, layer.relettered_to = 0.9, "" if layer.text else None
    return layer


def _miscounted(count: int, key: str, dice: Dice) -> int:
    """The count as drawn: right, or one off."""
    if not dice.strikes("miscount", key):
        return count
    return count + 1 if count == 1 else count + dice.source("miscount", key, "direction").choice((-1, 1))


def _slipped(wish: Wish, slots: tuple[Box, ...], commission: Commission, dice: Dice) -> tuple[Box, ...]:
    """The planned boxes, or, where the placing goes wrong, the same boxes on the far side of the picture."""
    if not commission.places(wish.key) or not dice.strikes("slip", wish.key):
        return slots
    x0, y0, x1, y1 = _union(slots)
    rng = dice.source("slip", wish.key, "where")
    far = [(x, y) for x in (0.03, 0.5, 0.97) for y in (0.03, 0.5, 0.97)]
    far = [(x * (1 - (x1 - x0)), y * (1 - (y1 - y0))) for x, y in far]
    far = [(x, y) for x, y in far if abs(x - x0) > 0.3 and abs(y - y0) > 0.15]
    x, y = rng.choice(far) if far else (1 - x1, 1 - y1)
    return tuple((box[0] - x0 + x, box[1] - y0 + y, box[2] - x0 + x, box[3] - y0 + y) for box in slots)


def _let_in(commission: Commission, given: Sequence[Percept], drawing: Drawing, slots: Slots, dice: Dice) -> None:
    """Let in things that were seen and not asked for, each where most room is left."""
    taken = [box for boxes in slots.values() for box in boxes] + [layer.box for layer in drawing.layers]
    for percept in given:
        if not dice.strikes("distract", percept.sha256):
            continue
        others = [one for one in sights([percept]) if not any(meets(wish, one) for wish in commission.wishes)]
        if not others:
            continue
        sight = dice.source("distract", percept.sha256, "which").choice(others)
        if any(layer.origin == sight.origin for layer in drawing.layers):
            continue
        box = free_place(taken, _aspect(sight.seen.box))
        wish = Wish("", sight.seen.kind)
        drawing.layers.append(_layer(wish, sight, box, drawing, dice))
        taken.append(box)


def free_place(taken: Sequence[Box], aspect: float) -> Box:
    """A box of modest size where it covers least of what is taken."""
    wide, high = STRAY_SIDE * aspect**0.5, STRAY_SIDE / aspect**0.5
    others = np.array(taken or [(0.0, 0.0, 0.0, 0.0)])
    best_box, least = (0.0, 0.0, wide, high), float("inf")
    for x in np.linspace(0.02, 0.98 - wide, 14):
        for y in np.linspace(0.02, 0.98 - high, 14):
            dx = np.minimum(others[:, 2], x + wide) - np.maximum(others[:, 0], x)
            dy = np.minimum(others[:, 3], y + high) - np.maximum(others[:, 1], y)
            covered = float((np.clip(dx, 0, None) * np.clip(dy, 0, None)).sum()) + 0.001 * abs(float(y) - 0.7)
            if covered < least:
                best_box, least = (float(x), float(y), float(x) + wide, float(y) + high), covered
    return best_box


def _backdrop(
    commission: Commission, given: Sequence[Percept], background: Percept | None, carried: str | None, dice: Dice
) -> str | None:
    """The backdrop's colour: as asked, once it is known; else what it was."""
    kind, name = commission.backdrop
    found = name if kind == "colour" else None
    if kind == "card":
        found = next((percept.card for percept in given if percept.card), None)
    if kind == "background" and background is not None:
        found = background.backdrop
    if found is None or carried is not None:
        return carried
    if dice.strikes("backdrop", "backdrop"):
        return dice.source("backdrop", "which").choice([colour for colour in COLOURS if colour != found])
    return found


def _union(boxes: Sequence[Box]) -> Box:
    return min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes)


def _aspect(box: Box) -> float:
    return (box[2] - box[0]) / max(box[3] - box[1], 1e-6)
