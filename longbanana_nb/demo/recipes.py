"""What a case of each category is made of, so that the category's own demand is the dominant one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Recipe:
    """The make-up of a case: how its objects are named, and how many demands of each sort the whole carries.

    `orders` gives the longest order along x and y (0: none); `backdrops` the ways the backdrop is asked for, by turns;
    `tinted` says that references are taken under coloured light.
    """

    titles: tuple[str, ...]
    modes: tuple[str, ...]
    relations: int
    rigid: int
    regions: int
    orders: tuple[int, int]
    backdrops: tuple[str, ...]
    tinted: bool = False


RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        "SCC": Recipe(
            ("a collector's shelf", "a jumble sale", "the prop room"),
            ("colour", "text", "colour", "plain", "several", "beside", "colour", "plain"),
            *(3, 0, 1, (0, 0), ("colour", "card")),
        ),
        "RGC": Recipe(
            ("a stack with a plan", "neighbours on a table", "a still life in order"),
            ("colour", "text", "plain", "colour", "beside", "plain", "colour"),
            *(6, 2, 0, (0, 0), ("colour", "colour", "card")),
        ),
        "LAC": Recipe(
            ("a shop window", "a page of a catalogue", "a museum wall"),
            ("colour", "plain", "text", "colour", "plain", "colour", "text"),
            *(1, 0, 4, (4, 3), ("colour", "card")),
        ),
        "GAC": Recipe(
            ("a campaign in one tone", "the house colour", "a set on a given stage"),
            ("colour", "plain", "text", "colour", "plain", "beside", "colour"),
            *(3, 0, 1, (3, 0), ("picture", "card")),
        ),
        "LAB": Recipe(
            ("a shelf of labelled things", "initials and colours", "name tags"),
            ("twins", "text", "colour_of", "text", "colour", "colour_of"),
            *(3, 0, 1, (0, 0), ("colour", "card")),
        ),
        "AHC": Recipe(
            ("one family of things", "a set under one lamp", "a calm arrangement"),
            ("colour", "colour", "several", "colour", "plain", "text", "colour"),
            *(3, 0, 1, (3, 0), ("colour", "card")),
            tinted=True,
        ),
        "SEL": Recipe(
            ("the very ones", "lost and found", "a hand-picked set"),
            ("beside", "text", "beside", "text", "beside", "colour", "text"),
            *(3, 0, 1, (0, 0), ("colour", "card")),
        ),
        "TSR": Recipe(
            ("a week in review", "how things stood", "before and after"),
            ("day", "day_text", "day", "day", "plain", "text", "day"),
            *(3, 0, 1, (3, 0), ("colour", "card")),
        ),
        "AGG": Recipe(
            ("an inventory", "the tally of the trays", "everything counted"),
            ("tally", "several", "tally", "text", "tally", "plain"),
            *(3, 0, 1, (0, 0), ("colour", "card")),
        ),
    }
)
