"""Scores against values worked out by hand: the card's rule, coverage, bounds, missing policies, samples."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scoring_fixtures import grid_of, row_of

from longbanana_nb.errors import CallError, DataError
from longbanana_nb.scoring import Policy, case_scores, score_grid


def overall(scores, **wanted):
    return row_of(scores.scores, scope="overall", **wanted)


def test_a_score_is_the_mean_of_cases_and_not_of_pooled_checks():
    grid = grid_of({"SCC": {"a": [2, 2], "b": [0] * 8}})
    assert overall(score_grid(grid))["score"] == 50.0  # pooled it would be 20


def test_a_case_is_scored_over_its_valid_checks_and_one_without_any_has_no_score():
    scores = score_grid(grid_of({"SCC": {"a": [2, None], "b": [None, None]}}))
    a, b = (row_of(scores.scores, scope="case", name=name) for name in "ab")
    assert (a["score"], a["score_low"], a["score_high"]) == (100.0, 50.0, 100.0)
    assert (a["checks_valid"], a["checks_total"], a["invalid"], a["provisional"]) == (1, 2, 1, True)
    assert np.isnan(b["score"])
    assert (b["score_low"], b["score_high"], b["cases_scored"]) == (0.0, 100.0, 0)
    row = overall(scores)
    assert (row["score"], row["score_low"], row["score_high"]) == (100.0, 25.0, 100.0)
    assert (row["cases_scored"], row["cases_total"], row["checks_valid"], row["checks_total"], row["invalid"]) == (1, 2, 1, 4, 3)
    assert row["provisional"]
    assert not scores.is_complete
    assert scores.unscored()["case_id"].tolist() == ["b"]
    printed = next(r for r in scores.as_json()["scores"] if r["scope"] == "case" and r["name"] == "b")
    assert printed["score"] is None


def missing_images(outcome: str) -> pd.DataFrame:
    judged = grid_of({"SCC": {f"c{n}": [2, 2] for n in range(3)}}).assign(outcome="image")
    lost = grid_of({"SCC": {f"c{n}": [None, None] for n in range(3, 10)}}).assign(outcome=outcome, state="no_candidate")
    return pd.concat([judged, lost], ignore_index=True)


def test_seven_cases_of_ten_without_an_image_stay_in_the_denominator():
    scores = score_grid(missing_images("no_image"))
    row = overall(scores)
    assert (row["score"], row["cases_scored"], row["cases_total"], row["provisional"]) == (100.0, 3, 10, True)
    assert (row["score_low"], row["score_high"], row["checks_valid"], row["checks_total"]) == (30.0, 100.0, 6, 20)
    assert row["invalid"] == 0  # nothing was answered unreadably
    rate = scores.pass_rates.iloc[0]
    assert (rate["pass_rate"], rate["bound_low"], rate["bound_high"], rate["undecided"]) == (0.3, 0.3, 1.0, 0)


def test_the_zero_policy_counts_missing_images_as_zero_and_says_so():
    scores = score_grid(missing_images("timeout"), policy=Policy(missing="zero"))
    row = overall(scores)
    assert (row["score"], row["score_low"], row["score_high"], row["provisional"]) == (30.0, 30.0, 30.0, False)
    assert (row["cases_scored"], row["checks_valid"], row["zeroed"]) == (10, 20, 14)
    assert scores.as_json()["policy"]["missing"] == "zero"
    assert scores.is_complete


def test_the_zero_policy_leaves_refused_and_unread_answers_missing():
    blocked = score_grid(missing_images("blocked"), policy=Policy(missing="zero"))
    assert (overall(blocked)["score"], overall(blocked)["cases_scored"]) == (100.0, 3)
    unread = score_grid(grid_of({"SCC": {"a": [2, None]}}, outcome="image"), policy=Policy(missing="zero"))
    assert overall(unread)["score"] == 100.0


def test_a_check_that_was_never_asked_of_one_system_is_missing_there():
    grid = pd.concat([grid_of({"SCC": {"a": [2, 0]}}), grid_of({"SCC": {"a": [2]}}, system="t")], ignore_index=True)
    scores = score_grid(grid)
    row = overall(scores, system="t")
    assert (row["score"], row["score_low"], row["checks_valid"], row["checks_total"]) == (100.0, 50.0, 1, 2)
    assert (row["invalid"], row["provisional"]) == (0, True)


def test_totals_of_a_release_hold_cases_nobody_judged():
    totals = pd.DataFrame({"case_id": ["a", "a", "z"], "check_id": ["k0", "k1", "k0"], "category": ["SCC", "SCC", "AGG"]})
    scores = score_grid(grid_of({"SCC": {"a": [2, 0]}}), totals=totals)
    assert (overall(scores)["score"], overall(scores)["score_high"], overall(scores)["cases_total"]) == (50.0, 75.0, 2)
    agg = row_of(scores.scores, scope="category", name="AGG")
    assert np.isnan(agg["score"])
    assert (agg["cases_scored"], agg["cases_total"], agg["score_low"], agg["score_high"]) == (0, 1, 0.0, 100.0)
    with pytest.raises(DataError, match="a check the release does not hold"):
        score_grid(grid_of({"SCC": {"b": [1]}}), totals=totals)


def test_samples_are_averaged_within_a_check_before_anything_else():
    first = grid_of({"SCC": {"a": [2, 0]}}).assign(sample=0)
    second = grid_of({"SCC": {"a": [1, None]}}).assign(sample=1)
    row = overall(score_grid(pd.concat([first, second], ignore_index=True)))
    # checks 1.5 and 0: 100 * 0.75 / 2; missing sample of the second check as 0: 0, as 2: 1
    assert (row["score"], row["score_low"], row["score_high"]) == (37.5, 37.5, 62.5)
    assert (row["checks_valid"], row["checks_total"], row["invalid"], row["provisional"]) == (2, 2, 0, True)


def test_a_thin_case_is_unscored_and_listed_when_more_coverage_is_asked_for():
    grid = grid_of({"SCC": {"a": [2, None, None, None], "b": [0, 2, 2, None]}})
    scores = score_grid(grid, policy=Policy(min_case_coverage=0.75))
    assert scores.unscored()["case_id"].tolist() == ["a"]
    a = row_of(scores.scores, scope="case", name="a")
    assert (a["score_low"], a["score_high"]) == (25.0, 100.0)
    assert overall(scores)["score"] == pytest.approx(200 / 3)


def test_a_dimension_is_scored_case_by_case_over_the_cases_that_have_it():
    grid = grid_of({"SCC": {"a": [2, 2, 0], "b": [0], "c": [2]}})
    grid["dimension"] = ["Content Fidelity", "Content Fidelity", "Relational Binding", "Content Fidelity", "Relational Binding"]
    scores = score_grid(grid)
    content = row_of(scores.scores, scope="dimension", name="Content Fidelity")
    binding = row_of(scores.scores, scope="dimension", name="Relational Binding")
    assert (content["score"], content["cases_total"], content["checks_total"]) == (50.0, 2, 3)  # pooled: 66.7
    assert (binding["score"], binding["cases_total"]) == (50.0, 2)


def test_scopes_stand_in_card_order_and_suites_average_cases():
    grid = grid_of({"AGG": {"x": [2]}, "LAC": {"y": [0]}, "SCC": {"p": [2], "q": [2], "r": [2]}})
    frame = score_grid(grid).scores
    assert frame["name"].tolist() == [
        *("overall", "Scene Composition", "Reference Reasoning", "SCC", "LAC", "AGG"),
        *("p", "q", "r", "y", "x"),
    ]
    assert row_of(frame, scope="suite", name="Scene Composition")["score"] == 75.0  # the mean of categories would be 50


def test_uncertain_is_also_read_as_fail_and_as_pass():
    frame = score_grid(grid_of({"SCC": {"a": [2, 1, 0, 1]}})).sensitivity.set_index("reading")["score"]
    assert (frame["card"], frame["strict"], frame["lenient"]) == (50.0, 25.0, 75.0)


def test_label_shares_are_counted_by_polarity():
    grid = grid_of({"SCC": {"a": [2, 1, 0, 2, None]}})
    grid["polarity"] = ["negative", "positive", "positive", "negative", "negative"]
    shares = score_grid(grid).label_shares
    assert row_of(shares, polarity="all")[["valid", "fail", "uncertain", "passed"]].tolist() == [4, 1, 1, 2]
    assert row_of(shares, polarity="negative")[["valid", "fail", "uncertain", "passed"]].tolist() == [2, 0, 0, 2]


def test_groups_average_systems_that_share_a_harness():
    cases = {"SCC": {"a": [2], "b": [0], "c": [2]}}
    grid = pd.concat([grid_of(cases), grid_of({"SCC": {"a": [0], "b": [0], "c": [2]}}, system="t")], ignore_index=True)
    systems = pd.DataFrame({"system": ["s", "t"], "harness": ["native", "native"], "workflow": ["rpr", None]})
    scores = score_grid(grid, systems=systems)
    native = row_of(scores.groups, factor="harness", scope="overall")
    assert (native["score"], native["systems"], native["cases"]) == (50.0, 2, 3)  # (66.7 + 33.3) / 2
    # case means 50, 0, 100: s = 50, standard error 50 / sqrt(3), t(2) = 4.302653
    assert native["ci_high"] == pytest.approx(50 + 4.302652729911 * 50 / 3**0.5)
    assert scores.groups.loc[scores.groups["factor"] == "workflow", "value"].unique().tolist() == ["rpr"]


def test_the_json_has_exactly_the_agreed_keys_and_no_nan():
    first = grid_of({"SCC": {"007": [2, None], "NA": [None]}})
    report = score_grid(pd.concat([first, first.assign(system="a")], ignore_index=True), release="demo_v1").as_json()
    json.dumps(report, allow_nan=False)
    assert list(report) == ["schema", "release", "level", "policy", "systems", "scores", "pass_rates", "differences"]
    assert report["schema"] == "lb.scores.v1"
    assert list(report["policy"]) == ["missing", "min_case_coverage", "weights", "threshold", "rule"]
    assert [entry["system"] for entry in report["systems"]] == ["s", "a"]
    assert list(report["systems"][0]) == ["system", "harness", "workflow", "agent_model", "backend", "simulated"]
    assert list(report["scores"][0]) == [
        *("system", "judge", "scope", "name", "score", "ci_low", "ci_high", "score_low", "score_high"),
        *("cases_scored", "cases_total", "checks_valid", "checks_total", "invalid", "provisional", "method"),
    ]
    assert list(report["pass_rates"][0]) == [
        *("system", "judge", "threshold", "weights", "pass_rate", "ci_low", "ci_high", "bound_low", "bound_high"),
        *("undecided", "cases_scored", "cases_total", "provisional"),
    ]
    assert list(report["differences"][0]) == [
        *("judge", "metric", "a", "b", "scope", "name", "difference", "ci_low", "ci_high"),
        *("p_raw", "p_holm", "family_size", "test", "cases"),
    ]
    assert {row["name"] for row in report["scores"] if row["scope"] == "case"} == {"007", "NA"}
    assert report["differences"][0]["p_raw"] is None


def test_case_scores_stand_alone():
    frame = case_scores(grid_of({"SCC": {"a": [2, 1]}, "AGG": {"b": [None]}}))
    assert frame[["case_id", "category", "checks_valid"]].values.tolist() == [["a", "SCC", 2], ["b", "AGG", 0]]
    assert frame["score"].iat[0] == 75.0


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"label": 3}, "0, 1 or 2"),
        ({"state": "fine"}, "state 'fine'"),
        ({"category": "SCB"}, "nearest 'SCC'"),
        ({"dimension": "content fidelity"}, "nearest 'Content Fidelity'"),
        ({"state": "invalid"}, "no label where the state is not valid"),
    ],
)
def test_a_grid_that_contradicts_itself_is_refused(change, text):
    with pytest.raises(DataError, match=text):
        score_grid(grid_of({"SCC": {"a": [2]}}).assign(**change))


def test_a_grid_with_two_verdicts_on_one_unit_is_refused():
    grid = grid_of({"SCC": {"a": [2]}})
    with pytest.raises(DataError, match="2 verdicts on one unit: verdict grid row 1, verdict grid row 2"):
        score_grid(pd.concat([grid, grid], ignore_index=True))


def test_bad_calls_are_refused_with_what_is_expected():
    grid = grid_of({"SCC": {"a": [2]}})
    for bad in ({"missing": "zeros"}, {"min_case_coverage": 1.5}, {"threshold": float("nan")}, {"threshold": 101}):
        with pytest.raises(CallError, match="expected"):
            Policy(**bad)
    with pytest.raises(CallError, match="label RUN --freeze FILE"):
        score_grid(grid, policy=Policy(weights="human-difficulty-v1"))
    with pytest.raises(CallError, match="expected also 'state'"):
        score_grid(grid.drop(columns="state"))
    with pytest.raises(CallError, match="level"):
        score_grid(grid, level=95)
    with pytest.raises(CallError, match="which the list of systems lacks"):
        score_grid(grid, systems=pd.DataFrame({"system": ["t"]}))
    with pytest.raises(CallError, match="no rows"):
        score_grid(grid.iloc[:0])


def test_a_grid_with_nullable_types_scores_like_one_with_plain_ones():
    plain = grid_of({"SCC": {"007": [2, None], "b": [1, 0]}}).assign(sample=0, outcome="image")
    text = dict.fromkeys(("judge", "system", "case_id", "category", "check_id", "state", "outcome"), "str")
    nullable = plain.astype(text | {"label": "Int64"}).assign(dimension=pd.Series([None] * 4, dtype="str"))
    assert score_grid(nullable).as_json() == score_grid(plain).as_json()
    assert overall(score_grid(nullable))["score"] == 62.5  # (100 + 25) / 2
