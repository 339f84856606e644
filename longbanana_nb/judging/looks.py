"""What one instrument sees in one candidate: the one interface behind which pixels and scenes stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from longbanana_nb.release.probes import Box, Entity

__all__ = ["Box", "Entity", "Lettering", "Look", "NoScene", "Sighting", "Unanswerable"]


class Unanswerable(Exception):  # noqa: N818 - a state of a question, not a fault of the program
    """An exemplar or a tool that a question needs is missing; the answer is invalid, never Fail."""


class NoScene(Exception):  # noqa: N818
    """The truth of a picture is not known: it has no complete scene."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """One instance of an entity's kind.

    Attributes:
        box: fractions of the upright picture.
        score: how surely it is of that kind, 0 to 1 (the probe bounds of `present` apply).
        colour: the name of its main colour, None if it has none.
        colour_score: how far it shows the entity's colour, 0 to 1; 1 where the entity names none.
        texts: what is lettered on it, upper case.
        likeness: how far it looks like the entity's exemplar in shape, colour and lettering, 0 to 1.
        text_confidence: how surely the lettering was read, 0 to 1.
    """

    box: Box
    score: float
    colour: str | None
    colour_score: float
    texts: tuple[str, ...]
    likeness: float
    text_confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Lettering:
    """One piece of lettering: text (upper case, without spaces), box, confidence 0 to 1."""

    text: str
    box: Box
    confidence: float = 1.0


class Look(Protocol):
    """What one instrument sees in one candidate. Every answer comes from these calls alone."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the upright picture in pixels."""
        ...

    def find(self, entity: Entity) -> list[Sighting]:
        """All instances of the exemplar's kind, any colour or lettering, best first.

        Raises:
            Unanswerable: where the exemplar shows nothing the instrument can use.
        """
        ...

    def lettering(self, box: Box | None) -> list[Lettering]:
        """All lettering in the picture, or whose centre lies in `box`."""
        ...

    def palette(self, box: Box | None) -> dict[str, float]:
        """Share of each named colour of the backdrop (of the picture, or within `box`), without the objects on it."""
        ...
