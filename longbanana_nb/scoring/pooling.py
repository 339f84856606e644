"""Scores over two or more releases: all their cases together, stratified by release and category, never a mean of means."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longbanana_nb.errors import CallError
from longbanana_nb.scoring.aggregate import mean_or_nan
from longbanana_nb.scoring.grids import require_columns
from longbanana_nb.scoring.intervals import NO_INTERVAL, stratified_t
from longbanana_nb.scoring.tally import category_rank
from longbanana_nb.taxonomy import CATEGORIES, SUITES

NEEDED = ["judge", "system", "case_id", "category", "score", "score_low", "score_high", "provisional"]
SCORE_COLUMNS = [
    *("judge", "system", "scope", "name", "score", "ci_low", "ci_high", "score_low", "score_high"),
    *("cases_scored", "cases_total", "provisional", "method"),
]
DIFFERENCE_COLUMNS = ["judge", "a", "b", "difference", "ci_low", "ci_high", "cases", "method"]


def pooled_cases(parts: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The case scores of several releases as one frame, with `release` and `stratum` (release and category).

    Args:
        parts: by release, what `case_scores` gives. Judges and systems that are not in every one are left out.

    Raises:
        CallError: fewer than two releases, or no judge and system that all of them have.
    """
    if len(parts) < 2:
        raise CallError("pooling: found one release; expected at least two.")
    for release, frame in parts.items():
        require_columns(frame.columns, NEEDED, f"case scores of {release}")
    pairs = [set(zip(frame["judge"], frame["system"], strict=True)) for frame in parts.values()]
    common = set.intersection(*pairs)
    if not common:
        raise CallError(f"pooling: no system was judged by the same judge on all of {', '.join(parts)}.")
    frames = []
    for place, (release, frame) in enumerate(parts.items()):
        ranks = np.array([category_rank(str(code)) for code in frame["category"]])
        kept = np.array([pair in common for pair in zip(frame["judge"], frame["system"], strict=True)])
        marked = frame.assign(release=release, stratum=place * (len(CATEGORIES) + 1) + ranks)
        frames.append(marked[kept])
    return pd.concat(frames, ignore_index=True)


def pooled_scores(cases: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """One row a judge, system and scope (overall, suites, categories): the mean over the cases of all releases; `SCORE_COLUMNS`.

    A release counts by its cases: one with twice as many weighs twice as much. The interval is the stratified t, with a stratum
    for each release and category.

    Args:
        cases: of `pooled_cases`.
    """
    rows: list[dict[str, Any]] = []
    groups: Any = cases.groupby(["judge", "system"], sort=False)
    for (judge, system), mine in groups:
        for scope, name, mask in _scopes(mine):
            rows.append({"judge": judge, "system": system, "scope": scope, "name": name, **_numbers(mine[mask], level)})
    return pd.DataFrame(rows, columns=SCORE_COLUMNS)


def pooled_differences(cases: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """All pairs of systems of a judge, overall: mean paired difference over the cases scored for both; `DIFFERENCE_COLUMNS`."""
    rows = []
    for judge, mine in cases.groupby("judge", sort=False):
        wide = mine.pivot_table(index=["release", "case_id", "stratum"], columns="system", values="score", sort=False)
        strata = wide.index.get_level_values("stratum").to_numpy()
        for a, b in itertools.combinations(dict.fromkeys(mine["system"]), 2):
            if a not in wide.columns or b not in wide.columns:
                continue
            paired = (wide[a] - wide[b]).to_numpy(dtype=float)
            shared = np.isfinite(paired)
            interval = stratified_t(paired[shared], strata[shared], level) if shared.any() else NO_INTERVAL
            row = (judge, a, b, mean_or_nan(paired), interval.low, interval.high, int(shared.sum()), interval.method)
            rows.append(row)
    return pd.DataFrame(rows, columns=DIFFERENCE_COLUMNS)


def _scopes(cases: pd.DataFrame) -> list[tuple[str, str, NDArray[np.bool_]]]:
    category = cases["category"]
    scopes = [("overall", "overall", np.ones(len(cases), dtype=bool))]
    scopes += [("suite", suite, category.isin(codes).to_numpy(dtype=bool)) for suite, codes in SUITES.items()]
    scopes += [("category", code, (category == code).to_numpy(dtype=bool)) for code in CATEGORIES]
    return [scope for scope in scopes if scope[2].any()]


def _numbers(cases: pd.DataFrame, level: float) -> dict[str, Any]:
    scores = cases["score"].to_numpy(dtype=float)
    scored = np.isfinite(scores)
    interval = stratified_t(scores[scored], cases["stratum"].to_numpy()[scored], level) if scored.any() else NO_INTERVAL
    bounds = [mean_or_nan(cases[name].to_numpy(dtype=float)) for name in ("score_low", "score_high")]
    row = {"score": mean_or_nan(scores) if scored.any() else math.nan, "ci_low": interval.low, "ci_high": interval.high}
    row |= {"score_low": bounds[0], "score_high": bounds[1], "cases_scored": int(scored.sum()), "cases_total": len(cases)}
    return row | {"provisional": bool(cases["provisional"].any()), "method": interval.method}
