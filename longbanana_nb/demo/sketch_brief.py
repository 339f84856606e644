"""From a parsed brief to what the sketch keeps in mind: a commission of wishes, places and backdrop."""

from __future__ import annotations

from longbanana_nb.demo.brief import BACKGROUND_PICTURE, PALETTE_CARD, Brief, Thing
from longbanana_nb.demo.sketch_wishes import Commission, Wish


def commission_of(brief: Brief) -> Commission:
    """The commission of a brief; a wish's key depends on what is said of the thing alone, so two calls agree on it."""
    wishes: list[Wish] = []
    for thing in brief.things:
        key = key_of(thing)
        same = sum(wish.key.split(" #")[0] == key for wish in wishes)
        wishes.append(_wish(thing, f"{key} #{same + 1}" if same else key))
    keys = [wish.key for wish in wishes]
    return Commission(
        tuple(wishes),
        tuple((one.relation, keys[one.a], keys[one.b]) for one in brief.relations),
        tuple((keys[one.thing], one.words) for one in brief.regions),
        tuple((0 if one.along == "x" else 1, tuple(keys[n] for n in one.things)) for one in brief.orders),
        _backdrop(brief.backdrop),
    )


def key_of(thing: Thing) -> str:
    """What is said of a thing, in a few words; names its wish in the transcript and in the picture's layers."""
    said = [
        thing.colour,
        thing.kind,
        f'"{thing.text}"' if thing.text else None,
        f"beside {thing.beside}" if thing.beside else None,
    ]
    said += [f"on {thing.day}" if thing.day else None, "coloured like " + thing.colour_of.kind if thing.colour_of else None]
    return " ".join(word for word in said if word)


def _wish(thing: Thing, key: str) -> Wish:
    donor = thing.colour_of
    return Wish(
        key=key,
        kind=thing.kind,
        count=thing.count,
        colour=thing.colour,
        text=thing.text,
        beside=thing.beside,
        day=thing.day,
        colour_of=donor.kind if donor else None,
        colour_of_colour=donor.colour if donor else None,
    )


def _backdrop(asked: str | None) -> tuple[str, str | None]:
    if asked is None:
        return "free", None
    if asked == PALETTE_CARD:
        return "card", None
    if asked == BACKGROUND_PICTURE:
        return "background", None
    return "colour", asked
