"""A report needs the run folder alone: a run of floors only, with nothing valid, whose release was moved away afterwards."""

import json

import pytest
from conftest import run_command
from runs_fixtures import make_release, write_yaml


@pytest.mark.timeout(900)
def test_a_run_of_floors_reports_without_its_release_and_says_which_notebook_was_not_executed(tmp_path):
    release = make_release(tmp_path / "release")
    experiment = write_yaml(
        tmp_path / "e.yaml",
        "schema: lb.experiment.v1\nrun: run\nrelease: release/manifest.json\njudges: [presets/judges/tools.yaml]\n",
    )
    run_command("generate", experiment, cwd=tmp_path, home=tmp_path, check=0)
    judged = run_command("judge", experiment, cwd=tmp_path, home=tmp_path, check=3)
    assert "invalid: 24 unanswerable" in judged.stdout
    release.root.rename(tmp_path / "elsewhere")
    run_command("report", tmp_path / "run", cwd="/proc", home=tmp_path, check=0)  # a folder nobody can write
    page = (tmp_path / "run" / "notebooks" / "01_explore_dataset.html").read_text("utf-8")
    assert "Not executed." in page
    assert "no such file" in page
    copy = json.loads((tmp_path / "run" / "notebooks" / "02_generate.ipynb").read_text("utf-8"))
    assert "no direct system in this run" in json.dumps(copy)
    run_command("verify", tmp_path / "run", cwd=tmp_path, home=tmp_path, check=0)
