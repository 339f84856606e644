"""A minimal pair: a check asked of two pictures that differ in one edit, and what is known of the right answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from longbanana_nb.files import canonical_json, sha256_bytes

if TYPE_CHECKING:
    from longbanana_nb.release import Case, Check, Unit

Expected = Literal["flip_down", "flip_up", "keep"]
Source = Literal["graph", "pixels"]


class Side(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the judge is asked about on one side of a pair.

    Attributes:
        picture: SHA-256 of the candidate picture.
        file: where it lies, relative to the run's folder, with `/`.
        references: references shown in the place of bound ones: id of the one shown, by the id it is shown under.
        probe: the check's probe where the exchange of references changes it; None: its own.
    """

    picture: str
    file: str = ""
    references: dict[str, str] = {}
    probe: dict[str, Any] | None = None


class Pair(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One pair. `truth` holds the right labels before and after where they are known from a scene, else None.

    `push` is the way an injected sentence pushes: 1 to Pass, -1 to Fail, 0 for the other kinds.
    """

    id: str
    kind: str
    source: Source
    case_id: str
    check_id: str
    dimension: str | None
    polarity: str | None
    expected: Expected
    before: Side
    after: Side
    edit: str
    truth: list[int] | None = None
    push: int = 0


@dataclass(slots=True)
class MadePairs:
    """What a maker hands back for one case: pairs, the pictures they name, and what could not be made.

    Attributes:
        left_out: checks for which a kind could not be made: number by (kind, reason).
        base: SHA-256 of a picture of the case that can be shown as another case's candidate, None where there is none.
        shows: names of the kinds of object that truly stand on `base`.
        asks: what the positive checks that `base` satisfies ask for: the kinds of object, by check id.
    """

    case_id: str
    pairs: list[Pair] = field(default_factory=list)
    pictures: dict[str, bytes] = field(default_factory=dict)
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)
    base: str | None = None
    shows: frozenset[str] = frozenset()
    asks: dict[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PairJob:
    """What a maker of pairs from graphs is given: one case with its checks, and how many pairs of a kind are wanted of it."""

    case: Case
    checks: tuple[Check, ...]
    units: Mapping[str, Unit]
    probes: Mapping[str, Mapping[str, Any]]
    graph: Mapping[str, Any]
    quota: int
    seed: int


def pair_of(
    kind: str, source: Source, check: Check, unit: Unit | None, expected: Expected, before: Side, after: Side, edit: str,
    truth: Sequence[int] | None = None, push: int = 0,
) -> Pair:  # fmt: skip
    """A pair with its id, which is a hash of everything it asks."""
    asked = [kind, check.case_id, check.check_id, check.sha256, expected, *(_asked(side) for side in (before, after))]
    name = sha256_bytes(canonical_json(asked))[:16]
    dimension, polarity = (unit.dimension, unit.polarity) if unit is not None else (None, None)
    known = list(truth) if truth is not None else None
    return Pair(
        name, kind, source, check.case_id, check.check_id, dimension, polarity, expected, before, after, edit, known, push
    )


def turned(pair: Pair) -> Pair:
    """The same two pictures the other way round: a fall becomes a rise."""
    expected: Expected = {"flip_down": "flip_up", "flip_up": "flip_down", "keep": "keep"}[pair.expected]  # type: ignore[assignment]
    truth = None if pair.truth is None else pair.truth[::-1]
    return msgspec.structs.replace(pair, expected=expected, before=pair.after, after=pair.before, truth=truth)


def _asked(side: Side) -> list[Any]:
    return [side.picture, dict(sorted(side.references.items())), side.probe]
