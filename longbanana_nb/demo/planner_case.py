"""What the embedded agent model makes of a task: the wishes of the prompt, and which references it finds them in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from longbanana_nb.demo import brief
from longbanana_nb.demo.eye import Percept, Seen
from longbanana_nb.demo.eye_letters import same_word
from longbanana_nb.demo.sketch_brief import commission_of
from longbanana_nb.demo.sketch_wishes import Commission, Sight, Wish, best, colour_wanted, meets, sights
from longbanana_nb.generation import Turn

CANDIDATES = 2
"""How many pictures of one thing are looked at closely before one is chosen."""


@dataclass(frozen=True, slots=True)
class Task:
    """The prompt, read, and what each reference shows, the backgrounds apart. `asked` is None for a prompt it cannot read.

    `pictures` are the references as they were shown.
    """

    prompt: str
    asked: brief.Brief | None
    commission: Commission | None
    percepts: Mapping[str, Percept]
    backgrounds: Mapping[str, Percept]
    pictures: Mapping[str, bytes]

    @classmethod
    def of(cls, turn: Turn, percepts: Mapping[str, Percept], pictures: Mapping[str, bytes]) -> Task:
        """Read the prompt of a turn; a picture that was not shown, or could not be read, is passed over."""
        back = {one.id for one in turn.inventory if one.role == "background"}
        try:
            asked = brief.parse(turn.prompt)
        except brief.UnparsablePrompt:
            asked = None
        return cls(
            turn.prompt,
            asked,
            None if asked is None else commission_of(asked),
            {name: one for name, one in percepts.items() if name not in back},
            {one.id: percepts[one.id] for one in turn.inventory if one.id in back and one.id in percepts},
            pictures,
        )

    def id_of(self, percept: Percept) -> str:
        """The reference that a percept is of."""
        return next(name for name, one in self.percepts.items() if one is percept)

    def sights_of(self, wish: Wish) -> list[Sight]:
        """Everything among the references that is what a wish means."""
        return [sight for sight in sights(self.percepts.values()) if meets(wish, sight)]

    def colour_of(self, wish: Wish) -> str | None:
        """The colour that a thing is to take from another pictured one; None where it takes none, or that one is not found."""
        return colour_wanted(wish, sights(self.percepts.values()))

    def donors(self, wish: Wish) -> list[Sight]:
        """The sights whose colour a wish takes, the one to go by first."""
        if wish.colour_of is None:
            return []
        donor = Wish("", wish.colour_of, colour=wish.colour_of_colour)
        return clearest(donor, self.sights_of(donor))

    def backdrop(self) -> tuple[str, ...]:
        """The references the backdrop is taken from: palette cards, or the background; none where the prompt names a colour."""
        kind = self.commission.backdrop[0] if self.commission is not None else "free"
        if kind == "card":
            return tuple(name for name, percept in self.percepts.items() if percept.card)
        return tuple(self.backgrounds) if kind == "background" else ()

    def backdrop_colour(self) -> str | None:
        """The colour the backdrop is to have, as far as it is known."""
        kind, name = self.commission.backdrop if self.commission is not None else ("free", None)
        if kind == "card":
            return next((percept.card for percept in self.percepts.values() if percept.card), None)
        if kind == "background":
            return next((percept.backdrop for percept in self.backgrounds.values()), None)
        return name


def clearest(wish: Wish, found: Sequence[Sight]) -> list[Sight]:
    """Sights of one thing, the one to cut it from first, one a picture."""
    first = best(wish, found)
    ranked = sorted(found, key=lambda one: (one is not first, -round(one.seen.clearness, 1), one.origin))
    return list({id(one.percept): one for one in reversed(ranked)}.values())[::-1]


def pictures_for(task: Task, wish: Wish) -> list[Percept]:
    """The pictures one wish needs: all that are counted over, else the clearest one; and the one whose colour is taken."""
    right = task.sights_of(wish)
    if wish.count is None:
        return list({id(sight.percept): sight.percept for sight in right}.values())
    pictures = [one.percept] if (one := best(wish, right)) is not None else []
    return pictures + [sight.percept for sight in task.donors(wish)[:1]]


def chosen(task: Task) -> dict[str, str]:
    """Ids of the references the prompt needs, each with the reason: backdrop first, then in the order of the prompt."""
    if task.commission is None:
        return {}
    word = "the palette card" if task.commission.backdrop[0] == "card" else "the backdrop"
    reasons = dict.fromkeys(task.backdrop(), word)
    for wish in task.commission.wishes:
        for percept in pictures_for(task, wish):
            reasons.setdefault(task.id_of(percept), wish.key)
    return reasons


def groups(task: Task, reasons: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Chosen references that belong into one call: those of one wish, and of wishes of one kind, told apart by comparing."""
    kind_of = {wish.key: wish.kind for wish in task.commission.wishes} if task.commission is not None else {}
    found: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        found.setdefault(kind_of.get(reason, reason), []).append(name)
    return [tuple(names) for names in found.values()]


def stages(parts: Sequence[Sequence[str]], capacity: int, size: int) -> tuple[tuple[str, ...], ...]:
    """Calls of at most `size` images, and never more than `capacity`, the carried picture counted from the second call on.

    Parts stay together where they fit; at least one call.
    """
    made: list[list[str]] = [[]]
    for part in parts:
        rest = list(part)
        while rest:
            room = max(1, min(size, capacity) - (len(made) > 1)) - len(made[-1])
            if room < len(rest) and made[-1]:
                made.append([])
                continue
            taken, rest = rest[:room], rest[room:]
            made[-1] += taken
    return tuple(tuple(stage) for stage in made)


def shown_as(seen: Seen) -> str:
    """A thing seen, in words."""
    words = [seen.colour or "", seen.kind, f'lettered "{seen.text}"' if seen.text else ""]
    return "a " + " ".join(word for word in words if word)


def is_confirmed(wish: Wish, seen: Seen) -> bool:
    """Whether what is seen on its own looks as the wish says; what stands beside it does not count."""
    has_colour = wish.colour is None or seen.colour == wish.colour
    has_text = wish.text is None or (seen.text is not None and same_word(seen.text, wish.text))
    return seen.kind == wish.kind and has_colour and has_text
