"""Correlations of pairs that belong to cases, for many draws of cases at once: Pearson, Spearman, Kendall's tau-b.

A draw is a row of multiplicities: how often each case is in it. A statistic of a draw is exactly what it would be on the drawn
pairs written out, ties included; the first row is usually all ones, which gives the estimate itself.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Correlation = Callable[[Floats, Floats, Ints, Floats], Floats]
ROWS = 512
"""Rows of the matrix of all pairs that are held at once."""


def pearson(x: Floats, y: Floats, case: Ints, draws: Floats) -> Floats:
    """Pearson's r of each draw; NaN where a side is constant in it.

    Args:
        x, y: one value a pair. case: the place of each pair's case. draws: draws x cases, multiplicities.
    """
    weights = draws[:, case]
    shape = weights.shape
    return _weighted(np.broadcast_to(x - x.mean(), shape), np.broadcast_to(y - y.mean(), shape), weights)


def spearman(x: Floats, y: Floats, case: Ints, draws: Floats) -> Floats:
    """Spearman's rho of each draw, ties at their middle rank; arguments as `pearson`."""
    weights = draws[:, case]
    return _weighted(_middle_ranks(x, weights), _middle_ranks(y, weights), weights)


def kendall_tau_b(x: Floats, y: Floats, case: Ints, draws: Floats) -> Floats:
    """Kendall's tau-b of each draw; arguments as `pearson`.

    Copies of one pair are tied with each other, as they are in a sample written out.
    """
    cases = draws.shape[1]
    x, y = np.round(x, 9), np.round(y, 9)
    both, only_x, only_y = (np.zeros((cases, cases)) for _ in range(3))
    for start in range(0, len(x), ROWS):
        rows = slice(start, start + ROWS)
        along_x, along_y = (np.sign(values[rows, None] - values[None, :]) for values in (x, y))
        for total, signs in ((both, along_x * along_y), (only_x, along_x**2), (only_y, along_y**2)):
            by_case = np.zeros((len(signs), cases))
            np.add.at(by_case.T, case, signs.T)
            np.add.at(total, case[rows], by_case)
    agreeing, moved_x, moved_y = (((draws @ total) * draws).sum(axis=1) for total in (both, only_x, only_y))
    return _divided(agreeing, np.sqrt(moved_x * moved_y))


CORRELATIONS: dict[str, Correlation] = {"pearson": pearson, "spearman": spearman, "kendall_tau_b": kendall_tau_b}


def why_undefined(x: Floats, y: Floats) -> str | None:
    """Why the pairs have no correlation; None where they have one."""
    if len(x) < 2:
        return f"{len(x)} pairs; a correlation needs two"
    constant = [side for side, values in (("the human's", x), ("the judge's", y)) if np.ptp(values) <= 1e-9]
    return f"constant: {' and '.join(constant)} values are all equal" if constant else None


def within_cases(name: str, x: Floats, y: Floats, case: Ints, cases: int) -> Floats:
    """The correlation over the pairs of each case alone; NaN where it has fewer than two, or a constant side."""
    found = np.full(cases, np.nan)
    for place in range(cases):
        mine = case == place
        if why_undefined(x[mine], y[mine]) is None:
            found[place] = alone(name, x[mine], y[mine])
    return found


def alone(name: str, x: Floats, y: Floats) -> float:
    """One correlation of pairs that stand each for itself."""
    return float(CORRELATIONS[name](x, y, np.arange(len(x)), np.ones((1, len(x))))[0])


def across(name: str, x: Floats, y: Floats) -> Floats:
    """One correlation a row: of its few values in `x` with those in `y`; NaN where a row has a gap or a constant side."""
    found = np.full(len(x), np.nan)
    whole = np.isfinite(x).all(axis=1) & np.isfinite(y).all(axis=1)
    x, y = np.round(x[whole], 9), np.round(y[whole], 9)
    along_x, along_y = (np.sign(values[:, :, None] - values[:, None, :]) for values in (x, y))
    if name == "kendall_tau_b":
        moved = (along_x**2).sum(axis=(1, 2)) * (along_y**2).sum(axis=(1, 2))
        found[whole] = _divided((along_x * along_y).sum(axis=(1, 2)), np.sqrt(moved))
    elif name == "spearman":
        found[whole] = _weighted(along_x.sum(axis=2), along_y.sum(axis=2), np.ones(x.shape))
    else:
        found[whole] = _weighted(x, y, np.ones(x.shape))
    return found


def _weighted(x: Floats, y: Floats, weights: Floats) -> Floats:
    total = weights.sum(axis=1, keepdims=True)
    from_x, from_y = (values - (weights * values).sum(axis=1, keepdims=True) / total for values in (x, y))
    xx, yy, xy = ((weights * a * b).sum(axis=1) for a, b in ((from_x, from_x), (from_y, from_y), (from_x, from_y)))
    scale = np.maximum(np.max(np.abs(x)), 1.0) ** 2 * 1e-18 * total[:, 0]
    return np.clip(_divided(xy, np.sqrt(np.where((xx > scale) & (yy > scale), xx * yy, 0.0))), -1, 1)


def _middle_ranks(values: Floats, weights: Floats) -> Floats:
    """The rank of each pair in each draw; equal values share the middle of theirs."""
    levels, place = np.unique(np.round(values, 9), return_inverse=True)
    counts = np.zeros((len(levels), len(weights)))
    np.add.at(counts, place, weights.T)
    middle = np.cumsum(counts, axis=0) - counts / 2 + 0.5
    return np.asarray(middle[place].T)


def _divided(above: Floats, below: Floats) -> Floats:
    return np.asarray(np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0))
