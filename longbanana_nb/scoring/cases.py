"""Case scores: each case over its valid checks, with bounds for what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longbanana_nb.scoring.policy import Policy
from longbanana_nb.scoring.tally import Tally, category_rank


@dataclass(frozen=True, slots=True)
class CaseTable:
    """Scores of every case under every (judge, system); arrays are units x cases.

    Attributes:
        units: the (judge, system) pairs.
        cases: `case_id`, `category`, `stratum` (place of the category in card order), in canonical order.
        score: 0-100, NaN where the case is unscored. `low` and `high`: what is missing as 0 and as 2.
        valid, invalid, zeroed: checks with a valid verdict, with only unreadable ones, counted 0 by policy.
        total: checks that should have been judged, per case. `provisional`: something is missing.
    """

    units: list[tuple[str, str]]
    cases: pd.DataFrame
    score: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    valid: NDArray[np.int64]
    invalid: NDArray[np.int64]
    zeroed: NDArray[np.int64]
    total: NDArray[np.int64]
    provisional: NDArray[np.bool_]


def case_table(counts: Tally, policy: Policy, among: NDArray[np.bool_] | None = None) -> CaseTable:
    """Score each case over its valid checks, or over those of the checks in `among` (a mask, for one dimension).

    Samples are averaged within a check first; a check counts once and is valid if any of its samples is. Cases without a
    check in `among` are left out. `min_case_coverage` is held against the checks looked at.

    Source: LongBanana dataset card, Evaluation Protocol. Checks are never pooled across cases.
    """
    chosen = np.flatnonzero(among) if among is not None else np.arange(len(counts.checks))
    checks = counts.checks.iloc[chosen]
    case_ids = checks["case_id"].to_numpy(dtype=object)
    starts = np.flatnonzero(np.r_[True, case_ids[1:] != case_ids[:-1]]) if len(chosen) else np.arange(0)

    def by_case(values: NDArray[Any]) -> NDArray[Any]:
        return np.add.reduceat(values, starts, axis=1) if len(starts) else values[:, :0]

    asked, valid, earned = counts.asked[:, chosen], counts.valid[:, chosen], counts.earned[:, chosen]
    means = np.divide(earned, valid, out=np.zeros(valid.shape), where=valid > 0)
    answered = by_case((valid > 0).astype(np.int64))
    total = np.diff(np.r_[starts, len(chosen)])
    required = policy.exact_coverage
    is_scored = (answered > 0) & (answered * required.denominator >= total * required.numerator)
    score = np.divide(100 * by_case(means), 2 * answered, out=np.full(answered.shape, np.nan), where=is_scored)
    cases = checks.iloc[starts][["case_id", "category"]].reset_index(drop=True)
    return CaseTable(
        units=counts.units,
        cases=cases.assign(stratum=cases["category"].map(category_rank).astype(int)),
        score=score,
        low=100 * by_case(earned / asked) / (2 * total),
        high=100 * by_case((earned + 2 * (asked - valid)) / asked) / (2 * total),
        valid=answered,
        invalid=by_case(((valid == 0) & (counts.invalid[:, chosen] > 0)).astype(np.int64)),
        zeroed=by_case((counts.zeroed[:, chosen] > 0).astype(np.int64)),
        total=total,
        provisional=by_case((valid < asked).astype(np.int64)) > 0,
    )
