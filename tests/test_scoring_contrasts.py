"""Declared contrasts: their tests against other libraries and by hand, Holm's family, and how often they cry wolf."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scoring_fixtures import grid_of, row_of

from longbanana_nb.errors import CallError
from longbanana_nb.scoring import score_grid
from longbanana_nb.scoring.contrasts import holm, mcnemar_p, read_contrasts, sign_flip_p
from longbanana_nb.taxonomy import CATEGORIES


def test_a_sign_flip_test_of_few_cases_goes_through_all_patterns():
    paired = np.array([3.0, 1.0, 4.0, 1.0, -5.0, 9.0])
    seen = abs(paired.mean()) - 1e-12
    signs = itertools.product((1, -1), repeat=len(paired))
    extreme = sum(abs((np.array(pattern) * paired).mean()) >= seen for pattern in signs)
    assert sign_flip_p(paired, family=1, seed=1) == pytest.approx(extreme / 64)


def test_drawn_patterns_give_no_p_of_zero_and_enough_of_them_for_the_family():
    paired = np.full(40, 10.0)
    p = sign_flip_p(paired, family=45, seed=1)
    assert p > 0
    assert 45 * p < 0.05  # with ten systems a clear difference can still be significant after Holm


def test_without_any_difference_p_is_one_and_without_cases_there_is_none():
    assert sign_flip_p(np.zeros(9), family=1, seed=1) == 1.0
    assert math.isnan(sign_flip_p(np.array([]), family=1, seed=1))
    assert sign_flip_p(np.array([30.0]), family=1, seed=1) == 1.0  # either sign is as extreme


def test_mcnemar_is_the_binomial_of_the_cases_that_differ():
    assert mcnemar_p(8, 1) == pytest.approx(2 * (1 + 9) / 2**9)
    assert mcnemar_p(0, 0) == 1.0
    assert mcnemar_p(3, 3) == 1.0


def test_holm_by_hand():
    # 3 x 0.01; 2 x 0.03; 0.04 below what stands before it
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
    known = holm([math.nan, 0.01])
    assert math.isnan(known[0])
    assert known[1] == pytest.approx(0.02)  # what could not be tested still counts


def two_systems(a: list[list[int]], b: list[list[int]], category: str = "SCC") -> pd.DataFrame:
    parts = [
        grid_of({category: {f"c{n}": labels for n, labels in enumerate(cases)}}, system=name)
        for name, cases in (("a", a), ("b", b))
    ]
    return pd.concat(parts, ignore_index=True)


def test_only_declared_contrasts_carry_p_and_their_categories_are_descriptive():
    grid = two_systems([[2, 2], [2, 0], [2, 2], [2, 1]], [[0, 0], [2, 0], [0, 2], [1, 1]])
    third = grid[grid["system"] == "a"].assign(system="c")
    frame = score_grid(pd.concat([grid, third]), contrasts=read_contrasts([("a", "b")])).differences
    told = row_of(frame, metric="score", scope="overall", a="a", b="b")
    # differences 100, 0, 50, 25: of 16 patterns those with a mean of at least 43.75 either way
    assert told["p_raw"] == pytest.approx(sign_flip_p(np.array([100.0, 0, 50, 25]), family=1, seed=1))
    assert (told["p_holm"], told["family_size"], told["test"]) == (told["p_raw"], 1, "sign flip within strata")
    rate = row_of(frame, metric="pass_rate", a="a", b="b")
    assert (rate["p_raw"], rate["test"], rate["family_size"]) == (mcnemar_p(3, 0), "exact McNemar", 1)
    others = frame[~((frame["a"] == "a") & (frame["b"] == "b") & (frame["scope"] == "overall"))]
    assert others["p_raw"].isna().all()
    assert row_of(frame, metric="score", scope="category", name="SCC")["difference"] == pytest.approx(43.75)
    assert len(frame[frame["scope"] == "overall"]) == 2 * 3  # each pair once


def test_a_pass_rate_that_no_case_decides_for_both_has_no_p():
    grid = two_systems([[2, 2]], [[2, 2]])
    grid.loc[grid["system"] == "b", ["state", "label"]] = ["invalid", None]
    told = row_of(score_grid(grid, contrasts=read_contrasts([("a", "b")])).differences, metric="pass_rate")
    assert math.isnan(told["p_raw"])
    assert told["cases"] == 0


def test_a_family_holds_all_contrasts_of_a_metric_under_a_judge():
    grid = two_systems([[2, 2], [2, 0], [2, 2]], [[0, 0], [2, 0], [0, 2]])
    grid = pd.concat([grid, grid[grid["system"] == "b"].assign(system="c")])
    both = pd.concat([grid, grid.assign(judge="k")], ignore_index=True)
    contrasts = read_contrasts([("a", "b"), ("a", "c")], claims=[("b", "c", "score")])
    frame = score_grid(both, contrasts=contrasts).differences
    tested = frame[frame["p_raw"].notna()]
    sizes = tested.groupby(["judge", "metric"])["family_size"].agg(["first", "count"])
    assert sizes.loc[("j", "score")].tolist() == [3, 3]
    assert sizes.loc[("k", "pass_rate")].tolist() == [2, 2]  # the claim speaks of scores alone


def test_groups_are_compared_over_systems_that_differ_in_nothing_else():
    rows = {
        ("h", "rpr"): [[2, 2], [2, 2], [2, 2]],
        ("h", "minimal"): [[0, 2], [2, 2], [0, 0]],
        ("g", "rpr"): [[0, 0], [0, 0], [0, 0]],
    }
    grids = [grid_of({"SCC": {f"c{n}": k for n, k in enumerate(cases)}}, system=f"{h}-{w}") for (h, w), cases in rows.items()]
    systems = pd.DataFrame([{"system": f"{h}-{w}", "harness": h, "workflow": w} for h, w in rows])
    declared = read_contrasts([("workflow=rpr", "workflow=minimal"), ("workflow=rpr", "workflow=react")])
    frame = score_grid(pd.concat(grids), systems=systems, contrasts=declared).differences
    told = row_of(frame, b="workflow=minimal", scope="overall")  # g-rpr has no partner and takes no part
    assert (told["difference"], told["cases"], told["family_size"]) == (50.0, 3, 2)
    nothing = row_of(frame, b="workflow=react")
    assert math.isnan(nothing["difference"])
    assert math.isnan(nothing["p_raw"])


@pytest.mark.parametrize(
    ("compare", "says"),
    [
        ([("a", "a")], "two systems"),
        ([("a", "b"), ("b", "a")], "twice"),
        ([("workflw=rpr", "workflow=minimal")], "workflow"),
        ([("workflow=rpr", "harness=native")], "one factor"),
        ([("workflow=rpr", "a")], "one factor"),
    ],
)
def test_contrasts_that_compare_nothing_are_refused(compare, says):
    with pytest.raises(CallError, match=says):
        read_contrasts(compare)


def test_declared_contrasts_of_equal_systems_are_significant_no_more_than_six_times_in_a_hundred():
    draw = np.random.default_rng(20261201)
    rounds, cases, found = 2000, 27, 0
    shape = 6
    flips = draw.choice([-1.0, 1.0], size=(4000, cases))
    for _ in range(rounds):
        hard = draw.normal(0, 14, cases)
        a, b = (np.round(np.clip(60 + hard + draw.normal(0, 10, cases), 0, 100) * shape / 100) for _ in range(2))
        paired = a - b
        seen = abs(paired.mean())
        found += (1 + (np.abs(flips @ paired / cases) >= seen - 1e-12).sum()) / (1 + len(flips)) <= 0.05
    assert found / rounds <= 0.06
    # and the product's own test says the same on some of them
    sample = [np.round(draw.normal(0, 10, cases)) for _ in range(5)]
    for paired in sample:
        p = (1 + (np.abs(flips @ paired / cases) >= abs(paired.mean()) - 1e-12).sum()) / (1 + len(flips))
        assert sign_flip_p(paired, family=1, seed=1) == pytest.approx(p, abs=0.03)


def test_the_sign_flip_p_is_near_the_t_test_on_normal_differences():
    paired = np.random.default_rng(3).normal(4, 10, 90)
    assert sign_flip_p(paired, family=1, seed=1) == pytest.approx(stats.ttest_1samp(paired, 0).pvalue, abs=0.01)


def test_the_same_seed_gives_the_same_p():
    parts = [grid_of({code: {f"{code}{n}": [n % 3, 2] for n in range(3)}}) for code in CATEGORIES]
    grid = pd.concat(parts, ignore_index=True)
    other = grid.assign(system="t", label=np.random.default_rng(1).integers(0, 3, len(grid)))
    frames = [score_grid(pd.concat([grid, other]), contrasts=read_contrasts([("s", "t")])).differences for _ in range(2)]
    assert frames[0].equals(frames[1])
