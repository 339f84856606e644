"""Agreement held against scipy, hand-worked tables and simulations at fixed seeds."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from longbanana_nb.scoring.agreement import agreement, case_pairs
from longbanana_nb.scoring.case_draws import case_draws, percentile_interval
from longbanana_nb.scoring.correlation import CORRELATIONS
from longbanana_nb.scoring.label_tables import ChosenLabels
from longbanana_nb.scoring.pairs import match
from longbanana_nb.scoring.two_judges import compared

CHECKS = 10


def pairs_of(human, judge, names=None):
    """Labels of systems x cases x checks as one row a unit."""
    systems, cases, checks = human.shape
    index = pd.MultiIndex.from_product(
        [names or [f"s{i}" for i in range(systems)], [f"c{i:03d}" for i in range(cases)], [f"k{i:03d}" for i in range(checks)]],
        names=["system", "case_id", "check_id"],
    )
    return pd.DataFrame({"human": human.ravel(), "judge": judge.ravel()}, index=index, dtype=float).reset_index()


def labels_scoring(scores, checks=20):
    """0/1/2 labels of `checks` checks whose sum is the score (0-100), rounded to what the checks can show."""
    points = np.rint(np.asarray(scores) / 100 * 2 * checks).astype(int)
    return np.clip(points[..., None] - 2 * np.arange(checks), 0, 2)


def table_pairs(table):
    """One case a unit, so many units as each cell of a 3 x 3 table says."""
    rows = [(human, judge) for human in range(3) for judge in range(3) for _ in range(table[human][judge])]
    human, judge = (np.array([row[side] for row in rows]).reshape(1, -1, 1) for side in (0, 1))
    return pairs_of(human, judge)


def test_a_constant_shift_is_a_bias_and_leaves_every_correlation_at_one():
    rng = np.random.default_rng(3)
    scores = rng.integers(4, 15, size=(4, 40)) * 5.0
    found = agreement(pairs_of(labels_scoring(scores), labels_scoring(scores + 10)))
    assert (found.values["bias"], found.values["mae"]) == pytest.approx((10, 10))
    assert found.limits == pytest.approx((10, 10))
    assert found.intervals["bias"] == pytest.approx((10, 10))
    for name in CORRELATIONS:
        assert found.values[name] == pytest.approx(1)
        assert found.values[f"within_case.{name}"] == pytest.approx(1)
        assert found.values[f"system_means.{name}"] == pytest.approx(1)


def test_a_judge_blind_to_systems_correlates_pooled_and_cannot_rank_them():
    pooled, means = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        hard = rng.normal(60, 20, size=(1, 90))
        human = hard + np.linspace(-6, 6, 10)[:, None] + rng.normal(0, 8, size=(10, 90))
        judge = hard + rng.normal(0, 8, size=(10, 90))
        found = agreement(pairs_of(labels_scoring(np.clip(human, 0, 100)), labels_scoring(np.clip(judge, 0, 100))))
        pooled.append(found.values["pearson"])
        means.append(found.values["system_means.spearman"])
    assert min(pooled) > 0.7
    assert abs(np.mean(means)) < 0.3


def test_a_judge_that_always_passes_has_a_kappa_of_zero():
    rng = np.random.default_rng(5)
    human = rng.choice(3, p=[0.14, 0.06, 0.8], size=(5, 40, 20))
    found = agreement(pairs_of(human, np.full(human.shape, 2)))
    assert found.values["exact"] == pytest.approx((human == 2).mean())
    assert found.values["opposite"] == pytest.approx((human == 0).mean())
    assert found.values["kappa_quadratic"] == pytest.approx(0, abs=1e-12)
    assert np.isfinite(found.values["bias"]) and math.isnan(found.values["system_means.pearson"])
    assert "judge's values are all equal" in found.undefined["system_means.pearson"]


def test_labels_of_a_table_worked_out_by_hand():
    # exact 12/20, opposite 3/20. Squared distances seen: 5 x 1 + 3 x 4 = 17. Rows 7, 5, 8; columns 6, 6, 8: expected
    # (7x6 + 5x6 + 5x8 + 8x6 + 4x7x8 + 4x8x6) / 20 = 576 / 20 = 28.8. kappa = 1 - 17 / 28.8.
    found = agreement(table_pairs([[4, 1, 2], [1, 3, 1], [1, 2, 5]]))
    assert found.confusion.tolist() == [[4, 1, 2], [1, 3, 1], [1, 2, 5]]
    assert (found.n, found.values["exact"], found.values["opposite"]) == (20, 0.6, 0.15)
    assert found.values["kappa_quadratic"] == pytest.approx(1 - 17 / 28.8)


@pytest.mark.parametrize(("name", "ours"), [("pearsonr", "pearson"), ("spearmanr", "spearman"), ("kendalltau", "kendall_tau_b")])
def test_correlations_are_those_of_scipy_with_ties_and_repeated_cases(name, ours):
    rng = np.random.default_rng(11)
    case = np.repeat(np.arange(12), 5)
    x = rng.integers(0, 8, size=60) * 12.5
    y = np.clip(x + rng.integers(-3, 4, size=60) * 12.5, 0, 100)
    draws = case_draws(12, draws=25, seed=2)
    found = CORRELATIONS[ours](x, y, case, draws)
    for row, value in zip(draws, found, strict=True):
        times = row[case].astype(int)
        assert value == pytest.approx(getattr(stats, name)(np.repeat(x, times), np.repeat(y, times)).statistic)


def test_within_case_and_system_means_are_those_of_scipy():
    rng = np.random.default_rng(12)
    human, judge = rng.integers(0, 3, size=(2, 6, 15, CHECKS))
    pairs = pairs_of(human, judge)
    found = agreement(pairs)
    h, j = human.mean(axis=2) * 50, judge.mean(axis=2) * 50
    each = [stats.kendalltau(h[:, c], j[:, c]).statistic for c in range(15)]
    assert found.within_cases == 15
    assert found.values["within_case.kendall_tau_b"] == pytest.approx(np.mean(each))
    assert found.values["system_means.spearman"] == pytest.approx(stats.spearmanr(h.mean(axis=1), j.mean(axis=1)).statistic)
    assert found.values["bias"] == pytest.approx((j - h).mean())
    assert found.values["mae"] == pytest.approx(np.abs(j - h).mean())
    assert len(case_pairs(pairs)) == found.cases == 90


def test_what_does_not_exist_is_null_and_named():
    nothing = agreement(pairs_of(np.zeros((0, 0, 0)), np.zeros((0, 0, 0)))).as_json()
    assert (nothing["n"], nothing["exact"], nothing["bias"], nothing["pearson"]) == (0, None, None, None)
    assert {"exact", "bias", "pearson", "within_case.pearson", "system_means.spearman"} <= set(nothing["undefined"])
    constant = agreement(pairs_of(np.array([[[0], [1], [2]]]), np.full((1, 3, 1), 1)))
    assert math.isnan(constant.values["kendall_tau_b"])
    assert constant.undefined["kendall_tau_b"] == "constant: the judge's values are all equal"
    same = agreement(pairs_of(np.full((2, 4, 3), 2), np.full((2, 4, 3), 2)))
    assert same.values["exact"] == 1 and math.isnan(same.values["kappa_quadratic"])
    assert same.intervals["exact"][0] < 1 == same.intervals["exact"][1]  # four cases do not prove a rate of 1


def test_checks_that_agree_within_a_case_do_not_narrow_the_interval():
    rng = np.random.default_rng(4)
    human = np.repeat(rng.choice([0, 2], size=(1, 10, 1)), 50, axis=2)
    judge = np.where(rng.random((1, 10, 1)) < 0.7, human, 2 - human)
    low, high = agreement(pairs_of(human, judge)).intervals["exact"]
    assert high - low > 0.35  # by single checks it would be 0.08 wide


def test_no_interval_below_three_cases():
    assert agreement(pairs_of(np.array([[[0, 1], [2, 1]]]), np.array([[[0, 2], [2, 1]]]))).intervals == {}
    assert percentile_interval(np.arange(10.0), 2, 0.95) is None


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng, inside = np.random.default_rng(8), np.zeros(2)
    truth = 0.0
    for _ in range(300):
        shift = rng.normal(0, 8, size=(1, 27))
        human = rng.integers(30, 70, size=(4, 27)).astype(float)
        draws = case_draws(27, draws=400, seed=1)[1:]
        gaps = np.broadcast_to(shift, human.shape).mean(axis=0)
        low, high = percentile_interval(draws @ gaps / draws.sum(axis=1), 27, 0.95)
        inside += [low <= truth <= high, 1]
    assert 0.90 <= inside[0] / inside[1] <= 0.98


def chosen(pairs):
    labels = pairs.rename(columns={"human": "label"}).assign(sample="0", category="", dimension="", polarity="", drawn=False)
    return ChosenLabels(labels.assign(candidate_sha256="").drop(columns="judge"))


def verdicts(pairs):
    return pairs.drop(columns="human").assign(
        sample="0", judge_sample="0", category="", dimension="", polarity="", candidate_sha256=""
    )


def test_two_judges_are_compared_on_the_same_labels_with_a_paired_interval():
    rng = np.random.default_rng(21)
    human = rng.choice(3, p=[0.3, 0.1, 0.6], size=(4, 40, 12))
    hard = rng.random((4, 40, 1)) < 0.4
    good = np.where(hard & (rng.random(human.shape) < 0.5), 2 - human, human)
    poor = np.where(rng.random(human.shape) < 0.16, 2 - human, good)
    first, second = (match(chosen(pairs_of(human, judge)), verdicts(pairs_of(human, judge))) for judge in (good, poor))
    found = compared(first, second)
    exact = found["statistics"]["exact"]
    assert exact["difference"] == pytest.approx((good == human).mean() - (poor == human).mean())
    assert exact["ci_low"] < exact["difference"] < exact["ci_high"]
    a, b = (agreement(one.pairs).intervals["exact"] for one in (first, second))
    alone = math.hypot(a[1] - a[0], b[1] - b[0])
    assert exact["ci_high"] - exact["ci_low"] < 0.8 * alone  # what is hard for both falls out
    same = compared(first, first)["statistics"]
    assert all(one["difference"] == 0 == one["ci_low"] == one["ci_high"] for one in same.values())
