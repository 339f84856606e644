"""How long planned work takes: from what was measured on its kind, from the shipped measurement, or unknown; never made up."""

import msgspec
import pytest
from generation_fixtures import make_agent, make_backend, make_release
from runs_fixtures import answer, judge, make_run, save_image, write_yaml
from runs_fixtures import make_release as make_checked_release

import longbanana_nb as lb
from longbanana_nb.generation import generate_run
from longbanana_nb.planned_time import Time, in_words, measured_in, shipped_paces, total
from longbanana_nb.planning import make_plan
from longbanana_nb.runs import create_run, load_experiment, parse_system, usual_workers
from longbanana_nb.runs.records import encode_record

DIRECT = "{name: %s, harness: {kind: fp-direct}, backend: {provider: %s, id: paste, params: {cost: %s, most: 1.0}}}"


@pytest.fixture
def release(tmp_path):
    return make_release(tmp_path / "release")


def planned(tmp_path, release, systems, more="", backends=("test",)):
    listed = f"systems: [{', '.join(systems)}]"
    text = f"schema: lb.experiment.v1\nrun: run\nrelease: {release.manifest}\n{listed}\n{more}\n"
    experiment = load_experiment(write_yaml(tmp_path / "experiment.yaml", text))
    return make_plan(experiment, release, backends=dict.fromkeys(backends, make_backend), agents={"test": make_agent})


def slow_down(run, seconds):
    """Write into each record of the run that its candidate took so long."""
    for record in list(run.records()):
        slow = msgspec.structs.replace(record, started_at="2026-01-01T00:00:00Z", ended_at=f"2026-01-01T00:00:{seconds:02}Z")
        (run.candidate(record.system, record.case_id).folder / "record.json").write_bytes(encode_record(slow))


def test_what_was_never_measured_is_unknown_and_not_nothing(tmp_path, release):
    plan = planned(tmp_path, release, [DIRECT % ("paid", "test", 0.1)])
    paid = plan.systems[0]
    assert (paid.time_s, paid.time_basis) == (None, "nothing of its kind was measured")
    assert plan.generate_time.seconds is None
    assert plan.as_json()["time_s"]["generate"] is None
    assert "time unknown" in plan.text()


def test_free_and_paid_work_have_lanes_of_their_own(tmp_path, release):
    run = create_run(tmp_path / "run", release)
    systems = [DIRECT % ("paid", "test", 0.1), DIRECT % ("free", "free", 0)]
    systems[1] = systems[1].replace(", most: 1.0", "")
    specs = [parse_system(msgspec.yaml.decode(text)) for text in systems]
    factories = {"test": make_backend, "free": make_backend}
    generate_run(run, release, specs, backends=factories, agents={}, case_ids=["007"])
    slow_down(run, 30)
    plan = planned(tmp_path, release, systems, "limits: {concurrency: 1}", backends=("test", "free"))
    paid, free = plan.systems[:2]
    assert (paid.to_make, paid.time_s, paid.time_basis) == (2, 60.0, "measured on 1 candidates of this system")
    assert free.time_s == 60.0 / min(2, usual_workers())


def test_a_run_named_in_reuse_is_measured_too(tmp_path, release):
    earlier = create_run(tmp_path / "earlier", release)
    text = DIRECT % ("before", "test", 0.1)
    generate_run(earlier, release, [parse_system(msgspec.yaml.decode(text))], backends={"test": make_backend}, agents={})
    slow_down(earlier, 10)
    other = DIRECT % ("now", "test", 0.2)  # other parameters: another system of the same kind
    plan = planned(tmp_path, release, [other], "reuse: [earlier]\nlimits: {concurrency: 3}")
    assert (plan.systems[0].time_s, plan.systems[0].time_basis) == (10.0, "measured on 3 candidates of its kind")


def test_the_shipped_measurement_is_called_an_estimate_of_its_day(tmp_path, release):
    plan = planned(tmp_path, release, [DIRECT % ("paid", "test", 0.1)])
    blank = next(part for part in plan.systems if part.system == "blank")
    assert blank.time_s is not None
    assert blank.time_s > 0
    assert blank.time_basis.startswith(f"estimate of {shipped_paces().measured_on}, ")


def test_answers_are_timed_between_jobs_without_pauses(tmp_path):
    run = make_run(tmp_path / "run", make_checked_release(tmp_path / "release"))
    moments = {"007": "10:00:00.000000", "NA": "10:00:06.000000", "1e5": "12:00:00.000000", "Fisch, ü.1": "12:00:12.000000"}
    with run.owner():
        for case_id, at in moments.items():
            image = save_image(run, "sys-a", case_id)
            lines = [
                answer(run, case_id, check_id, 2, image, at=f"2026-01-01T{at[:-1]}{n}Z")
                for n, check_id in enumerate(("001", "NA", "c,3"))
            ]
            run.judgments("tools", "sys-a", case_id).append_many(lines)
    time = measured_in([run]).judging(judge(), 100, 2)
    # 6 s for three answers, then a pause that takes the first of three with it, then 12 s for three: 18 s for eight
    assert time.seconds == pytest.approx(100 * 18 / 8, rel=1e-4)
    assert time.basis == "at the pace of 12 answers of its kind"


def test_one_job_alone_has_no_pace_and_the_shipped_one_is_taken(tmp_path):
    run = make_run(tmp_path / "run", make_checked_release(tmp_path / "release"))
    with run.owner():
        image = save_image(run, "sys-a", "007")
        lines = [answer(run, "007", check_id, 2, image) for check_id in ("001", "NA", "c,3")]
        run.judgments("tools", "sys-a", "007").append_many(lines)
    assert measured_in([run]).judging(judge(), 100, 2).basis.startswith("estimate of ")
    asks = judge("critic", protocol="direct", model={"provider": "anthropic", "id": "x"})
    assert measured_in([run]).judging(asks, 100, 2).seconds is None


def test_a_sum_with_an_unknown_part_is_unknown_and_says_what_is_known():
    assert total([Time(60.0, ""), Time(30.0, "")]).seconds == 90.0
    assert total([Time(0.0, ""), Time(0.0, "")]) == Time(0.0, "nothing to do")
    assert total([Time(60.0, ""), Time(None, "")]) == Time(None, "about 60 s for what is known")


def test_what_cannot_run_has_no_time(tmp_path, release):
    plan = planned(tmp_path, release, [DIRECT % ("far", "gogle", 0.1)])
    assert (plan.systems[0].time_s, plan.systems[0].time_basis) == (None, "it cannot run")
    assert plan.generate_time.seconds is None


def test_times_are_told_no_finer_than_they_are_known():
    told = [in_words(seconds) for seconds in (None, 0.2, 34.6, 260, 9000)]
    assert told == ["unknown", "under 1 s", "about 35 s", "about 4 min", "about 2.5 h"]


def test_lines_of_a_plan_align_whatever_the_names(tmp_path, release):
    name = "a" * 48
    lines = planned(tmp_path, release, [DIRECT % (name, "test", 0.1)]).text().splitlines()
    starts = {line.index(" of 3 candidates") for line in lines if " of 3 candidates" in line}
    assert len(starts) == 1
    assert any(line.startswith(f"  {name} 3 of 3") for line in lines)


def test_a_sample_larger_than_a_category_is_said(tmp_path, release, capsys):
    plan = planned(tmp_path, release, [], "cases: {per_category: 5}")
    assert plan.cases == 3
    assert "fewer are there, and all are taken: RGC 3." in plan.text()
    assert len(plan.as_json()["notes"]) == 1
    lb.generate(tmp_path / "experiment.yaml")
    assert "note: cases.per_category asks for 5 a category" in capsys.readouterr().err
