"""How the embedded agent model looks at what was drawn: each demand of the prompt held against what its own eye sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from longbanana_nb.demo.brief import ORDER_WORDS, REGIONS, RELATION_WORDS
from longbanana_nb.demo.eye import Box, Eye, Percept, Seen
from longbanana_nb.demo.eye_letters import same_word
from longbanana_nb.demo.planner_case import Task, shown_as
from longbanana_nb.demo.sketch_wishes import Wish, best

Fix = Literal["add", "redraw"]


@dataclass(frozen=True, slots=True)
class Demand:
    """One demand, whether the picture meets it, what is seen, and how it could be mended: by adding `wish`, or only anew."""

    text: str
    is_met: bool
    seen: str
    fix: Fix = "redraw"
    wish: Wish | None = None


class Reviewer(Protocol):
    """Who looks at a drawn picture."""

    def review(self, picture: bytes, task: Task) -> list[Demand]:
        """Every demand of a prompt that could be read, in its order."""
        ...


@dataclass(frozen=True, slots=True)
class Look:
    """How a thing is to look, as far as prompt and references say: None leaves it open."""

    colour: str | None
    text: str | None
    count: int


def look_of(task: Task, wish: Wish) -> Look | None:
    """The look and number a wish asks for, by the references; None where no reference shows it."""
    right = task.sights_of(wish)
    first = best(wish, right)
    if first is None:
        return None
    colour = task.colour_of(wish) or wish.colour or first.seen.colour
    return Look(colour, wish.text or first.seen.text, wish.count if wish.count is not None else len(right))


class EyeReview:
    """A review by the planner's own eye, which is another instrument than the judge's."""

    def __init__(self, eye: Eye) -> None:
        self._eye = eye

    def review(self, picture: bytes, task: Task) -> list[Demand]:
        """Hold the picture against things, places, backdrop, and what was not asked for."""
        if task.commission is None:
            return []
        percept = self._eye.look(picture)
        things = {wish.key: _matching(percept, look_of(task, wish), wish) for wish in task.commission.wishes}
        found = [_thing(percept, wish, look_of(task, wish), things[wish.key]) for wish in task.commission.wishes]
        found += places(task, {key: seen[0].box if seen else None for key, seen in things.items()})
        wanted = task.backdrop_colour()
        if wanted is not None:
            found.append(Demand(f"a {wanted} backdrop", percept.backdrop == wanted, f"the backdrop is {percept.backdrop}"))
        if task.asked is not None and task.asked.nothing_else:
            asked = {wish.kind for wish in task.commission.wishes}
            others = [shown_as(seen) for seen in percept.seen if seen.kind not in asked]
            found.append(Demand("nothing else", not others, ", ".join(others) or "nothing else"))
        return found


def _matching(percept: Percept, look: Look | None, wish: Wish) -> list[Seen]:
    """The drawn things that look as a wish asks, the clearest first."""
    same = [seen for seen in percept.seen if seen.kind == wish.kind]
    if look is not None:
        same = [one for one in same if look.colour is None or one.colour == look.colour]
        same = [one for one in same if look.text is None or (one.text is not None and same_word(one.text, look.text))]
    return sorted(same, key=lambda one: -one.clearness)


def _thing(percept: Percept, wish: Wish, look: Look | None, right: Sequence[Seen]) -> Demand:
    same = [seen for seen in percept.seen if seen.kind == wish.kind]
    number = look.count if look is not None else wish.count or 1
    text = wish.key if number == 1 else f"{wish.key}, {number} of them"
    if not same:
        return Demand(text, False, "there is none", "add", wish)
    if not right:
        return Demand(text, False, ", ".join(shown_as(one) for one in same), "redraw", wish)
    return Demand(text, len(right) == number, f"{len(right)} of them: {shown_as(right[0])}", "redraw", wish)


def places(task: Task, boxes: dict[str, Box | None]) -> list[Demand]:
    """The demands on places, by where each thing is seen."""
    if task.commission is None:
        return []
    found = []
    for relation, a, b in task.commission.relations:
        ends = boxes[a], boxes[b]
        is_met = ends[0] is not None and ends[1] is not None and RELATIONS[relation](ends[0], ends[1])
        found.append(Demand(f"{a} {RELATION_WORDS[relation]} {b}", is_met, _where([a, b], boxes)))
    for key, words in task.commission.regions:
        found.append(Demand(f"{key} in the {words}", _is_within(boxes[key], REGIONS[words]), _where([key], boxes)))
    for axis, keys in task.commission.orders:
        along = [None if (box := boxes[key]) is None else _middle(box)[axis] for key in keys]
        is_met = None not in along and along == sorted(along, key=lambda one: one or 0.0)
        found.append(Demand(f"{ORDER_WORDS['xy'[axis]]}: {', '.join(keys)}", is_met, _where(keys, boxes)))
    return found


def _middle(box: Box) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def _is_within(box: Box | None, region: Box) -> bool:
    if box is None:
        return False
    x, y = _middle(box)
    return region[0] <= x <= region[2] and region[1] <= y <= region[3]


def _meet(a: Box, b: Box) -> bool:
    return min(a[2], b[2]) > max(a[0], b[0]) and min(a[3], b[3]) > max(a[1], b[1])


RELATIONS: dict[str, Callable[[Box, Box], bool]] = {
    "left_of": lambda a, b: _middle(a)[0] < _middle(b)[0],
    "right_of": lambda a, b: _middle(a)[0] > _middle(b)[0],
    "above": lambda a, b: _middle(a)[1] < _middle(b)[1],
    "below": lambda a, b: _middle(a)[1] > _middle(b)[1],
    "on": lambda a, b: a[3] <= b[3] + 0.02 and _middle(a)[1] < _middle(b)[1] and abs(_middle(a)[0] - _middle(b)[0]) < 0.2,
    "inside": _meet,
    "overlaps": _meet,
}


def _where(keys: Sequence[str], boxes: dict[str, Box | None]) -> str:
    """Where each of some things is seen, in words."""
    said = []
    for key in keys:
        box = boxes[key]
        said.append(f"{key} is not seen" if box is None else "{} at {:.2f}, {:.2f}".format(key, *_middle(box)))
    return "; ".join(said)
