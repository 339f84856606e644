"""Weights of the checks inside a case, by name; they decide the pass rate and nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longbanana_nb.errors import CallError, DataError, Fault

UNIFORM = "uniform-v1"
CheckWeights = Mapping[tuple[str, str], Fraction]  # (case_id, check_id) -> a positive exact weight


@dataclass(frozen=True, slots=True)
class Weights:
    """Named weights; `by_check` None means all equal.

    The exact form matters: a case that stands at the threshold to the last digit must pass on every machine.

    Attributes:
        pool: the systems whose human labels made the weights.
        left_out: for a system of the pool, the weights that the others' labels alone give; it is evaluated with these.
        release, revision: what the weights belong to, None where they belong to nothing.
        sha256: of the file they were frozen to, None for `uniform-v1`.
    """

    name: str
    by_check: CheckWeights | None = None
    pool: tuple[str, ...] = ()
    left_out: Mapping[str, CheckWeights] = field(default_factory=dict)
    release: str | None = None
    revision: str | None = None
    sha256: str | None = None

    @property
    def is_even(self) -> bool:
        """Whether all checks of a case weigh the same, so that nothing depends on who was in the pool."""
        if self.by_check is None:
            return True
        by_case: dict[str, set[Fraction]] = {}
        for (case_id, _), weight in self.by_check.items():
            by_case.setdefault(case_id, set()).add(weight)
        return all(len(values) == 1 for values in by_case.values())

    def of_system(self, system: str) -> CheckWeights | None:
        """The weights that a system is evaluated with; None means all equal.

        Raises:
            CallError: for a system of the pool whose left-out weights are not there: its own labels would judge it.
        """
        if self.by_check is None or system not in self.pool or self.is_even:
            return self.by_check
        if system not in self.left_out:
            raise CallError(
                f"weights {self.name!r}: system {system!r} is in the pool that made them, and the file has no weights without "
                "it (left_out). A system is not judged by weights from its own labels: freeze the file again from the labels, or "
                f"use {UNIFORM!r}."
            )
        return self.left_out[system]


def named_weights(name: str) -> Weights:
    """The weights that need no file.

    Raises:
        CallError: for any name but `uniform-v1`: other weights are frozen to a file, and nothing is put in its place.
    """
    if name == UNIFORM:
        return Weights(UNIFORM)
    raise CallError(
        f"weights: found {name!r}; expected {UNIFORM!r} or a file of frozen weights (lb.weights.v1). Difficulty weights come "
        "from human labels on a fixed pool of systems: `longbanana-nb label RUN --freeze FILE` makes such a file."
    )


def fitting_weights(weights: Weights, release: str, revision: str, where: str) -> Weights:
    """The weights, if they were frozen for this release and revision; else DataError."""
    if (weights.release, weights.revision) == (release, revision):
        return weights
    found, expected = f"{weights.release} at {weights.revision}", f"{release} at {revision}"
    fault = Fault(where, "release", found, expected, "Freeze weights from labels on this release.")
    raise DataError(f"The weights {weights.name!r} belong to another release.", [fault])


def integer_weights(weights: Weights, checks: pd.DataFrame, systems: Iterable[str]) -> NDArray[Any]:
    """Whole-number weights, one row a system and one column a check, on one scale a row; sums of them are exact.

    Args:
        checks: `case_id`, `check_id`.

    Raises:
        CallError: naming the checks without a positive weight.
    """
    pairs = list(zip(checks["case_id"], checks["check_id"], strict=True))
    rows: dict[int, NDArray[Any]] = {}
    found = []
    for system in systems:
        chosen = weights.of_system(system)
        if id(chosen) not in rows:
            rows[id(chosen)] = np.ones(len(pairs), dtype=object) if chosen is None else _whole(weights.name, chosen, pairs)
        found.append(rows[id(chosen)])
    return np.array(found, dtype=object).reshape(len(found), len(pairs))


def _whole(name: str, chosen: CheckWeights, pairs: list[tuple[str, str]]) -> NDArray[Any]:
    lost = [pair for pair in pairs if chosen.get(pair, Fraction(0)) <= 0]
    if lost:
        shown = ", ".join(f"{case_id}/{check_id}" for case_id, check_id in lost[:20])
        raise CallError(f"weights {name!r}: {len(lost)} checks have no positive weight: {shown}. Give each check one.")
    exact = [chosen[pair] for pair in pairs]
    common = math.lcm(*{weight.denominator for weight in exact})
    return np.array([int(weight * common) for weight in exact], dtype=object)


def effective_checks(whole: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Per system and case, how many equally weighted checks would spread as the weighted ones do: (sum w)^2 / sum w^2.

    Args:
        whole: of `integer_weights`. starts: the first column of each case.

    Source: Kish, Survey Sampling (1965), the effective sample size of a weighted mean.
    """
    sums, squares = (np.add.reduceat(part, starts, axis=1) for part in (whole, whole * whole))
    return np.array([[float(Fraction(s * s, q)) for s, q in zip(*row, strict=True)] for row in zip(sums, squares, strict=True)])
