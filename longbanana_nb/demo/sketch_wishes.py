"""What a brief asks for, as the sketch keeps it in mind: wishes for things, and which sights in the given pictures meet them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from longbanana_nb.demo.eye import Percept, Seen
from longbanana_nb.demo.eye_letters import same_word


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing asked for. `key` is its handle; `count` is None where it must be counted over the pictures marked TRAY.

    `colour`, `text`, `beside` and `day` say which of several look-alikes is meant; `colour_of` is the kind whose colour it takes.
    """

    key: str
    kind: str
    count: int | None = 1
    colour: str | None = None
    text: str | None = None
    beside: str | None = None
    day: str | None = None
    colour_of: str | None = None
    colour_of_colour: str | None = None


@dataclass(frozen=True, slots=True)
class Commission:
    """Everything a prompt asks: wishes, demands on places (as `placement.Layout` has them), and the backdrop.

    `backdrop` is ("colour", name), ("card", None), ("background", None), or ("free", None) where nothing is asked.
    """

    wishes: tuple[Wish, ...]
    relations: tuple[tuple[str, str, str], ...] = ()
    regions: tuple[tuple[str, str], ...] = ()
    orders: tuple[tuple[int, tuple[str, ...]], ...] = ()
    backdrop: tuple[str, str | None] = ("free", None)

    def places(self, key: str) -> bool:
        """Whether any demand is made on where a wish's thing stands."""
        related = any(key in (a, b) for _, a, b in self.relations)
        return related or any(key == one for one, _ in self.regions) or any(key in keys for _, keys in self.orders)


@dataclass(frozen=True, slots=True)
class Sight:
    """A thing seen in one given picture."""

    percept: Percept
    seen: Seen

    @property
    def origin(self) -> tuple[str, tuple[float, float, float, float]]:
        """Which pixels it is: hash of the picture and box in it."""
        return self.percept.sha256, self.seen.box


def sights(percepts: Iterable[Percept]) -> list[Sight]:
    """Everything seen in the given pictures, in order."""
    return [Sight(percept, seen) for percept in percepts for seen in percept.seen]


def meets(wish: Wish, sight: Sight) -> bool:
    """Whether what is seen is the very thing that is meant."""
    seen, percept = sight.seen, sight.percept
    if seen.kind != wish.kind:
        return False
    if wish.colour is not None and seen.colour != wish.colour:
        return False
    if wish.text is not None and not (seen.text is not None and same_word(seen.text, wish.text)):
        return False
    if wish.beside is not None and not any(other.kind == wish.beside for other in percept.seen if other is not seen):
        return False
    if wish.day is not None and wish.day not in percept.marks:
        return False
    return not (wish.count is None and "TRAY" not in percept.marks)


def is_lookalike(wish: Wish, sight: Sight) -> bool:
    """Whether what is seen is of the kind asked for, but not the one that is meant."""
    return sight.seen.kind == wish.kind and not meets(wish, sight)


def best(wish: Wish, candidates: Sequence[Sight]) -> Sight | None:
    """The sight to cut a thing from: the one seen most clearly and largest; None if there is none."""
    return max(candidates, key=lambda one: (round(one.seen.clearness, 1), one.seen.cut.crop.shape[0], one.origin), default=None)


def colour_wanted(wish: Wish, seen: Sequence[Sight]) -> str | None:
    """The colour a thing takes from another pictured one, if that one is among the sights."""
    if wish.colour_of is None:
        return None
    donors = [
        one
        for one in seen
        if one.seen.kind == wish.colour_of and one.seen.colour and wish.colour_of_colour in (None, one.seen.colour)
    ]
    donor = best(wish, donors)
    return donor.seen.colour if donor else None
