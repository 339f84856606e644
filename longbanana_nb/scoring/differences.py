"""Differences between systems on the cases both have: intervals for all pairs, tests for those that were declared."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longbanana_nb.scoring.aggregate import mean_or_nan, scope_masks
from longbanana_nb.scoring.cases import CaseTable
from longbanana_nb.scoring.contrasts import Contrast, Side, holm, mcnemar_p, sign_flip_p
from longbanana_nb.scoring.intervals import NO_INTERVAL, Interval, newcombe_paired, stratified_t
from longbanana_nb.scoring.pass_rate import Passes
from longbanana_nb.taxonomy import FACTORS

COLUMNS = [
    *("judge", "metric", "a", "b", "scope", "name", "difference", "ci_low", "ci_high"),
    *("p_raw", "p_holm", "family_size", "test", "cases", "difference_low", "difference_high", "method"),
]
Row = dict[str, Any]
NO_TEST: Row = {"p_raw": None, "p_holm": None, "family_size": None, "test": None}
TESTS = {"score": "sign flip within strata", "pass_rate": "exact McNemar"}


@dataclass(frozen=True, slots=True)
class Paired:
    """Everything differences are made of: case scores, passes, and what is known of the systems."""

    table: CaseTable
    passes: Passes
    systems: pd.DataFrame
    level: float
    seed: int = 1


def differences(given: Paired, declared: Sequence[Contrast] = ()) -> pd.DataFrame:
    """Declared contrasts with tests, then all other pairs of systems of a judge (a before b in the input), overall.

    Columns as in `lb.scores.v1`, and `difference_low`, `difference_high`: the least and greatest difference of the two
    systems over all cases, whatever is missing. Scores are compared on cases scored for both, pass rates (0-1) on cases
    decided for both; NaN where there is none. `cases` counts them.

    A declared contrast has its p on the overall scope: `p_raw`, and `p_holm` over all declared contrasts on that metric under
    that judge (`family_size`). Its suites and categories are descriptive: an interval and no p. So are all other pairs: among all
    pairs some always look significant.
    """
    rows: list[Row] = []
    for judge in dict.fromkeys(judge for judge, _ in given.table.units):
        rows += _of_judge(given, judge, declared)
    frame = pd.DataFrame(rows, columns=COLUMNS)
    return frame.astype({"p_raw": object, "p_holm": object, "family_size": object, "test": object})


def _of_judge(given: Paired, judge: str, declared: Sequence[Contrast]) -> list[Row]:
    units = {system: place for place, (owner, system) in enumerate(given.table.units) if owner == judge}
    tested: list[Row] = []
    described: list[Row] = []
    for contrast in declared:
        tested += [_tested(given, judge, contrast, metric, units, len(declared)) for metric in contrast.metrics]
        described += _by_scope(given, judge, contrast, units)
    for metric in TESTS:
        family = [row for row in tested if row["metric"] == metric]
        for row, adjusted in zip(family, holm([row["p_raw"] for row in family]), strict=True):
            row |= {"p_holm": adjusted, "family_size": len(family)}
    said = {(row["metric"], frozenset((row["a"], row["b"]))) for row in tested}
    for a, b in itertools.combinations(units.values(), 2):
        pair = {given.table.units[a][1], given.table.units[b][1]}
        rows = (_score_row(given, judge, a, b), _pass_row(given, judge, a, b))
        described += [row for row in rows if (row["metric"], frozenset(pair)) not in said]
    return tested + described


def _tested(given: Paired, judge: str, contrast: Contrast, metric: str, units: dict[str, int], family: int) -> Row:
    pairs = matched(contrast, units, given.systems)
    names = {"judge": judge, "metric": metric, "a": contrast.a.name, "b": contrast.b.name}
    if metric == "pass_rate":
        if not pairs:
            return _nothing(names) | {"p_raw": math.nan, "test": TESTS[metric]}
        a, b = pairs[0]
        counts = _counts(given, a, b)
        p = mcnemar_p(counts[1], counts[2]) if sum(counts) else math.nan
        return _pass_row(given, judge, a, b) | {"p_raw": p, "test": TESTS[metric]}
    paired = _mean_difference(given.table, pairs)
    row = _score_numbers(given, pairs, paired, np.ones(len(paired), dtype=bool)) if pairs else _nothing(names)
    p = sign_flip_p(paired[np.isfinite(paired)], family=family, seed=given.seed)
    return {**names, "scope": "overall", "name": "overall", **NO_TEST, **row, "p_raw": p, "test": TESTS[metric]}


def _by_scope(given: Paired, judge: str, contrast: Contrast, units: dict[str, int]) -> list[Row]:
    """Suites and categories of a declared contrast, without p."""
    pairs = matched(contrast, units, given.systems)
    if not pairs:
        return []
    paired = _mean_difference(given.table, pairs)
    names = {"judge": judge, "metric": "score", "a": contrast.a.name, "b": contrast.b.name, **NO_TEST}
    scopes = [one for one in scope_masks(given.table) if one[0] != "overall"]
    return [{**names, "scope": scope, "name": name, **_score_numbers(given, pairs, paired, mask)} for scope, name, mask in scopes]


def matched(contrast: Contrast, units: dict[str, int], systems: pd.DataFrame) -> list[tuple[int, int]]:
    """The pairs of units a contrast compares: its two systems; for groups, all systems that differ in that factor alone.

    What one of two systems does not have (a direct one has no workflow and no agent model) is no difference.
    """
    if contrast.a.factor is None:
        known = contrast.a.name in units and contrast.b.name in units
        return [(units[contrast.a.name], units[contrast.b.name])] if known else []
    others = [name for name in FACTORS if name != contrast.a.factor and name in systems.columns]
    facts = systems.set_index("system")

    def members(side: Side) -> list[tuple[int, list[str]]]:
        return [
            (place, [value if isinstance(value := facts.at[system, name], str) else "" for name in others])
            for system, place in units.items()
            if side.factor in facts.columns and facts.at[system, side.factor] == side.value
        ]

    return [
        (a, b)
        for a, of_a in members(contrast.a)
        for b, of_b in members(contrast.b)
        if all(x == y or not x or not y for x, y in zip(of_a, of_b, strict=True))
    ]


def _mean_difference(table: CaseTable, pairs: list[tuple[int, int]]) -> NDArray[np.float64]:
    """Per case the mean over pairs of a - b, NaN unless all of them are scored."""
    if not pairs:
        return np.full(len(table.cases), math.nan)
    return np.asarray(np.mean([table.score[a] - table.score[b] for a, b in pairs], axis=0), dtype=np.float64)


def _score_numbers(given: Paired, pairs: list[tuple[int, int]], paired: NDArray[np.float64], mask: NDArray[np.bool_]) -> Row:
    table, shared = given.table, np.isfinite(paired) & mask
    strata = table.cases["stratum"].to_numpy()[shared]
    interval = stratified_t(paired[shared], strata, given.level) if shared.any() else NO_INTERVAL
    low = np.mean([table.low[a] - table.high[b] for a, b in pairs], axis=0)
    high = np.mean([table.high[a] - table.low[b] for a, b in pairs], axis=0)
    numbers = _numbers(mean_or_nan(paired[mask]), interval, int(shared.sum()))
    return numbers | {"difference_low": mean_or_nan(low[mask]), "difference_high": mean_or_nan(high[mask])}


def _score_row(given: Paired, judge: str, a: int, b: int) -> Row:
    paired = given.table.score[a] - given.table.score[b]
    numbers = _score_numbers(given, [(a, b)], paired, np.ones(len(paired), dtype=bool))
    return _names(given.table, judge, "score", a, b) | numbers


def _pass_row(given: Paired, judge: str, a: int, b: int) -> Row:
    passes = given.passes
    is_decided = passes.scored & ~passes.undecided
    both, only_a, only_b, neither = counts = _counts(given, a, b)
    cases = sum(counts)
    interval = newcombe_paired(both, only_a, only_b, neither, given.level)
    possible = passes.passed | ~is_decided
    low = float(np.mean(passes.passed[a].astype(float) - possible[b]))
    high = float(np.mean(possible[a].astype(float) - passes.passed[b]))
    numbers = _numbers((only_a - only_b) / cases if cases else math.nan, interval, cases)
    return _names(given.table, judge, "pass_rate", a, b) | numbers | {"difference_low": low, "difference_high": high}


def _counts(given: Paired, a: int, b: int) -> tuple[int, int, int, int]:
    """Cases decided for both: passed by both, by a alone, by b alone, by neither."""
    passes = given.passes
    is_decided = passes.scored & ~passes.undecided
    shared = is_decided[a] & is_decided[b]
    in_a, in_b = passes.passed[a, shared], passes.passed[b, shared]
    both, only_a, only_b = (int(part.sum()) for part in (in_a & in_b, in_a & ~in_b, ~in_a & in_b))
    return both, only_a, only_b, int(shared.sum()) - both - only_a - only_b


def _names(table: CaseTable, judge: str, metric: str, a: int, b: int) -> Row:
    sides = {"a": table.units[a][1], "b": table.units[b][1]}
    return {"judge": judge, "metric": metric, **sides, "scope": "overall", "name": "overall", **NO_TEST}


def _numbers(difference: float, interval: Interval, cases: int) -> Row:
    return {"difference": difference, "ci_low": interval.low, "ci_high": interval.high, "cases": cases, "method": interval.method}


def _nothing(names: Row) -> Row:
    bounds = {"difference_low": math.nan, "difference_high": math.nan}
    return {**names, "scope": "overall", "name": "overall", **NO_TEST, **_numbers(math.nan, NO_INTERVAL, 0), **bounds}
