"""Claims: what they depend on, held against tables whose numbers a person worked out; declared once and dated."""

import numpy as np
import pandas as pd
import pytest
import yaml

from longbanana_nb.errors import CallError
from longbanana_nb.reporting.claims import budget_text, next_step
from longbanana_nb.runs.claims_file import read_claims
from longbanana_nb.scoring.claims import Claim, judge_claims
from longbanana_nb.taxonomy import CATEGORIES


def grid(labels_of, judge="j", cases=3):
    """Ten checks a case; `labels_of(system, category, case)` gives them."""
    rows = []
    for system in ("a", "b"):
        for category in CATEGORIES:
            for case in range(cases):
                labels = labels_of(system, category, case)
                rows += [
                    (judge, system, f"{category}{case}", category, f"c{n}", "valid", float(label))
                    for n, label in enumerate(labels)
                ]
    return pd.DataFrame(rows, columns=["judge", "system", "case_id", "category", "check_id", "state", "label"])


def passing(number):
    return [2] * number + [0] * (10 - number)


def verdict(table, claim, **more):
    return judge_claims(table, [claim], judge="j", **more).verdicts.iloc[0]


def test_a_gap_that_every_choice_shows_is_supported_and_its_reverse_contradicted():
    table = grid(lambda system, _, case: passing((8 if system == "a" else 4) + case % 2))
    one = verdict(table, Claim("up", "a", "b"))
    assert (one["verdict"], one["estimate"], one["cells"], one["cells_holding"]) == ("supported", 40.0, 60, 60)
    assert verdict(table, Claim("down", "b", "a"))["verdict"] == "contradicted"


def test_equal_systems_are_undecided():
    rng = np.random.default_rng(1)
    table = grid(lambda *_: rng.integers(0, 3, 10))
    one = verdict(table, Claim("up", "a", "b"))
    assert one["verdict"] == "undecided"
    assert one["depends_on"] == ""


def test_a_gap_of_uncertain_alone_depends_on_how_uncertain_is_read():
    table = grid(lambda system, _, case: [*passing(5 + case)[:9], 1] if system == "b" else [1] * 5 + passing(5 + case)[5:][:5])
    shown = judge_claims(table, [Claim("up", "a", "b")], judge="j")
    strict = shown.cells[(shown.cells["uncertain"] == "strict") & (shown.cells["leave_out"] == "none")]
    lenient = shown.cells[(shown.cells["uncertain"] == "lenient") & (shown.cells["leave_out"] == "none")]
    assert (strict["estimate"] < 0).all()
    assert lenient["estimate"].iloc[0] > strict["estimate"].iloc[0]


def test_a_gap_that_lives_in_one_category_depends_on_leaving_it_out():
    table = grid(lambda system, category, _: passing(9 if system == "a" and category == "SEL" else 5))
    one = verdict(table, Claim("up", "a", "b"))
    assert one["estimate"] == pytest.approx(40 / 9)
    assert one["verdict"] == "depends on"
    assert one["depends_on"] == "leave out (SEL)"


def test_a_second_judge_that_sees_no_gap_is_named():
    wide = grid(lambda system, _, case: passing((8 if system == "a" else 4) + case % 2))
    flat = grid(lambda _, __, case: passing(5 + case % 2), judge="k")
    one = verdict(pd.concat([wide, flat]), Claim("up", "a", "b"))
    assert (one["verdict"], one["depends_on"]) == ("depends on", "judge (k)")


def test_pass_rates_are_held_against_thresholds_in_points():
    table = grid(lambda system, _, __: passing(7 if system == "a" else 5))
    shown = judge_claims(table, [Claim("passes", "a", "b", metric="pass_rate")], judge="j")
    plain = shown.cells[(shown.cells["leave_out"] == "none") & (shown.cells["uncertain"] == "card")]
    at = plain[plain["missing"] == "delivered"].set_index("threshold")["estimate"]
    assert at.to_dict() == {60.0: 100.0, 65.0: 100.0, 70.0: 100.0, 75.0: 0.0, 80.0: 0.0}
    assert shown.verdicts.iloc[0]["depends_on"] == "threshold (75; 80)"


def test_the_interval_widens_with_the_family():
    rng = np.random.default_rng(2)
    table = grid(lambda *_: rng.integers(0, 3, 10))
    alone = judge_claims(table, [Claim("one", "a", "b")], judge="j").verdicts.iloc[0]
    among = judge_claims(table, [Claim(f"n{n}", "a", "b") for n in range(5)], judge="j").verdicts.iloc[0]
    assert (alone["level"], among["level"]) == (0.95, pytest.approx(0.99))
    assert among["high"] - among["low"] > alone["high"] - alone["low"]


def test_equal_systems_are_seldom_declared_different():
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(60):
        draws = {(system, code, case): rng.integers(0, 3, 10) for system in "ab" for code in CATEGORIES for case in range(3)}
        shown = judge_claims(
            grid(lambda *key, draws=draws: draws[key]), [Claim("up", "a", "b"), Claim("down", "b", "a")], judge="j"
        )
        held += int((shown.verdicts["verdict"] == "supported").any())
    assert held <= 4


def test_the_next_step_counts_cases_by_the_spread_that_was_seen():
    row = pd.Series({"verdict": "undecided", "depends_on": "", "estimate": 5.0, "low": -5.0, "high": 15.0, "cases": 25})
    assert next_step(row, Claim("x", "a", "b"), 0, 0) == "about 75 more cases, if the difference is as seen"  # 25 x (10 / 5)^2
    assert budget_text(Claim("x", "a", "b"), {"a": 4.0, "b": 1.0}) == "unequal: 4.0 and 1.0 image calls a case"


def test_a_claims_file_names_every_fault(tmp_path):
    path = tmp_path / "claims.yaml"
    wrong = [{"name": "x", "a": "s", "b": "s"}, {"name": "y", "a": "s", "scope": "SLE", "above": 3}, {"name": "z", "a": "s"}]
    path.write_text(yaml.safe_dump({"schema": "lb.claims.v1", "claims": wrong}), "utf-8")
    with pytest.raises(CallError) as error:
        read_claims(path)
    assert "against itself" in str(error.value)
    assert "Did you mean 'SEL'?" in str(error.value)
    assert "b and above" in str(error.value)


def test_a_system_without_verdicts_is_refused():
    with pytest.raises(CallError, match="'nobody'"):
        judge_claims(grid(lambda *_: passing(5)), [Claim("x", "nobody", "b")], judge="j")
