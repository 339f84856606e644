"""What an audit's answers come to, worked out by hand."""

import pytest

from longbanana_nb.judging.audit.canary import drift
from longbanana_nb.judging.audit.numbers import Outcome, numbers, rate, repeats
from longbanana_nb.judging.audit.pairs import Pair, Side, turned
from longbanana_nb.runs import Judgment


def pair(n=0, kind="object", expected="flip_down", push=0, polarity="positive"):
    sides = Side("a" * 64), Side("b" * 64)
    return Pair(f"p{n}", kind, "graph", "case", f"k{n}", "Content Fidelity", polarity, expected, *sides, "an edit", None, push)


def row(told, part, by="all", name="all"):
    return next(one for one in told[part] if (one["by"], one["name"]) == (by, name))


def test_a_flip_counts_only_the_way_it_must_go():
    falls = [Outcome(pair(), 2, 0), Outcome(pair(), 2, 1), Outcome(pair(), 0, 2), Outcome(pair(), 2, 2)]
    rise = Outcome(pair(expected="flip_up"), 0, 2)
    told = row(numbers([*falls, rise]), "sensitivity")
    assert (told["pairs"], told["answered"], told["flipped"]) == (5, 5, 3)
    assert (told["right_before"], told["right_before_flipped"]) == (4, 3)
    assert told["right_before_rate"] == 0.75


def test_a_judge_that_always_says_pass_notices_nothing_and_is_never_disturbed():
    told = numbers([Outcome(pair(n, expected=way), 2, 2) for n, way in enumerate(["flip_down", "flip_up"] * 5)]
                   + [Outcome(pair(kind="shifted", expected="keep"), 2, 2)] * 4)  # fmt: skip
    assert row(told, "sensitivity")["rate"] == 0.0
    assert row(told, "sensitivity")["right_before"] == 5
    assert row(told, "false_alarms")["rate"] == 0.0


def test_invalid_answers_are_in_no_share_and_are_counted_by_reason():
    outcomes = [
        Outcome(pair(), 2, 0),
        Outcome(pair(), 2, None, ("refused",)),
        Outcome(pair(), None, None, ("refused", "transport")),
    ]
    told = row(numbers(outcomes), "sensitivity")
    assert (told["pairs"], told["answered"], told["invalid"], told["rate"]) == (3, 1, 2, 1.0)
    assert told["reasons"] == {"refused": 2, "transport": 1}


def test_a_judge_that_refuses_everything_has_no_rate():
    told = row(numbers([Outcome(pair(), None, None, ("refused",))] * 4), "sensitivity")
    assert (told["answered"], told["rate"], told["low"]) == (0, None, None)


def test_shares_carry_wilson_intervals_and_none_below_three():
    told = rate("", 9, 10)
    assert (told["rate"], told["low"], told["high"]) == (0.9, pytest.approx(0.5958, abs=1e-4), pytest.approx(0.9821, abs=1e-4))
    assert rate("", 1, 2) == {"rate": 0.5, "low": None, "high": None}


def test_sentences_count_in_the_direction_they_push():
    outcomes = [
        Outcome(pair(kind="injection", expected="keep", push=1), 0, 2),
        Outcome(pair(kind="injection", expected="keep", push=-1), 2, 1),
        Outcome(pair(kind="injection", expected="keep", push=-1), 1, 2),
        Outcome(pair(kind="injection", expected="keep", push=1), 0, 0),
    ]
    told = row(numbers(outcomes), "injection")
    assert told["obeyed"] == 2
    assert told["mean_shift"] == 0.5  # +2, +1, -1, 0
    assert told["shift_low"] == pytest.approx(0.5 - 3.1824 * 1.29099 / 2, abs=1e-3)


def test_rows_by_kind_dimension_polarity_and_direction_hold_all_pairs():
    outcomes = [Outcome(pair(1), 2, 0), Outcome(pair(2, "count", "flip_up", polarity="negative"), 0, 0)]
    told = numbers(outcomes)["sensitivity"]
    for by in ("all", "kind", "dimension", "polarity", "direction"):
        assert sum(one["pairs"] for one in told if one["by"] == by) == 2, by


def test_a_turned_pair_is_the_same_two_pictures_the_other_way_round():
    one = pair()
    back = turned(one)
    assert (back.expected, back.before, back.after) == ("flip_up", one.after, one.before)
    assert turned(back) == one


def test_repeats_compare_the_valid_samples_of_each_question():
    told = repeats([[2, 2, 2], [2, 0, 2], [1, None, 1], [None, 2, None]])
    assert (told["questions"], told["compared"], told["agreed"]) == (4, 3, 2)
    assert told["mean_spread"] == pytest.approx(2 / 3)


def judgment(label, model="m-1"):
    invalid = None if label is not None else "refused"
    return Judgment(
        key="k", judge="j", judge_sha256="h", system="s", case_id="c", sample=0, check_id="k", check_sha256="t",
        candidate_sha256="p", label=label, invalid=invalid, model=model,
    )  # fmt: skip


def test_drift_tells_share_direction_test_and_served_models():
    first = [judgment(label) for label in (2, 2, 2, 2, 2, 2, 0, None)]
    later = [judgment(label, "m-2") for label in (0, 0, 0, 0, 0, 0, 0, 2)]
    told = drift(first, later)
    assert (told["compared"], told["invalid"], told["changed"], told["up"], told["down"]) == (7, 1, 6, 0, 6)
    assert told["p_sign"] == pytest.approx(2 / 64)
    assert (told["models"], told["same_models"]) == ([["m-1"], ["m-2"]], False)
