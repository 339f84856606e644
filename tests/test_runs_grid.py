"""The verdict grid holds every answer that should exist, with its state."""

import json
import os

import msgspec
import pytest
from runs_fixtures import CASE_IDS, CHECK_IDS, answer, judge, make_release, make_run, save_image, save_outcome, system

from longbanana_nb.errors import DataError
from longbanana_nb.reporting.measured import measure
from longbanana_nb.runs import leftovers, open_run, verdict_grid, verify_run


@pytest.fixture
def release(tmp_path):
    return make_release(tmp_path / "release")


@pytest.fixture
def run(tmp_path, release):
    return make_run(tmp_path / "my run", release)


def row_of(run, case_id, check_id, **chosen):
    grid = verdict_grid(run)
    mask = (grid.case_id == case_id) & (grid.check_id == check_id)
    for name, value in chosen.items():
        mask &= grid[name] == value
    assert mask.sum() == 1
    return grid[mask].iloc[0]


def test_a_run_without_candidates_has_a_full_grid_of_no_candidate(run):
    grid = verdict_grid(run)
    assert len(grid) == 12
    assert set(grid.state) == {"no_candidate"}
    assert grid.label.isna().all() and str(grid.label.dtype) == "Int64"
    assert grid.outcome.isna().all()


def test_ids_stay_the_text_they_are(run):
    grid = verdict_grid(open_run(run.path))
    assert tuple(dict.fromkeys(grid.case_id)) == CASE_IDS
    assert tuple(dict.fromkeys(grid.check_id)) == CHECK_IDS
    assert grid.case_id.map(type).eq(str).all()


def test_each_state_is_told_apart(run):
    red = save_image(run, "sys-a", "007")
    save_outcome(run, "sys-a", "NA", "blocked")
    run.judgments("tools", "sys-a", "007").append_many([answer(run, "007", "001", 2, red), answer(run, "007", "NA", None, red)])
    valid, invalid, unasked = (row_of(run, "007", check) for check in CHECK_IDS)
    assert (valid.state, valid.label, valid.candidate_sha256) == ("valid", 2, red)
    assert (invalid.state, invalid.invalid) == ("invalid", "parse_error") and invalid.isna()["label"]
    assert unasked.state == "not_asked"
    blocked = row_of(run, "NA", "001")
    assert (blocked.state, blocked.outcome) == ("no_candidate", "blocked")


def test_dimension_and_polarity_come_from_the_units_and_are_missing_without(run):
    with_unit, without = row_of(run, "007", "001"), row_of(run, "007", "NA")
    assert (with_unit.dimension, with_unit.polarity, with_unit.dimension_source) == ("Content Fidelity", "positive", "units")
    assert without[["dimension", "polarity", "dimension_source"]].isna().all()


def test_a_changed_image_makes_its_answers_stale(run):
    red = save_image(run, "sys-a", "007", "red")
    run.judgments("tools", "sys-a", "007").append_many([answer(run, "007", "001", 2, red)])
    assert row_of(run, "007", "001").state == "valid"
    save_image(run, "sys-a", "007", "blue")
    stale = row_of(run, "007", "001")
    assert stale.state == "stale" and stale.isna()["label"]


@pytest.mark.parametrize("field", ["judge_sha256", "check_sha256"])
def test_an_answer_of_another_judge_or_to_another_text_is_stale(run, field):
    red = save_image(run, "sys-a", "007")
    run.judgments("tools", "sys-a", "007").append_many([answer(run, "007", "001", 2, red, **{field: "f" * 64})])
    assert row_of(run, "007", "001").state == "stale"


def test_the_newest_valid_answer_counts_and_a_later_invalid_one_does_not_undo_it(run):
    red = save_image(run, "sys-a", "007")
    run.judgments("tools", "sys-a", "007").append_many(
        [answer(run, "007", "001", label, red, attempt=n) for n, label in enumerate([None, 0, 2, None], start=1)]
    )
    assert row_of(run, "007", "001")[["state", "label"]].tolist() == ["valid", 2]


def test_samples_of_system_and_judge_are_rows_of_their_own(tmp_path, release):
    run = make_run(tmp_path / "r", release, systems=[system(samples=2)], judges=[judge(samples=3)])
    red = save_image(run, "sys-a", "007", sample=1)
    run.judgments("tools", "sys-a", "007").append_many([answer(run, "007", "001", 1, red, sample=1, judge_sample=2)])
    assert len(verdict_grid(run)) == 12 * 2 * 3
    assert row_of(run, "007", "001", sample=1, judge_sample=2).label == 1
    assert row_of(run, "007", "001", sample=1, judge_sample=0).state == "not_asked"
    assert row_of(run, "007", "001", sample=0, judge_sample=2).state == "no_candidate"


def test_what_is_not_planned_is_ignored_and_listed(tmp_path, release):
    run = make_run(tmp_path / "r", release)
    red = save_image(run, "sys-a", "007")
    other = save_image(run, "sys-a", "1e5", "green")
    run.judgments("tools", "sys-a", "007").append_many(
        [answer(run, "007", "001", 2, red), msgspec.structs.replace(answer(run, "007", "001", 2, red), check_id="gone")]
    )
    run.judgments("tools", "sys-a", "1e5").append_many([answer(run, "1e5", "001", 2, other)])
    run.index_checks(release, release.evaluation(), ["007"])
    assert len(verdict_grid(run)) == 3
    assert leftovers(run) == [
        "candidates/sys-a/1e5/s0: a candidate that is not planned",
        "judgments/tools/sys-a/007.jsonl: 1 answers to 'gone' that are not planned",
        "judgments/tools/sys-a/1e5.jsonl: answers that are not planned",
    ]


def test_simulated_is_said_where_judge_or_system_is(tmp_path, release):
    run = make_run(tmp_path / "r", release, judges=[judge("tools"), judge("truth", protocol="truth")])
    assert verdict_grid(run).simulated.all()  # the fixture's judges are
    real = make_run(tmp_path / "s", release)
    real.add_judge(judge("plain"), "a" * 64, simulated=False)
    assert not verdict_grid(real, judges=["plain"]).simulated.any()


def test_a_broken_line_in_the_middle_is_named(run):
    red = save_image(run, "sys-a", "007")
    journal = run.judgments("tools", "sys-a", "007")
    journal.append_many([answer(run, "007", "001", 2, red)] * 3)
    lines = journal.path.read_bytes().split(b"\n")
    lines[1] = lines[1][:50]
    journal.path.write_bytes(b"\n".join(lines))
    with pytest.raises(DataError, match="line 2"):
        verdict_grid(run)


@pytest.mark.parametrize("change", [{"label": 3}, {"label": None}, {"invalid": "because"}, {"invalid": "refused"}])
def test_a_verdict_that_is_no_verdict_is_an_error_and_never_a_number(run, change):
    red = save_image(run, "sys-a", "007")
    journal = run.judgments("tools", "sys-a", "007")
    journal.append_many([answer(run, "007", "001", 2, red)])
    line = {**json.loads(journal.path.read_bytes()), **change}
    journal.path.write_text(json.dumps(line) + "\n")
    with pytest.raises(DataError, match="line 1"):
        verdict_grid(run)


@pytest.mark.parametrize("change", [{"rationale": 7}, {"labell": 2}, {"evidence": [{"n": 1, "tool": "ocr", "boxes": []}]}])
def test_a_line_that_verify_refuses_is_not_scored_either(run, change):
    red = save_image(run, "sys-a", "007")
    journal = run.judgments("tools", "sys-a", "007")
    journal.append_many([answer(run, "007", "001", 2, red)])
    line = {**json.loads(journal.path.read_bytes()), **change}
    journal.path.write_text(json.dumps(line) + "\n")
    assert [fault.code for fault in verify_run(run)] == ["judgment"]
    with pytest.raises(DataError, match="line 1"):
        verdict_grid(run)


def test_an_image_changed_by_hand_makes_its_answers_stale_and_measures_anew(run):
    red = save_image(run, "sys-a", "007", "red")
    run.judgments("tools", "sys-a", "007").append_many([answer(run, "007", "001", 2, red)])
    image = run.candidate("sys-a", "007").image
    before, content = image.stat(), image.read_bytes()
    assert measure(run).grid.state.value_counts()["valid"] == 1
    image.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(image, ns=(before.st_atime_ns, before.st_mtime_ns))  # size and time as they were
    assert measure(run).grid.state.value_counts().get("valid", 0) == 0
    assert [row_of(run, "007", check).state for check in CHECK_IDS] == ["stale", "not_asked", "not_asked"]
    image.write_bytes(content)
    assert row_of(run, "007", "001").state == "valid"
    image.unlink()
    assert row_of(run, "007", "001").state == "no_candidate"
