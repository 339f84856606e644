"""Releases as careless or hostile people make them: one fault is one message, and the report comes whatever the manifest says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from release_fixtures import check, edit, replace, rewrite, small_release, task

from longbanana_nb.cli import main
from longbanana_nb.errors import DataError
from longbanana_nb.names import require_distinct_folders
from longbanana_nb.release import load_release, validate_release

TASKS, CHECKS = "public/tasks.jsonl", "evaluation/checks.jsonl"


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    return small_release(tmp_path)


def faults(manifest: Path) -> list[tuple[str, str]]:
    return [(fault.code, fault.found) for fault in validate_release(manifest, evaluation=True).errors]


def one_code(manifest: Path) -> str:
    (found,) = faults(manifest)
    return found[0]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda records: records[0].update(prompt=" "), "field"),
        (lambda records: records[0].update(category="scc"), "category"),
        (lambda records: records[0]["references"][1].update(path="public\\a.jpg"), "path"),
        (lambda records: records[0]["references"][1].update(sha256=None), "hash"),
    ],
)
def test_a_fault_of_a_task_is_not_repeated_by_its_checks(
    manifest: Path, change: Callable[[list[dict[str, Any]]], Any], code: str
) -> None:
    rewrite(manifest, TASKS, change)
    assert one_code(manifest) == code


def test_a_fault_of_a_check_is_not_repeated_by_its_unit_and_probe(manifest: Path) -> None:
    rewrite(manifest, CHECKS, lambda records: records[0].update(options=["yes", "no"]))
    assert one_code(manifest) == "options"


def test_checks_that_cannot_be_read_make_no_unit_unknown(manifest: Path) -> None:
    replace(manifest, CHECKS, b"\xff\xfe")
    assert {code for code, _ in faults(manifest)} == {"encoding", "count"}


def test_an_unknown_case_and_an_unknown_check_are_still_found_beside_a_faulty_task(manifest: Path) -> None:
    rewrite(manifest, TASKS, lambda records: records[0].update(prompt=""))
    rewrite(manifest, CHECKS, lambda records: records.append(check("case_x", "c9")))
    edit(manifest, lambda value: value["counts"].update(checks=4))
    rewrite(manifest, "evaluation/check_units.jsonl", lambda records: records[0].update(check_id="c8"))
    assert sorted(code for code, _ in faults(manifest)) == ["field", "unknown_case", "unknown_check"]


@pytest.mark.parametrize("stated", [2.5, True, 2.0, "two", "1e3"])
def test_a_count_that_is_no_whole_number_is_a_fault(manifest: Path, stated: object) -> None:
    edit(manifest, lambda value: value["counts"].update(cases=stated))
    assert faults(manifest) == [("count", repr(stated))]


@pytest.mark.parametrize(("stated", "found"), [("2", []), ("3", [("count", "2 cases")])])
def test_a_count_written_as_text_is_held_against_the_records(manifest: Path, stated: str, found: list[tuple[str, str]]) -> None:
    edit(manifest, lambda value: value["counts"].update(cases=stated))
    assert faults(manifest) == found


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "9" * 5000])
def test_a_number_that_json_cannot_hold_is_a_fault(manifest: Path, number: str) -> None:
    text = manifest.read_text("utf-8").replace('"cases": 2', f'"cases": {number}')
    manifest.write_text(text, "utf-8")
    (fault,) = validate_release(manifest).errors
    assert fault.code == "json"
    assert "sys." not in fault.found


@pytest.mark.parametrize("key", ["release", "revision"])
def test_an_identity_too_long_for_a_folder_is_reported(manifest: Path, key: str, capsys: pytest.CaptureFixture[str]) -> None:
    edit(manifest, lambda value: value.update({key: "\u9999" * 90}))
    assert main(["validate-data", str(manifest), "--evaluation", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert [error["code"] for error in report["errors"]] == ["identity"]


def test_a_manifest_path_too_long_for_the_system_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate-data", "x" * 5000, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["errors"][0]["code"] == "unreadable"


def nested(files: list[dict[str, Any]]) -> dict[str, Any]:
    """The files of a manifest as a tree of folders, each leaf a file name with its hash."""
    tree: dict[str, Any] = {}
    for stated in files:
        *folders, name = stated["path"].split("/")
        here = tree
        for folder in folders:
            here = here.setdefault(folder, {})
        here[name] = stated["sha256"]
    return tree


def test_files_may_be_nested_as_a_tree_of_folders(manifest: Path) -> None:
    edit(manifest, lambda value: value.update(files=nested(value["files"])))
    assert faults(manifest) == []
    (manifest.parent / "ATTRIBUTION.md").write_text("changed")
    (manifest.parent / "evaluation/probes.jsonl").write_text("")
    assert {code for code, _ in faults(manifest)} == {"hash"}


@pytest.mark.parametrize("twins", [("\u00c4", "\u00e4"), ("caf\u00e9", "cafe\u0301"), ("CASE", "case")])
def test_case_ids_that_look_the_same_are_refused(tmp_path: Path, twins: tuple[str, str]) -> None:
    tasks = [task("one"), task("two")]
    for number, twin in enumerate(twins):
        tasks[number]["case_id"] = twin
    manifest = small_release(tmp_path, tasks=tasks, checks=[], units=[], probes=[], graphs=[])
    with pytest.raises(DataError, match="differ by more than case"):
        load_release(manifest)
    with pytest.raises(DataError, match="collide"):
        require_distinct_folders(twins)


def test_words_that_steer_a_terminal_are_escaped_when_shown(manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(manifest, lambda value: value.update(release="\u202eevil\u009b31m"))
    main(["validate-data", str(manifest)])
    shown = capsys.readouterr().out
    assert "\\u202eevil\\u009b31m" in shown
    assert not {"\u202e", "\u009b"} & set(shown)
