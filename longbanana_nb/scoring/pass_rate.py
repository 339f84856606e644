"""Pass rates: the share of cases that reach the threshold whatever the missing verdicts would have been."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longbanana_nb.errors import CallError
from longbanana_nb.scoring.cases import CaseTable
from longbanana_nb.scoring.intervals import NO_INTERVAL, wilson
from longbanana_nb.scoring.policy import Policy
from longbanana_nb.scoring.tally import Tally
from longbanana_nb.scoring.weights import Weights

COLUMNS = [
    *("system", "judge", "threshold", "weights", "pass_rate", "ci_low", "ci_high", "bound_low", "bound_high"),
    *("undecided", "cases_scored", "cases_total", "provisional"),
]


@dataclass(frozen=True, slots=True)
class Passes:
    """What is certain about each case; arrays are units x cases.

    Attributes:
        passed: scored, and the lower bound reaches the threshold. undecided: scored, and only the upper bound does.
        scored: the case has a score.
    """

    passed: NDArray[np.bool_]
    undecided: NDArray[np.bool_]
    scored: NDArray[np.bool_]


def case_passes(counts: Tally, table: CaseTable, policy: Policy, weights: Weights) -> Passes:
    """Decide each case in exact arithmetic: 100 x sum(w x label) / (2 x sum(w)) >= threshold, missing as 0 and as 2."""
    low, high, full = _exact_sums(counts, weights)
    threshold = policy.exact_threshold
    # earned / full >= threshold / 100, multiplied out so that nothing is ever rounded
    needed = full * threshold.numerator
    scale = 100 * threshold.denominator
    passed, possible = low * scale >= needed, high * scale >= needed
    scored = np.isfinite(table.score)
    return Passes(passed.astype(bool) & scored, (possible & ~passed.astype(bool)).astype(bool) & scored, scored)


def pass_rates(counts: Tally, table: CaseTable, policy: Policy, weights: Weights, level: float) -> pd.DataFrame:
    """One row per (judge, system), columns as in `lb.scores.v1`; rates and bounds are 0-1.

    `pass_rate` is passes over all cases, NaN if none is scored; the interval is Wilson's, NaN below three cases. The bounds
    count undecided and unscored cases as failing and as passing.
    """
    passes = case_passes(counts, table, policy, weights)
    total, rows = len(table.cases), []
    for unit, (judge, system) in enumerate(table.units):
        passed, undecided, scored = (int(part[unit].sum()) for part in (passes.passed, passes.undecided, passes.scored))
        interval = wilson(passed, total, level) if scored else NO_INTERVAL
        row: dict[str, Any] = {"system": system, "judge": judge, "threshold": policy.threshold, "weights": weights.name}
        row |= {"pass_rate": passed / total if scored else math.nan, "ci_low": interval.low, "ci_high": interval.high}
        row |= {"bound_low": passed / total, "bound_high": (passed + undecided + total - scored) / total}
        row |= {"undecided": undecided, "cases_scored": scored, "cases_total": total}
        rows.append(row | {"provisional": bool(table.provisional[unit].any())})
    return pd.DataFrame(rows, columns=COLUMNS)


def _exact_sums(counts: Tally, weights: Weights) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Least, greatest and full sum of weighted labels per case as Python integers, on one common scale."""
    case_ids = counts.checks["case_id"].to_numpy(dtype=object)
    starts = np.flatnonzero(np.r_[True, case_ids[1:] != case_ids[:-1]])
    common = math.lcm(*(int(n) for n in np.unique(counts.asked)))
    share = (common // counts.asked).astype(object)
    whole = _integer_weights(counts, weights)
    earned = counts.earned.astype(object) * share * whole
    missing = (counts.asked - counts.valid).astype(object) * share * whole
    low, lost, full = (np.add.reduceat(part, starts, axis=1) for part in (earned, missing, 2 * common * whole[np.newaxis, :]))
    return low, low + 2 * lost, full


def _integer_weights(counts: Tally, weights: Weights) -> NDArray[Any]:
    if weights.by_check is None:
        return np.ones(len(counts.checks), dtype=object)
    pairs = list(zip(counts.checks["case_id"], counts.checks["check_id"], strict=True))
    lost = [pair for pair in pairs if weights.by_check.get(pair, Fraction(0)) <= 0]
    if lost:
        shown = ", ".join(f"{case_id}/{check_id}" for case_id, check_id in lost[:20])
        raise CallError(f"weights {weights.name!r}: {len(lost)} checks have no positive weight: {shown}. Give each check one.")
    exact = [weights.by_check[pair] for pair in pairs]
    common = math.lcm(*(weight.denominator for weight in exact))
    return np.array([int(weight * common) for weight in exact], dtype=object)
