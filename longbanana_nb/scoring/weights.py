"""Weights of the checks inside a case, by name; they decide the pass rate and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from longbanana_nb.errors import CallError

UNIFORM = "uniform-v1"


@dataclass(frozen=True, slots=True)
class Weights:
    """Named weights; `by_check` maps (case_id, check_id) to a positive exact weight, None means all equal.

    The exact form matters: a case that stands at the threshold to the last digit must pass on every machine.
    """

    name: str
    by_check: Mapping[tuple[str, str], Fraction] | None = None


def load_weights(name: str) -> Weights:
    """The weights called `name`.

    Raises:
        CallError: for any name but `uniform-v1`: weights frozen from human labels (`lb.weights.v1` files) are not there
            yet, and nothing is put in their place.
    """
    if name == UNIFORM:
        return Weights(UNIFORM)
    raise CallError(
        f"weights: found {name!r}; expected {UNIFORM!r}. Difficulty weights need human labels on a frozen pool of systems; "
        "reading them is not there yet, and no other weights are used in their place."
    )
