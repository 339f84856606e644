"""Agreement of two raters on units labelled twice, before anyone adjudicates, as papers report it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from longbanana_nb.scoring.agreement import LABELS, agreement
from longbanana_nb.scoring.case_draws import DRAWS, SEED

if TYPE_CHECKING:
    import pandas as pd


def raters_json(pairs: pd.DataFrame, units: int, *, level: float = 0.95, seed: int = SEED) -> dict[str, Any]:
    """Number and share of units labelled twice, confusion (rows round 1, columns round 2), exact, opposite and quadratic kappa.

    Args:
        pairs: as `label_tables.twice_labelled` gives them. units: labelled units in all.
    """
    found = agreement(pairs, level=level, seed=seed)
    numbers = {name: found.values[name] if name not in found.undefined else None for name in LABELS}
    intervals = {name: list(found.intervals[name]) if name in found.intervals else None for name in LABELS}
    undefined = {name: reason for name, reason in found.undefined.items() if name in LABELS}
    method = f"percentiles of {DRAWS} draws of n - 1 of the n cases"
    return {
        "n": found.n, "units": units, "share": found.n / units if units else 0.0, "confusion": found.confusion.tolist(),
        **numbers, "intervals": intervals, "undefined": undefined, "level": level, "method": method, "seed": seed,
    }  # fmt: skip
