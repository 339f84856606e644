"""Intervals, pass rates and differences: known values, coverage by simulation, and what must hold whatever the verdicts."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scoring_fixtures import grid_of, row_of

from longbanana_nb.errors import CallError
from longbanana_nb.scoring import Policy, score_grid
from longbanana_nb.scoring.cases import case_table
from longbanana_nb.scoring.grids import checked_grid
from longbanana_nb.scoring.intervals import newcombe_paired, pool_small, stratified_t, wilson
from longbanana_nb.scoring.pass_rate import Sums
from longbanana_nb.scoring.tally import cells, check_list, tally
from longbanana_nb.scoring.weights import Weights
from longbanana_nb.taxonomy import CATEGORIES

T4 = 2.7764451051977987  # the 97.5 % point of Student's t with 4 degrees of freedom, from tables


def test_the_stratified_interval_by_hand():
    # strata (0, 50, 100): s^2 = 2500; (40, 50, 60): s^2 = 100; N = 6, mean 50
    # variance = (1/2)^2 * 2500/3 + (1/2)^2 * 100/3 = 650/3
    interval = stratified_t(np.array([0.0, 50, 100, 40, 50, 60]), np.array([0, 0, 0, 1, 1, 1]), 0.95)
    half = T4 * math.sqrt(650 / 3)
    assert (interval.low, interval.high) == pytest.approx((50 - half, 50 + half), rel=1e-12)
    assert interval.method == "stratified t, 2 strata, df 4"


def test_small_strata_are_pooled_and_a_pool_still_small_joins_the_smallest_other():
    pooled, small = pool_small(np.array([0, 0, 1, 1, 2, 2, 2]))
    assert pooled.tolist() == [0, 0, 0, 0, 2, 2, 2]
    assert small == 2
    joined, _ = pool_small(np.array([0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3]))
    assert joined.tolist() == [2, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    alone, _ = pool_small(np.array([0, 1]))
    assert alone.tolist() == [0, 0]


def test_there_is_no_interval_below_three_cases():
    scores = score_grid(grid_of({"SCC": {"a": [2], "b": [0]}}))
    assert np.isnan(row_of(scores.scores, scope="overall")["ci_low"])
    assert row_of(scores.scores, scope="overall")["method"] is None
    assert np.isnan(scores.pass_rates.iloc[0]["ci_low"])
    three = score_grid(grid_of({"SCC": {"a": [2], "b": [0]}, "AGG": {"c": [2]}}))
    assert row_of(three.scores, scope="overall")["method"] == "stratified t, 1 stratum, df 2, 2 small pooled"
    assert np.isnan(row_of(three.scores, scope="category", name="AGG")["ci_low"])


def test_checks_that_agree_within_a_case_do_not_narrow_the_interval():
    one, fifty = ({"SCC": {f"c{n}": [2 * (n % 2)] * checks for n in range(10)}} for checks in (1, 50))
    narrow, wide = (row_of(score_grid(grid_of(cases)).scores, scope="overall") for cases in (one, fifty))
    assert (narrow["ci_low"], narrow["ci_high"]) == (wide["ci_low"], wide["ci_high"])
    # ten cases, half 0 and half 100: s^2 = 25000/9, t(9) = 2.262157
    assert wide["ci_high"] - wide["score"] == pytest.approx(2.2621571628 * math.sqrt(25000 / 90))


@pytest.mark.parametrize(("passes", "total"), [(0, 90), (43, 90), (90, 90), (1, 3), (7, 10)])
def test_the_wilson_interval_is_the_one_scipy_gives(passes, total):
    interval = wilson(passes, total, 0.95)
    known = stats.binomtest(passes, total).proportion_ci(0.95, method="wilson")
    assert (interval.low, interval.high) == pytest.approx((known.low, known.high), abs=1e-12)


def test_no_pass_in_ninety_still_leaves_room_for_four_in_a_hundred():
    interval = wilson(0, 90, 0.95)
    assert interval.low == 0.0
    assert interval.high == pytest.approx(0.041, abs=5e-4)


def test_the_paired_interval_of_rates_by_hand():
    # Nothing in common to correlate (one margin is empty): limits are the root sums of the two Wilson distances.
    # Wilson at 95 %: 0/10 -> (0, 0.277533); 10/10 -> (0.722467, 1)
    interval = newcombe_paired(0, 10, 0, 0, 0.95)
    distance = 1.959963984540054**2 / (10 + 1.959963984540054**2)
    assert interval.low == pytest.approx(1 - math.sqrt(2) * distance)
    assert interval.high == pytest.approx(1.0)
    mirrored = newcombe_paired(12, 2, 9, 7, 0.95), newcombe_paired(12, 9, 2, 7, 0.95)
    assert mirrored[0].low == pytest.approx(-mirrored[1].high)


@pytest.mark.parametrize("cases_per_category", [3, 5, 10])
def test_the_overall_interval_covers_as_often_as_it_says(cases_per_category):
    draw = np.random.default_rng(20261130)
    means = np.array([55.0, 60, 65, 70, 50, 75, 62, 58, 68])
    strata = np.repeat(np.arange(9), cases_per_category)
    rounds, covered = 3000, 0
    for sample in draw.normal(means[strata], 14, size=(rounds, len(strata))):
        interval = stratified_t(sample, strata, 0.95)
        covered += interval.low <= means.mean() <= interval.high
    assert 0.93 <= covered / rounds <= 0.97


def test_a_case_at_the_threshold_passes_and_one_just_below_does_not():
    at, below = [2] * 7 + [0] * 3, [2] * 6 + [1] + [0] * 3
    rate = score_grid(grid_of({"SCC": {"a": at, "b": below, "c": at}})).pass_rates.iloc[0]
    assert (rate["pass_rate"], rate["undecided"]) == (pytest.approx(2 / 3), 0)


def test_a_missing_verdict_that_could_decide_leaves_a_case_undecided():
    cases = {"sure": [2, 2, 2, None], "open": [2, 2, None, 0], "lost": [2, 0, 0, None], "none": [None] * 4}
    rate = score_grid(grid_of({"SCC": cases})).pass_rates.iloc[0]  # lower bounds 75, 50, 25; upper 100, 75, 50
    assert (rate["pass_rate"], rate["undecided"], rate["cases_scored"], rate["cases_total"]) == (0.25, 1, 3, 4)
    assert (rate["bound_low"], rate["bound_high"], rate["provisional"]) == (0.25, 0.75, True)


def test_a_pass_rate_without_any_scored_case_is_undefined():
    rate = score_grid(grid_of({"SCC": {"a": [None], "b": [None], "c": [None]}})).pass_rates.iloc[0]
    assert np.isnan(rate["pass_rate"])
    assert (rate["bound_low"], rate["bound_high"]) == (0.0, 1.0)


def weighted(grid: pd.DataFrame, weights: Weights, threshold: float = 70):
    checked = checked_grid(grid)
    checks, units = check_list(checked), [("j", "s")]
    counts, policy = tally(checked, cells(checked, checks, units), checks, units), Policy(threshold=threshold)
    return Sums.of(counts, weights).passes(case_table(counts, policy), policy.exact_threshold).passed[0].tolist()


def test_weighted_scores_of_exactly_seventy_pass_for_every_split_into_twentieths():
    # weights w and 10 - w... as twentieths: 0.7 of the weight is earned, in numbers that floats cannot hold
    for part in range(1, 100, 7):
        weights = Weights("w", {("a", "k0"): Fraction(7 * part, 20), ("a", "k1"): Fraction(3 * part, 20)})
        assert weighted(grid_of({"SCC": {"a": [2, 0]}}), weights) == [True]
        heavier = Weights("w", {("a", "k0"): Fraction(7 * part, 20), ("a", "k1"): Fraction(3 * part, 20) + Fraction(1, 10**12)})
        assert weighted(grid_of({"SCC": {"a": [2, 0]}}), heavier) == [False]


def test_weights_must_cover_every_check():
    with pytest.raises(CallError, match="a/k1"):
        weighted(grid_of({"SCC": {"a": [2, 0]}}), Weights("w", {("a", "k0"): Fraction(1)}))


def test_differences_are_paired_over_shared_cases_and_carry_no_test():
    a = grid_of({"SCC": {"p": [2], "q": [2], "r": [0], "x": [2]}}, system="a")
    b = grid_of({"SCC": {"p": [0], "q": [2], "r": [0], "x": [None]}}, system="b")
    frame = score_grid(pd.concat([a, b], ignore_index=True)).differences
    score = row_of(frame, metric="score")
    # differences 100, 0, 0: mean 33.3, s^2 = 10000/3, t(2) = 4.302653
    assert (score["a"], score["b"], score["cases"]) == ("a", "b", 3)
    assert score["difference"] == pytest.approx(100 / 3)
    assert score["ci_high"] - score["difference"] == pytest.approx(4.302652729911 * 100 / 3)
    assert (score["difference_low"], score["difference_high"]) == (25.0, 50.0)
    assert [score[name] for name in ("p_raw", "p_holm", "family_size", "test")] == [None] * 4
    rate = row_of(frame, metric="pass_rate")
    assert (rate["difference"], rate["cases"]) == (pytest.approx(1 / 3), 3)


verdicts = st.lists(st.lists(st.sampled_from([0, 1, 2, None]), min_size=1, max_size=6), min_size=1, max_size=8).map(
    lambda cases: {f"case {n}": labels for n, labels in enumerate(cases)}
)


def grid_from(cases):
    return pd.concat(
        [grid_of({CATEGORIES[n % 3]: {name: labels}}) for n, (name, labels) in enumerate(cases.items())], ignore_index=True
    )


@settings(max_examples=15, deadline=None)
@given(verdicts, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_byte(cases, random):
    grid = grid_from(cases)
    grid = pd.concat([grid, grid.assign(system="t", label=grid["label"] * 0)], ignore_index=True)
    systems = pd.DataFrame({"system": ["s", "t"]})
    order = list(range(len(grid)))
    random.shuffle(order)
    first, second = (json.dumps(score_grid(rows, systems=systems).as_json()) for rows in (grid, grid.iloc[order]))
    assert first == second


@settings(max_examples=15, deadline=None)
@given(verdicts)
def test_bounds_bracket_the_score(cases):
    frame = score_grid(grid_from(cases)).scores
    scored = frame.loc[frame["score"].notna()]
    assert (scored["score_low"] <= scored["score"] + 1e-9).all()
    assert (scored["score"] <= scored["score_high"] + 1e-9).all()
    complete = frame.loc[~frame["provisional"]]
    assert np.allclose(complete["score_low"], complete["score"])
    assert np.allclose(complete["score_high"], complete["score"])


@settings(max_examples=15, deadline=None)
@given(verdicts, st.fractions(min_value=Fraction(1, 50), max_value=50), st.sampled_from([50, 70, 66.7]))
def test_equal_weights_pass_the_cases_that_the_card_score_passes(cases, weight, threshold):
    grid = grid_from({name: [label or 0 for label in labels] for name, labels in cases.items()})
    equal = Weights("equal", {(row.case_id, row.check_id): weight for row in grid.itertuples()})
    frame = score_grid(grid).scores
    card = [score >= threshold - 1e-9 for score in frame.loc[frame["scope"] == "case", "score"]]
    assert weighted(grid, equal, threshold) == card
