"""A name keeps its meaning and a run its release: the plan says so beforehand, and no way in gets around it."""

import json
import os
import signal

import pytest
from runs_fixtures import make_release, make_run, write_yaml

import longbanana_nb as lb
from longbanana_nb.errors import CallError, DataError
from longbanana_nb.files import sha256_file
from longbanana_nb.runs import graceful_stop, load_experiment, merge_runs

EXPERIMENT = """
schema: lb.experiment.v1
run: run
release: release/manifest.json
systems: [{name: mine, harness: {kind: words}}]
judges: [{name: eye, protocol: truth}]
floors: {blank: judge, single-reference: "off"}
"""


@pytest.fixture
def release(tmp_path):
    return make_release(tmp_path / "release")


def resign(release, path):
    """State the present hash and size of a changed file in the manifest, as somebody who rebuilds a release would."""
    value = json.loads(release.manifest.read_text("utf-8"))
    for entry in value["files"]:
        if entry["path"] == path:
            entry.update(sha256=sha256_file(release.root / path), bytes=(release.root / path).stat().st_size)
    release.manifest.write_text(json.dumps(value), "utf-8")


def test_plan_says_that_a_name_stands_for_something_else_in_the_run(tmp_path, release):
    file = write_yaml(tmp_path / "e.yaml", EXPERIMENT)
    lb.generate(file)
    assert all(part.cannot_run is None for part in lb.plan(file).systems)
    write_yaml(file, EXPERIMENT.replace("{kind: words}", "{kind: collage}"))
    made = lb.plan(file)
    reasons = {part.system: part.cannot_run for part in made.systems}
    assert reasons["blank"] is None
    assert "'mine' stands for another system in this run" in reasons["mine"]
    assert not made.can_run
    with pytest.raises(DataError, match="'mine' is not the one this run holds"):
        lb.generate(file)


def test_plan_refuses_the_run_of_another_release(tmp_path, release):
    file = write_yaml(tmp_path / "e.yaml", EXPERIMENT)
    lb.generate(file)
    other = make_release(tmp_path / "other", revision="r2")
    write_yaml(file, file.read_text("utf-8").replace("release/manifest.json", str(other.manifest)))
    with pytest.raises(DataError, match=r"measures another release(.|\n)*revision"):
        lb.plan(file)


def test_a_run_judged_by_its_folder_refuses_a_release_whose_checks_were_changed_and_signed_anew(tmp_path, release):
    run = make_run(tmp_path / "run", release)
    before = (run.path / "checks.jsonl").read_bytes()
    checks = release.root / "evaluation" / "checks.jsonl"
    checks.write_text(checks.read_text("utf-8").replace("Is it red?", "Is it blue?"), "utf-8")
    resign(release, "evaluation/checks.jsonl")
    with pytest.raises(DataError, match="The manifest was changed: restore the release"):
        lb.judge(run.path)
    assert (run.path / "checks.jsonl").read_bytes() == before


@pytest.mark.parametrize("text", ["[a", "missing", "folder"])
def test_a_settings_file_that_cannot_be_read_is_named_once(tmp_path, text):
    file = tmp_path / "e.yaml"
    if text == "folder":
        file.mkdir()
    elif text != "missing":
        file.write_text(text, "utf-8")
    with pytest.raises(CallError) as error:
        load_experiment(file)
    assert str(error.value).count(str(file)) == 1


def test_a_first_interrupt_says_that_what_is_begun_is_finished(capfd):
    with graceful_stop() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop()
    assert "Stopping (SIGINT): what is begun is finished and kept." in capfd.readouterr().err


def test_merging_runs_of_two_releases_names_what_differs(tmp_path, release):
    runs = [make_run(tmp_path / "a", release), make_run(tmp_path / "b", make_release(tmp_path / "other", revision="r2"))]
    with pytest.raises(DataError, match=r"run\.json revision: found 'r2'; expected 'r1'"):
        merge_runs(tmp_path / "out", runs)
    assert not (tmp_path / "out").exists()
