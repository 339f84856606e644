"""Claims held against a grid of defensible choices: in which of them does what was declared still hold?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longbanana_nb.errors import CallError
from longbanana_nb.scoring.cases import CaseTable, case_table
from longbanana_nb.scoring.grids import checked_grid, with_missing
from longbanana_nb.scoring.intervals import NO_INTERVAL, Interval, newcombe_paired, stratified_t, wilson
from longbanana_nb.scoring.pass_rate import Passes, Sums
from longbanana_nb.scoring.policy import Policy
from longbanana_nb.scoring.tally import Tally, cells, check_list, tally
from longbanana_nb.scoring.weights import UNIFORM, Weights, integer_weights, named_weights
from longbanana_nb.taxonomy import CATEGORIES, DIMENSIONS, SUITES

FACTORS = ("judge", "missing", "uncertain", "weights", "threshold", "leave_out")
THRESHOLDS = (60.0, 65.0, 70.0, 75.0, 80.0)
CELL_COLUMNS = [*("claim", *FACTORS), "is_declared", "estimate", "low", "high", "state", "cases"]
VERDICT_COLUMNS = [
    "claim",
    "verdict",
    "depends_on",
    "line",
    "estimate",
    "low",
    "high",
    "level",
    "cases",
    "cells",
    "cells_holding",
]


@dataclass(frozen=True, slots=True)
class Claim:
    """One declared claim: `a` is above `b` (or, with no `b`, above `least`) by more than `margin`, on a metric and a scope.

    Attributes:
        metric: "score" (0-100) or "pass_rate" (here in per cent too, so that every estimate is in points).
        scope: "overall", a suite, a category code, or (scores only) a dimension.
        least: threshold of a claim about one system; None for a comparison.
    """

    name: str
    a: str
    b: str | None = None
    metric: Literal["score", "pass_rate"] = "score"
    scope: str = "overall"
    margin: float = 0.0
    least: float | None = None

    @property
    def line(self) -> float:
        """What the estimate has to lie above."""
        return self.margin if self.least is None else self.least


@dataclass(frozen=True, slots=True)
class ClaimVerdicts:
    """What a family of claims came to.

    Attributes:
        verdicts: one row a claim (`VERDICT_COLUMNS`): `verdict` is "supported", "undecided", "depends on" or "contradicted".
        cells: one row a claim and choice (`CELL_COLUMNS`): `state` is "holds", "open", "against" or "no data".
    """

    verdicts: pd.DataFrame
    cells: pd.DataFrame


def judge_claims(
    grid: pd.DataFrame,
    claims: Sequence[Claim],
    *,
    judge: str,
    policy: Policy | None = None,
    level: float = 0.95,
    weights: Sequence[Weights] = (),
) -> ClaimVerdicts:
    """Hold each claim against every combination of choices: judge, missing, Uncertain, weights, threshold, category left out.

    A claim is *supported* where its interval lies above its line as declared and under every other choice; it *depends on* those
    choices that, made alone, let it hold or fail where the declared ones do the other (or "several choices together"); it is
    *contradicted* where the interval lies below the line under all choices that give one; else it is *undecided*.

    Intervals are simultaneous over the family (Bonferroni: level `1 - (1 - level) / claims`), so that all hold together; this is
    never less strict than Holm's procedure. They hold the sampling of cases only; the judge's error shows in the choice of judge.

    Args:
        grid: see `checked_grid`. judge: whose verdicts were declared. policy: the declared policy.
        weights: of pass rates, besides equal ones; those that the policy names are among them.
    """
    asked = policy or Policy()
    checked = checked_grid(grid)
    _require(claims, checked, judge)
    sure = 1 - (1 - level) / max(len(claims), 1)
    choices = {one.name: one for one in (named_weights(UNIFORM), *weights)}
    if asked.weights not in choices:
        raise CallError(f"claims: the policy names weights {asked.weights!r}, which are not given.")
    is_rated = any(claim.metric == "pass_rate" for claim in claims)
    ground = _Ground(checked, check_list(checked), choices if is_rated else {})
    rows: list[dict[str, Any]] = []
    for name, missing, uncertain in itertools.product(
        dict.fromkeys([judge, *checked["judge"]]),
        dict.fromkeys([asked.missing, "delivered", "zero"]),
        ("card", "strict", "lenient"),
    ):
        view = _View.of(ground, name, replace(asked, missing=missing), uncertain)
        for claim in claims:
            declared = name == judge and missing == asked.missing and uncertain == "card"
            chosen = {"claim": claim.name, "judge": name, "missing": missing, "uncertain": uncertain}
            rows += [chosen | cell for cell in _cells(view, claim, asked, sure, declared=declared)]
    found = pd.DataFrame(rows, columns=CELL_COLUMNS)
    verdicts = [_verdict(claim, found[found["claim"] == claim.name], sure) for claim in claims]
    return ClaimVerdicts(pd.DataFrame(verdicts, columns=VERDICT_COLUMNS), found)


@dataclass(frozen=True, slots=True)
class _Ground:
    """What all views share: the checked grid, its checks, and weights of pass rates, as integers once a set of systems."""

    checked: pd.DataFrame
    checks: pd.DataFrame
    weights: Mapping[str, Weights]
    known: dict[tuple[str, tuple[str, ...]], NDArray[Any]] = field(default_factory=dict)

    def sums(self, counts: Tally) -> dict[str, Sums]:
        """The weighted sums of a view under each weights."""
        systems = tuple(system for _, system in counts.units)
        found = {}
        for name, one in self.weights.items():
            if (name, systems) not in self.known:
                self.known[name, systems] = integer_weights(one, self.checks, systems)
            found[name] = Sums.of(counts, one, self.known[name, systems])
        return found


@dataclass(frozen=True, slots=True)
class _View:
    """Verdicts under one judge, missing policy and reading of Uncertain, ready for any claim."""

    counts: Any
    table: CaseTable
    policy: Policy
    systems: list[str]
    sums: Mapping[str, Sums]

    @classmethod
    def of(cls, ground: _Ground, judge: str, policy: Policy, uncertain: str) -> _View:
        """The view of one judge under one policy and reading."""
        checked, checks = ground.checked, ground.checks
        mine = with_missing(checked[checked["judge"] == judge].reset_index(drop=True), policy)
        read = {"card": 1.0, "strict": 0.0, "lenient": 2.0}[uncertain]
        mine = mine.assign(label=mine["label"].where(mine["label"] != 1, read))
        units = [(judge, system) for system in dict.fromkeys(mine["system"])]
        counts = tally(mine, cells(mine, checks, units), checks, units)
        return cls(counts, case_table(counts, policy), policy, [system for _, system in units], ground.sums(counts))

    def scored(self, scope: str) -> CaseTable:
        """The case table of a scope's checks."""
        if scope not in DIMENSIONS:
            return self.table
        return case_table(self.counts, self.policy, (self.counts.checks["dimension"] == scope).to_numpy(dtype=bool))

    def passes(self, threshold: float, weights: str) -> Passes:
        """Which cases pass at a threshold under these weights."""
        return self.sums[weights].passes(self.table, replace(self.policy, threshold=threshold).exact_threshold)


def _cells(view: _View, claim: Claim, asked: Policy, level: float, *, declared: bool) -> list[dict[str, Any]]:
    """One row a threshold and weights (both for pass rates only) and category left out."""
    table = view.scored(claim.scope)
    category = table.cases["category"].to_numpy(dtype=object)
    inside = _inside(claim.scope, category)
    left = ["none", *(code for code in CATEGORIES if (category[inside] == code).any())]
    left = left if len(left) > 2 else ["none"]
    is_rate = claim.metric == "pass_rate"
    thresholds = sorted({*THRESHOLDS, asked.threshold}) if is_rate else [math.nan]
    weights = list(view.sums) if is_rate else [asked.weights]
    rows = []
    passing = {(at, name): view.passes(at, name) for at in thresholds for name in weights if is_rate}
    for at, name, out in itertools.product(thresholds, weights, left):
        chosen = inside & (category != out)
        estimate, interval, cases = _estimate(view, table, claim, passing.get((at, name)), chosen, level)
        state = _state(estimate, interval, claim.line)
        is_declared = declared and out == "none" and (not is_rate or (at == asked.threshold and name == asked.weights))
        rows.append({
            "weights": name, "threshold": at, "leave_out": out, "is_declared": is_declared, "estimate": estimate,
            "low": interval.low, "high": interval.high, "state": state, "cases": cases,
        })  # fmt: skip
    return rows


def _estimate(
    view: _View, table: CaseTable, claim: Claim, passes: Passes | None, chosen: NDArray[np.bool_], level: float
) -> tuple[float, Interval, int]:
    if not {claim.a, claim.b or claim.a} <= set(view.systems):  # this judge never saw one of them
        return math.nan, NO_INTERVAL, 0
    a = view.systems.index(claim.a)
    b = view.systems.index(claim.b) if claim.b is not None else None
    if passes is None:
        values = table.score[a] - (table.score[b] if b is not None else 0.0)
        known = chosen & np.isfinite(values)
        if not known.any():
            return math.nan, NO_INTERVAL, 0
        interval = stratified_t(values[known], table.cases["stratum"].to_numpy()[known], level)
        return float(values[known].mean()), interval, int(known.sum())
    return _passing(passes, a, b, chosen, level)


def _passing(passes: Passes, a: int, b: int | None, chosen: NDArray[np.bool_], level: float) -> tuple[float, Interval, int]:
    decided = passes.scored & ~passes.undecided
    known = chosen & decided[a] & (decided[b] if b is not None else True)
    cases, passed = int(known.sum()), passes.passed[a, known]
    if not cases:
        return math.nan, NO_INTERVAL, 0
    if b is None:
        rate, interval = float(passed.mean()), wilson(int(passed.sum()), cases, level)
    else:
        other = passes.passed[b, known]
        both, only_a, only_b = (int(part.sum()) for part in (passed & other, passed & ~other, ~passed & other))
        rate = (only_a - only_b) / cases
        interval = newcombe_paired(both, only_a, only_b, cases - both - only_a - only_b, level)
    return 100 * rate, Interval(100 * interval.low, 100 * interval.high, interval.method), cases


def _state(estimate: float, interval: Interval, line: float) -> str:
    if math.isnan(estimate):
        return "no data"
    if math.isnan(interval.low):
        return "open"
    return "holds" if interval.low > line else "against" if interval.high < line else "open"


def _verdict(claim: Claim, cells: pd.DataFrame, level: float) -> dict[str, Any]:
    base = cells[cells["is_declared"]].iloc[0]
    told = cells[cells["state"] != "no data"]
    holding = told["state"] == "holds"
    depends = _depends(told, base)
    if base["state"] == "holds":
        verdict = "supported" if holding.all() else "depends on"
    elif (told["state"] == "against").all() and len(told):
        verdict = "contradicted"
    else:
        verdict = "depends on" if holding.any() else "undecided"
    return {
        "claim": claim.name, "verdict": verdict, "depends_on": ", ".join(depends) if verdict == "depends on" else "",
        "line": claim.line,
        "estimate": base["estimate"], "low": base["low"], "high": base["high"], "level": level, "cases": int(base["cases"]),
        "cells": len(told), "cells_holding": int(holding.sum()),
    }  # fmt: skip


def _depends(told: pd.DataFrame, base: pd.Series) -> list[str]:
    """The choices that alone turn whether the claim holds, with what they are turned to; else "several together"."""
    turned = told[(told["state"] == "holds") != (base["state"] == "holds")]
    differs = pd.DataFrame({name: [str(one) != str(base[name]) for one in turned[name]] for name in FACTORS}, index=turned.index)
    alone = turned[differs.sum(axis=1) == 1]
    found = []
    for name in FACTORS:
        values = [
            f"{one:g}" if isinstance(one, float) else str(one) for one in alone.loc[differs.loc[alone.index, name], name].unique()
        ]
        found += [f"{name.replace('_', ' ')} ({'; '.join(values)})"] if values else []
    return found or ["several choices together"]


def _inside(scope: str, category: NDArray[np.object_]) -> NDArray[np.bool_]:
    if scope in SUITES:
        return np.isin(category, SUITES[scope])
    if scope in CATEGORIES:
        return np.asarray(category == scope, dtype=bool)
    return np.ones(len(category), dtype=bool)


def _require(claims: Sequence[Claim], checked: pd.DataFrame, judge: str) -> None:
    systems, judges = set(checked["system"]), set(checked["judge"])
    if judge not in judges:
        raise CallError(f"claims: judge {judge!r} has no verdicts; there are: {', '.join(sorted(judges))}.")
    names = {name for claim in claims for name in (claim.a, claim.b) if name is not None}
    if lost := sorted(names - systems):
        raise CallError(f"claims: no verdicts on {', '.join(map(repr, lost))}; there are: {', '.join(sorted(systems))}.")
