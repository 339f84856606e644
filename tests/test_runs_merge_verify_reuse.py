"""Runs put together, run folders checked against themselves, answers and candidates used again."""

import json

import pytest
from runs_fixtures import CASE_IDS, answer, judge, make_release, make_run, save_image, save_outcome, system

from longbanana_nb.errors import CallError, DataError
from longbanana_nb.runs import (
    ReusableCandidates,
    adopt_answer,
    adopt_candidate,
    adopt_scenes,
    judge_sha256,
    leftovers,
    merge_runs,
    open_run,
    redact,
    reusable_answers,
    system_sha256,
    verdict_grid,
    verify_run,
)


@pytest.fixture
def release(tmp_path):
    return make_release(tmp_path / "release")


def fill(run, case_ids):
    """One picture a case, answered 0, 1, 2 for its three checks."""
    for case_id in case_ids:
        sha256 = save_image(run, "sys-a", case_id, (len(case_id), 9, 9), with_step=True)
        answers = [answer(run, case_id, check_id, n, sha256) for n, check_id in enumerate(("001", "NA", "c,3"))]
        run.judgments("tools", "sys-a", case_id).append_many(answers)
    return run


def codes(run):
    return sorted((fault.where, fault.code) for fault in verify_run(run))


def test_shards_merged_equal_one_run_over_everything(tmp_path, release):
    whole = fill(make_run(tmp_path / "whole", release), CASE_IDS)
    shards = [
        fill(make_run(tmp_path / f"shard {n}", release, case_ids=ids), ids) for n, ids in enumerate((CASE_IDS[2:], CASE_IDS[:2]))
    ]
    merged = merge_runs(tmp_path / "merged", shards)
    assert verdict_grid(merged).equals(verdict_grid(whole))
    assert set(verdict_grid(merged).state) == {"valid"}
    assert verify_run(merged) == []
    for name in ("cases.jsonl", "checks.jsonl"):
        assert (merged.path / name).read_bytes() == (whole.path / name).read_bytes()
    assert merged.manifest == release.manifest


def test_units_found_twice_are_taken_once(tmp_path, release):
    runs = [fill(make_run(tmp_path / f"r{n}", release), CASE_IDS[:3]) for n in range(2)]
    merged = merge_runs(tmp_path / "merged", runs)
    assert len(merged.judgments("tools", "sys-a", "007").read()) == 3


def test_the_newer_answer_counts_whichever_run_is_named_first(tmp_path, release):
    runs = [make_run(tmp_path / f"r{n}", release) for n in range(2)]
    for n, run in enumerate(runs):
        sha256 = save_image(run, "sys-a", "007")
        run.judgments("tools", "sys-a", "007").append_many(
            [answer(run, "007", "001", 2 - n, sha256, at=f"2026-01-0{2 - n}T00:00:00Z")]
        )
    for name, order in (("a", runs), ("b", runs[::-1])):
        grid = verdict_grid(merge_runs(tmp_path / name, order))
        assert grid[grid.state == "valid"].label.tolist() == [2]


def test_two_candidates_for_one_unit_are_all_listed_and_nothing_is_written(tmp_path, release):
    first, second = (make_run(tmp_path / name, release) for name in ("first", "second"))
    for case_id in ("007", "NA"):
        save_image(first, "sys-a", case_id, "red")
        save_image(second, "sys-a", case_id, "blue")
    save_outcome(first, "sys-a", "1e5", "failed")
    save_image(second, "sys-a", "1e5", "red")
    with pytest.raises(DataError) as raised:
        merge_runs(tmp_path / "merged", [first, second])
    assert sorted(fault.case_id for fault in raised.value.faults) == ["007", "1e5", "NA"]
    assert not (tmp_path / "merged").exists() and not list(tmp_path.glob(".merged*"))


def test_work_that_was_not_done_gives_way(tmp_path, release):
    first, second = (make_run(tmp_path / name, release) for name in ("first", "second"))
    save_outcome(first, "sys-a", "007", "interrupted")
    save_image(second, "sys-a", "007")
    save_outcome(second, "sys-a", "NA", "budget")
    save_image(first, "sys-a", "NA")
    merged = merge_runs(tmp_path / "merged", [first, second])
    assert [record.outcome for record in merged.records()] == ["image", "image"]


def test_other_releases_other_hashes_and_taken_folders_are_refused(tmp_path, release):
    first = make_run(tmp_path / "first", release)
    changed = system(backend={"provider": "sketch", "id": "other"})
    with pytest.raises(DataError, match=r"systems 'sys-a'.*Names that stand for different things"):
        merge_runs(tmp_path / "m", [first, make_run(tmp_path / "second", release, systems=[changed])])
    with pytest.raises(DataError, match="found 'r2'; expected 'r1'"):
        merge_runs(tmp_path / "m", [first, make_run(tmp_path / "third", make_release(tmp_path / "other", revision="r2"))])
    with pytest.raises(CallError, match="exists"):
        merge_runs(first.path, [first, first])


def test_different_systems_of_two_runs_stand_side_by_side(tmp_path, release):
    one = make_run(tmp_path / "one", release)
    two = make_run(tmp_path / "two", release, systems=[system("sys-b", backend={"provider": "sketch", "id": "b"})])
    assert list(merge_runs(tmp_path / "m", [one, two]).systems) == ["sys-a", "sys-b"]


def test_a_good_run_has_no_faults(tmp_path, release):
    assert verify_run(fill(make_run(tmp_path / "r", release), CASE_IDS)) == []


def test_every_kind_of_damage_is_found(tmp_path, release):
    run = fill(make_run(tmp_path / "r", release), CASE_IDS)
    seven, na = (run.candidate("sys-a", case_id).folder for case_id in ("007", "NA"))
    (seven / "image.png").write_bytes(b"changed")
    (seven / "steps" / "01.png").unlink()
    (na / "stray.txt").write_text("what is this")
    (run.candidate("sys-a", "1e5").folder / "record.json").unlink()
    journal = run.judgments("tools", "sys-a", "NA").path
    line = {**json.loads(journal.read_bytes().split(b"\n")[0]), "check_id": "unknown", "judge_sha256": "0" * 64}
    with journal.open("a") as stream:
        stream.write(json.dumps(line) + "\n" + '{"key": "to')
    (run.path / ".run.json.abc.part").write_text("{")
    (run.path / "notes.md").write_text("my key is sk-ant-TESTSECRET0")
    assert codes(run) == sorted(
        [
            ("candidates/sys-a/007/s0/image.png", "sha256"),
            ("candidates/sys-a/007/s0/steps/01.png", "missing_file"),
            ("candidates/sys-a/NA/s0/stray.txt", "unknown_file"),
            ("candidates/sys-a/1e5/s0", "unfinished"),
            ("judgments/tools/sys-a/1e5.jsonl line 1", "candidate_sha256"),
            ("judgments/tools/sys-a/1e5.jsonl line 2", "candidate_sha256"),
            ("judgments/tools/sys-a/1e5.jsonl line 3", "candidate_sha256"),
            ("judgments/tools/sys-a/NA.jsonl line 4", "judge_sha256"),
            ("judgments/tools/sys-a/NA.jsonl line 4", "unknown_check"),
            ("judgments/tools/sys-a/NA.jsonl", "torn"),
            (".run.json.abc.part", "half_written"),
            ("notes.md", "key"),
        ]
    )


def test_a_line_cut_short_is_a_fault_until_it_is_set_aside_and_then_a_leftover(tmp_path, release):
    run = fill(make_run(tmp_path / "r", release), CASE_IDS)
    journal = run.judgments("tools", "sys-a", "007")
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole[:-10])
    assert codes(run) == [("judgments/tools/sys-a/007.jsonl", "torn")]
    again = open_run(run.path).judgments("tools", "sys-a", "007")
    again.append_many([answer(run, "007", "c,3", 2, run.candidate("sys-a", "007").record().image.sha256)])
    assert journal.path.read_bytes() == whole
    assert verify_run(run) == []
    assert leftovers(run) == ["judgments/tools/sys-a/007.jsonl.torn: a line cut short by a kill, set aside; it never counted"]


def test_answers_to_an_earlier_attempt_are_history_and_no_fault(tmp_path, release):
    run = fill(make_run(tmp_path / "r", release), CASE_IDS)
    save_image(run, "sys-a", "007", "blue")
    assert verify_run(run) == []
    assert (verdict_grid(run).state == "stale").sum() == 3


def test_a_broken_journal_and_a_record_of_another_place_are_named(tmp_path, release):
    run = fill(make_run(tmp_path / "r", release), CASE_IDS)
    run.judgments("tools", "sys-a", "007").path.write_text("{}\n")
    folder = run.candidate("sys-a", "NA").folder
    folder.rename(folder.with_name("s3"))
    found = codes(run)
    assert ("judgments/tools/sys-a/007.jsonl line 1", "judgment") in found
    assert ("candidates/sys-a/NA/s3/record.json", "misplaced") in found


@pytest.mark.parametrize("key", ["sk-ant-TESTSECRET", "sk-proj-abcdefgh1234", "AIza" + "x" * 35, "hf_" + "a" * 30])
def test_keys_are_found_and_taken_out(tmp_path, release, key):
    run = make_run(tmp_path / "r", release)
    (run.path / "report.html").write_text(f"<p>{key}</p>")
    faults = verify_run(run)
    assert [fault.code for fault in faults] == ["key"] and key not in str(faults[0])
    assert key not in redact(f"error: {key} refused")


def test_the_value_of_a_key_variable_is_a_key_whatever_it_looks_like(tmp_path, release, monkeypatch):
    monkeypatch.setenv("SOME_PROVIDER_API_KEY", "correct-horse-battery")
    run = make_run(tmp_path / "r", release)
    (run.path / "log.txt").write_text("used correct-horse-battery")
    assert [fault.found for fault in verify_run(run)] == ["what looks like the value of $SOME_PROVIDER_API_KEY"]


def test_valid_answers_are_reused_under_this_runs_names_and_invalid_ones_are_not(tmp_path, release):
    old = make_run(tmp_path / "old", release)
    sha256 = save_image(old, "sys-a", "007")
    old.judgments("tools", "sys-a", "007").append_many(
        [answer(old, "007", "001", 1, sha256, cost_usd=0.5), answer(old, "007", "NA", None, sha256)]
    )
    answers = reusable_answers([old.path])
    assert len(answers) == 1
    new = make_run(tmp_path / "new", release, systems=[system("renamed")])
    check = new.checks()[0]
    key = check.probe_key("r1", sha256, new.judges["tools"].sha256, 0)
    adopted = adopt_answer(answers[key], judge="tools", system="renamed", case_id="007", sample=0, judge_sample=0, check_id="x")
    assert (adopted.system, adopted.check_id, adopted.label, adopted.cost_usd) == ("renamed", "x", 1, 0.0)
    another = judge_sha256(judge(), {"tools": "2"})
    assert check.probe_key("r1", sha256, another, 0) not in answers


def test_a_candidate_of_the_same_system_is_copied_whole(tmp_path, release):
    old = fill(make_run(tmp_path / "old", release), ["007"])
    record = old.candidate("sys-a", "007").record()
    scene = old.scene_file(record.image.sha256)
    scene.parent.mkdir()
    scene.write_text("{}")
    new = make_run(tmp_path / "new", release, systems=[system("renamed")])
    found = ReusableCandidates([old.path], "r1").find(system_sha256(system(), {}), "007", 0)
    adopted = adopt_candidate(found[1], new.candidate("renamed", "007"), "renamed")
    adopt_scenes(adopted, found[0], new)
    assert new.candidate("renamed", "007").record().image == record.image
    assert new.scene_file(record.image.sha256).read_text() == "{}"
    assert verify_run(new) == []


def test_no_candidate_of_another_revision_system_or_case_is_found(tmp_path, release):
    old = fill(make_run(tmp_path / "old", release), ["007"])
    save_outcome(old, "sys-a", "NA", "failed")
    sha256 = system_sha256(system(), {})
    assert ReusableCandidates([old.path], "r2").find(sha256, "007", 0) is None
    here = ReusableCandidates([old.path], "r1")
    assert [here.find(*unit) for unit in (("0" * 64, "007", 0), (sha256, "NA", 0), (sha256, "007", 1))] == [None] * 3


def test_a_damaged_candidate_is_not_reused(tmp_path, release):
    old = fill(make_run(tmp_path / "old", release), ["007"])
    (old.candidate("sys-a", "007").folder / "image.png").write_bytes(b"damaged")
    new = make_run(tmp_path / "new", release)
    with pytest.raises(DataError, match="cannot be used again"):
        adopt_candidate(old.candidate("sys-a", "007"), new.candidate("sys-a", "007"), "sys-a")
    assert open_run(new.path).candidate("sys-a", "007").record() is None
