"""Scores corrected with labels: by hand, and by simulation of judges that favour one of two equal systems."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from longbanana_nb.errors import CallError
from longbanana_nb.scoring.correction import best_share, correct, label_units, parts_of
from longbanana_nb.scoring.intervals import stratified_t
from longbanana_nb.scoring.label_plan import ASSUMED, label_plan, spread_of
from longbanana_nb.taxonomy import CATEGORIES

CASES, CHECKS = 90, 52


def frames(judged, human, p, system="s", category=None):
    """A grid and labels from arrays (cases x checks); NaN in `human` is an unlabelled unit."""
    cases, checks = judged.shape
    case_ids = np.repeat([f"c{n:02d}" for n in range(cases)], checks)
    categories = np.repeat([category or CATEGORIES[n % 9] for n in range(cases)], checks)
    check_ids = np.tile([f"k{n:02d}" for n in range(checks)], cases)
    grid = pd.DataFrame({
        "judge": "j", "system": system, "case_id": case_ids, "category": categories, "check_id": check_ids, "sample": 0,
        "state": np.where(np.isnan(judged.ravel()), "invalid", "valid"), "label": judged.ravel(),
    })  # fmt: skip
    labelled = ~np.isnan(human.ravel())
    names = {"system": system, "case_id": case_ids[labelled], "check_id": check_ids[labelled], "sample": 0}
    labels = pd.DataFrame({**names, "label": human.ravel()[labelled], "p": np.broadcast_to(p, judged.shape).ravel()[labelled]})
    return grid, labels


def test_the_estimate_of_one_case_by_hand():
    judged = np.array([[2.0, 2.0, 0.0, 1.0]] * 3)
    human = np.array([[0.0, np.nan, np.nan, 1.0]] * 3)  # drawn with 1/2: the judge said 2 where people say 0
    found = correct(*frames(judged, human, 0.5, category="SCC"), judge="j").scores.iloc[0]
    # H^ = 50 (0 + 1)/0.5 / 4 = 25; J^ = 50 (2 + 1)/0.5 / 4 = 75; J = 62.5
    assert found["judge_score"] == 62.5
    assert found["people_alone"] == 25.0
    assert found["bias"] == 50.0
    assert found["corrected"] == pytest.approx(25.0 + 1.0 * (62.5 - 75.0))  # nothing varies, so the whole correction
    assert np.isnan(found["ci_low"])  # six labels
    assert found["labels"] == 6


def test_a_label_on_every_unit_gives_what_people_say_and_a_judge_of_no_use_is_not_used():
    draw = np.random.default_rng(5)
    human = draw.integers(0, 3, (30, 12)).astype(float)
    judged = draw.integers(0, 3, (30, 12)).astype(float)
    found = correct(*frames(judged, human, 1.0), judge="j").scores.iloc[0]
    assert found["corrected"] == pytest.approx(50 * human.mean())
    assert best_share(np.array([1.0, 5.0, 3.0, 8.0]), np.array([1.0, 2.0, 1.5, 4.0])) == 0.0


def test_what_the_judge_left_open_and_what_people_cannot_tell_counts_as_uncertain():
    judged = np.array([[2.0, np.nan]] * 3)
    human = np.array([[np.nan, np.nan]] * 3)
    grid, labels = frames(judged, human, 1.0, category="SCC")
    unclear = pd.DataFrame({"system": "s", "case_id": "c00", "check_id": "k00", "sample": 0, "label": [None], "p": [1.0]})
    found = correct(grid, pd.concat([labels, unclear]), judge="j").scores.iloc[0]
    assert found["judge_score"] == 75.0
    assert found["bias"] == pytest.approx(50 * (2 - 1) / 2 / 3)


def two_equal_systems(draw, a_true=0.75, b_true=0.75, a_lenient=0.30, b_lenient=0.10, a_case=2):
    """Pass rates of two systems with shared hard cases; a judge that passes so many of each one's failures; labels a case."""
    hard = np.clip(draw.normal(0, 0.12, (CASES, 1)), -0.3, 0.3)
    grids, labels = [], []
    for name, rate, lenient in (("a", a_true, a_lenient), ("b", b_true, b_lenient)):
        truth = 2.0 * (draw.random((CASES, CHECKS)) < np.clip(rate - hard, 0, 1))
        judged = np.where((truth == 0) & (draw.random(truth.shape) < lenient), 2.0, truth)
        chosen = np.zeros(truth.shape, dtype=bool)
        for case in range(CASES):
            chosen[case, draw.choice(CHECKS, a_case, replace=False)] = True
        grid, label = frames(judged, np.where(chosen, truth, np.nan), a_case / CHECKS, system=name)
        grids.append(grid)
        labels.append(label)
    return pd.concat(grids), pd.concat(labels)


def test_a_judge_that_favours_one_of_two_equal_systems_is_caught_and_corrected():
    draw = np.random.default_rng(20261201)
    rounds, judge_says, corrected_says, estimates, biases = 60, 0, 0, [], []
    for _ in range(rounds):
        grid, labels = two_equal_systems(draw)
        found = correct(grid, labels, judge="j")
        row = found.differences.iloc[0]
        by_case = 50 * grid.groupby(["case_id", "system"])["label"].mean().unstack()
        judge_says += stratified_t((by_case["a"] - by_case["b"]).to_numpy(), np.arange(CASES) % 9, 0.95).low > 0
        corrected_says += not row["ci_low"] <= 0 <= row["ci_high"]
        estimates.append(row["corrected"])
        biases.append(found.scores.set_index("system")["bias"])
    assert judge_says == rounds  # the judge is always sure, and always wrong
    assert corrected_says / rounds <= 0.12  # 60 rounds of a 5 % test: more than 7 would be rarer than 1 in 100
    assert np.mean(estimates) == pytest.approx(0, abs=1.5)
    # 30 and 10 in a hundred of a quarter of the checks: 7.5 and 2.5 points
    assert pd.concat(biases, axis=1).mean(axis=1).to_dict() == pytest.approx({"a": 7.5, "b": 2.5}, abs=1.2)


def test_a_difference_that_the_judge_hides_is_found_with_enough_labels():
    draw = np.random.default_rng(7)
    found, rounds = 0, 12
    for _ in range(rounds):
        grid, labels = two_equal_systems(draw, a_true=0.80, b_true=0.74, a_lenient=0.10, b_lenient=0.34, a_case=16)
        found += correct(grid, labels, judge="j").differences.iloc[0]["ci_low"] > 0
    assert found >= rounds * 0.7


def test_the_corrected_interval_covers_what_people_would_say_of_everything():
    draw = np.random.default_rng(11)
    covered, rounds, width = 0, 150, []
    for _ in range(rounds):
        # people's scores of the cases are drawn too: the interval is for the mean they are drawn around
        rates = np.clip(draw.normal(0.7, 0.14, (CASES, 1)), 0.02, 0.98)
        truth = 2.0 * (draw.random((CASES, 20)) < rates)
        judged = np.where((truth == 0) & (draw.random(truth.shape) < 0.3), 2.0, truth)
        p = np.where(judged == 2, 0.1, 0.3)
        human = np.where(draw.random(truth.shape) < p, truth, np.nan)
        row = correct(*frames(judged, human, p), judge="j").scores.iloc[0]
        covered += row["ci_low"] <= 70 <= row["ci_high"]
        width.append(row["ci_high"] - row["ci_low"] < row["people_high"] - row["people_low"])
    assert 0.89 <= covered / rounds <= 0.99
    assert np.mean(width) > 0.9  # a judge with 85 % right makes it narrower than labels alone


def test_a_correction_is_not_carried_to_a_system_without_labels_unless_asked():
    grid, labels = two_equal_systems(np.random.default_rng(1))
    mine = labels[labels["system"] == "a"]
    with pytest.raises(CallError, match="no labels on b"):
        correct(grid, mine, judge="j")
    carried = correct(grid, mine, judge="j", assume_common_bias=True)
    assert carried.scores.set_index("system")["assumed"].to_dict() == {"a": False, "b": True}
    assert bool(carried.differences.iloc[0]["assumed"])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda labels: labels.assign(p=None), "probability"),
        (lambda labels: labels.assign(p=1.5), "probability"),
        (lambda labels: labels.assign(system=labels["system"] + "x"), "does not have"),
        (lambda labels: pd.concat([labels, labels.iloc[:1]]), "several labels"),
        (lambda labels: labels.iloc[:0], "no label"),
    ],
)
def test_labels_that_cannot_correct_anything_are_refused(change, says):
    grid, labels = two_equal_systems(np.random.default_rng(1))
    with pytest.raises(CallError, match=says):
        correct(grid, change(labels), judge="j")


def test_few_labels_give_no_interval_and_labels_all_alike_do_not_silence_the_judge():
    draw = np.random.default_rng(2)
    judged = 2.0 * (draw.random((27, 48)) < 0.4)
    human = np.full(judged.shape, np.nan)
    failed = np.argwhere(judged == 0)[:10]
    human[tuple(failed.T)] = 0.0  # ten labels, all Fail, as the judge says
    row = correct(*frames(judged, human, 10 / judged.size), judge="j").scores.iloc[0]
    assert row["corrected"] == pytest.approx(50 * judged.mean())
    assert row[["ci_low", "ci_high", "people_low", "bias_low"]].isna().all()


def test_a_judge_without_a_valid_answer_has_no_score_and_no_bias():
    judged, human = np.full((27, 4), np.nan), np.full((27, 4), 2.0)
    found = correct(*frames(judged, human, 1.0), judge="j")
    row = found.scores.iloc[0]
    assert row[["judge_score", "bias", "bias_low"]].isna().all()
    assert row["corrected"] == 100.0
    assert found.replaced == 108


def test_a_plan_from_one_case_a_category_does_not_promise_certainty():
    grid, labels = frames(np.full((9, 20), 2.0), np.where(np.arange(180).reshape(9, 20) % 3, 2.0, np.nan), 2 / 3)
    units = label_units(grid.assign(category=list(np.repeat(CATEGORIES, 20))), labels, "j")
    spread = spread_of(list(parts_of(units).values()), units[units["human"].notna()])
    one = label_units(grid[grid["case_id"] == "c00"], labels[labels["case_id"] == "c00"], "j")
    alone = spread_of(list(parts_of(one).values()), one[one["human"].notna()])
    assert (alone.between, alone.paired) == (ASSUMED.between, ASSUMED.paired)
    assert "assumed" in alone.source
    assert spread.source.startswith("seen on")


def test_more_labels_buy_narrower_intervals_down_to_what_cases_leave():
    plan = label_plan(ASSUMED)
    assert plan["half_width"].is_monotonic_decreasing
    assert (plan["half_width"] < plan["half_width_people"]).all()
    all_of_them = label_plan(ASSUMED, steps=[CASES * CHECKS]).iloc[0]
    assert all_of_them["half_width"] == pytest.approx(1.96 * 14 / CASES**0.5, rel=1e-3)
    assert plan.set_index("labels").at[400, "hours"] == pytest.approx(2 * 400 * 20 / 3600)
