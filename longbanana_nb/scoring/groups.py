"""Scores by harness, workflow, agent model and backend: means over the systems that share one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from longbanana_nb.scoring.aggregate import scope_masks
from longbanana_nb.scoring.cases import CaseTable
from longbanana_nb.scoring.intervals import NO_INTERVAL, stratified_t
from longbanana_nb.taxonomy import FACTORS

COLUMNS = ["judge", "factor", "value", "scope", "name", "score", "ci_low", "ci_high", "systems", "cases", "provisional", "method"]


def group_scores(table: CaseTable, systems: pd.DataFrame, level: float) -> pd.DataFrame:
    """One row per judge, factor, value of it and scope (overall, suite, category).

    `score` is the mean, over the systems with that value, of each system's own score in the scope, so every system counts
    once whatever its coverage; systems without a score there are left out and `systems` counts the rest. The interval is the
    stratified t over cases of the mean of the systems' case scores; NaN unless all these systems are scored on the same
    cases. Systems without a value of the factor form no group. Systems are a chosen few, not a sample: the interval speaks of
    cases alone, and a difference between groups also holds whatever else differs between their systems.

    Args:
        table: case scores. systems: one row a system, `system` and any of the factors.
    """
    rows: list[dict[str, Any]] = []
    facts = systems.set_index("system")
    judges = list(dict.fromkeys(judge for judge, _ in table.units))
    for judge in judges:
        for factor in (factor for factor in FACTORS if factor in facts.columns):
            values = {system: facts[factor].get(system) for owner, system in table.units if owner == judge}
            for value in dict.fromkeys(v for v in values.values() if isinstance(v, str) and v):
                members = [i for i, (owner, s) in enumerate(table.units) if owner == judge and values[s] == value]
                rows += _rows(table, members, {"judge": judge, "factor": factor, "value": value}, level)
    return pd.DataFrame(rows, columns=COLUMNS)


def _rows(table: CaseTable, members: list[int], names: dict[str, str], level: float) -> list[dict[str, Any]]:
    rows = []
    for scope, name, mask in scope_masks(table):
        scores = table.score[np.ix_(np.array(members), np.flatnonzero(mask))]
        scored = np.isfinite(scores)
        kept, kept_scored = scores[scored.any(axis=1)], scored[scored.any(axis=1)]
        means = [float(row[finite].sum()) / int(finite.sum()) for row, finite in zip(kept, kept_scored, strict=True)]
        shared = kept_scored.all(axis=0) if len(kept) else np.zeros(int(mask.sum()), dtype=bool)
        is_common = bool(len(kept)) and bool((kept_scored == shared).all()) and bool(shared.any())
        strata = table.cases["stratum"].to_numpy()[mask][shared]
        interval = stratified_t(kept[:, shared].mean(axis=0), strata, level) if is_common else NO_INTERVAL
        row: dict[str, Any] = {**names, "scope": scope, "name": name, "score": sum(means) / len(means) if means else np.nan}
        row |= {"ci_low": interval.low, "ci_high": interval.high, "method": interval.method}
        row |= {"systems": len(means), "cases": int(shared.sum())}
        rows.append(row | {"provisional": bool(table.provisional[np.ix_(np.array(members), np.flatnonzero(mask))].any())})
    return rows
