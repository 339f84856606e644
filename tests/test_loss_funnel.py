"""The loss funnel: pictures on the way judged apart from scores, and each failed check put down to where it was lost."""

from __future__ import annotations

import re
import shutil

import msgspec
import pytest
from conftest import copy_of_demo

from longbanana_nb import figures, funnel, judge_steps, score, tables, verify
from longbanana_nb.cli import main
from longbanana_nb.errors import CallError, DataError
from longbanana_nb.reporting.figures import timeline_alt, timeline_figure
from longbanana_nb.reporting.funnel import STAGES, checks_of, first_met, loss_funnel, stage_counts, timeline
from longbanana_nb.reporting.measured import measure
from longbanana_nb.runs import current_record, merge_runs, open_run
from longbanana_nb.runs.records import ReferencesUsed
from longbanana_nb.runs.step_answers import read_step_answers, step_files


@pytest.fixture
def run(demo_home, tmp_path, monkeypatch):
    monkeypatch.setenv("LONGBANANA_HOME", str(demo_home))
    return copy_of_demo(demo_home, tmp_path / "reports" / "demo", "labels", "tables")


def test_pictures_on_the_way_are_judged_once_and_enter_no_score(run):
    shutil.rmtree(run.path / "step_judgments")
    before = score(run).scores
    said = judge_steps(run, judge="truth")
    assert int(said.split()[0]) > 70  # nine cases, three systems of four windows, less those that drew nothing new
    assert "0 answers given" in judge_steps(run, judge="truth")
    assert score(open_run(run.path)).scores.equals(before)
    assert not verify(run.path)


def test_every_failed_check_has_one_stage_and_the_stages_add_up(run):
    grid = measure(run).grid
    lost = loss_funnel(run, grid, "truth")
    failed = grid[(grid["judge"] == "truth") & (grid["state"] == "valid") & (grid["label"] == 0)]
    assert len(lost) == len(failed)
    assert set(lost["stage"]) <= set(STAGES)
    counts = stage_counts(lost)
    assert sum(counts["fp-direct-weak"].values()) == (failed["system"] == "fp-direct-weak").sum()
    assert counts["fp-direct-weak"]["not sent"] == 0  # its windows send everything
    assert counts["native-medium"]["not sent"] > 0  # an agent with one call chooses
    assert counts["native-medium"]["met, then lost"] == 0  # and has no picture on the way
    assert counts["blank"]["not sent"] > 0
    met = lost[lost["stage"] == "met, then lost"]
    assert met["met_at"].notna().all()


def test_what_was_met_on_the_way_is_what_the_judge_said_of_that_picture(run):
    lost = funnel(run, judge="truth").query("stage == 'met, then lost'").iloc[0]
    answers = read_step_answers(run, "truth", lost["system"], lost["case_id"])
    said = {one.step: one.label for one in answers if one.check_id == lost["check_id"]}
    assert said[lost["met_at"]] == 2
    assert all(label != 2 for step, label in said.items() if step < lost["met_at"])


def test_without_judged_steps_the_funnel_says_so(run):
    shutil.rmtree(run.path / "step_judgments")
    stages = set(funnel(run, judge="truth").query("system == 'fp-direct-weak'")["stage"])
    assert stages == {"sent, not met", "let in"}
    assert tables(run)["losses"].notes[0].endswith("Judge: tools (protocol tools).")  # nobody judged steps: the main judge


def test_answers_on_another_picture_or_by_another_judge_do_not_count(run):
    record = current_record(run, "fp-direct-weak", run.cases()[0].case_id, 0)
    assert first_met(run, "truth", record, checks_of(run))
    path = next(path for path in step_files(run) if path.parts[-2] == "fp-direct-weak" and path.stem == record.case_id)
    whole = path.read_text()
    path.write_text(whole.replace(record.steps[0].sha256, "0" * 64))
    assert first_met(run, "truth", record, checks_of(run)) is None
    path.write_text(whole.replace(run.judges["truth"].sha256, "1" * 64))
    assert first_met(run, "truth", record, checks_of(run)) is None
    path.write_text(re.sub(r'"check_sha256":"[0-9a-f]{64}"', f'"check_sha256":"{"2" * 64}"', whole))
    assert first_met(run, "truth", record, checks_of(run)) is None
    path.write_text(whole + '{"schema": "lb.step-answer.v1"}\n')
    with pytest.raises(DataError, match=r"line \d+"):
        first_met(run, "truth", record, checks_of(run))


def changed(run, system, case_id, **changes):
    slot = run.candidate(system, case_id, 0)
    record = msgspec.structs.replace(slot.record(), **changes)
    (slot.folder / "record.json").write_bytes(msgspec.json.encode(record))
    return open_run(run.path)


def test_a_record_that_does_not_say_what_was_sent_leaves_it_unknown(run):
    case_id = run.cases()[0].case_id
    lost = funnel(changed(run, "native-medium", case_id, references=ReferencesUsed()), judge="truth")
    mine = lost.query("system == 'native-medium' and case_id == @case_id")
    bound = {check.check_id for check in run.checks() if check.case_id == case_id and check.reference_ids}
    asked = mine[mine["check_id"].isin(bound) & (mine["polarity"] == "positive")]
    assert set(asked["stage"]) == {"unknown"}
    assert mine["distractors_sent"].isna().all()


def test_an_agent_that_did_not_open_is_told_from_one_that_did_not_send(run):
    case_id = run.cases()[0].case_id
    used = current_record(run, "native-medium", case_id, 0).references
    every = [*used.sent, *used.never_sent]
    for opened, stage in ((every, "not sent"), ([], "not opened")):
        record = ReferencesUsed(opened=opened, sent=[], never_sent=every)
        lost = funnel(changed(run, "native-medium", case_id, references=record), judge="truth")
        mine = lost.query("system == 'native-medium' and case_id == @case_id and polarity == 'positive'")
        bound = {check.check_id for check in run.checks() if check.case_id == case_id and check.reference_ids}
        assert set(mine[mine["check_id"].isin(bound)]["stage"]) == {stage}


def test_the_timeline_adds_up_to_the_candidate(run):
    grid = measure(run).grid
    case_id = run.cases()[0].case_id
    frame = timeline(run, "truth", grid, "fp-direct-medium", case_id)
    assert list(frame["step"]) == [1, 2, 3, 4]
    for before, now in zip(frame.itertuples(), frame.iloc[1:].itertuples(), strict=False):
        assert now.met == before.met + now.fixed - now.broke
    mine = grid.query("judge == 'truth' and system == 'fp-direct-medium' and case_id == @case_id")
    assert frame["met"].iloc[-1] == (mine["label"] == 2).sum()
    assert "step 1: " in timeline_alt(frame, "t")
    assert timeline_figure(frame, "t").axes[0].get_title(loc="left") == "t"


def test_the_report_shows_the_funnel_of_the_judge_that_looked_at_the_steps(run):
    assert "truth" in tables(run)["losses"].notes[0]
    assert "met, then lost" in figures(run)["losses"].alt


def test_merged_runs_keep_what_was_said_of_steps(run, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(run.path, other)
    merged = merge_runs(tmp_path / "merged", [run, open_run(other)])
    assert len(step_files(merged)) == len(step_files(run))
    first = step_files(run)[0]
    assert (merged.path / first.relative_to(run.path)).read_bytes() == first.read_bytes()


def test_a_judge_that_asks_a_model_is_refused(run, tmp_path):
    profile = tmp_path / "direct.yaml"
    profile.write_text("name: d\nprotocol: direct\nmodel: {provider: anthropic, id: claude-sonnet-4-6}\n", "utf-8")
    with pytest.raises(CallError, match="need no model"):
        judge_steps(run, profile=profile)


def test_steps_are_judged_without_a_model_or_not_at_all(run, capsys):
    assert main(["judge", str(run.path), "--steps", "--max-usd", "1"]) == 2
    assert "without a model" in capsys.readouterr().err
