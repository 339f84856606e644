"""Differences between systems on the cases both have, with intervals and without tests.

No contrast is declared here, so no p-value is given: with every pair compared, some difference always looks significant.
`p_raw`, `p_holm`, `family_size` and `test` are the place of declared contrasts.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd

from longbanana_nb.scoring.aggregate import mean_or_nan
from longbanana_nb.scoring.cases import CaseTable
from longbanana_nb.scoring.intervals import NO_INTERVAL, Interval, newcombe_paired, stratified_t
from longbanana_nb.scoring.pass_rate import Passes

COLUMNS = [
    *("judge", "metric", "a", "b", "scope", "name", "difference", "ci_low", "ci_high"),
    *("p_raw", "p_holm", "family_size", "test", "cases", "difference_low", "difference_high", "method"),
]


def differences(table: CaseTable, passes: Passes, level: float) -> pd.DataFrame:
    """All pairs of systems of a judge (a before b in the input), overall: mean paired difference a - b.

    Columns as in `lb.scores.v1`, and `difference_low`, `difference_high`: the least and greatest difference of the two
    systems over all cases, whatever is missing. Scores are compared on cases scored for both, pass rates (0-1) on cases
    decided for both; NaN where there is none. `cases` counts them.
    """
    rows = []
    for a, b in itertools.combinations(range(len(table.units)), 2):
        if table.units[a][0] == table.units[b][0]:
            rows += [_score_row(table, a, b, level), _pass_row(table, passes, (a, b), level)]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"p_raw": object, "p_holm": object, "family_size": object, "test": object})


def _score_row(table: CaseTable, a: int, b: int, level: float) -> dict[str, Any]:
    paired = table.score[a] - table.score[b]
    shared = np.isfinite(paired)
    strata = table.cases["stratum"].to_numpy()[shared]
    interval = stratified_t(paired[shared], strata, level) if shared.any() else NO_INTERVAL
    bounds = mean_or_nan(table.low[a] - table.high[b]), mean_or_nan(table.high[a] - table.low[b])
    return _row(table, (a, b), "score", mean_or_nan(paired), interval, int(shared.sum())) | _bounds(*bounds)


def _pass_row(table: CaseTable, passes: Passes, pair: tuple[int, int], level: float) -> dict[str, Any]:
    a, b = pair
    is_decided = passes.scored & ~passes.undecided
    shared = is_decided[a] & is_decided[b]
    passed_a, passed_b = passes.passed[a, shared], passes.passed[b, shared]
    both, only_a, only_b = (int(part.sum()) for part in (passed_a & passed_b, passed_a & ~passed_b, ~passed_a & passed_b))
    cases = int(shared.sum())
    interval = newcombe_paired(both, only_a, only_b, cases - both - only_a - only_b, level)
    difference = (only_a - only_b) / cases if cases else math.nan
    possible = passes.passed | ~is_decided
    low = float(np.mean(passes.passed[a].astype(float) - possible[b]))
    high = float(np.mean(possible[a].astype(float) - passes.passed[b]))
    return _row(table, pair, "pass_rate", difference, interval, cases) | _bounds(low, high)


def _row(
    table: CaseTable, pair: tuple[int, int], metric: str, difference: float, interval: Interval, cases: int
) -> dict[str, Any]:
    (judge, a), (_, b) = table.units[pair[0]], table.units[pair[1]]
    names = {"judge": judge, "metric": metric, "a": a, "b": b, "scope": "overall", "name": "overall"}
    tests = {"p_raw": None, "p_holm": None, "family_size": None, "test": None}
    numbers = {"difference": difference, "ci_low": interval.low, "ci_high": interval.high, "cases": cases}
    return names | numbers | tests | {"method": interval.method}


def _bounds(low: float, high: float) -> dict[str, float]:
    return {"difference_low": low, "difference_high": high}
