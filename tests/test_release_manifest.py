"""Manifests of unknown shape: files, hashes and counts are found wherever they stand, and none is believed unchecked."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from release_fixtures import OPTIONS, check, entity, lines, picture, rewrite, small_release, task

from longbanana_nb.errors import DataError
from longbanana_nb.release import Unit, load_release, validate_release, write_release

Stated = list[dict[str, Any]]


def by_role(files: Stated) -> dict[str, Any]:
    pictures = [f for f in files if f["role"] in ("reference", "background")]
    others = {
        f["role"]: {"path": f["path"], "sha256": f["sha256"]} for f in files if f not in pictures and f["role"] != "attribution"
    }
    return {"public": {"tasks": others.pop("tasks"), "images": pictures}, "evaluation": others, "licence": "LICENSE.txt"}


SHAPES: dict[str, Callable[[Stated], dict[str, Any]]] = {
    "list": lambda files: {"files": files},
    "mapping of hashes": lambda files: {"files": {f["path"]: f["sha256"] for f in files}},
    "mapping of records": lambda files: {"files": {f["path"]: {"sha256": f["sha256"], "size": f["bytes"]} for f in files}},
    "nested by role": lambda files: {"files": by_role(files)},
    "nested at the top": by_role,
    "paths apart from checksums": lambda files: {
        "paths": {"tasks": "public/tasks.jsonl", "checks": "evaluation/checks.jsonl"},
        "checksums": {"sha256": {f["path"]: f"sha256:{f['sha256'].upper()}" for f in files}},
    },
    "lines of sha256sum": lambda files: {"checksums": [f"{f['sha256']}  {f['path']}" for f in files]},
    "flat": lambda files: {
        "tasks": "public/tasks.jsonl",
        "tasks_sha256": next(f["sha256"] for f in files if f["role"] == "tasks"),
        "checks_path": "evaluation/checks.jsonl",
        "checks_sha256": next(f["sha256"] for f in files if f["role"] == "checks"),
    },
}


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    return small_release(tmp_path)


@pytest.mark.parametrize("shape", SHAPES)
def test_files_are_found_in_every_shape_and_their_hashes_checked(manifest: Path, shape: str) -> None:
    files = json.loads(manifest.read_text())["files"]
    manifest.write_text(json.dumps({"release": {"name": "tiny", "revision": 3}, **SHAPES[shape](files)}))
    report = validate_release(manifest, evaluation=True)
    assert (report.ok, report.release, report.revision) == (True, "tiny", "3")
    assert "default_path" not in [fault.code for fault in report.warnings]
    tasks, checks = (manifest.parent / path for path in ("public/tasks.jsonl", "evaluation/checks.jsonl"))
    tasks.write_bytes(tasks.read_bytes() + b"\n")
    checks.write_bytes(checks.read_bytes() + b"\n")
    assert {"hash"} <= {fault.code for fault in validate_release(manifest, evaluation=True).errors} <= {"hash", "bytes"}
    assert len([fault for fault in validate_release(manifest, evaluation=True).errors if fault.code == "hash"]) == 2


def test_a_bare_manifest_is_enough_and_says_what_was_assumed(manifest: Path) -> None:
    manifest.write_text("{}")
    report = validate_release(manifest, evaluation=True)
    assert (report.ok, report.release) == (True, "tiny")
    assert str(report.revision).startswith("sha256-")
    assert [fault.code for fault in report.warnings].count("default_path") == 2


@pytest.mark.parametrize(
    "counts",
    [
        {"counts": {"num_cases": 9}},
        {"counts": {"tasks": 9}},
        {"statistics": {"public": {"references": 9}}},
        {"n_references": 9},
        {"counts": {"images": 9}},
        {"counts": {"per_category": {"SCC": 9}}},
        {"totals": {"case_count": 9}},
        {"files": [{"path": "public/tasks.jsonl", "records": 9}]},
    ],
)
def test_wrong_counts_are_found_wherever_they_stand(manifest: Path, counts: dict[str, Any]) -> None:
    manifest.write_text(json.dumps({"release": "tiny", "revision": "1", **counts}))
    assert [fault.code for fault in validate_release(manifest).errors] == ["count"]


def test_numbers_that_are_no_totals_are_left_alone(manifest: Path) -> None:
    extra = {"counts": {"cases": 2, "per_case": {"references": 32}}, "references_per_case": 32, "schema_version": 1}
    manifest.write_text(json.dumps({"release": "tiny", "revision": "1", **extra}))
    assert validate_release(manifest).ok


def test_a_hash_that_is_none_is_a_fault(manifest: Path) -> None:
    manifest.write_text(json.dumps({"release": "t", "revision": "1", "files": [{"path": "LICENSE.txt", "sha256": None}]}))
    assert [fault.code for fault in validate_release(manifest).errors] == ["hash"]


def test_a_release_and_its_evaluation_travel_to_other_processes(manifest: Path) -> None:
    release = load_release(manifest)
    room = release.evaluation()
    again, again_room = pickle.loads(pickle.dumps((release, room)))
    assert (again, again_room) == (release, room)
    assert [part.id for part in release.cases["case_b"].inputs] == ["background", "ref_01", "ref_02", "ref_03"]
    assert room.units["case_a", "c1"] == Unit("case_a", "c1", "n01", "Content Fidelity", "positive", "units")
    assert room.probe_sha256("case_a", "c1") != room.probe_sha256("case_a", "none") is None
    assert list(release.privileged()) == ["case_a", "case_b"]


def test_two_writings_are_equal_and_a_wrong_hash_is_not_written(tmp_path: Path) -> None:
    one, two = (small_release(tmp_path / part) for part in ("a", "b"))
    files = sorted(path.relative_to(one.parent) for path in one.parent.rglob("*") if path.is_file())
    assert [(one.parent / file).read_bytes() for file in files] == [(two.parent / file).read_bytes() for file in files]
    bad = [task("x", references=1)]
    bad[0]["references"][0]["sha256"] = "0" * 64
    images = {"public/images/x/ref_01.jpg": picture((1, 1, 1))}
    parts: dict[str, Any] = {"name": "n", "revision": "1", "license": "MIT", "checks": [], "extra_files": images}
    with pytest.raises(DataError, match="Leave the hash out"):
        write_release(tmp_path / "c", tasks=bad, **parts)
    with pytest.raises(DataError, match="no such file"):
        write_release(tmp_path / "d", tasks=[task("y")], **parts)
    assert not (tmp_path / "c" / "manifest.json").exists()


OVERLAY = [
    ("options.json", {"schema": "lb.options.v1", "words": {"good": 2, "fair": 1, "bad": 0}}),
    (
        "check_units.jsonl",
        {"case_id": "a", "check_id": "1", "unit": "e1", "dimension": "Relational Binding", "polarity": "negative"},
    ),
    ("probes.jsonl", {"case_id": "a", "check_id": "1", "probe": {"absent": entity()}}),
]


def test_the_overlay_serves_a_release_that_carries_none_and_is_hashed(tmp_path: Path) -> None:
    checks = [check("a", "1", options=["good", "fair", "bad"], option_desc=None)]
    manifest = small_release(tmp_path, tasks=[task("a")], checks=checks, units=[], probes=[])
    folder = tmp_path / "annotations" / "tiny@r1"
    folder.mkdir(parents=True)
    with pytest.raises(DataError, match="state what the words mean"):
        load_release(manifest).evaluation(folder)
    for name, value in OVERLAY:
        (folder / name).write_text(json.dumps(value))
    room = load_release(manifest).evaluation(folder)
    assert [(option.value, option.name) for option in room.checks["a"][0].options] == [(0, "bad"), (1, "fair"), (2, "good")]
    assert (room.units["a", "1"].source, list(room.probes)) == ("reviewed", [("a", "1")])
    assert {f"annotations/tiny@r1/{name}" for name, _ in OVERLAY} < set(room.hashes)
    (folder / "options.json").write_text(json.dumps({"schema": "lb.options.v1", "words": {"Pass": 0, "good": 5}}))
    report = validate_release(manifest, evaluation=True, annotations=folder)
    assert [fault.code for fault in report.errors].count("options") >= 2


GOOD_OPTIONS: list[Any] = [
    (OPTIONS, None),
    ([0, 1, 2], None),
    (["2", "1", "0"], "Choose one."),
    (["PASS", "uncertain", "Fail"], ["all of it", "hard to say", "none"]),
    ({"0": "Fail", "1": "Uncertain", "2": "Pass"}, None),
    ({"Pass": "it is there", "Fail": "it is not", "Uncertain": "hidden"}, None),
    ({"A": 2, "B": 1, "C": 0}, {"A": "yes", "B": "maybe", "C": "no"}),
    ({"A": {"value": 2, "description": "yes"}, "B": {"value": "1"}, "C": {"label": "fail"}}, None),
    ([{"id": 1, "label": "Fail"}, {"id": 2, "label": "Uncertain"}, {"id": 3, "label": "Pass"}], None),
]
BAD_OPTIONS: list[Any] = [
    (["yes", "unsure", "no"], None),
    ([True, False, 1], None),
    ({"0": "Pass", "1": "Uncertain", "2": "Fail"}, None),
    ([0, 1, 2], ["Pass", "Uncertain", "Fail"]),
    ([{"label": "Pass", "value": 0}, 1, 2], None),
    ([0, 0, 2], None),
    ([0, 1, 2, 3], None),
    ([0, 1], None),
    (None, None),
    ("Pass/Fail", None),
    ([0, 1, 2], ["a", "b"]),
    ([0, 1, 2], {"3": "x"}),
]


@pytest.mark.parametrize(("options", "described"), GOOD_OPTIONS)
def test_options_resolve_by_explicit_values_and_names(manifest: Path, options: Any, described: Any) -> None:
    rewrite(manifest, "evaluation/checks.jsonl", lambda r: r[0].update(options=options, option_desc=described))
    found = load_release(manifest).evaluation().checks["case_a"][0].options
    assert [option.value for option in found] == [0, 1, 2]
    if isinstance(described, list):
        assert [option.description for option in found] == ["none", "hard to say", "all of it"]


@pytest.mark.parametrize(("options", "described"), BAD_OPTIONS)
def test_options_never_resolve_by_position(manifest: Path, options: Any, described: Any) -> None:
    rewrite(manifest, "evaluation/checks.jsonl", lambda r: r[0].update(options=options, option_desc=described))
    errors = validate_release(manifest, evaluation=True).errors
    faults = [(fault.code, fault.case_id, fault.id) for fault in errors if fault.code == "options"]
    assert faults == [("options", "case_a", "c1")]


def test_the_order_of_check_lines_changes_nothing(manifest: Path) -> None:
    before = load_release(manifest).evaluation()
    rewrite(manifest, "evaluation/checks.jsonl", lambda r: r.reverse())
    after = load_release(manifest).evaluation()
    assert {check.sha256 for part in before.checks.values() for check in part} == {
        check.sha256 for part in after.checks.values() for check in part
    }
    assert len(lines(manifest.parent / "evaluation/checks.jsonl")) == 3
