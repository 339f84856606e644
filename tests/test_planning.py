"""The plan: what is still to be made, how many calls that takes, and what it may cost, without spending anything."""

import pytest
from generation_fixtures import make_agent, make_backend, make_release
from runs_fixtures import write_yaml

from longbanana_nb.generation import generate_run
from longbanana_nb.planning import make_plan
from longbanana_nb.runs import create_run, load_experiment

PRICED = "{provider: test, id: paste, params: {cost: 0.25, most: 1.0}}"
FREE = "{provider: test, id: paste, params: {}}"


@pytest.fixture
def release(tmp_path):
    return make_release(tmp_path / "release")


def planned(tmp_path, release, *systems):
    lines = "\n".join(f"- {one}" for one in systems)
    text = f"schema: lb.experiment.v1\nrun: run\nrelease: {release.manifest}\nsystems:\n{lines}\n"
    experiment = load_experiment(write_yaml(tmp_path / "experiment.yaml", text))
    made = make_plan(experiment, release, backends={"test": make_backend}, agents={"test": make_agent})
    return experiment, {part.system: part for part in made.systems}


def direct(name, backend, more=""):
    window = "references: {policy: window, size: 2, stride: 2}"
    return f"{{name: {name}, harness: {{kind: fp-direct}}, {window}, backend: {backend}{more}}}"


def loop(name, backend, more=""):
    agent = "agent_model: {provider: test, id: careful}"
    return f"{{name: {name}, harness: {{kind: native}}, workflow: minimal, {agent}, backend: {backend}{more}}}"


def test_calls_and_dollars_at_most(tmp_path, release):
    capped = ", limits: {max_usd_per_case: 0.5}"
    _, parts = planned(
        tmp_path, release, direct("free", FREE), direct("paid", PRICED), direct("capped", PRICED, capped), loop("loop", PRICED)
    )
    assert {name: (part.image_calls, part.cost_usd) for name, part in parts.items()} == {
        "free": (6, 0.0),  # three cases, two windows each
        "paid": (6, 6.0),
        "capped": (6, 1.5),
        "loop": (36, 36.0),  # twelve calls a case, where the system names no number
        "blank": (0, 0.0),
        "single-reference": (0, 0.0),
    }


def test_what_is_made_is_not_planned_again(tmp_path, release):
    experiment, parts = planned(tmp_path, release, direct("paid", PRICED))
    assert (parts["paid"].candidates, parts["paid"].to_make) == (3, 3)
    assert not experiment.run.exists()
    run = create_run(experiment.run, release)
    generate_run(run, release, experiment.systems, backends={"test": make_backend}, agents={}, case_ids=["007"])
    _, later = planned(tmp_path, release, direct("paid", PRICED))
    assert (later["paid"].to_make, later["paid"].image_calls, later["paid"].cost_usd) == (2, 4, 4.0)


def test_what_cannot_run_is_said_and_has_no_price(tmp_path, release):
    _, parts = planned(tmp_path, release, direct("far", "{provider: gogle, id: x}"))
    assert "'gogle' is not among those" in parts["far"].cannot_run
    assert parts["far"].cost_usd is None
