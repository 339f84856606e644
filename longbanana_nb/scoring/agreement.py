"""Agreement of two sides on the same units, the first of them people: labels, case scores, and who ranks whom alike."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from longbanana_nb.scoring.case_draws import SEED, case_draws, percentile_interval, rate_interval
from longbanana_nb.scoring.correlation import CORRELATIONS, across, why_undefined, within_cases

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
LABELS = ("exact", "opposite", "kappa_quadratic")
CASES = ("bias", "mae")
NO_PAIRS = "no unit has a valid label on both sides"


@dataclass(slots=True)
class Agreement:
    """How far the judge says what people say.

    Attributes:
        n: pairs of valid labels. confusion: rows the human's label 0, 1, 2, columns the judge's. cases: case scores, one a system
            and case. values: every statistic, NaN where it does not exist. draws: their values in each draw of cases, for
            differences. intervals: (low, high) where there is one. limits: between which 95 % of case differences lie.
        within: correlations over the systems of a case, averaged over the `within_cases` cases that have one.
        means: correlations of the means of `systems` systems.
        undefined: why what does not exist does not.
    """

    n: int
    confusion: NDArray[np.int64]
    cases: int
    values: dict[str, float]
    draws: dict[str, Floats]
    intervals: dict[str, tuple[float, float]]
    limits: tuple[float, float] | None
    within_cases: int
    systems: int
    undefined: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The part of `agree --json` that speaks of these pairs; null where there is no number."""

        def of(prefix: str, names: Any) -> dict[str, Any]:
            inside = {name: _known(self.values[prefix + name]) for name in names}
            return inside | {"intervals": {name: _pair(self.intervals.get(prefix + name)) for name in names}}

        flat = of("", (*LABELS, *CASES, *CORRELATIONS))
        return {
            "n": self.n, "confusion": self.confusion.tolist(), "cases": self.cases, **flat,
            "limits_of_agreement": _pair(self.limits),
            "within_case": {**of("within_case.", CORRELATIONS), "cases": self.within_cases},
            "system_means": {**of("system_means.", CORRELATIONS), "systems": self.systems},
            "undefined": dict(self.undefined),
        }  # fmt: skip


def agreement(pairs: pd.DataFrame, *, level: float = 0.95, seed: int = SEED) -> Agreement:
    """Compare two labels of each unit.

    Args:
        pairs: one row a unit, both labels valid: `system`, `case_id`, `check_id`, `human`, `judge` (0, 1, 2).

    Returns:
        Rates 0-1; `bias` (judge - human), `mae` and correlations on case scores, 0-100: the mean over a case's matched checks,
        samples averaged within a check first. Intervals from seeded draws of whole cases, with all their systems; none below
        three cases. Kappa weighs a disagreement by the square of its distance on 0, 1, 2.
    """
    case_ids = sorted(set(pairs["case_id"]))
    place = {name: number for number, name in enumerate(case_ids)}
    draws = case_draws(len(case_ids), seed=seed)
    found = Agreement(len(pairs), np.zeros((3, 3), dtype=np.int64), 0, {}, {}, {}, None, 0, 0)
    tables = _tables(pairs, place)
    found.confusion = tables.sum(axis=0).astype(np.int64)
    _add_labels(found, tables, draws)
    scores = case_pairs(pairs)
    found.cases = len(scores)
    human, judge = (scores[side].to_numpy(dtype=float) for side in ("human", "judge"))
    case = scores["case_id"].map(place).to_numpy(dtype=np.int64)
    _add_differences(found, judge - human, case, draws)
    _add_pooled(found, human, judge, case, draws)
    _add_within(found, human, judge, case, draws)
    _add_means(found, scores, place, draws)
    _add_intervals(found, len(case_ids), level)
    return found


def case_pairs(pairs: pd.DataFrame) -> pd.DataFrame:
    """Both sides' score of every system and case, 0-100, over the matched checks: `system`, `case_id`, `human`, `judge`."""
    checks = pairs.groupby(["system", "case_id", "check_id"], sort=True)[["human", "judge"]].mean()
    return (50 * checks.groupby(["system", "case_id"], sort=True).mean()).reset_index()


def _tables(pairs: pd.DataFrame, place: dict[str, int]) -> Floats:
    """The confusion table of each case: cases x 3 x 3."""
    tables = np.zeros((len(place), 3, 3))
    case, human, judge = pairs["case_id"].map(place), pairs["human"].astype(int), pairs["judge"].astype(int)
    np.add.at(tables, (case.to_numpy(dtype=int), human.to_numpy(), judge.to_numpy()), 1)
    return tables


def _add_labels(found: Agreement, tables: Floats, draws: Floats) -> None:
    counts = np.tensordot(draws, tables, axes=1)
    total = counts.sum(axis=(1, 2))
    exact = np.trace(counts, axis1=1, axis2=2)
    opposite = counts[:, 0, 2] + counts[:, 2, 0]
    distance = (np.arange(3)[:, None] - np.arange(3)[None, :]) ** 2
    seen = (counts * distance).sum(axis=(1, 2))
    expected = (counts.sum(axis=2)[:, :, None] * counts.sum(axis=1)[:, None, :] * distance).sum(axis=(1, 2))
    kappa = 1 - _ratio(seen * total, expected)
    reasons = dict.fromkeys(LABELS) if found.n else dict.fromkeys(LABELS, NO_PAIRS)
    if found.n and expected[0] == 0:
        reasons["kappa_quadratic"] = "both sides gave one and the same label throughout"
    for name, values in zip(LABELS, (_ratio(exact, total), _ratio(opposite, total), kappa), strict=True):
        _put(found, name, values, reasons[name])


def _add_differences(found: Agreement, gaps: Floats, case: NDArray[np.int64], draws: Floats) -> None:
    weights = draws[:, case]
    total = weights.sum(axis=1)
    reason = None if len(gaps) else NO_PAIRS
    _put(found, "bias", _ratio(weights @ gaps, total), reason)
    _put(found, "mae", _ratio(weights @ np.abs(gaps), total), reason)
    if len(gaps) >= 2:
        centre, spread = float(gaps.mean()), float(gaps.std(ddof=1))
        found.limits = (centre - 1.959964 * spread, centre + 1.959964 * spread)
    else:
        found.undefined["limits_of_agreement"] = f"{len(gaps)} case scores; a spread needs two"


def _add_pooled(found: Agreement, human: Floats, judge: Floats, case: NDArray[np.int64], draws: Floats) -> None:
    reason = why_undefined(human, judge)
    for name, correlation in CORRELATIONS.items():
        _put(found, name, _nothing(draws) if reason else correlation(human, judge, case, draws), reason)


def _add_within(found: Agreement, human: Floats, judge: Floats, case: NDArray[np.int64], draws: Floats) -> None:
    for name in CORRELATIONS:
        each = within_cases(name, human, judge, case, draws.shape[1])
        known = np.isfinite(each)
        found.within_cases = int(known.sum())
        reason = None if known.any() else "no case with two systems whose scores differ on both sides"
        _put(found, f"within_case.{name}", _ratio(draws[:, known] @ each[known], draws[:, known].sum(axis=1)), reason)


def _add_means(found: Agreement, scores: pd.DataFrame, place: dict[str, int], draws: Floats) -> None:
    systems = sorted(set(scores["system"]))
    found.systems = len(systems)
    sums, seen = np.zeros((2, len(systems), len(place))), np.zeros((len(systems), len(place)))
    row = scores["system"].map(systems.index).to_numpy(dtype=int) if len(scores) else np.zeros(0, dtype=int)
    column = scores["case_id"].map(place).to_numpy(dtype=int) if len(scores) else np.zeros(0, dtype=int)
    seen[row, column] = 1
    for side, name in enumerate(("human", "judge")):
        sums[side][row, column] = scores[name].to_numpy(dtype=float)
    human, judge = (_ratio(draws @ side.T, draws @ seen.T) for side in sums)
    reason = why_undefined(human[0], judge[0])
    for name in CORRELATIONS:
        _put(found, f"system_means.{name}", _nothing(draws) if reason else across(name, human, judge), reason)


def _add_intervals(found: Agreement, cases: int, level: float) -> None:
    for name, values in found.draws.items():
        is_rate = name in ("exact", "opposite")
        known = rate_interval(found.values[name], values, cases, level) if is_rate else percentile_interval(values, cases, level)
        if known is not None and not math.isnan(found.values[name]):
            found.intervals[name] = known


def _put(found: Agreement, name: str, values: Floats, reason: str | None) -> None:
    found.values[name] = math.nan if reason else float(values[0])
    found.draws[name] = values[1:]
    if reason:
        found.undefined[name] = reason


def _nothing(draws: Floats) -> Floats:
    return np.full(len(draws), np.nan)


def _ratio(above: Floats, below: Floats) -> Floats:
    return np.asarray(np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below > 0))


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _pair(limits: tuple[float, float] | None) -> list[float] | None:
    return None if limits is None else [*limits]
