"""The plan of one case while it is made up: what must be shown, what looks alike but is wrong, and which pictures show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from longbanana_nb.demo.brief import Thing
from longbanana_nb.demo.colours import COLOURS
from longbanana_nb.demo.kinds import kinds

NEAR: dict[str, frozenset[str]] = {
    "red": frozenset({"orange", "pink"}),
    "orange": frozenset({"red", "yellow"}),
    "yellow": frozenset({"orange"}),
    "green": frozenset({"teal"}),
    "teal": frozenset({"green", "blue"}),
    "blue": frozenset({"teal", "purple"}),
    "purple": frozenset({"blue", "pink"}),
    "pink": frozenset({"purple", "red"}),
}
"""Colours too close to tell apart under a little coloured light; an object never stands before a backdrop near its own colour."""
WORDS = [
    "NORA",
    "KITO",
    "MIRA",
    "LUX",
    "BELLE",
    "JUNO",
    "TARIK",
    "OMEN",
    "PIXEL",
    "ZEBU",
    "VITA",
    "HUGO",
    "FERN",
    "ASTER",
    "COMET",
    "DELTA",
    "EMBER",
    "GUSTO",
    "HAZEL",
    "IVORY",
    "JAZZ",
    "KODA",
    "LYRIC",
    "MAPLE",
    "NEXUS",
    "ORBIT",
    "PEARL",
    "QUILL",
    "RUMBA",
    "SAGE",
    "TULLE",
    "UMBRA",
    "VELVET",
    "WALTZ",
    "XENON",
    "YUCCA",
    "ZINC",
    "ALPEN",
    "BRISK",
    "CHIMP",
    "DUSK",
    "FJORD",
    "GLYPH",
    "HYMN",
]
CELLS = tuple((column, row) for row in range(3) for column in range(4))


@dataclass(slots=True)
class Member:
    """One node being planned, with what the prompt says of it."""

    id: str
    kind: str
    colour: str
    text: str | None
    count: int
    thing: Thing
    named_by: str
    cell: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class Seen:
    """One object of a planned picture; `node` is the node whose right (or wrong) look it is."""

    node: str | None
    kind: str
    colour: str
    text: str | None = None


@dataclass(slots=True)
class Photo:
    """One planned picture."""

    role: str
    objects: list[Seen] = field(default_factory=list)
    mark: str | None = None
    card: str | None = None


class Plot:
    """A case in the making; every choice comes from its own random stream."""

    def __init__(self, category: str, backdrop: str, rng: np.random.Generator) -> None:
        self.category = category
        self.backdrop = backdrop
        self.rng = rng
        self.members: list[Member] = []
        self.wrong: list[dict[str, Any]] = []
        self.photos: list[Photo] = []
        names = sorted(kinds())
        self._kinds: list[str] = [names[place] for place in rng.permutation(len(names))]
        self.words: list[str] = [WORDS[place] for place in rng.permutation(len(WORDS))]

    # -- choices -------------------------------------------------------------------------------------------------------------

    def new_kind(self, *, lettered: bool = False) -> str:
        """A kind not used before in this case."""
        name = next(name for name in self._kinds if not lettered or kinds()[name].label)
        self._kinds.remove(name)
        return name

    def new_word(self) -> str:
        """A lettering not used before in this case."""
        return self.words.pop()

    def colour(self, *avoid: str) -> str:
        """A colour that stands out from the final backdrop, is none of `avoid`, and near none of them."""
        shut = {self.backdrop, *NEAR[self.backdrop], *avoid}
        free = [name for name in COLOURS if name not in shut]
        clear = [name for name in free if not any(name in NEAR[other] for other in avoid)]
        return self.pick(clear or free)

    def pick(self, options: Sequence[str]) -> str:
        """One of the options, each as likely."""
        return options[int(self.rng.integers(len(options)))]

    # -- what must be shown --------------------------------------------------------------------------------------------------

    def require(self, kind: str, thing: Thing, named_by: str, colour: str, count: int = 1) -> Member:
        """Add something that must be shown."""
        member = Member(f"n{len(self.members) + 1:02d}", kind, colour, thing.text, count, thing, named_by)
        self.members.append(member)
        return member

    def show(self, member: Member, *, beside: str | None = None, mark: str | None = None, copies: int = 1) -> None:
        """Add a picture of the right look: alone, beside another kind, tagged, or several together."""
        objects = [Seen(member.id, member.kind, member.colour, member.text) for _ in range(copies)]
        if beside:
            objects.append(Seen(None, beside, self.colour(member.colour)))
        self.photos.append(Photo("evidence", objects, mark))

    def mislead(
        self,
        member: Member,
        *,
        colour: str,
        text: str | None = None,
        beside: str | None = None,
        mark: str | None = None,
        differs_in: str = "colour",
    ) -> None:
        """Add a hard negative: the same kind with another colour, lettering or state, in a picture of its own."""
        node = f"x{len(self.wrong) + 1:02d}"
        wrong = {"id": node, "kind": member.kind, "colour": colour, "text": text, "against": member.id, "differs_in": differs_in}
        self.wrong.append({**wrong, "day": mark if mark and mark.startswith("DAY") else None, "beside": beside})
        objects = [Seen(node, member.kind, colour, text)]
        if beside:
            objects.append(Seen(None, beside, self.colour(colour)))
        self.photos.append(Photo("hard_negative", objects, mark))

    def instances(self) -> int:
        """How many single objects must be shown so far."""
        return sum(member.count for member in self.members)

    def colours_of(self, kind: str) -> list[str]:
        """Every colour in which a kind is wanted or has misled already."""
        wanted = [member.colour for member in self.members if member.kind == kind]
        return wanted + [wrong["colour"] for wrong in self.wrong if wrong["kind"] == kind]

    def unused_colour(self, kind: str) -> str:
        """A colour in which a kind was not pictured yet, away from those it was if there is room."""
        taken = self.colours_of(kind)
        shut = {self.backdrop, *taken}
        free = [name for name in COLOURS if name not in shut]
        clear = [name for name in free if not any(name in NEAR[other] for other in taken)]
        return self.pick(clear or free)
