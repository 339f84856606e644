"""Human labels: drawn with known probabilities, blind sheets, many shapes of files, rounds, stale ones, simulated raters."""

import csv
from collections import Counter

import numpy as np
import pytest
from conftest import copy_of_demo

from longbanana_nb import labelling
from longbanana_nb.demo.raters import QUALITIES
from longbanana_nb.errors import CallError, DataError
from longbanana_nb.runs import verdict_grid
from longbanana_nb.runs.label_design import _probabilities, _systematic
from longbanana_nb.runs.labels import candidate_hashes, read_labels, settled


@pytest.fixture
def run(demo_home, tmp_path, monkeypatch):
    monkeypatch.setenv("LONGBANANA_HOME", str(demo_home))
    return copy_of_demo(demo_home, tmp_path / "reports" / "demo", "labels")


def rows_of(sheet):
    return list(csv.DictReader(sheet.read_text("utf-8-sig").splitlines()))


def filled(sheet, answer, path):
    rows = rows_of(sheet)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"label": answer} for row in rows)
    return path


def test_every_unit_is_drawn_as_often_as_its_probability_says():
    p = _probabilities(np.array([1.0, 1.0, 1.0, 5.0, 12.0]), 3)
    np.testing.assert_allclose(p, [1 / 3, 1 / 3, 1 / 3, 1.0, 1.0])
    starts = (np.arange(2000) + 0.5) / 2000
    drawn = np.array([_systematic(p, start) for start in starts])
    assert set(drawn.sum(axis=1)) == {3}
    np.testing.assert_allclose(drawn.mean(axis=0), p, atol=0.001)


def test_the_sum_over_drawn_units_weighted_by_probability_estimates_the_total():
    rng = np.random.default_rng(3)
    values, p = rng.random(400), _probabilities(rng.choice([1.0, 3.0], 400), 80)
    estimates = [(values[taken] / p[taken]).sum() for start in rng.random(1500) if (taken := _systematic(p, start)).any()]
    assert np.mean(estimates) == pytest.approx(values.sum(), rel=0.01)


def test_a_design_covers_systems_and_categories_and_gives_fifteen_in_a_hundred_to_a_second_rater(run):
    design, sheets = labelling.draw(run, ["anna", "ben"], units=200)
    assert len(design.units) == 200
    assert len(design.doubled) == 30
    grid = verdict_grid(run, judges=[design.judge])
    assert design.population == len(grid)
    share = grid.groupby("system").size() * 200 / len(grid)
    drawn = Counter(unit.system for unit in design.units)
    assert all(abs(drawn[system] - expected) <= 1 for system, expected in share.items())
    assert {unit.p for unit in design.units} == {200 / len(grid)}
    assert sum(len(rows_of(sheet)) for sheet in sheets.values()) == 230


def test_sheets_tell_neither_system_nor_judge_nor_case_and_their_pictures_are_there(run):
    design, sheets = labelling.draw(run, ["anna", "ben"], units=40)
    text = sheets["anna"].read_text("utf-8-sig")
    assert not [name for name in (*run.systems, *run.judges) if f"{name}," in text or f"/{name}/" in text]
    for row in rows_of(sheets["anna"]):
        assert (sheets["anna"].parent / row["picture"]).is_file()
        assert all((sheets["anna"].parent / name).is_file() for name in row["references"].split(" | ") if name)
    assert {row["label"] for row in rows_of(sheets["anna"])} == {""}
    assert design.id in text


def test_the_same_seed_draws_the_same_design_and_keeps_what_a_rater_has_written(run):
    design, sheets = labelling.draw(run, ["anna", "ben"], units=20)
    sheets["anna"].write_text("half done", "utf-8")
    again, _ = labelling.draw(run, ["anna", "ben"], units=20)
    assert again == design
    assert sheets["anna"].read_text("utf-8") == "half done"


def test_a_sheet_comes_back_with_its_design_and_a_second_time_adds_nothing(run, tmp_path):
    design, sheets = labelling.draw(run, ["anna", "ben"], units=40)
    done = filled(sheets["anna"], "Pass", tmp_path / "anna.csv")
    given, added = labelling.take(run, done, rater="anna")
    assert added == len(given.labels) == len(rows_of(sheets["anna"]))
    assert {label.design.p for label in given.labels} == {40 / design.population}
    assert all(label.blind for label in given.labels)
    assert Counter(label.round for label in given.labels)[2] == sum(unit.raters[1:] == ["anna"] for unit in design.units)
    assert labelling.take(run, done, rater="anna")[1] == 0
    filled(sheets["anna"], "0", tmp_path / "anna.csv")
    assert labelling.take(run, tmp_path / "anna.csv", rater="anna")[1] == added, "a correction is a new line"
    assert len(read_labels(run)) == 2 * added, "and the original is kept"


SHAPES = {
    "comma.csv": "System,Case,Check,Score,Annotator\n{s},{c},{k},2,anna\n",
    "semicolon.csv": "\ufeffsystem;case_id;check_id;label;rater\r\n{s};{c};{k};2,0;anna\r\n",
    "tabs.csv": "system\tcase_id\tcheck_id\tlabel\trater\tcomment\n{s}\t{c}\t{k}\tPASS\tanna\t\n",
    "lines.jsonl": '{{"system": "{s}", "case_id": "{c}", "check_id": "{k}", "label": 2, "rater": "anna"}}\n',
}


@pytest.mark.parametrize("shape", SHAPES)
def test_common_shapes_of_files_are_taken(run, tmp_path, shape):
    check = run.checks()[0]
    system = next(iter(run.systems))
    text = SHAPES[shape].format(s=system, c=check.case_id, k=check.check_id)
    path = tmp_path / shape
    path.write_text(text, "utf-16" if shape == "tabs.csv" else "utf-8")
    (label,) = labelling.take(run, path)[0].labels
    assert (label.rater, label.unit, label.label, label.blind) == ("anna", (system, check.case_id, 0, check.check_id), 2, False)
    assert label.candidate_sha256 == candidate_hashes(run)[system, check.case_id, 0]
    assert label.design is None


def test_every_bad_row_is_named_and_none_is_taken(run, tmp_path):
    check, system = run.checks()[0], next(iter(run.systems))
    lines = ["system,case_id,check_id,label,round"]
    lines += [f"{system},{check.case_id},{check.check_id},2,1", f"{system},{check.case_id},{check.check_id},3,1"]
    lines += [f"nobody,{check.case_id},{check.check_id},1,1", f"{system},{check.case_id},c999,1,1"]
    lines += [f"{system},{check.case_id},{check.check_id},1,7"]
    path = tmp_path / "bad.csv"
    path.write_text("\n".join(lines), "utf-8")
    with pytest.raises(DataError) as error:
        labelling.take(run, path, rater="anna")
    assert [fault.where.rpartition(" ")[2] for fault in error.value.faults] == ["3", "4", "5", "6"]
    assert read_labels(run) == []


def test_two_labels_of_one_rater_on_one_unit_in_a_file_are_refused(run, tmp_path):
    check, system = run.checks()[0], next(iter(run.systems))
    path = tmp_path / "twice.csv"
    row = f"{system},{check.case_id},{check.check_id},2"
    path.write_text("\n".join(["system,case_id,check_id,label", row, row]), "utf-8")
    with pytest.raises(DataError, match="a second label of 'anna'"):
        labelling.take(run, path, rater="anna")


def test_a_changed_image_makes_labels_stale(run, tmp_path):
    check, system = run.checks()[0], next(iter(run.systems))
    path = tmp_path / "one.csv"
    path.write_text(f"system,case_id,check_id,label\n{system},{check.case_id},{check.check_id},2\n", "utf-8")
    labelling.take(run, path, rater="anna")
    assert len(settled(read_labels(run), candidate_hashes(run))) == 1
    slot = run.candidate(system, check.case_id)
    image = slot.folder / slot.record().image.file
    image.write_bytes(image.read_bytes() + b" ")
    assert settled(read_labels(run), candidate_hashes(run)) == {}
    assert labelling.labels_frame(run)["stale"].tolist() == [True]
    assert "1 labels are stale" in labelling.state_text(run)


def test_what_two_raters_see_differently_goes_to_a_third_view_with_both_answers(run, tmp_path):
    design, sheets = labelling.draw(run, ["anna", "ben"], units=40)
    labelling.take(run, filled(sheets["anna"], "2", tmp_path / "a.csv"), rater="anna")
    labelling.take(run, filled(sheets["ben"], "0", tmp_path / "b.csv"), rater="ben")
    sheet, units = labelling.third_view(run, "carla")
    assert units == len(design.doubled) == len(rows_of(sheet)) == 6
    assert {(row["first_label"], row["second_label"]) for row in rows_of(sheet)} <= {("2", "0"), ("0", "2")}
    labelling.take(run, filled(sheet, "1", tmp_path / "c.csv"), rater="carla")
    final = settled(read_labels(run), candidate_hashes(run))
    assert Counter(label.label for label in final.values())[1] == 6
    assert len(read_labels(run)) == 40 + 6 + 6, "the originals are kept"
    assert labelling.third_view(run, "carla") == (None, 0)


def test_simulated_raters_err_at_their_stated_rates():
    careful = QUALITIES["careful"]
    answers = Counter(careful.answer(0, f"unit {n}") for n in range(20_000))
    for label, rate in enumerate(careful.confusion[0]):
        assert answers[label] / 20_000 == pytest.approx(rate, abs=0.006)
    assert all(sum(row) == pytest.approx(1) for quality in QUALITIES.values() for row in quality.confusion)


def test_the_whole_protocol_runs_with_simulated_raters_and_says_so(run):
    labelling.simulate(run, units=300, quality="hasty")
    kept = read_labels(run)
    assert all(label.rater.startswith("simulated-") and label.note == "simulated" for label in kept)
    assert Counter(label.round for label in kept)[2] == 45
    assert 0 < Counter(label.round for label in kept)["adjudicated"] < 45
    assert all("(simulated)" in line for line in labelling.state_text(run).splitlines())
    before = len(kept)
    labelling.simulate(run, units=300, quality="hasty")
    assert len(read_labels(run)) == before


def test_a_person_cannot_bear_the_name_of_a_simulated_rater(run):
    with pytest.raises(CallError, match="simulated"):
        labelling.draw(run, ["simulated-first", "ben"], units=10)
