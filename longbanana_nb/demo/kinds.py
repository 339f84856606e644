"""The kinds of object the demo release knows: their names, and how each cut-out is painted and lettered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from longbanana_nb.files import read_json
from longbanana_nb.paths import data_folder

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object.

    `hue` (OKLab angle, radians) and `hue_width` say which part of the cut-out is painted; `trim` is the box of the cut-out that
    is not empty; `label` the box of a lettered sticker within `trim`, or None if the shape has no room for one.
    """

    name: str
    plural: str
    file: Path
    sha256: str
    code_point: str
    hue: float
    hue_width: float
    painted_share: float
    trim: Box
    label: Box | None


@cache
def kinds() -> dict[str, Kind]:
    """Every kind by its name, in alphabetical order; from `data/demo/kinds.json`."""
    folder = data_folder() / "demo"
    found = {}
    for row in read_json(folder / "kinds.json")["kinds"]:
        label = tuple(row["label"]) if row["label"] else None
        found[row["kind"]] = Kind(
            row["kind"],
            row["plural"],
            folder / row["file"],
            row["sha256"],
            row["code_point"],
            row["hue"],
            row["hue_width"],
            row["painted_share"],
            tuple(row["trim"]),
            label,
        )
    return found


def plural(kind: str) -> str:
    """The plural of a kind's name."""
    return kinds()[kind].plural


def singular(noun: str) -> tuple[str | None, bool]:
    """The kind a noun names and whether the noun is its plural; (None, False) for a noun that names none."""
    if noun in kinds():
        return noun, False
    return _by_plural().get(noun), noun in _by_plural()


@cache
def _by_plural() -> dict[str, str]:
    return {kind.plural: name for name, kind in kinds().items()}
