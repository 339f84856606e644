"""`agree` on files of several shapes: what is matched, what is left out and counted, what is refused, which exit code."""

import csv
import json

import pytest
from conftest import run_command

import longbanana_nb as lb
from longbanana_nb.errors import CallError, DataError

COLUMNS = ["system", "case_id", "check_id", "label"]


def write(path, rows, columns=COLUMNS):
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(rows)
    return path


def units(labels, system="a", case="x"):
    return [(system, case, f"k{place}", label) for place, label in enumerate(labels)]


def test_names_are_numbers_and_what_is_invalid_or_alone_is_counted(tmp_path):
    human = write(tmp_path / "h.csv", units(["Fail", "Uncertain", "Pass", "", "?", "2", "1"]))
    judge = write(tmp_path / "j.csv", [*units(["0", "pass", "2.0", "1", "", ""]), ("a", "x", "k9", "2")])
    found = lb.agree(human, judge)
    assert found["confusion"] == [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
    assert (found["n"], found["dropped"]) == (3, {"human": 2, "judge": 1, "unmatched": 2})
    assert found["exact"] == pytest.approx(2 / 3)
    assert found["cases"] == 1
    assert found["bias"] == pytest.approx(200 / 3 - 50)
    assert found["pearson"] is None and "pearson" in found["undefined"]


def test_the_json_has_the_agreed_keys_and_the_exit_code_says_what_is_missing(tmp_path):
    human = write(tmp_path / "h.csv", [*units("012"), *units("021", case="y"), *units("120", case="z")])
    judge = write(tmp_path / "j.csv", [*units("011"), *units("021", case="y"), *units("120", case="z")])
    done = run_command("agree", "--human", human, "--judge", judge, "--json", cwd=tmp_path, home=tmp_path, check=0)
    found = json.loads(done.stdout)
    keys = "n dropped confusion exact opposite kappa_quadratic cases bias mae pearson spearman kendall_tau_b within_case"
    assert {*keys.split(), "system_means", "by", "undefined"} <= set(found)
    assert set(found["by"]) == {"system", "category", "dimension", "polarity"}
    assert found["by"]["system"]["a"]["n"] == 9
    judge.write_text(judge.read_text().replace("a,x,k2,1", "a,x,k2,"), encoding="utf-8")
    text = run_command("agree", "--human", human, "--judge", judge, cwd=tmp_path, home=tmp_path, check=3).stdout
    assert "8 pairs of labels" in text and "1 invalid verdicts" in text


def test_two_labels_of_a_unit_need_a_round_and_all_units_are_named(tmp_path):
    columns = [*COLUMNS, "rater", "round"]
    rows = [
        ("a", "x", "k1", "2", "anna", "1"), ("a", "x", "k1", "0", "ben", "2"), ("a", "x", "k1", "1", "cy", "adjudicated"),
        ("a", "x", "k2", "2", "anna", "1"), ("a", "x", "k2", "0", "ben", "2"), ("a", "x", "k3", "0", "anna", "1"),
    ]  # fmt: skip
    human = write(tmp_path / "h.csv", rows, columns)
    judge = write(tmp_path / "j.csv", [("a", "x", f"k{i}", "2") for i in (1, 2, 3)])
    with pytest.raises(DataError) as refused:
        lb.agree(human, judge)
    assert {fault.id for fault in refused.value.faults} == {"k1", "k2"}
    of = {name: lb.agree(human, judge, round=name) for name in ("1", "2", "adjudicated", "majority")}
    assert of["1"]["confusion"] == [[0, 0, 1], [0, 0, 0], [0, 0, 2]]
    assert of["2"]["confusion"] == [[0, 0, 2], [0, 0, 0], [0, 0, 0]]
    assert of["adjudicated"]["confusion"] == [[0, 0, 1], [0, 0, 1], [0, 0, 1]]
    assert of["adjudicated"]["not_adjudicated"] == 1  # k2: the first label stands, and is said
    assert (of["majority"]["n"], of["majority"]["tied"], of["majority"]["dropped"]["human"]) == (1, 2, 2)
    with pytest.raises(CallError, match="expected one of"):
        lb.agree(human, judge, round="first")


def test_two_raters_of_one_round_are_refused_unless_a_majority_is_asked_for(tmp_path):
    rows = [("a", "x", "k1", label, rater) for label, rater in (("2", "anna"), ("2", "ben"), ("0", "cy"))]
    human = write(tmp_path / "h.csv", rows, [*COLUMNS, "rater"])
    judge = write(tmp_path / "j.csv", [("a", "x", "k1", "2")])
    with pytest.raises(DataError, match="Several labels"):
        lb.agree(human, judge, round="1")
    assert lb.agree(human, judge, round="majority")["confusion"][2][2] == 1


def test_a_label_on_another_image_is_stale_and_counts_for_nothing(tmp_path):
    columns = [*COLUMNS, "candidate_sha256"]
    human = write(tmp_path / "h.csv", [("a", "x", "k1", "2", "aa"), ("a", "y", "k1", "0", "bb")], columns)
    judge = write(tmp_path / "j.csv", [("a", "x", "k1", "2", "cc"), ("a", "y", "k1", "0", "bb")], columns)
    found = lb.agree(human, judge)
    assert (found["n"], found["stale"], found["dropped"]["unmatched"]) == (1, 1, 1)


def test_a_category_that_the_sides_give_differently_is_refused(tmp_path):
    human = write(tmp_path / "h.csv", [("a", "x", "k1", "2", "SCC")], [*COLUMNS, "category"])
    judge = write(tmp_path / "j.csv", [("a", "x", "k1", "2", "AGG")], [*COLUMNS, "category"])
    with pytest.raises(DataError, match="different checks"):
        lb.agree(human, judge)


def test_several_judges_in_one_table_need_a_name(tmp_path):
    human = write(tmp_path / "h.csv", units("012"))
    rows = [(name, *row) for name in ("one", "two") for row in units("012" if name == "one" else "210")]
    judge = write(tmp_path / "j.csv", rows, ["judge", *COLUMNS])
    with pytest.raises(CallError, match="one judge"):
        lb.agree(human, judge)
    assert [lb.agree(human, judge, name=name)["exact"] for name in ("one", "two")] == [1, pytest.approx(1 / 3)]


def test_without_a_judge_raters_are_held_against_each_other(tmp_path):
    rows = [("a", f"c{i}", "k", label, "anna", "1") for i, label in enumerate("001122")]
    rows += [("a", f"c{i}", "k", label, "ben", "2") for i, label in enumerate("0021")]
    found = lb.agree(write(tmp_path / "h.csv", rows, [*COLUMNS, "rater", "round"]))
    assert (found["n"], found["units"], found["exact"]) == (4, 6, 0.75)
    assert found["share"] == pytest.approx(4 / 6)
    # seen 1; rows 2, 2, 0, columns 2, 1, 1: expected (2x1 + 4x2x1 + 2x2 + 2x1) / 4 = 4
    assert found["kappa_quadratic"] == pytest.approx(0.75)


def test_a_correction_of_the_same_rater_replaces_what_they_said(tmp_path):
    unit = {"system": "a", "case_id": "x", "check_id": "k1", "rater": "anna", "round": 1}
    lines = [{**unit, "label": label, "at": f"2026-01-0{day}T00:00:00Z"} for day, label in ((2, 0), (1, 2))]
    human = tmp_path / "h.jsonl"
    human.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert lb.agree(human, write(tmp_path / "j.csv", [("a", "x", "k1", "0")]))["exact"] == 1
