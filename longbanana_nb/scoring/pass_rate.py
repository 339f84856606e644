"""Pass rates: the share of cases that reach the threshold whatever the missing verdicts would have been."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longbanana_nb.scoring.cases import CaseTable
from longbanana_nb.scoring.intervals import NO_INTERVAL, wilson
from longbanana_nb.scoring.policy import Policy
from longbanana_nb.scoring.tally import Tally
from longbanana_nb.scoring.weights import Weights, effective_checks, integer_weights

COLUMNS = [
    *("system", "judge", "threshold", "weights", "pass_rate", "ci_low", "ci_high", "bound_low", "bound_high"),
    *("undecided", "cases_scored", "cases_total", "provisional"),
]
"""The columns of `lb.scores.v1`; the frame also has `effective_checks`, the mean over cases."""
CURVE_COLUMNS = ["system", "judge", "threshold", "weights", "pass_rate", "bound_low", "bound_high", "cases_total"]
CURVE = tuple(range(50, 91))
"""Thresholds of the curve, 0-100."""


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


@dataclass(frozen=True, slots=True)
class Sums:
    """Weighted labels of each case as Python integers, each unit on its own scale; arrays are units x cases.

    Attributes:
        low, high, full: what is earned for certain, what may be earned, what could be earned at most.
        effective: how many equally weighted checks the weights are worth.
    """

    low: NDArray[Any]
    high: NDArray[Any]
    full: NDArray[Any]
    effective: NDArray[np.float64]

    @classmethod
    def of(cls, counts: Tally, weights: Weights, whole: NDArray[Any] | None = None) -> Sums:
        """The sums of every unit under the weights that it is evaluated with; `whole` are these as integers, if known."""
        case_ids = counts.checks["case_id"].to_numpy(dtype=object)
        starts = np.flatnonzero(np.r_[True, case_ids[1:] != case_ids[:-1]])
        common = math.lcm(*(int(n) for n in np.unique(counts.asked)))
        share = (common // counts.asked).astype(object)
        if whole is None:
            whole = integer_weights(weights, counts.checks, [system for _, system in counts.units])
        earned = counts.earned.astype(object) * share * whole
        missing = (counts.asked - counts.valid).astype(object) * share * whole
        low, lost, full = (np.add.reduceat(part, starts, axis=1) for part in (earned, missing, 2 * common * whole))
        return cls(low, low + 2 * lost, full, effective_checks(whole, starts))

    def passes(self, table: CaseTable, threshold: Fraction) -> Passes:
        """Which cases pass: earned / full >= threshold / 100, exactly: multiplied out so that nothing is ever rounded."""
        needed = self.full * threshold.numerator
        scale = 100 * threshold.denominator
        passed, possible = (self.low * scale >= needed).astype(bool), (self.high * scale >= needed).astype(bool)
        scored = np.isfinite(table.score)
        return Passes(passed & scored, possible & ~passed & scored, scored)


def pass_rates(sums: Sums, table: CaseTable, policy: Policy, level: float) -> pd.DataFrame:
    """One row per (judge, system), columns as in `lb.scores.v1` and `effective_checks`; rates and bounds are 0-1.

    `pass_rate` is passes over all cases, NaN if none is scored; the interval is Wilson's, NaN below three cases. The bounds
    count undecided and unscored cases as failing and as passing.
    """
    passes = sums.passes(table, policy.exact_threshold)
    total, rows = len(table.cases), []
    for unit, (judge, system) in enumerate(table.units):
        passed, undecided, scored = (int(part[unit].sum()) for part in (passes.passed, passes.undecided, passes.scored))
        interval = wilson(passed, total, level) if scored else NO_INTERVAL
        row: dict[str, Any] = {"system": system, "judge": judge, "threshold": policy.threshold, "weights": policy.weights}
        row |= {"pass_rate": passed / total if scored else math.nan, "ci_low": interval.low, "ci_high": interval.high}
        row |= {"bound_low": passed / total, "bound_high": (passed + undecided + total - scored) / total}
        row |= {"undecided": undecided, "cases_scored": scored, "cases_total": total}
        row |= {"provisional": bool(table.provisional[unit].any()), "effective_checks": float(sums.effective[unit].mean())}
        rows.append(row)
    return pd.DataFrame(rows, columns=[*COLUMNS, "effective_checks"])


def pass_curve(sums: Sums, table: CaseTable, weights: str) -> pd.DataFrame:
    """The pass rate of each (judge, system) at every threshold of `CURVE`, with the same bounds; rates are 0-1."""
    total, rows = len(table.cases), []
    for threshold in CURVE:
        passes = sums.passes(table, Fraction(threshold))
        passed = passes.passed.sum(axis=1)
        scored = passes.scored.sum(axis=1)
        possible = passed + passes.undecided.sum(axis=1) + total - scored
        for unit, (judge, system) in enumerate(table.units):
            rate = passed[unit] / total if scored[unit] else math.nan
            rows.append((system, judge, threshold, weights, rate, passed[unit] / total, possible[unit] / total, total))
    return pd.DataFrame(rows, columns=CURVE_COLUMNS)
