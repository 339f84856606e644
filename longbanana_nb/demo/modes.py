"""The ways in which a prompt can name an object, each with the pictures that decide it and those that mislead."""

from __future__ import annotations

from collections.abc import Callable

from longbanana_nb.demo.brief import Thing
from longbanana_nb.demo.plot import Member, Photo, Plot, Seen

MOST_COUNTED = 8
"""Once so many instances are asked for, further numbers are small, so that a picture holds twelve at most."""


def by_colour(plot: Plot) -> None:
    """The prompt says the colour; the same kind is pictured in other colours too."""
    kind = plot.new_kind()
    colour = plot.colour()
    member = plot.require(kind, Thing(kind, colour=colour), "colour", colour)
    plot.show(member)
    plot.mislead(member, colour=plot.unused_colour(kind))


def by_lettering(plot: Plot) -> None:
    """The prompt says the lettering; the colour stands in the picture alone, and another lettering has another colour."""
    kind, word = plot.new_kind(lettered=True), plot.new_word()
    member = plot.require(kind, Thing(kind, text=word), "text", plot.colour())
    plot.show(member)
    plot.mislead(member, colour=plot.unused_colour(kind), text=plot.new_word(), differs_in="text")


def by_lettering_twins(plot: Plot) -> None:
    """Two of one kind, told apart by lettering, each with its own colour; a third misleads."""
    kind = plot.new_kind(lettered=True)
    first_colour = plot.colour()
    first = plot.require(kind, Thing(kind, text=plot.new_word()), "text", first_colour)
    second = plot.require(kind, Thing(kind, text=plot.new_word()), "text", plot.unused_colour(kind))
    plot.show(first)
    plot.show(second)
    plot.mislead(first, colour=plot.unused_colour(kind), text=plot.new_word(), differs_in="text")


def by_neighbour(plot: Plot) -> None:
    """The prompt says beside what it is pictured; beside another thing it has another colour."""
    kind, friend, other = plot.new_kind(), plot.new_kind(), plot.new_kind()
    member = plot.require(kind, Thing(kind, beside=friend), "beside", plot.colour())
    plot.show(member, beside=friend)
    plot.mislead(member, colour=plot.unused_colour(kind), beside=other)


def by_day(plot: Plot) -> None:
    """The prompt says the day; on other days the thing had other colours."""
    kind = plot.new_kind()
    days = [f"DAY {n}" for n in plot.rng.permutation(5)[:3] + 1]
    member = plot.require(kind, Thing(kind, day=days[0]), "day", plot.colour())
    plot.show(member, mark=days[0])
    for day in days[1:]:
        plot.mislead(member, colour=plot.unused_colour(kind), mark=day, differs_in="state")


def by_lettering_of_day(plot: Plot) -> None:
    """The prompt says the day; on another day the thing had another lettering and colour."""
    kind = plot.new_kind(lettered=True)
    days = [f"DAY {n}" for n in plot.rng.permutation(5)[:2] + 1]
    member = plot.require(kind, Thing(kind, day=days[0]), "day", plot.colour())
    member.text = plot.new_word()
    plot.show(member, mark=days[0])
    plot.mislead(member, colour=plot.unused_colour(kind), text=plot.new_word(), mark=days[1], differs_in="state")


def by_tally(plot: Plot) -> None:
    """The number is the sum over the pictures tagged TRAY; an untagged picture of another colour does not count."""
    kind = plot.new_kind()
    parts = [int(part) for part in plot.rng.integers(1, 3, size=2)]
    if plot.instances() + sum(parts) > MOST_COUNTED:
        parts = [1, 1]
    member = plot.require(kind, Thing(kind, count=None), "tally", plot.colour(), count=sum(parts))
    for part in parts:
        plot.show(member, mark="TRAY", copies=part)
    plot.mislead(member, colour=plot.unused_colour(kind), differs_in="state")


def several(plot: Plot) -> None:
    """The prompt says number and colour; one picture shows the look, another misleads."""
    kind, colour = plot.new_kind(), plot.colour()
    count = int(plot.rng.integers(2, 4))
    if plot.instances() >= MOST_COUNTED // 2:
        count = 2
    member = plot.require(kind, Thing(kind, colour=colour, count=count), "colour", colour, count=count)
    plot.show(member)
    plot.mislead(member, colour=plot.unused_colour(kind))


def plain(plot: Plot) -> None:
    """Pictured in one look only; the prompt says the kind alone."""
    kind = plot.new_kind()
    plot.show(plot.require(kind, Thing(kind), "plain", plot.colour()))


def in_colour_of(plot: Plot) -> None:
    """Takes the colour of another pictured object, which is not itself wanted; its own pictured colour is wrong."""
    kind, donor = plot.new_kind(), plot.new_kind()
    colour = plot.colour()
    member = plot.require(kind, Thing(kind, colour_of=Thing(donor)), "plain", colour)
    plot.photos.append(Photo("evidence", [Seen(f"d{member.id}", donor, colour)]))
    plot.mislead(member, colour=plot.unused_colour(kind))


MODES: dict[str, Callable[[Plot], None]] = {
    "colour": by_colour,
    "text": by_lettering,
    "twins": by_lettering_twins,
    "beside": by_neighbour,
    "day": by_day,
    "day_text": by_lettering_of_day,
    "tally": by_tally,
    "several": several,
    "plain": plain,
    "colour_of": in_colour_of,
}


def more_misleading(plot: Plot, member: Member) -> None:
    """One more hard negative against a member: another colour, and another lettering where it is lettered."""
    text = plot.new_word() if member.text else None
    plot.mislead(member, colour=plot.unused_colour(member.kind), text=text, differs_in="text" if text else "colour")
