"""The types of the probe grammar: what a check asks of pixels, as a tree of typed leaves.

Every leaf is measured as one number. At least `hi` is Pass, at most `lo` is Fail, between them is Uncertain. What each leaf
measures, and the bounds it has unless a probe states its own, stands in `DEFAULT_BOUNDS`: the one table to tune.
Boxes are `(x0, y0, x1, y1)` as fractions of the upright picture. Source: docs/schemas.md, Probes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

PROBE_VERSION = "lb.probe.1"

Box: TypeAlias = tuple[float, float, float, float]
Axis: TypeAlias = Literal["x", "y"]
RelationName: TypeAlias = Literal["left_of", "right_of", "above", "below", "inside", "on", "overlaps"]

COLOURS: tuple[str, ...] = (
    *("red", "orange", "yellow", "green", "teal", "blue", "purple", "pink"),
    *("white", "grey", "black", "brown"),
)
RELATIONS: tuple[RelationName, ...] = get_args(RelationName)
AXES: tuple[Axis, ...] = get_args(Axis)

DEFAULT_BOUNDS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "present": (0.35, 0.60),  # score of the best sighting, 0 to 1
        "absent": (0.40, 0.65),  # 1 less the score of the best sighting: 1 is complete absence
        "count": (-1.0, 0.0),  # minus the distance of the count to the allowed range: 0 is right, -1 is one off
        "text": (0.60, 0.90),  # likeness of the lettering that fits best, 0 to 1
        "colour": (0.35, 0.60),  # how far the entity shows the named colour, 0 to 1
        "relation": (-0.02, 0.0),  # by how much of the picture the relation holds beyond its margin; negative: it fails
        "order": (-0.02, 0.0),  # the smallest step between neighbours along the axis, as a fraction of the picture
        "same_as": (0.35, 0.60),  # likeness to the exemplar, 0 to 1
        "region": (0.35, 0.60),  # share of the entity's box that lies within the region, 0 to 1
        "palette": (0.50, 1.00),  # share of the backdrop in the named colour; the bounds are multiples of the `share` asked
    }
)
_BOUNDS = DEFAULT_BOUNDS


@dataclass(frozen=True, slots=True)
class Entity:
    """One thing that may be pictured: its name, the box of a reference that shows it, and the looks that tell it apart."""

    name: str
    reference_id: str
    box: Box
    colour: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Present:
    """The entity can be seen at least once."""

    entity: Entity
    lo: float = _BOUNDS["present"][0]
    hi: float = _BOUNDS["present"][1]


@dataclass(frozen=True, slots=True)
class Absent:
    """The entity cannot be seen; a measurement of its own, not `Not(Present)`."""

    entity: Entity
    lo: float = _BOUNDS["absent"][0]
    hi: float = _BOUNDS["absent"][1]


@dataclass(frozen=True, slots=True)
class Count:
    """The entity is seen `equals` times, or at least `minimum` and at most `maximum` times; unstated bounds are None."""

    entity: Entity
    equals: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    lo: float = _BOUNDS["count"][0]
    hi: float = _BOUNDS["count"][1]


@dataclass(frozen=True, slots=True)
class Text:
    """Lettering on an entity, in a box, or (where = None) anywhere equals or contains a text; exactly one of the two is set."""

    where: Entity | Box | None
    equals: str | None = None
    contains: str | None = None
    lo: float = _BOUNDS["text"][0]
    hi: float = _BOUNDS["text"][1]


@dataclass(frozen=True, slots=True)
class Colour:
    """The entity has the named colour."""

    entity: Entity
    is_: str
    lo: float = _BOUNDS["colour"][0]
    hi: float = _BOUNDS["colour"][1]


@dataclass(frozen=True, slots=True)
class Relation:
    """Entity `a` stands in a spatial relation to entity `b`, by at least `margin` of the picture."""

    a: Entity
    is_: RelationName
    b: Entity
    margin: float = 0.0
    lo: float = _BOUNDS["relation"][0]
    hi: float = _BOUNDS["relation"][1]


@dataclass(frozen=True, slots=True)
class Order:
    """The entities follow one another along an axis, from left to right or from top to bottom; at least two."""

    entities: tuple[Entity, ...]
    along: Axis
    lo: float = _BOUNDS["order"][0]
    hi: float = _BOUNDS["order"][1]


@dataclass(frozen=True, slots=True)
class SameAs:
    """The entity looks like what the box of a reference shows."""

    entity: Entity
    reference_id: str
    box: Box
    lo: float = _BOUNDS["same_as"][0]
    hi: float = _BOUNDS["same_as"][1]


@dataclass(frozen=True, slots=True)
class Region:
    """The entity lies within a box of the picture."""

    entity: Entity
    within: Box
    lo: float = _BOUNDS["region"][0]
    hi: float = _BOUNDS["region"][1]


@dataclass(frozen=True, slots=True)
class Palette:
    """The backdrop (of the picture, or of a box) shows a named colour on at least `share` of it."""

    colour: str
    share: float
    within: Box | None
    lo: float
    hi: float


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds: the least label of its parts."""

    probes: tuple[Probe, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """One part holds: the greatest label of its parts."""

    probes: tuple[Probe, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite: Pass becomes Fail and Fail Pass; Uncertain stays."""

    probe: Probe


Leaf: TypeAlias = Present | Absent | Count | Text | Colour | Relation | Order | SameAs | Region | Palette
Probe: TypeAlias = Leaf | All | Any | Not


def leaves(probe: Probe) -> Iterator[Leaf]:
    """Every leaf of a probe, in the order they are written."""
    if isinstance(probe, Not):
        yield from leaves(probe.probe)
    elif isinstance(probe, (All, Any)):
        for part in probe.probes:
            yield from leaves(part)
    else:
        yield probe


def entities(probe: Probe) -> Iterator[Entity]:
    """Every entity of a probe, in the order they are written; one that is written twice comes twice."""
    for leaf in leaves(probe):
        match leaf:
            case Relation():
                yield leaf.a
                yield leaf.b
            case Order():
                yield from leaf.entities
            case Text():
                if isinstance(leaf.where, Entity):
                    yield leaf.where
            case Palette():
                pass
            case _:
                yield leaf.entity


def reference_ids(probe: Probe) -> set[str]:
    """The ids of all references a probe looks at: exemplars, and what `same_as` compares with."""
    named = {entity.reference_id for entity in entities(probe)}
    return named | {leaf.reference_id for leaf in leaves(probe) if isinstance(leaf, SameAs)}
