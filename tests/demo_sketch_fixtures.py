"""Reference photos for the sketch's tests, made as the demo release makes them, with what they show as a graph has it."""

from __future__ import annotations

from dataclasses import dataclass

from longbanana_nb.demo.render import Placed, Shot, photograph


@dataclass(frozen=True)
class Photo:
    """JPEG bytes, and what they show as a graph's `shows` has it."""

    data: bytes
    shows: list[dict]
    mark: str | None
    backdrop: str


def photo(*things: tuple, backdrop: str = "cream", mark: str | None = None, seed: int = 1, pattern: str = "plain") -> Photo:
    """A photo of things (kind, colour, text or None) side by side, under a tag if a mark is given."""
    size = min(0.42, 0.74 / len(things))
    objects = tuple(
        Placed(kind, colour, text, 0.07 + 0.86 * (n + 0.5) / len(things), 0.6, size, angle=3.0 * ((n + seed) % 5 - 2))
        for n, (kind, colour, text) in enumerate(things)
    )
    picture = photograph(Shot(backdrop, objects, tag=mark, seed=seed, pattern=pattern))
    shows = [
        {"node": None, "kind": one.kind, "colour": one.colour, "text": one.text, "box": list(box)}
        for one, box in zip(objects, picture.boxes, strict=True)
    ]
    return Photo(picture.jpeg, shows, mark, backdrop)


def card(colour: str) -> Photo:
    """A palette card: a plain chip of one colour."""
    return Photo(photograph(Shot("grey", card=colour)).jpeg, [], None, "grey")
