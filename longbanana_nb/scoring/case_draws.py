"""Draws of whole cases: the seeded bootstrap behind every interval of agreement."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from longbanana_nb.scoring.intervals import FEWEST, wilson_limits

DRAWS = 2000
SEED = 1
MOST_UNDEFINED = 0.05
"""Share of draws in which a statistic may not exist before it has no interval."""


def case_draws(cases: int, *, draws: int = DRAWS, seed: int = SEED) -> NDArray[np.float64]:
    """Multiplicities, (1 + draws) x cases: the first row is every case once, the others draw one case fewer than there are.

    One fewer makes the spread of the draws that of a sample of this size, which drawing all of them would understate.

    Source: Rao and Wu, Journal of the American Statistical Association 83 (1988), with m = n - 1.
    """
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(max(cases - 1, 1), np.full(max(cases, 1), 1 / max(cases, 1)), size=draws)[:, :cases]
    return np.vstack([np.ones((1, cases)), drawn.astype(np.float64)])


def percentile_interval(values: NDArray[np.float64], cases: int, level: float) -> tuple[float, float] | None:
    """The middle `level` of the draws; None below three cases, or where more than a twentieth of the draws have no value."""
    known = values[np.isfinite(values)]
    if cases < FEWEST or len(known) < (1 - MOST_UNDEFINED) * len(values):
        return None
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def rate_interval(rate: float, values: NDArray[np.float64], cases: int, level: float) -> tuple[float, float] | None:
    """As `percentile_interval`, for a rate; where all or none agree, and draws cannot differ, Wilson's over the cases."""
    if cases >= FEWEST and not math.isnan(rate) and rate in (0.0, 1.0):
        return wilson_limits(round(rate * cases), cases, level)
    return percentile_interval(values, cases, level)
