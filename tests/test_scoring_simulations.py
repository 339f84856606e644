"""What a referee would try: a system that loses its hardest cases, and how much of it the numbers show."""

from __future__ import annotations

import numpy as np
import pandas as pd

from longbanana_nb.scoring import Policy, score_grid
from longbanana_nb.taxonomy import CATEGORIES

CASES, CHECKS = 90, 20


def equal_systems(blocked: int, outcome: str) -> tuple[pd.DataFrame, float]:
    """Systems a and b of equal skill; the hardest cases of b leave no image. The score b would have had."""
    draw = np.random.default_rng(20261201)
    ease = np.clip(draw.normal(0.74, 0.14, CASES), 0, 1)
    hardest = np.argsort(ease)[:blocked]
    rows, whole = [], []
    for system in ("a", "b"):
        labels = 2 * (draw.random((CASES, CHECKS)) < ease[:, None])
        whole.append(50 * labels.mean())
        for case, code in enumerate(np.resize(CATEGORIES, CASES)):
            lost = system == "b" and case in hardest
            facts = {"judge": "j", "system": system, "case_id": f"c{case}", "category": code}
            facts |= {"state": "no_candidate", "outcome": outcome} if lost else {"state": "valid", "outcome": "image"}
            rows += [facts | {"check_id": f"k{k}", "label": None if lost else label} for k, label in enumerate(labels[case])]
    return pd.DataFrame(rows), whole[1]


def overall(grid, missing="delivered"):
    scores = score_grid(grid, policy=Policy(missing=missing))
    rows = scores.scores[scores.scores["scope"] == "overall"].set_index("system")
    return rows, scores


def test_blocking_the_hardest_cases_raises_the_score_and_shows_in_the_bounds():
    grid, whole = equal_systems(14, "blocked")
    rows, scores = overall(grid)
    b = rows.loc["b"]
    assert b["score"] > whole + 3  # the mean over what was delivered flatters
    assert bool(b["provisional"])
    assert (b["cases_scored"], b["cases_total"]) == (76, 90)
    assert b["score_low"] < whole < b["score_high"]
    assert b["score_high"] - b["score_low"] > 14  # 14 of 90 cases are unknown
    told = scores.differences[scores.differences["metric"] == "score"].iloc[0]
    assert told["cases"] == 76
    assert told["difference_low"] < 0 < told["difference_high"]


def test_what_was_blocked_is_not_the_systems_fault_and_what_failed_is():
    blocked, failed = (overall(equal_systems(14, outcome)[0], "zero")[0].loc["b"] for outcome in ("blocked", "failed"))
    assert blocked["score"] > failed["score"] + 10
    assert not failed["provisional"]
    assert failed["score"] == failed["score_low"]
