"""Verdict tables from other tools: what can be read is read exactly, what cannot is said with its row."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from longbanana_nb.cli import main
from longbanana_nb.reporting.sinks.html import escape as escape_html
from longbanana_nb.reporting.sinks.markdown import escape as escape_markdown

HEADER = "system,case_id,check_id,label\n"
IDS = [
    "007",
    "NA",
    "null",
    "1e5",
    "inf",
    "nan",
    "a,b",
    'q"q',
    "a\nb",
    "=1+1",
    "+1",
    "@x",
    " lead",
    "trail ",
    "\u00fc\U0001f34c",
    "\u202ex",
]


def scored(file: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, JSON (empty where there is none) and errors of `score --json`; NaN in the JSON fails the test."""
    code = main(["score", str(file), "--json", *more])
    captured = capsys.readouterr()

    def refuse(token: str) -> None:
        raise AssertionError(token)

    return code, json.loads(captured.out, parse_constant=refuse) if captured.out else {}, captured.err


def table(tmp_path: Path, text: str, name: str = "verdicts.csv") -> Path:
    file = tmp_path / name
    file.write_bytes(text.encode())
    return file


def test_ids_come_back_as_they_were_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    csv.writer(stream).writerows([["s", case_id, "c", 2] for case_id in IDS])
    code, scores, _ = scored(table(tmp_path, HEADER + stream.getvalue()), capsys)
    named = [row["name"] for row in scores["scores"] if row["scope"] == "case"]
    assert (code, sorted(named)) == (0, sorted(IDS))


def test_a_long_rationale_beside_the_verdicts_is_no_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = "because " * 30_000
    text = f"system,case_id,check_id,label,rationale\ns,a,c1,2,{long}\ns,a,c2,0,\n"
    code, scores, _ = scored(table(tmp_path, text), capsys)
    assert (code, scores["scores"][0]["score"]) == (0, 50.0)


@pytest.mark.parametrize("row", [" ,a,c,2", "s, ,c,2", "s,a, ,2", "s,a,\u00a0,"])
def test_a_blank_is_no_name_and_no_id(tmp_path: Path, capsys: pytest.CaptureFixture[str], row: str) -> None:
    code, scores, errors = scored(table(tmp_path, HEADER + row + "\n"), capsys)
    assert (code, scores) == (1, {})
    assert "line 2" in errors


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"system":"\\ud800","case_id":"a","check_id":"c","label":2}', "half a surrogate pair"),
        ('{"system":"s","case_id":"a","check_id":"c","label":1e999}', "too large"),
        ('{"system":"s","case_id":"a","check_id":"c","label":NaN}', "NaN"),
        ('{"system":"s","case_id":"a","check_id":"c","label":2,"x":' + "9" * 5000 + "}", "5000 digits"),
        ('{"system":' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_a_line_that_is_no_json_is_said_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, words: str
) -> None:
    code, _, errors = scored(table(tmp_path, line + "\n", "verdicts.jsonl"), capsys)
    assert code == 1
    assert "line 1" in errors
    assert words in errors
    assert "sys." not in errors


def test_missing_and_invalid_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "s,a,c1,2,SCC\ns,a,c2,0,SCC\ns,b,c1,2,SCC\ns,c,c1,1,RGC\ns,d,c1,,RGC\ns,d,c2,2,RGC\ns,e,c1,,LAC\n"
    code, scores, _ = scored(table(tmp_path, "system,case_id,check_id,label,category\n" + rows), capsys)
    by_name = {row["name"]: row for row in scores["scores"] if row["scope"] != "suite"}
    overall, rate = by_name["overall"], scores["pass_rates"][0]
    assert code == 3
    assert [by_name[name]["score"] for name in "abcde"] == [50.0, 100.0, 50.0, 100.0, None]
    assert (overall["score"], overall["score_low"], overall["score_high"]) == (75.0, 50.0, 80.0)
    assert (overall["checks_valid"], overall["checks_total"], overall["invalid"], overall["cases_scored"]) == (5, 7, 2, 4)
    assert (by_name["LAC"]["score"], by_name["SCC"]["ci_low"]) == (None, None)  # no case scored; two cases give no interval
    assert (rate["pass_rate"], rate["bound_high"], rate["undecided"]) == (0.2, 0.6, 1)


def test_a_name_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", str(table(tmp_path, HEADER + "\x1b[31mred\u202e,a,c,2\n"))]) == 0
    shown = capsys.readouterr().out
    assert "\\u001b[31mred\\u202e" in shown
    assert not {"\x1b", "\u202e"} & set(shown)


@pytest.mark.parametrize("sign", ["\u061c", "\u009b", "\u202e", "\x1b", "\x7f"])
def test_a_sign_that_no_reader_sees_is_shown_by_its_code(sign: str) -> None:
    assert escape_html(f"a{sign}b") == escape_markdown(f"a{sign}b").replace("\\", "") == f"a[U+{ord(sign):04X}]b"
