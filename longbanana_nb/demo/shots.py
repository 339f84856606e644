"""How a planned picture is set up in the studio: backdrop, places, sizes, turns and light."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from longbanana_nb.demo.assets import sprite
from longbanana_nb.demo.colours import COLOURS
from longbanana_nb.demo.plot import NEAR, Photo, Seen
from longbanana_nb.demo.render import BACKDROPS, Placed, Shot

PATTERNS = ("plain", "plain", "stripes", "linen", "arch")
TINTS = ((1.05, 0.97, 0.86), (0.90, 0.98, 1.06), (1.04, 0.94, 1.02), (0.95, 1.04, 0.93))
FOOT = 0.80
"""Height of the ground on which single objects stand."""


def shot_of(photo: Photo, rng: np.random.Generator, tint: tuple[float, float, float] | None) -> Shot:
    """The shot of a planned picture; every free choice comes from `rng`."""
    colours = {seen.colour for seen in photo.objects}
    return Shot(
        backdrop=_backdrop(colours, rng) if not photo.card else "cream",
        objects=tuple(_places(photo.objects, photo.mark, rng)),
        tag=photo.mark,
        card=photo.card,
        horizon=float(rng.uniform(0.58, 0.70)),
        light=float(rng.uniform(0.15, 0.85)),
        pattern=PATTERNS[int(rng.integers(len(PATTERNS)))],
        tint=tint if tint and not photo.card else (1.0, 1.0, 1.0),
        seed=int(rng.integers(2**31)),
    )


def backdrop_shot(colour: str, rng: np.random.Generator) -> Shot:
    """An empty stage in one colour."""
    return Shot(colour, horizon=float(rng.uniform(0.62, 0.72)), light=float(rng.uniform(0.2, 0.8)), seed=int(rng.integers(2**31)))


def tint_of(rng: np.random.Generator) -> tuple[float, float, float]:
    """One of the coloured lights: warm, cold, rosy, greenish."""
    return TINTS[int(rng.integers(len(TINTS)))]


def _backdrop(colours: set[str], rng: np.random.Generator) -> str:
    """A neutral studio, or (two times in five) a named colour away from the colours of the objects."""
    shut = colours | {near for colour in colours for near in NEAR[colour]}
    free = [name for name in COLOURS if name not in shut]
    options: Sequence[str] = free if free and rng.random() < 0.4 else list(BACKDROPS)
    return options[int(rng.integers(len(options)))]


def _places(objects: Sequence[Seen], mark: str | None, rng: np.random.Generator) -> list[Placed]:
    if mark == "TRAY":
        return _tray(objects, rng)
    if not objects:
        return []
    if len(objects) == 1:
        size = float(rng.uniform(0.48, 0.60) if mark else rng.uniform(0.52, 0.68))
        return [_standing(objects[0], float(rng.uniform(0.44, 0.56)), size, rng)]
    left_first = rng.random() < 0.5
    ordered = list(objects) if left_first else list(reversed(objects))
    placed = [_standing(seen, x, float(rng.uniform(0.36, 0.40)), rng) for seen, x in zip(ordered, (0.27, 0.73), strict=True)]
    return placed if left_first else list(reversed(placed))


def _standing(seen: Seen, x: float, size: float, rng: np.random.Generator) -> Placed:
    """An object whose foot rests on the ground."""
    cut = sprite(seen.kind, seen.colour, seen.text)
    height = size * cut.height / max(cut.size)
    angle = float(rng.uniform(-8, 8))
    return Placed(seen.kind, seen.colour, seen.text, x, min(FOOT, 0.94) - height / 2, size, angle)


def _tray(objects: Sequence[Seen], rng: np.random.Generator) -> list[Placed]:
    """Several in one row, evenly spread and a little turned."""
    step = 0.84 / len(objects)
    size = min(0.40, 0.80 * step)
    return [_standing(seen, 0.08 + step * (n + 0.5), size, rng) for n, seen in enumerate(objects)]
