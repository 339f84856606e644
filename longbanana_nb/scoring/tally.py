"""The verdict grid counted: for each judge and system, what stands on each check that should have been judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longbanana_nb.taxonomy import CATEGORIES


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts over samples, one row a (judge, system), one column a check that should have been judged.

    Attributes:
        units: the (judge, system) pairs, judges and systems in the order of the input.
        checks: one row a column: `case_id`, `check_id`, `category`, `dimension`, `polarity`, sorted by category (card
            order), case and check, so that sums do not depend on the order of the input.
        asked: samples that should exist (at least 1), `valid`: samples with a label, `earned`: sum of their labels (exact
            integers), `invalid`: samples answered unreadably, `zeroed`: samples counted 0 by policy.
    """

    units: list[tuple[str, str]]
    checks: pd.DataFrame
    asked: NDArray[np.int64]
    valid: NDArray[np.int64]
    earned: NDArray[np.int64]
    invalid: NDArray[np.int64]
    zeroed: NDArray[np.int64]


def check_list(grid: pd.DataFrame) -> pd.DataFrame:
    """Every (case, check) of a grid or of a release's totals, with its facts, in canonical order."""
    facts = grid[["case_id", "check_id", "category", "dimension", "polarity"]]
    # A fact known in one row holds for the check everywhere; contradictions were refused before.
    facts = facts.drop_duplicates().sort_values(["category", "dimension", "polarity"], ascending=False, kind="stable")
    checks = facts.drop_duplicates(["case_id", "check_id"]).copy()
    known = facts.loc[facts["category"] != ""].drop_duplicates("case_id")
    category = dict(zip(known["case_id"], known["category"], strict=True))
    checks["category"] = pd.Series([category.get(case_id, "") for case_id in checks["case_id"]], checks.index, dtype=object)
    for fact in ("dimension", "polarity"):
        values = facts.loc[facts[fact] != ""].drop_duplicates(["case_id", "check_id"]).set_index(["case_id", "check_id"])[fact]
        index = pd.MultiIndex.from_frame(checks[["case_id", "check_id"]])
        checks[fact] = values.reindex(index).fillna("").to_numpy(dtype=object)
    checks["rank"] = checks["category"].map(category_rank)
    ordered = checks.sort_values(["rank", "case_id", "check_id"], kind="stable")
    return ordered.drop(columns="rank").reset_index(drop=True)


def category_rank(category: str) -> int:
    """Place of a category in card order; an unnamed category comes last."""
    return CATEGORIES.index(category) if category in CATEGORIES else len(CATEGORIES)


def cells(grid: pd.DataFrame, checks: pd.DataFrame, units: list[tuple[str, str]]) -> NDArray[np.int64]:
    """For each row of a checked grid, its place in the units x checks array, counted row by row."""
    unit = _places(grid, pd.DataFrame(units, columns=["judge", "system"]))
    return unit * len(checks) + _places(grid, checks[["case_id", "check_id"]])


def _places(grid: pd.DataFrame, known: pd.DataFrame) -> NDArray[np.int64]:
    """For each row of the grid, the row of `known` with the same two keys; both frames hold text, and each row is there."""
    first, second = known.columns
    firsts, seconds = pd.Index(known[first].unique()), pd.Index(known[second].unique())

    def code(frame: pd.DataFrame) -> NDArray[np.int64]:
        joined = firsts.get_indexer(frame[first]).astype(np.int64) * len(seconds) + seconds.get_indexer(frame[second])
        return np.asarray(joined, dtype=np.int64)

    place = np.zeros(len(firsts) * len(seconds), dtype=np.int64)
    place[code(known)] = np.arange(len(known))
    return place[code(grid)]


def tally(grid: pd.DataFrame, cell: NDArray[np.int64], checks: pd.DataFrame, units: list[tuple[str, str]]) -> Tally:
    """Count a checked grid over the checks that should have been judged; `cell` is from `cells`."""
    shape = (len(units), len(checks))
    is_valid = (grid["state"] == "valid").to_numpy()
    labels = np.nan_to_num(grid["label"].to_numpy(dtype=float))

    def count(mask: NDArray[Any], weights: NDArray[Any] | None = None) -> NDArray[np.int64]:
        counted = np.bincount(cell[mask], weights=weights, minlength=shape[0] * shape[1])
        return counted.astype(np.int64).reshape(shape)

    return Tally(
        units=units,
        checks=checks,
        asked=np.maximum(count(np.ones(len(grid), dtype=bool)), 1),
        valid=count(is_valid),
        earned=count(is_valid, labels[is_valid]),
        invalid=count((grid["state"] == "invalid").to_numpy()),
        zeroed=count(grid["zeroed"].to_numpy(dtype=bool)),
    )
