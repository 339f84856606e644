"""What the same verdicts say when a defensible choice is made the other way: Uncertain, missing images."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longbanana_nb.scoring.aggregate import mean_or_nan
from longbanana_nb.scoring.cases import case_table
from longbanana_nb.scoring.grids import with_missing
from longbanana_nb.scoring.policy import Policy
from longbanana_nb.scoring.tally import Tally, tally

READINGS = ("card", "strict", "lenient", "delivered", "zero")


def sensitivity(checked: pd.DataFrame, cell: NDArray[np.int64], counts: Tally, policy: Policy) -> pd.DataFrame:
    """Overall score of each (judge, system) under each reading; columns `judge, system, reading, score, cases_scored`.

    Readings: "card" is the score as asked for; "strict" counts Uncertain as Fail, "lenient" as Pass; "delivered" and "zero"
    are the two missing policies, whichever was asked for.

    Args:
        checked: the checked grid before the missing policy, `cell`: the place of its rows in the tally.
        counts: the tally, for the list of checks and units. policy: the choices everything else is held to.
    """
    asked = with_missing(checked, policy)
    is_sure = asked["label"] != 1
    variants = {
        "card": asked,
        "strict": asked.assign(label=asked["label"].where(is_sure, 0.0)),
        "lenient": asked.assign(label=asked["label"].where(is_sure, 2.0)),
        "delivered": with_missing(checked, replace(policy, missing="delivered")),
        "zero": with_missing(checked, replace(policy, missing="zero")),
    }
    rows: list[dict[str, Any]] = []
    for reading in READINGS:
        table = case_table(tally(variants[reading], cell, counts.checks, counts.units), policy)
        for unit, (judge, system) in enumerate(counts.units):
            scored = int((table.score[unit] >= 0).sum())
            score = mean_or_nan(table.score[unit])
            rows.append({"judge": judge, "system": system, "reading": reading, "score": score, "cases_scored": scored})
    return pd.DataFrame(rows)


def label_shares(grid: pd.DataFrame, units: list[tuple[str, str]]) -> pd.DataFrame:
    """How often each label was given, by polarity; columns `judge, system, polarity, valid, fail, uncertain, passed` (counts).

    Polarity "all" comes first. These are counts of verdicts, not scores: they are pooled over cases. Checks counted 0 by policy
    are no verdicts and are left out.

    Args:
        grid: a checked grid, the missing policy applied. units: the (judge, system) pairs, in order.
    """
    judged = grid.loc[(grid["state"] == "valid") & ~grid["zeroed"], ["judge", "system", "polarity", "label"]]
    named = judged.loc[judged["polarity"] != ""]
    counted: dict[Any, int] = pd.concat([judged.assign(polarity="all"), named]).value_counts(sort=False).to_dict()
    rows: list[dict[str, Any]] = []
    for judge, system in units:
        for polarity in ["all", *sorted(named["polarity"].unique())]:
            given = [counted.get((judge, system, polarity, label), 0) for label in (0.0, 1.0, 2.0)]
            names = {"judge": judge, "system": system, "polarity": polarity, "valid": sum(given)}
            rows.append(names | dict(zip(("fail", "uncertain", "passed"), given, strict=True)))
    return pd.DataFrame(rows)
