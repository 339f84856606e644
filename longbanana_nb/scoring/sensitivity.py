"""What the same verdicts say when a defensible choice is made the other way: Uncertain, missing images, threshold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from longbanana_nb.scoring.aggregate import mean_or_nan
from longbanana_nb.scoring.cases import case_table
from longbanana_nb.scoring.grids import checked_grid
from longbanana_nb.scoring.policy import Policy
from longbanana_nb.scoring.tally import Tally, tally

READINGS = ("card", "strict", "lenient", "delivered", "zero")
THRESHOLDS = tuple(range(60, 81, 2))


def sensitivity(grid: pd.DataFrame, counts: Tally, policy: Policy) -> pd.DataFrame:
    """Overall score of each (judge, system) under each reading; columns `judge, system, reading, score, cases_scored`.

    Readings: "card" is the score as asked for; "strict" counts Uncertain as Fail, "lenient" as Pass; "delivered" and "zero"
    are the two missing policies, whichever was asked for.

    Args:
        grid: the verdict grid before the missing policy. counts: its tally, for the list of checks and units.
        policy: the choices everything else is held to.
    """
    asked = checked_grid(grid, policy)
    is_judged = ~asked["zeroed"]
    variants = {
        "card": asked,
        "strict": asked.assign(label=asked["label"].where(~((asked["label"] == 1) & is_judged), 0.0)),
        "lenient": asked.assign(label=asked["label"].where(~((asked["label"] == 1) & is_judged), 2.0)),
        "delivered": checked_grid(grid, replace(policy, missing="delivered")),
        "zero": checked_grid(grid, replace(policy, missing="zero")),
    }
    rows: list[dict[str, Any]] = []
    for reading in READINGS:
        table = case_table(tally(variants[reading], counts.checks, counts.units), policy)
        for unit, (judge, system) in enumerate(counts.units):
            scored = int((table.score[unit] >= 0).sum())
            score = mean_or_nan(table.score[unit])
            rows.append({"judge": judge, "system": system, "reading": reading, "score": score, "cases_scored": scored})
    return pd.DataFrame(rows)


def label_shares(grid: pd.DataFrame) -> pd.DataFrame:
    """How often each label was given, by polarity; columns `judge, system, polarity, valid, fail, uncertain, passed` (counts).

    Polarity "all" comes first. These are counts of verdicts, not scores: they are pooled over cases. Checks counted 0 by policy
    are no verdicts and are left out.

    Args:
        grid: a checked grid.
    """
    judged = grid.loc[(grid["state"] == "valid") & ~grid["zeroed"], ["judge", "system", "polarity", "label"]]
    parts = [judged.assign(polarity="all"), judged.loc[judged["polarity"] != ""]]
    counted = pd.concat(parts).groupby(["judge", "system", "polarity", "label"], sort=False).size()
    wide = counted.unstack("label", fill_value=0).reindex(columns=[0.0, 1.0, 2.0], fill_value=0)
    wide.columns = pd.Index(["fail", "uncertain", "passed"])
    wide.insert(0, "valid", wide.sum(axis=1))
    return wide.reset_index()
