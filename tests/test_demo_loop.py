"""The demo as a person gets it: report, tables, figures, truth, floors, coverage, and a second run that does nothing."""

import csv
import json
import re
from pathlib import Path

import pytest
from conftest import run_command

from longbanana_nb.files import sha256_file
from longbanana_nb.runs import open_run, verdict_grid
from longbanana_nb.taxonomy import CATEGORIES

SYSTEMS = ["fp-direct-medium", "native-medium", "fp-direct-weak", "fp-direct-strong"]
FLOORS = ["blank", "single-reference", "collage", "words"]


@pytest.fixture(scope="module")
def run(demo_home):
    return open_run(demo_home / "reports" / "demo")


@pytest.fixture(scope="module")
def grid(run):
    return verdict_grid(run)


def test_every_check_of_every_system_is_answered_by_both_judges(grid):
    assert set(grid["state"]) == {"valid"}
    assert set(grid["system"]) == {*SYSTEMS, *FLOORS}
    assert set(grid["judge"]) == {"tools", "truth"}


def test_every_case_has_thirty_checks_of_all_dimensions_and_both_polarities(grid):
    one = grid[(grid["judge"] == "tools") & (grid["system"] == "blank")]
    assert one.groupby("case_id").size().min() >= 30
    assert one.groupby("case_id")["dimension"].nunique().min() == 3
    assert one.groupby("case_id")["polarity"].nunique().min() == 2


def test_the_pixel_judge_agrees_with_the_truth(grid):
    keys = ["system", "case_id", "check_id"]
    tools, truth = (grid[grid["judge"] == name].set_index(keys)["label"].astype(int) for name in ("tools", "truth"))
    distance = (tools - truth.reindex(tools.index)).abs()
    assert (distance == 0).mean() >= 0.97
    assert (distance == 2).mean() <= 0.005


def test_better_sketches_score_higher_by_truth_and_floors_lower(demo_home):
    done = run_command("score", demo_home / "reports" / "demo", "--json", cwd=demo_home, home=demo_home, check=0)
    rows = json.loads(done.stdout)["scores"]
    score = {row["system"]: row["score"] for row in rows if row["judge"] == "truth" and row["scope"] == "overall"}
    assert score["fp-direct-strong"] > score["fp-direct-medium"] > score["fp-direct-weak"]
    assert max(score[floor] for floor in FLOORS) < score["fp-direct-medium"]
    assert score["blank"] > 20, "negative checks reward an empty picture; the table must show how much"


def test_the_empty_picture_passes_negative_checks_and_fails_positive_ones(grid):
    blank = grid[(grid["system"] == "blank") & (grid["judge"] == "truth")]
    presence = blank[(blank["polarity"] == "positive") & (blank["dimension"] == "Content Fidelity")]
    assert (presence["label"] == 0).all()
    assert (blank[blank["polarity"] == "negative"]["label"] == 2).mean() > 0.5


def test_main_table_has_systems_floors_and_categories_in_order(run):
    with (run.path / "tables" / "main.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    names = [row[1] for row in rows[1:]]
    assert sorted(names) == sorted([*SYSTEMS, *FLOORS])
    assert {row[0] for row in rows[1:]} == {"Systems", "Floors"}
    header = next(row for row in rows if any("SCC" in cell for cell in row))
    found = [code for cell in header for code in CATEGORIES if re.search(rf"\b{code}\b", cell)]
    assert found == list(CATEGORIES)


def test_tables_come_in_four_forms_and_figures_in_three(run):
    for name in ("main", "coverage", "dimensions", "labels", "truth"):
        assert {path.suffix for path in (run.path / "tables").glob(f"{name}.*")} == {".csv", ".tex", ".html", ".md"}
    for name in ("heatmap", "overall", "categories", "backends", "truth"):
        assert {path.suffix for path in (run.path / "figures").glob(f"{name}.*")} == {".pdf", ".svg", ".png"}


def test_the_report_is_self_contained_and_says_what_is_simulated(run):
    page = (run.path / "report.html").read_text("utf-8")
    for attribute in re.findall(r"""(?:src|href|action|data)\s*=\s*["']([^"']+)""", page):
        assert attribute.startswith(("data:", "#", "notebooks/")), attribute[:60]
    assert "<script" not in page.lower()
    assert "imulated" in page
    assert "@misc{cao2026longbanana" in page
    assert "Microsoft" in page
    images = re.findall(r"<img[^>]*>", page)
    assert len(images) > 10
    assert all(re.search(r'alt="[^"]+"', image) for image in images)


def test_steps_are_kept(run):
    record = run.candidate("fp-direct-medium", "scc_01").record()
    assert len(record.steps) == 4
    assert record.steps[1].parent_sha256 == record.steps[0].sha256
    assert sorted(record.references.sent) == sorted({reference.id for reference in run.cases()[0].references})


def test_a_second_run_makes_nothing_and_changes_no_number_or_page(demo_home):
    folder = demo_home / "reports" / "demo"
    watched = [
        "report.html",
        "scores/scores.json",
        "tables/main.csv",
        "tables/main.tex",
        "figures/heatmap.svg",
        "figures/overall.pdf",
    ]
    before = {name: sha256_file(folder / name) for name in watched}
    done = run_command("demo", "--cases", "1", "--run", folder, cwd=demo_home, home=demo_home, check=0)
    assert "0 candidates made" in done.stdout
    assert {name: sha256_file(folder / name) for name in watched} == before


def test_verify_finds_nothing_and_then_the_changed_cell(demo_home, tmp_path):
    import shutil

    folder = tmp_path / "copy"
    shutil.copytree(demo_home / "reports" / "demo", folder)
    run_command("verify", demo_home / "reports" / "demo", cwd=tmp_path, home=demo_home, check=0)
    table = folder / "tables" / "dimensions.csv"
    text = table.read_text("utf-8")
    number = re.search(r"\d\.\d\d", text).group()
    table.write_text(text.replace(number, "9.99", 1), "utf-8")
    done = run_command("verify", folder, cwd=tmp_path, home=demo_home)
    assert done.returncode == 1
    assert "dimensions.csv" in done.stdout
    assert "9.99" in done.stdout
    assert number in done.stdout


def test_nothing_of_the_evaluation_room_is_in_a_candidate_folder(run):
    questions = {check.question for check in run.checks()}
    texts = [path.read_text("utf-8") for path in Path(run.path, "candidates").rglob("*.json*")]
    assert texts
    assert not [question for question in questions if any(question in text for text in texts)]
