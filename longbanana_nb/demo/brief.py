"""What a demo prompt asks for, as values: things with handles, relations, regions, orders, backdrop and limits."""

from __future__ import annotations

from dataclasses import dataclass

from longbanana_nb.errors import DataError

RELATION_WORDS: dict[str, str] = {
    "left_of": "to the left of",
    "right_of": "to the right of",
    "above": "above",
    "below": "below",
    "on": "on",
    "inside": "inside",
    "overlaps": "overlapping",
}
REGIONS: dict[str, tuple[float, float, float, float]] = {
    "top left": (0.0, 0.0, 0.5, 0.5),
    "top right": (0.5, 0.0, 1.0, 0.5),
    "bottom left": (0.0, 0.5, 0.5, 1.0),
    "bottom right": (0.5, 0.5, 1.0, 1.0),
    "top": (0.0, 0.0, 1.0, 0.5),
    "bottom": (0.0, 0.5, 1.0, 1.0),
    "left": (0.0, 0.0, 0.5, 1.0),
    "right": (0.5, 0.0, 1.0, 1.0),
    "centre": (0.25, 0.25, 0.75, 0.75),
}
"""Region words and the part of the picture in which the middle of the object belongs."""
ORDER_WORDS: dict[str, str] = {"x": "From left to right", "y": "From top to bottom"}
PALETTE_CARD = "palette card"
BACKGROUND_PICTURE = "background picture"
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


class UnparsablePrompt(DataError):  # noqa: N818 - a state of a prompt, named as its outcome is
    """A prompt with a sentence outside the grammar; the message quotes each such sentence."""


@dataclass(frozen=True, slots=True)
class Thing:
    """One object (or several of a kind) that a prompt names, by what the prompt says of it.

    `count` is None where it must be tallied over the pictures marked TRAY; `colour_of` is the object whose colour it takes.
    """

    kind: str
    colour: str | None = None
    text: str | None = None
    beside: str | None = None
    day: str | None = None
    count: int | None = 1
    colour_of: Thing | None = None

    @property
    def is_tallied(self) -> bool:
        """Whether the number must be found in the references."""
        return self.count is None


@dataclass(frozen=True, slots=True)
class Relation:
    """`a` and `b` are places in `Brief.things`."""

    a: int
    relation: str
    b: int


@dataclass(frozen=True, slots=True)
class Region:
    """The thing belongs in the region of these words (a key of `REGIONS`)."""

    thing: int
    words: str


@dataclass(frozen=True, slots=True)
class Order:
    """The things keep this order along "x" (from left) or "y" (from top)."""

    along: str
    things: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Brief:
    """A whole prompt. `backdrop` is a colour name, `PALETTE_CARD`, `BACKGROUND_PICTURE` or None."""

    title: str
    things: tuple[Thing, ...] = ()
    relations: tuple[Relation, ...] = ()
    regions: tuple[Region, ...] = ()
    orders: tuple[Order, ...] = ()
    backdrop: str | None = None
    nothing_else: bool = False
    write_nothing_else: bool = False
    carries_on: bool = False


def render(brief: Brief) -> str:
    """The prompt of a brief, one sentence an obligation; `parse(render(brief)) == brief`.

    Raises:
        DataError: if two things of the brief cannot be told apart by what the prompt says of them.
    """
    from longbanana_nb.demo import phrases

    return phrases.render(brief)


def parse(prompt: str) -> Brief:
    """The brief of a prompt; line breaks and runs of spaces do not matter, the order of sentences only for handles.

    Raises:
        UnparsablePrompt: naming every sentence outside the grammar, and every handle that names no thing or several.
    """
    from longbanana_nb.demo import phrases

    return phrases.parse(prompt)
