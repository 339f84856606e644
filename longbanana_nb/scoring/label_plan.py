"""How many labels buy what: the interval that a number of labels would leave, from the spread that was seen, or assumed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from longbanana_nb.scoring.correction import CaseParts, best_share
from longbanana_nb.scoring.intervals import normal_quantile, pool_small

STEPS = (50, 100, 200, 400, 800, 1600)
SECONDS_A_LABEL = 20.0
POWER_80 = 0.8416212335729143  # the 80 % point of the normal distribution
COLUMNS = ["labels", "p", "half_width", "half_width_people", "half_width_difference", "detectable", "hours"]


@dataclass(frozen=True, slots=True)
class Spread:
    """What the width of a corrected score is made of, on 0-100.

    Attributes:
        cases: cases a system has. units: checks a case. between: variance of true case scores within categories. paired: of the
            true difference of two systems' case scores. residual, human: mean square of H - share x J and of H, on the scale of
            labels (0 to 2). source: where the numbers are from, in words.
    """

    cases: int
    units: float
    between: float
    paired: float
    residual: float
    human: float
    source: str


ASSUMED = Spread(
    cases=90, units=52, between=14.0**2, paired=10.0**2, residual=0.45, human=2.9,
    source="assumed: case scores spread by 14 points and paired differences by 10, judge and people differ by a label on 3 in 10",
)  # fmt: skip


def label_plan(spread: Spread, *, steps: Sequence[int] = STEPS, level: float = 0.95) -> pd.DataFrame:
    """One row a number of labels on one system; columns `COLUMNS`, in points of 0-100.

    `half_width` is that of a corrected score, `half_width_people` the same from labels alone, `half_width_difference` of a
    corrected difference of two systems with so many labels each, `detectable` the difference found in 80 of 100 studies,
    `hours` what both systems' labels take at 20 seconds a label. Units are drawn with equal chance p; the variance
    of a case's estimate is (50 / m)^2 m (1 - p) / p x mean square.
    """
    z, rows = normal_quantile(level), []
    for labels in steps:
        p = min(labels / (spread.cases * spread.units), 1.0)
        noise, alone = (2500 / spread.units * (1 - p) / p * square for square in (spread.residual, spread.human))
        score, people, pair = (
            z * math.sqrt(variance / spread.cases)
            for variance in (spread.between + noise, spread.between + alone, spread.paired + 2 * noise)
        )
        hours = 2 * labels * SECONDS_A_LABEL / 3600
        rows.append((labels, p, score, people, pair, pair * (1 + POWER_80 / z), hours))
    return pd.DataFrame(rows, columns=COLUMNS)


def spread_of(parts: Sequence[CaseParts], units: pd.DataFrame) -> Spread:
    """The spread that labels have shown.

    Args:
        parts: of the systems with labels. units: the labelled units, `label` (the judge's), `human`, `p`, `system`.
    """
    share = float(np.mean([best_share(part.people_hat, part.rest) for part in parts]))
    weight = 1 / units["p"].to_numpy(dtype=float)
    human, judged = units["human"].to_numpy(dtype=float), units["label"].to_numpy(dtype=float)
    residual = float(np.average((human - share * judged) ** 2, weights=weight))
    between = float(np.mean([_within(part.judge, part.strata) for part in parts]))
    pairs = [_within(a.judge - b.judge, a.strata) for a in parts for b in parts if a is not b and a.case_ids == b.case_ids]
    labelled = int(sum(part.labels for part in parts))
    return Spread(
        cases=max(len(part.judge) for part in parts),
        units=float(np.mean([_units_a_case(units, part) for part in parts])),
        between=ASSUMED.between if math.isnan(between) else between,
        paired=_paired(pairs, between),
        residual=residual,
        human=float(np.average(human**2, weights=weight)),
        source=f"seen on {labelled} labels on {len(parts)} systems"
        + ("; the spread of cases is assumed" if math.isnan(between) else ""),
    )


def _paired(pairs: list[float], between: float) -> float:
    """The variance of paired differences that was seen; without any, twice that of cases, or what is assumed."""
    if pairs and not math.isnan(float(np.mean(pairs))):
        return float(np.mean(pairs))
    return ASSUMED.paired if math.isnan(between) else 2 * between


def _within(values: np.ndarray, strata: np.ndarray) -> float:
    """Variance within strata, those of fewer than three cases pooled; NaN where nothing can vary."""
    strata, _ = pool_small(strata)
    if len(values) <= len(np.unique(strata)):
        return math.nan
    centred = [values[strata == one] - values[strata == one].mean() for one in np.unique(strata)]
    freedom = len(values) - len(centred)
    return float(sum((part**2).sum() for part in centred) / freedom)


def _units_a_case(units: pd.DataFrame, part: CaseParts) -> float:
    """Units of a case, from the labels' probabilities: their inverse sums to the population."""
    return float((1 / units["p"]).sum() / max(len(units["system"].unique()), 1) / len(part.judge))
