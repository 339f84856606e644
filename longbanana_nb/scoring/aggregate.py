"""Scores of every scope: means of case scores, never pooled checks, with interval, bounds and coverage."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longbanana_nb.scoring.cases import CaseTable, case_table
from longbanana_nb.scoring.intervals import NO_INTERVAL, stratified_t
from longbanana_nb.scoring.policy import Policy
from longbanana_nb.scoring.tally import Tally
from longbanana_nb.taxonomy import CATEGORIES, DIMENSIONS, SUITES

COLUMNS = [
    *("system", "judge", "scope", "name", "score", "ci_low", "ci_high", "score_low", "score_high"),
    *("cases_scored", "cases_total", "checks_valid", "checks_total", "invalid", "provisional", "method", "zeroed"),
]
Row = dict[str, Any]


def scope_scores(counts: Tally, table: CaseTable, policy: Policy, level: float) -> pd.DataFrame:
    """One row per (judge, system) and scope: overall, suites, categories, dimensions, cases, each in card order.

    Columns as in `lb.scores.v1`, and `zeroed`, the checks the policy counted 0. A scope without cases has no row; one whose
    cases are all unscored has a row with NaN scores. A dimension is scored case by case, over the cases that have a check of it.
    """
    dimensions = [(name, case_table(counts, policy, mask)) for name, mask in dimension_masks(counts)]
    scopes = scope_masks(table)
    rows: list[Row] = []
    for unit in range(len(table.units)):
        rows += [_scope_row(table, unit, scope, name, mask, level) for scope, name, mask in scopes]
        rows += [_scope_row(part, unit, "dimension", name, _every(part), level) for name, part in dimensions]
        rows += list(_case_rows(table, unit))
    return pd.DataFrame(rows, columns=COLUMNS)


def scope_masks(table: CaseTable) -> list[tuple[str, str, NDArray[np.bool_]]]:
    """(scope, name, mask over cases) of overall, the suites and the categories that have cases, in card order."""
    category = table.cases["category"]
    scopes = [("overall", "overall", _every(table))]
    scopes += [("suite", suite, category.isin(codes).to_numpy(dtype=bool)) for suite, codes in SUITES.items()]
    scopes += [("category", code, (category == code).to_numpy(dtype=bool)) for code in CATEGORIES]
    return [scope for scope in scopes if scope[2].any()]


def dimension_masks(counts: Tally) -> list[tuple[str, NDArray[np.bool_]]]:
    """(dimension, mask over checks) of the dimensions that have checks, in card order."""
    masks = [(name, (counts.checks["dimension"] == name).to_numpy(dtype=bool)) for name in DIMENSIONS]
    return [(name, mask) for name, mask in masks if mask.any()]


def mean_or_nan(values: NDArray[np.float64]) -> float:
    """The mean of the finite values, NaN if there is none."""
    finite = values[np.isfinite(values)]
    return float(np.sum(finite)) / len(finite) if len(finite) else math.nan


def _every(table: CaseTable) -> NDArray[np.bool_]:
    return np.ones(len(table.cases), dtype=bool)


def _scope_row(table: CaseTable, unit: int, scope: str, name: str, mask: NDArray[np.bool_], level: float) -> Row:
    scores = table.score[unit, mask]
    is_scored = np.isfinite(scores)
    strata = table.cases["stratum"].to_numpy()[mask][is_scored]
    interval = stratified_t(scores[is_scored], strata, level) if is_scored.any() else NO_INTERVAL
    return {
        **_names(table, unit, scope, name),
        "score": mean_or_nan(scores),
        "ci_low": interval.low,
        "ci_high": interval.high,
        "score_low": mean_or_nan(table.low[unit, mask]),
        "score_high": mean_or_nan(table.high[unit, mask]),
        "cases_scored": int(is_scored.sum()),
        "cases_total": int(mask.sum()),
        "checks_valid": int(table.valid[unit, mask].sum()),
        "checks_total": int(table.total[mask].sum()),
        "invalid": int(table.invalid[unit, mask].sum()),
        "provisional": bool(table.provisional[unit, mask].any()),
        "method": interval.method,
        "zeroed": int(table.zeroed[unit, mask].sum()),
    }


def _case_rows(table: CaseTable, unit: int) -> Iterator[Row]:
    for place, case_id in enumerate(table.cases["case_id"]):
        yield {
            **_names(table, unit, "case", case_id),
            "score": float(table.score[unit, place]),
            "ci_low": math.nan,
            "ci_high": math.nan,
            "score_low": float(table.low[unit, place]),
            "score_high": float(table.high[unit, place]),
            "cases_scored": int(np.isfinite(table.score[unit, place])),
            "cases_total": 1,
            "checks_valid": int(table.valid[unit, place]),
            "checks_total": int(table.total[place]),
            "invalid": int(table.invalid[unit, place]),
            "provisional": bool(table.provisional[unit, place]),
            "method": None,
            "zeroed": int(table.zeroed[unit, place]),
        }


def _names(table: CaseTable, unit: int, scope: str, name: str) -> Row:
    judge, system = table.units[unit]
    return {"system": system, "judge": judge, "scope": scope, "name": name}
