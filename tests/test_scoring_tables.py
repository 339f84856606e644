"""Reading bare tables and journals: what survives, what is refused, and which answer of many counts."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scoring_fixtures import row_of, write

from longbanana_nb.errors import CallError, DataError
from longbanana_nb.scoring import Policy, read_verdict_table, score_grid

HEADER = "system,case_id,check_id,label\n"


def test_ids_survive_as_they_were_written(tmp_path):
    ids = ["007", "NA", "1e5", "null", "über", "图1", "a,b", 'say "x"', "1.0", " padded"]
    quoted = ['"' + name.replace('"', '""') + '"' for name in ids]
    grid = read_verdict_table(
        write(tmp_path / "t.csv", HEADER + "".join(f"NaN,{name},00{n},2\n" for n, name in enumerate(quoted)))
    )
    assert grid["case_id"].tolist() == ids
    assert grid["check_id"].tolist() == [f"00{n}" for n in range(10)]
    scores = score_grid(grid)
    assert sorted(scores.scores.loc[scores.scores["scope"] == "case", "name"]) == sorted(ids)
    assert scores.as_json()["systems"][0]["system"] == "NaN"
    assert scores.as_json()["scores"][0]["judge"] is None


def test_labels_are_numbers_or_names_and_empty_is_invalid(tmp_path):
    words = ["0", "1", "2", "2.0", "0.00", "Fail", "UNCERTAIN", "pass", " 1 ", ""]
    grid = read_verdict_table(write(tmp_path / "t.csv", HEADER + "".join(f"s,c,k{n},{w}\n" for n, w in enumerate(words))))
    assert grid["label"].tolist()[:9] == [0, 1, 2, 2, 0, 0, 1, 2, 1]
    assert np.isnan(grid["label"].iat[9])
    assert grid["state"].tolist() == ["valid"] * 9 + ["invalid"]


def test_bom_and_windows_line_ends_are_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(("\ufeff" + HEADER + "s,c,k,2\n\ns,c,l,0\n").replace("\n", "\r\n").encode())
    grid = read_verdict_table(path)
    assert grid[["system", "check_id", "label"]].values.tolist() == [["s", "k", 2.0], ["s", "l", 0.0]]


def test_all_bad_rows_are_named_at_once(tmp_path):
    rows = ["s,a,k1,3,SCC", "s,a,k2,NaN,SCC", "s,a,k3,2,scc", "s,a,k4,2,AGG", ",a,k5,2,SCC", "s,a,k4,1,"]
    text = "\n".join(["system,case_id,check_id,label,category", *rows])
    with pytest.raises(DataError) as caught:
        read_verdict_table(write(tmp_path / "t.csv", text))
    message = str(caught.value)
    assert "line 2 (case 'a', 'k1'): found label '3'" in message
    assert "line 3 (case 'a', 'k2'): found label 'NaN'" in message
    assert "line 4 (case 'a', 'k3'): found category 'scc'" in message
    assert "nearest 'SCC'" in message
    assert "'AGG' (" in message  # and case a has two categories
    assert "line 6" in message
    assert "2 verdicts on one unit" in message
    assert "line 5, " in message
    assert "line 7" in message


def test_duplicates_name_their_rows_and_differ_by_judge_and_sample(tmp_path):
    text = "system,judge,case_id,sample,check_id,label\ns,j,c,0,k,2\ns,j,c,1,k,2\ns,i,c,0,k,2\n"
    assert len(read_verdict_table(write(tmp_path / "good.csv", text))) == 3
    with pytest.raises(DataError, match=r"2 verdicts on one unit: .*bad.csv line 2, .*bad.csv line 5"):
        read_verdict_table(write(tmp_path / "bad.csv", text + "s,j,c,,k,0\n"))  # an empty sample is sample 0


def test_a_missing_column_is_named_with_the_nearest(tmp_path):
    with pytest.raises(DataError) as caught:
        read_verdict_table(write(tmp_path / "t.csv", "system,caseid,check_id,score\ns,c,k,2\n"))
    assert "expected a column 'case_id'. Rename 'caseid'?" in str(caught.value)
    assert "expected a column 'label'" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("t.csv", "", "no header"),
        ("t.csv", HEADER, "no rows"),
        ("t.csv", HEADER + "s,c,k,2,extra\n", "5 cells"),
        ("t.csv", HEADER + "s,c,k\n", "3 cells"),
        ("t.csv", HEADER + 's,"c,k,2\n', "quot"),
        ("t.csv", "system,system,case_id,check_id,label\ns,s,c,k,2\n", "column 'system' twice"),
        ("t.xlsx", HEADER, "'.xlsx'"),
        ("t.jsonl", "[1]\n", "list"),
        ("t.jsonl", "\n", "no rows"),
        ("t.jsonl", '{"system": "s", "case_id": 1e5, "check_id": "k", "label": 2}\n', "case_id 100000.0"),
        ("t.jsonl", '{"system": "s", "case_id": "c", "check_id": "k", "label": true}\n', "label True"),
        ("t.jsonl", '{"system": "s", "system": "s"}\n', "occurs twice"),
        ("t.csv", "system,case_id,check_id,label,outcome\ns,c,k,2,no_image\n", "label '2' with outcome 'no_image'"),
        ("t.csv", "system,case_id,check_id,label,outcome\ns,c,k,,lost\n", "outcome 'lost'"),
        ("t.csv", "system,case_id,check_id,label,outcome\ns,c,,2,image\n", "check_id ''"),
        ("t.csv", "system,case_id,check_id,label,outcome\ns,c,,,failed\n", "no check of case 'c'"),
    ],
)
def test_a_broken_table_is_refused_and_says_where(tmp_path, name, text, found):
    with pytest.raises(DataError) as caught:
        read_verdict_table(write(tmp_path / name, text))
    assert found in str(caught.value)
    assert name in str(caught.value)


def test_a_file_that_is_not_there_is_a_bad_call(tmp_path):
    with pytest.raises(CallError, match="found no file"):
        read_verdict_table(tmp_path / "absent.csv")


def test_json_lines_take_numbers_names_and_null(tmp_path):
    values = [2, 1.0, "Pass", None]
    lines = [json.dumps({"system": "s", "case_id": "c", "check_id": f"k{n}", "label": v}) for n, v in enumerate(values)]
    grid = read_verdict_table(write(tmp_path / "t.jsonl", "\n".join(lines)))
    assert grid["label"].tolist()[:3] == [2, 1, 2]
    assert grid["state"].iat[3] == "invalid"


def test_a_row_without_a_check_stands_for_the_whole_case(tmp_path):
    text = "system,case_id,check_id,label,outcome\na,c,k1,2,image\na,c,k2,2,image\nb,c,,,failed\n"
    grid = read_verdict_table(write(tmp_path / "t.csv", text))
    assert grid.loc[grid["system"] == "b", ["check_id", "state"]].values.tolist() == [
        ["k1", "no_candidate"],
        ["k2", "no_candidate"],
    ]
    zero = score_grid(grid, policy=Policy(missing="zero"))
    assert row_of(zero.scores, system="b", scope="overall")["score"] == 0.0
    assert np.isnan(row_of(score_grid(grid).scores, system="b", scope="overall")["score"])


def test_without_outcomes_the_zero_policy_changes_nothing(tmp_path):
    grid = read_verdict_table(write(tmp_path / "t.csv", HEADER + "s,c,k,2\ns,c,l,\n"))
    delivered, zero = (score_grid(grid, policy=Policy(missing=name)).as_json()["scores"] for name in ("delivered", "zero"))
    assert delivered == zero


def test_totals_add_what_was_never_asked(tmp_path):
    totals = pd.DataFrame({"case_id": ["c", "c", "d"], "check_id": ["k", "l", "k"], "category": ["SCC", "SCC", "AGG"]})
    grid = read_verdict_table(write(tmp_path / "t.csv", HEADER + "s,c,k,2\n"), totals)
    assert grid[["case_id", "check_id", "state", "category"]].values.tolist()[1:] == [
        ["c", "l", "not_asked", "SCC"],
        ["d", "k", "not_asked", "AGG"],
    ]
    row = row_of(score_grid(grid, totals=totals).scores, scope="overall")
    assert (row["score"], row["checks_valid"], row["checks_total"], row["cases_total"]) == (100.0, 1, 3, 2)
    assert row_of(score_grid(grid).scores, scope="category", name="SCC")["score"] == 100.0


def test_rows_outside_the_release_are_named(tmp_path):
    totals = pd.DataFrame({"case_id": ["c"], "check_id": ["k"], "category": ["SCC"]})
    text = "system,case_id,check_id,label,category\ns,c,k,2,AGG\ns,c,x,2,AGG\n"
    with pytest.raises(DataError) as caught:
        read_verdict_table(write(tmp_path / "t.csv", text), totals)
    assert "line 2 (case 'c', 'k'): found category 'AGG'; expected 'SCC', as in the release" in str(caught.value)
    assert "line 3 (case 'c', 'x'): found a check the release does not hold" in str(caught.value)
    with pytest.raises(DataError, match=r"totals row 1.*nearest 'SCC'"):
        read_verdict_table(tmp_path / "t.csv", totals.assign(category="SCG"))


def journal(*lines: dict) -> str:
    base = {"judge": "j", "system": "s", "case_id": "c", "sample": 0, "judge_sample": 0, "check_id": "k", "invalid": None}
    base |= {"judge_sha256": "j1", "check_sha256": "k1", "candidate_sha256": "i1", "attempt": 1, "key": "x", "raw": "Pass"}
    return "".join(json.dumps(base | line) + "\n" for line in lines)


AT = "2026-11-30T20:00:0{}Z".format


def test_of_several_attempts_the_newest_valid_one_counts(tmp_path):
    text = journal(
        {"label": 2, "at": AT("1.5")},
        {"label": None, "invalid": "truncated", "attempt": 2, "at": AT("3")},
        {"label": 0, "at": AT("1")},  # stands later, was answered earlier
    )
    grid = read_verdict_table(write(tmp_path / "j.jsonl", text))
    assert grid[["state", "label"]].values.tolist() == [["valid", 2.0]]


def test_answers_about_an_older_image_are_stale_and_have_no_label(tmp_path):
    text = journal(
        {"label": 2, "at": AT(1)},
        {"label": 2, "at": AT(1), "check_id": "l", "check_sha256": "l1"},
        {"label": None, "invalid": "parse_error", "candidate_sha256": "i2", "at": AT(2)},
    )
    grid = read_verdict_table(write(tmp_path / "j.jsonl", text))
    assert grid[["check_id", "state"]].values.tolist() == [["l", "stale"], ["k", "invalid"]]
    assert grid["label"].isna().all()
    row = row_of(score_grid(grid).scores, scope="overall")
    assert (row["checks_valid"], row["checks_total"], row["invalid"]) == (0, 2, 1)


def test_a_journal_line_with_a_label_and_a_reason_is_refused(tmp_path):
    with pytest.raises(DataError, match="either a label or a reason"):
        read_verdict_table(write(tmp_path / "j.jsonl", journal({"label": 2, "invalid": "refused", "at": AT(1)})))
