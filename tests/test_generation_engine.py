"""generate_run: what is made, what is left alone, what is made again, and what is refused beforehand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from generation_fixtures import direct_system, make_agent, make_backend, make_release, native_system

from longbanana_nb.errors import CallError, DataError, Incomplete
from longbanana_nb.files import sha256_file
from longbanana_nb.generation import generate_run, prepare
from longbanana_nb.generation.jobs import Job
from longbanana_nb.generation.workers import grouped
from longbanana_nb.runs import FLOORS, Limits, Run, create_run, floor_system, parse_system

WINDOWS_OF_TWO = {"policy": "window", "size": 2, "stride": 2}


@pytest.fixture
def release(tmp_path):
    return make_release(tmp_path / "release")


@pytest.fixture
def run(tmp_path, release):
    return create_run(tmp_path / "run", release)


def generate(run: Run, release, *systems, **more):
    more = {"workers": 1, **more}
    return generate_run(run, release, systems, backends={"test": make_backend}, agents={"test": make_agent}, **more)


def failing(how: str, at: int = 1, name: str = "direct", **params):
    backend = {"provider": "test", "id": "paste", "params": {"how": how, "at": at, **params}}
    return direct_system(name, backend=backend, references=WINDOWS_OF_TWO)


def candidate_files(run: Run) -> dict[str, str]:
    """Hashes of the pictures of a run by their place."""
    found = [path for path in (run.path / "candidates").rglob("*") if path.suffix in (".png", ".jpg")]
    return {path.relative_to(run.path).as_posix(): sha256_file(path) for path in found}


def test_every_case_and_system_gets_a_record_that_names_its_files(run, release):
    summary = generate(run, release, direct_system(references=WINDOWS_OF_TWO), native_system(), *map(floor_system, FLOORS))
    assert (summary.expected, summary.made, summary.is_complete) == (18, 18, True)
    assert {name: dict(counts) for name, counts in summary.outcomes.items()} == {
        name: {"image": 3} for name in ("direct", "loop", *FLOORS)
    }
    slot = run.candidate("direct", "007", 0)
    record = slot.record()
    assert [step.file for step in record.steps] == ["steps/01.png", "image.png"]
    assert record.steps[1].parent_sha256 == record.steps[0].sha256 == sha256_file(slot.folder / "steps/01.png")
    assert record.image.sha256 == sha256_file(slot.image)
    assert (record.image.width, record.image.height, record.image.bytes) == (96, 96, slot.image.stat().st_size)
    assert record.references.sent == ["back", "ref_01", "ref_02", "ref_03", "ref_04"]
    assert (record.references.never_sent, record.references.resized) == ([], [])
    assert (record.calls.image, record.calls.agent, record.tokens.input, record.tokens.output) == (2, 0, 20, 10)
    assert [(model.role, model.requested, model.answered) for model in record.models] == [("backend", "paste", "paste-1")]
    assert record.simulated is True
    assert run.systems["direct"].simulated is True
    assert run.systems["direct"].versions == {"harness": "fp-direct/1", "backend": "paste-1"}
    trace = [json.loads(line) for line in (slot.folder / "trace.jsonl").read_text().splitlines()]
    assert [line["kind"] for line in trace] == ["image_call", "outcome"] * 2


def test_floors_are_not_simulated_and_say_which_references_they_did_not_use(run, release):
    generate(run, release, *map(floor_system, FLOORS))
    records = {record.system: record for record in run.records() if record.case_id == "NA"}
    assert not any(record.simulated for record in records.values())
    assert records["single-reference"].references.never_sent == ["back", "ref_02", "ref_03", "ref_04"]
    assert records["collage"].references.never_sent == ["back"]
    assert records["blank"].references.never_sent == ["back", "ref_01", "ref_02", "ref_03", "ref_04"]


def test_each_picture_of_a_simulated_model_has_its_scene(run, release):
    generate(run, release, direct_system(references=WINDOWS_OF_TWO))
    record = run.candidate("direct", "007", 0).record()
    for step in record.steps:
        scene = json.loads(run.scene_file(step.sha256).read_text())
        assert (scene["schema"], scene["image_sha256"], scene["complete"]) == ("lb.scene.v1", step.sha256, True)
    assert len(scene["objects"]) == 6  # the background twice, four references


def test_a_second_run_makes_nothing_and_touches_nothing(run, release):
    systems = (direct_system(), failing("blocked", name="blocked"), floor_system("blank"))
    generate(run, release, *systems)
    before = {path: path.stat().st_mtime_ns for path in run.path.rglob("record.json")}
    summary = generate(run, release, *systems)
    assert (summary.made, summary.found_finished) == (0, 9)
    assert summary.outcomes["blocked"] == {"blocked": 3}
    assert {path: path.stat().st_mtime_ns for path in run.path.rglob("record.json")} == before


def test_processes_and_one_process_give_the_same_pictures(tmp_path, run, release):
    systems = (direct_system(references=WINDOWS_OF_TWO), native_system(), floor_system("collage"))
    generate(run, release, *systems, workers=2)
    other = create_run(tmp_path / "other", release)
    generate(other, release, *systems, workers=1)
    assert candidate_files(run) == candidate_files(other)
    assert len(candidate_files(run)) == 3 * (2 + 2 + 1)


def test_systems_share_seeds_and_samples_do_not(run, release):
    generate(run, release, direct_system("one", samples=2), direct_system("two"))
    seeds = {(record.system, record.case_id, record.sample): record.seed for record in run.records()}
    assert seeds["one", "007", 0] == seeds["two", "007", 0]
    assert len({seeds["one", "007", 0], seeds["one", "007", 1], seeds["one", "NA", 0]}) == 3


def test_a_candidate_whose_record_is_gone_is_made_again_the_same(run, release):
    generate(run, release, direct_system())
    slot = run.candidate("direct", "NA", 0)
    before = candidate_files(run)
    (slot.folder / "record.json").unlink()
    (slot.folder / "image.png").write_bytes(b"torn")
    assert generate(run, release, direct_system()).made == 1
    assert candidate_files(run) == before


def test_an_interrupted_candidate_is_made_again_as_the_next_attempt(run, release):
    generate(run, release, direct_system())
    slot = run.candidate("direct", "007", 0)
    value = json.loads((slot.folder / "record.json").read_text())
    value.update(outcome="interrupted", image=None, steps=[], reason={"code": "worker_died", "where": "w", "raw": ""})
    (slot.folder / "record.json").write_text(json.dumps(value))
    assert generate(run, release, direct_system()).made == 1
    assert (slot.record().outcome, slot.record().attempt) == ("image", 2)


def test_a_transport_failure_is_tried_three_times_and_another_failure_once(run, release):
    systems = (failing("transport", name="net"), failing("own fault", name="bug"))
    made = [generate(run, release, *systems, case_ids=["007"]).made for _ in range(4)]
    assert made == [2, 1, 1, 0]
    assert run.candidate("net", "007", 0).record().attempt == 3
    bug = run.candidate("bug", "007", 0).record()
    assert (bug.outcome, bug.reason.code, bug.attempt) == ("failed", "backend_exception", 1)
    assert "a fault in the backend's own code" in bug.reason.raw


def test_a_failed_window_keeps_its_earlier_picture_as_a_step_file(run, release):
    generate(run, release, failing("blocked", at=2), case_ids=["007"])
    slot = run.candidate("direct", "007", 0)
    record = slot.record()
    assert (record.outcome, record.image, record.reason.raw) == ("blocked", None, "the prompt was blocked")
    assert [step.file for step in record.steps] == ["steps/01.png"]
    assert sha256_file(slot.folder / "steps/01.png") == record.steps[0].sha256
    assert record.references.sent == ["back", "ref_01", "ref_02", "ref_03", "ref_04"]


def test_a_picture_keeps_the_extension_its_bytes_deserve(run, release):
    summary = generate(run, release, failing("jpeg_called_png", at=2), case_ids=["007"])
    assert summary.notes == ["direct, case '007': 64 x 48 pixels, asked for 96 x 96."]
    record = run.candidate("direct", "007", 0).record()
    assert (record.image.file, record.image.format, record.image.width, record.image.height) == ("image.jpg", "jpeg", 64, 48)


def test_a_dying_process_leaves_an_interrupted_candidate_and_loses_no_other(run, release):
    with pytest.raises(Incomplete, match="1 candidates were interrupted"):
        generate(run, release, failing("die", name="deadly"), direct_system(), floor_system("blank"), case_ids=["NA"], workers=2)
    outcomes = {record.system: record.outcome for record in run.records()}
    assert outcomes == {"deadly": "interrupted", "direct": "image", "blank": "image"}
    assert run.candidate("deadly", "NA", 0).record().reason.code == "worker_died"


def test_only_simulated_systems_of_one_case_share_a_process(release):
    systems = [direct_system("a"), direct_system("b"), native_system(), floor_system("blank")]
    cases = list(release.cases.values())[:2]
    prepared = {
        one.spec.name: one for one in prepare(systems, cases, backends={"test": make_backend}, agents={"test": make_agent})
    }
    jobs = [Job(case, one.spec, 0, 1, 1, one.backend, one.agent) for one in prepared.values() for case in cases]
    groups = [[(job.spec.name, job.case.case_id) for job in group] for group in grouped(jobs, prepared)]
    assert sorted(groups) == [
        [("a", "007"), ("b", "007"), ("loop", "007")],
        [("a", "NA"), ("b", "NA"), ("loop", "NA")],
        [("blank", "007")],
        [("blank", "NA")],
    ]
    real = {name: replace(one, simulated=False) for name, one in prepared.items()}
    assert [len(group) for group in grouped(jobs, real)] == [1] * 8


def test_ctrl_c_keeps_what_is_made_and_the_same_command_goes_on(run, release):
    system = failing("interrupt", at=1)
    with pytest.raises(Incomplete, match="1 of 3 candidates are done and kept"):
        generate(run, release, system)
    assert len(list(run.records())) == 1
    with pytest.raises(Incomplete, match="1 of 2"):
        generate(run, release, system)


def test_a_damaged_reference_is_named_and_the_other_cases_are_made(run, release):
    damaged = release.cases["NA"].references[1]
    damaged.file.write_bytes(b"something else")
    with pytest.raises(DataError, match=r"images1/ref_02.jpg.*'ref_02'.*extract the release again") as caught:
        generate(run, release, direct_system(), floor_system("collage"))
    assert len(caught.value.faults) == 1
    assert {(record.system, record.case_id) for record in run.records()} == {
        (system, case_id) for system in ("direct", "collage") for case_id in ("007", "a.b/c")
    }


def test_the_budget_stops_new_work_and_says_what_is_left(run, release):
    paid = {"provider": "test", "id": "paste", "params": {"cost": 1.0}}
    with pytest.raises(Incomplete, match=r"budget of \$2 is used up \(\$2.00 spent\): 2 of 3") as caught:
        generate(run, release, direct_system(backend=paid), limits=Limits(max_usd=2))
    assert caught.value.exit_code == 3
    assert generate(run, release, direct_system(backend=paid), limits=Limits(max_usd=5)).made == 1


def test_all_systems_that_cannot_run_are_named_before_anything_is_made(run, release):
    systems = [
        floor_system("blank"),
        direct_system("small", backend={"provider": "test", "id": "paste", "params": {"capacity": 3}}),
        direct_system("elsewhere", backend={"provider": "gogle", "id": "x"}),
        native_system("greedy", best_of=20),
    ]
    with pytest.raises(CallError) as caught:
        generate(run, release, *systems)
    text = str(caught.value)
    assert "'small', case '007': a call would send 5 images" in text
    assert "'elsewhere': backend provider 'gogle'" in text
    assert "'greedy': best_of 20 pictures with limits.max_image_calls 12" in text
    assert list(run.systems) == []
    assert not (run.path / "candidates").exists()


def test_unknown_cases_are_refused_with_the_nearest(run, release):
    with pytest.raises(CallError, match=r"'0077'.*Did you mean '007'"):
        generate(run, release, floor_system("blank"), case_ids=["0077"])


def test_a_name_that_stands_for_another_system_is_refused(run, release):
    generate(run, release, direct_system())
    with pytest.raises(DataError, match="Choose a new name"):
        generate(run, release, direct_system(references=WINDOWS_OF_TWO))


def test_imported_systems_are_passed_over(run, release):
    imported = parse_system({"name": "mine", "harness": {"kind": "imported"}})
    summary = generate(run, release, imported, floor_system("blank"))
    assert list(summary.outcomes) == ["blank"]
    assert "mine is imported and was passed over." in summary.text()


def test_earlier_runs_are_used_again_with_their_steps_and_scenes(tmp_path, run, release):
    system = direct_system(references=WINDOWS_OF_TWO)
    generate(run, release, system)
    later = create_run(tmp_path / "later", release)
    renamed = system.model_copy(update={"name": "renamed"})
    summary = generate(later, release, renamed, floor_system("blank"), reuse=[run.path])
    assert (summary.reused, summary.made) == (3, 3)
    mine, theirs = later.candidate("renamed", "NA", 0).record(), run.candidate("direct", "NA", 0).record()
    assert (mine.image, mine.steps, mine.system) == (theirs.image, theirs.steps, "renamed")
    assert all(later.scene_file(step.sha256).is_file() for step in mine.steps)
    changed = create_run(tmp_path / "changed", release)
    assert generate(changed, release, direct_system(), reuse=[run.path]).reused == 0  # another window, another hash


def test_factories_by_import_path(run, release):
    summary = generate_run(
        run, release, [native_system()], backends={"test": "generation_fixtures:make_backend"}, agents={"test": make_agent}
    )
    assert summary.made == 3
    with pytest.raises(CallError, match="no_such_module"):
        generate_run(run, release, [direct_system()], backends={"test": "no_such_module:f"}, agents={})


def test_nothing_of_the_evaluation_room_is_opened(run, release):
    evaluation = release.root / "evaluation" / "checks.jsonl"
    evaluation.unlink()
    assert generate(run, release, direct_system(), native_system()).made == 6
    assert not Path(evaluation).exists()
