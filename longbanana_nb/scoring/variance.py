"""How much case scores vary by case, by the luck of a sample, and by asking the judge again."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

COLUMNS = ["judge", "system", "case", "sample", "repeat", "cases", "samples", "repeats"]


def variance_split(grid: pd.DataFrame) -> pd.DataFrame:
    """Variance of case scores (0-100, squared points), one row a (judge, system); columns `COLUMNS`.

    Scores of the same case, sample and repeat are means of its valid labels. The parts are those of a nested design, by the
    method of moments: `repeat` within a sample, `sample` beyond it within a case, `case` beyond both; what comes out below 0 is
    0. A part of which there is a single value (one sample, one repeat) is NaN and stands in the part above it. Only cases with
    all samples and repeats count, `cases` says how many.

    Args:
        grid: `judge, system, case_id, sample, judge_sample, state, label`.

    Source: Searle, Casella and McCulloch, Variance Components (1992), section 3.6 (balanced nested classification).
    """
    valid = grid[grid["state"] == "valid"]
    keys = ["judge", "system", "case_id", "sample", "judge_sample"]
    scores = 50 * valid.assign(label=pd.to_numeric(valid["label"]).astype(float)).groupby(keys, sort=False)["label"].mean()
    rows = []
    for names, mine in scores.groupby(level=[0, 1], sort=False):
        judge, system = names if isinstance(names, tuple) else (names, "")
        rows.append({"judge": judge, "system": system, **_parts(_cube(mine))})
    return pd.DataFrame(rows, columns=COLUMNS)


def _cube(scores: pd.Series[float]) -> NDArray[np.float64]:
    """Cases x samples x repeats, the cases that have all of them."""
    table = scores.reset_index(drop=False).pivot_table(index="case_id", columns=["sample", "judge_sample"], values="label")
    whole = table.dropna()
    samples = table.columns.get_level_values(0).nunique()
    repeats = table.columns.get_level_values(1).nunique()
    if table.shape[1] != samples * repeats:
        return np.empty((0, samples, repeats))
    return np.asarray(whole.to_numpy(dtype=np.float64).reshape(len(whole), samples, repeats))


def _parts(cube: NDArray[np.float64]) -> dict[str, Any]:
    cases, samples, repeats = cube.shape
    found = {"case": math.nan, "sample": math.nan, "repeat": math.nan, "cases": cases, "samples": samples, "repeats": repeats}
    if cases < 2:
        return found
    by_sample, by_case = cube.mean(axis=2), cube.mean(axis=(1, 2))
    of_repeat = float(np.var(cube, axis=2, ddof=1).mean()) if repeats > 1 else 0.0
    of_sample = repeats * float(np.var(by_sample, axis=1, ddof=1).mean()) if samples > 1 else of_repeat
    of_case = samples * repeats * float(np.var(by_case, ddof=1))
    found["case"] = max(0.0, (of_case - of_sample) / (samples * repeats))
    if samples > 1:
        found["sample"] = max(0.0, (of_sample - of_repeat) / repeats)
    if repeats > 1:
        found["repeat"] = of_repeat
    return found
