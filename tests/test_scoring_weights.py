"""Frozen difficulty weights: what they weigh, how they are written and read, and who may not be judged by them."""

from __future__ import annotations

import json
from fractions import Fraction

import pandas as pd
import pytest
from scoring_fixtures import grid_of, row_of

from longbanana_nb.errors import CallError, DataError
from longbanana_nb.scoring import Policy, score_grid
from longbanana_nb.scoring.weights import Weights
from longbanana_nb.scoring.weights_file import PoolLabel, difficulty, frozen, read_weights

CHECKS = [("a", "k0"), ("a", "k1"), ("b", "k0")]


def test_what_the_pool_seldom_passes_weighs_more():
    labels = [PoolLabel(system, "a", check, label) for system in "pq" for check, label in (("k0", 2), ("k1", 0))]
    weights = difficulty(labels, CHECKS)
    # k0: m = (0.5 + 2)/3 = 5/6, w = 1/6; k1: m = 0.5/3 = 1/6, w = 5/6; mean 1/2, so a third and five thirds
    assert weights["a", "k0"] == Fraction(333333, 10**6)
    assert weights["a", "k1"] == Fraction(1666667, 10**6)
    assert weights["b", "k0"] == 1  # no label, alone in its case
    heavy = difficulty([PoolLabel(f"s{n}", "a", "k0", 2) for n in range(100)], CHECKS)
    assert heavy["a", "k0"] == Fraction(round(Fraction(1, 20) / ((Fraction(1, 20) + Fraction(1, 2)) / 2), 6))  # the floor of 0.05


def pool_file(tmp_path, file_name="weights.json", **changes):
    labels = [PoolLabel(s, "a", k, label) for s, k, label in (("p", "k0", 2), ("p", "k1", 0), ("q", "k0", 2), ("q", "k1", 2))]
    value = frozen(labels, CHECKS, source="human", release="r", revision="1", labels_sha256="0" * 64) | changes
    path = tmp_path / file_name
    path.write_text(json.dumps(value), "utf-8")
    return path


def test_a_frozen_file_reads_back_as_the_decimal_numbers_it_holds(tmp_path):
    weights = read_weights(pool_file(tmp_path))
    assert (weights.name, weights.pool, weights.release, weights.revision) == ("human-difficulty-v1", ("p", "q"), "r", "1")
    assert weights.by_check is not None
    assert weights.by_check["a", "k0"].denominator <= 10**6
    assert sum(weights.by_check[pair] for pair in CHECKS[:2]) == pytest.approx(2)
    assert set(weights.left_out) == {"p", "q"}
    exact = pool_file(tmp_path, "exact.json", weights=[["a", "k0", 0.1], ["a", "k1", 0.3], ["b", "k0", 1]])
    assert read_weights(exact).by_check == {("a", "k0"): Fraction(1, 10), ("a", "k1"): Fraction(3, 10), ("b", "k0"): 1}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"weights": [["a", "k0", 0]]}, "positive"),
        ({"weights": [["a", "k0", -1.5]]}, "positive"),
        ({"weights": [["a", "k0", "1"]]}, "positive"),
        ({"weights": [["a", "k0", 1e300]]}, "positive"),
        ({"weights": [["a", "k0", 1e-300]]}, "positive"),
        ({"weights": [["a", "k0", True]]}, "positive"),
        ({"weights": [["a", "k0", 1], ["a", "k0", 1]]}, "again"),
        ({"weights": {"a": 1}}, "list"),
        ({"wieghts": []}, "weights"),
        ({"schema": "lb.weights.v2"}, "lb.weights.v1"),
        ({"pool": ["p", 7]}, "pool"),
        ({"left_out": {"z": []}}, "pool"),
        ({"name": 3}, "text"),
        ({"name": "uniform-v1"}, "equal weights"),
        ({"name": "../../x"}, "name"),
    ],
)
def test_a_damaged_file_is_refused_with_what_is_wrong(tmp_path, changes, says):
    with pytest.raises(DataError, match=says):
        read_weights(pool_file(tmp_path, **changes))


@pytest.mark.parametrize("number", ["1e-999999999", "1e999999999", "-0.0", "NaN"])
def test_numbers_that_no_weight_can_have_are_refused_at_once(number, tmp_path):
    path = pool_file(tmp_path, weights=[["a", "k0", 77]])
    path.write_text(path.read_text().replace("77", number), "utf-8")
    with pytest.raises(DataError):
        read_weights(path)


def test_one_system_is_no_pool():
    with pytest.raises(DataError, match="two systems"):
        frozen([PoolLabel("p", "a", "k0", 2)], CHECKS, source="human", release="r", revision="1", labels_sha256="")


def name_of_weights(source):
    labels = [PoolLabel(system, "a", "k0", 2) for system in "pq"]
    return frozen(labels, CHECKS, source=source, release="r", revision="1", labels_sha256="")["name"]


def test_weights_of_a_judge_or_a_simulated_rater_are_never_called_human():
    names = [name_of_weights(source) for source in ("human", "judge", "simulated")]
    assert names == ["human-difficulty-v1", "judge-difficulty-v1", "simulated-difficulty-v1"]


GRID = grid_of({"SCC": {"a": [2, 2, 0]}})
HEAVY = {("a", "k0"): Fraction(1), ("a", "k1"): Fraction(1), ("a", "k2"): Fraction(3)}
LIGHT = {("a", "k0"): Fraction(2), ("a", "k1"): Fraction(2), ("a", "k2"): Fraction(1, 2)}


def passes(weights: Weights, grid: pd.DataFrame = GRID) -> float:
    return float(score_grid(grid, policy=Policy(weights=weights.name), weights=weights).pass_rates["pass_rate"].iloc[0])


def test_weights_decide_the_pass_rate_and_nothing_else():
    heavy, light = Weights("w", HEAVY), Weights("w", LIGHT)
    assert (passes(heavy), passes(light)) == (0.0, 1.0)
    scores = [score_grid(GRID, policy=Policy(weights="w"), weights=one).scores for one in (heavy, light)]
    assert scores[0].equals(scores[1])


def test_a_system_of_the_pool_is_judged_by_the_labels_of_the_others():
    assert passes(Weights("w", HEAVY, pool=("s",), left_out={"s": LIGHT})) == 1.0
    assert passes(Weights("w", HEAVY, pool=("t",), left_out={"t": LIGHT})) == 0.0


def test_a_system_of_the_pool_is_not_judged_by_its_own_labels():
    with pytest.raises(CallError, match="'s' is in the pool"):
        passes(Weights("w", HEAVY, pool=("s", "t")))
    even = {pair: Fraction(7, 3) for pair in HEAVY}
    assert passes(Weights("w", even, pool=("s",))) == 0.0  # equal weights depend on no pool


def test_the_effective_number_of_checks_falls_with_uneven_weights():
    policy = Policy(weights="w")
    rates = score_grid(GRID, policy=policy, weights=Weights("w", HEAVY)).pass_rates
    assert rates["effective_checks"].iloc[0] == pytest.approx(25 / 11)  # (1 + 1 + 3)^2 / (1 + 1 + 9)
    assert score_grid(GRID).pass_rates["effective_checks"].iloc[0] == 3.0


def test_the_curve_runs_over_thresholds_and_meets_the_pass_rate():
    grid = grid_of({"SCC": {"x": [2, 2, 2, 0], "y": [2, 1, 2, None], "z": [0, 0, 0, 0]}})  # 75; 62.5 to 87.5; 0
    scores = score_grid(grid)
    at = {row.threshold: row for row in scores.curve.itertuples()}
    assert [at[t].pass_rate for t in (60, 62, 63, 70, 75, 76, 90)] == pytest.approx([2 / 3, 2 / 3, 1 / 3, 1 / 3, 1 / 3, 0, 0])
    assert (at[70].bound_low, at[70].bound_high) == (
        row_of(scores.pass_rates)["bound_low"],
        row_of(scores.pass_rates)["bound_high"],
    )
    assert (at[87].bound_high, at[88].bound_high) == (pytest.approx(1 / 3), 0)


def test_the_policy_and_the_weights_must_be_the_same():
    with pytest.raises(CallError, match="names"):
        score_grid(GRID, weights=Weights("w", HEAVY))
