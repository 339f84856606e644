"""The demo's cases: reproducible, hard in the ways the benchmark is hard, and valid like any release."""

import os
from pathlib import Path

import pytest

from longbanana_nb.demo.brief import parse, render
from longbanana_nb.demo.build import build_demo
from longbanana_nb.demo.casework import make_case
from longbanana_nb.demo.kinds import kinds
from longbanana_nb.demo.projection import project
from longbanana_nb.errors import CallError
from longbanana_nb.files import sha256_file
from longbanana_nb.release import validate_release
from longbanana_nb.taxonomy import CATEGORIES


def test_every_shipped_cut_out_has_its_stated_hash() -> None:
    assert len(kinds()) >= 60
    assert all(sha256_file(kind.file) == kind.sha256 for kind in kinds().values())


def test_a_case_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    first, again, other = (make_case("SEL", 2, seed) for seed in (5, 5, 6))
    assert (first.prompt, first.graph, first.pictures) == (again.prompt, again.graph, again.pictures)
    assert first.prompt != other.prompt


@pytest.mark.parametrize("category", ["LAB", "AGG"])
def test_a_case_is_full_and_hard(category: str) -> None:
    case = make_case(category, 1, 1)
    roles = [reference["role"] for reference in case.graph["references"]]
    assert len(roles) == len(case.pictures) == 32
    assert roles.count("hard_negative") >= 6 and roles.count("evidence") >= 8
    assert render(parse(case.prompt)) == case.prompt
    assert sum(node["count"] for node in case.graph["nodes"] if node["required"]) <= 12
    made = project(case.graph)
    assert 40 <= len(made.checks) <= 60
    assert {unit["polarity"] for unit in made.units} == {"positive", "negative"}
    assert len({unit["dimension"] for unit in made.units}) == 3


def test_a_tally_is_the_sum_over_the_tagged_pictures() -> None:
    graph = make_case("AGG", 1, 1).graph
    tallied = [node for node in graph["nodes"] if node["named_by"] == "tally"]
    assert tallied
    for node in tallied:
        trays = [reference for reference in graph["references"] if reference["mark"] == "TRAY"]
        seen = sum(shown["node"] == node["id"] for reference in trays for shown in reference["shows"])
        assert seen == node["count"]


def test_the_release_is_valid_kept_when_whole_and_rebuilt_when_damaged(tmp_path: Path) -> None:
    manifest = build_demo(tmp_path / "my demo", cases_per_category=1)
    checked = validate_release(manifest, evaluation=True)
    assert checked.ok and checked.counts["cases"] == len(CATEGORIES)
    born, text = manifest.stat().st_mtime_ns, manifest.read_bytes()
    assert build_demo(tmp_path / "my demo", cases_per_category=1).stat().st_mtime_ns == born
    next((tmp_path / "my demo" / "public" / "images").rglob("ref_01.jpg")).write_bytes(b"torn")
    abandoned, at_work = (tmp_path / f".my demo.building-{name}" for name in ("old", "new"))
    abandoned.mkdir()
    at_work.mkdir()
    os.utime(abandoned, (0, 0))
    assert build_demo(tmp_path / "my demo", cases_per_category=1).read_bytes() == text
    assert (abandoned.exists(), at_work.exists()) == (False, True)
    assert {path.name for path in tmp_path.iterdir()} == {"my demo", at_work.name}


def test_a_folder_with_other_contents_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(CallError, match="other contents"):
        build_demo(tmp_path, cases_per_category=1)
    with pytest.raises(CallError, match="1 to 10"):
        build_demo(tmp_path / "new", cases_per_category=11)
    assert (tmp_path / "thesis.txt").read_text() == "mine"
