"""Confidence intervals over cases: stratified t for means, Wilson for rates, Newcombe for paired differences of rates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FEWEST = 3
"""Cases a stratum needs before its spread is worth anything; with fewer in all, there is no interval."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval and how it came about; `low` and `high` are NaN where fewer than three cases remain."""

    low: float
    high: float
    method: str | None


NO_INTERVAL = Interval(math.nan, math.nan, None)


def stratified_t(values: NDArray[Any], strata: NDArray[Any], level: float) -> Interval:
    """Interval of the mean of `values`, whose spread is taken within strata.

    Args:
        values: one finite number a case.
        strata: one integer a case; strata are ordered by it.
        level: confidence, 0-1.

    Returns:
        mean +- t * sqrt(sum over strata of (n_k/N)^2 s_k^2/n_k) with N - K degrees of freedom. It is not clipped to the
        scale, so that its half-width stays the standard error times t. NaN below three cases.

    Source: Cochran, Sampling Techniques, section 5.4, with proportional strata and no finite correction.
    """
    total = len(values)
    if total < FEWEST:
        return NO_INTERVAL
    merged, pooled = pool_small(strata)
    variance, kept = 0.0, np.unique(merged)
    for stratum in kept:
        members = values[merged == stratum]
        variance += (len(members) / total) ** 2 * float(np.var(members, ddof=1)) / len(members)
    freedom = total - len(kept)
    half = t_quantile(freedom, level) * math.sqrt(variance)
    centre = float(np.sum(values)) / total
    parts = f"{len(kept)} {'stratum' if len(kept) == 1 else 'strata'}"
    note = f", {pooled} small pooled" if pooled else ""
    return Interval(centre - half, centre + half, f"stratified t, {parts}, df {freedom}{note}")


def pool_small(strata: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Pool strata of fewer than three cases into one; if that is still under three, join it to the smallest other.

    Returns:
        The strata after pooling, and how many were too small. Of equally small others the first in order is joined.
    """
    codes, counts = np.unique(strata, return_counts=True)
    small, large = codes[counts < FEWEST], codes[counts >= FEWEST]
    if len(small) == 0:
        return strata, 0
    is_small = np.isin(strata, small)
    home = small[0]
    if is_small.sum() < FEWEST and len(large):
        home = large[np.argmin(counts[counts >= FEWEST])]
    return np.where(is_small, home, strata), len(small)


def wilson(successes: int, total: int, level: float) -> Interval:
    """Wilson's score interval of a rate, 0-1; NaN below three cases.

    Source: Wilson, Journal of the American Statistical Association 22 (1927).
    """
    if total < FEWEST:
        return NO_INTERVAL
    low, high = wilson_limits(successes, total, level)
    return Interval(low, high, "wilson")


def wilson_limits(successes: int, total: int, level: float) -> tuple[float, float]:
    """The two limits of Wilson's interval for any positive total; exactly 0 at no success and 1 at no failure."""
    z = normal_quantile(level)
    rate, scale = successes / total, 1 + z * z / total
    centre = (rate + z * z / (2 * total)) / scale
    half = z * math.sqrt(rate * (1 - rate) / total + z * z / (4 * total * total)) / scale
    return (0.0 if successes == 0 else centre - half), (1.0 if successes == total else centre + half)


def newcombe_paired(both: int, only_a: int, only_b: int, neither: int, level: float) -> Interval:
    """Interval of the difference of two paired rates (a - b), from the four counts of a paired table.

    Source: Newcombe, Statistics in Medicine 17 (1998) 2635-2650, method 10: Wilson limits, with the correlation corrected
    for continuity. NaN below three cases.
    """
    total = both + only_a + only_b + neither
    if total < FEWEST:
        return NO_INTERVAL
    rate_a, rate_b = (both + only_a) / total, (both + only_b) / total
    (low_a, high_a), (low_b, high_b) = (wilson_limits(both + only, total, level) for only in (only_a, only_b))
    phi = _phi(both, only_a, only_b, neither)
    down_a, up_a, down_b, up_b = rate_a - low_a, high_a - rate_a, rate_b - low_b, high_b - rate_b
    below = math.sqrt(max(0.0, down_a**2 - 2 * phi * down_a * up_b + up_b**2))
    above = math.sqrt(max(0.0, up_a**2 - 2 * phi * up_a * down_b + down_b**2))
    difference = (only_a - only_b) / total
    return Interval(difference - below, difference + above, "newcombe paired")


def _phi(both: int, only_a: int, only_b: int, neither: int) -> float:
    margins = (both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither)
    if margins == 0:
        return 0.0
    product, half = both * neither - only_a * only_b, (both + only_a + only_b + neither) / 2
    corrected = product if product < 0 else max(0.0, product - half)
    return corrected / math.sqrt(margins)


def t_quantile(freedom: int, level: float) -> float:
    """The two-sided quantile of Student's t."""
    from scipy.special import stdtrit  # scipy.stats would take longer to import than everything here takes to compute

    return float(stdtrit(freedom, 0.5 + level / 2))


def normal_quantile(level: float) -> float:
    """The two-sided quantile of the normal distribution."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + level / 2))
