"""Two judges on the same labels: how much closer to people the one is, with paired intervals over cases."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from longbanana_nb.scoring.agreement import agreement
from longbanana_nb.scoring.case_draws import SEED, percentile_interval
from longbanana_nb.scoring.label_tables import UNIT

if TYPE_CHECKING:
    import pandas as pd

    from longbanana_nb.scoring.pairs import Matched


def compared(first: Matched, second: Matched, *, level: float = 0.95, seed: int = SEED) -> dict[str, Any]:
    """Every statistic of two judges on the units that people and both of them answered, and the differences, first - second.

    Both are drawn with the same cases, so that what a hard case does to both falls out of the difference.

    Returns:
        `{"n", "cases", "not_shared": [first, second], "statistics": {name: {"first", "second", "difference", "ci_low",
        "ci_high"}}}`; rates 0-1, bias and mae in points; null where a statistic does not exist.
    """
    mine, theirs = _shared(first.pairs, second.pairs), _shared(second.pairs, first.pairs)
    a, b = (agreement(pairs, level=level, seed=seed) for pairs in (mine, theirs))
    cases = mine["case_id"].nunique()
    statistics = {}
    for name, value in a.values.items():
        gap = value - b.values[name]
        interval = percentile_interval(a.draws[name] - b.draws[name], cases, level) if math.isfinite(gap) else None
        low, high = interval or (None, None)
        numbers = {"first": value, "second": b.values[name], "difference": gap}
        statistics[name] = {key: number if np.isfinite(number) else None for key, number in numbers.items()}
        statistics[name] |= {"ci_low": low, "ci_high": high}
    lost = [len(first.pairs) - len(mine), len(second.pairs) - len(theirs)]
    return {"n": a.n, "cases": a.cases, "not_shared": lost, "statistics": statistics}


def _shared(pairs: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    return pairs.merge(others[UNIT].drop_duplicates(), on=UNIT)
