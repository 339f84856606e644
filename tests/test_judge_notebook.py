"""Notebook 03 with a judge profile: a model behind a loopback server is asked, and its plan stands beside what was spent."""

import json

import pytest
from conftest import run_command
from model_run_fixtures import KEY, dialect, make_release, make_run, messages, profile, verdict
from provider_server import ProviderServer

from longbanana_nb.runs import open_run, spent_in, verdict_grid, verify_run


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path / "run", make_release(tmp_path / "release", checks=3), systems=("mine",))


def asked_by_notebook(run, server, tmp_path, *values, check):
    file = tmp_path / "judge.yaml"
    file.write_text(profile(server).model_dump_json(exclude_none=True))  # JSON is YAML
    given = ["-p", "run_dir", run.path, "-p", "profile_file", file, *values]
    return run_command("notebook", "03_judge", *given, cwd=tmp_path, home=tmp_path, check=check)


def test_it_asks_the_model_of_a_profile_and_shows_plan_and_cost(tmp_path, run, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with ProviderServer(dialect(lambda body: verdict("Fail" if "thing 0" in json.dumps(body) else "Pass"))) as server:
        asked_by_notebook(run, server, tmp_path, check=0)
        assert len(messages(server)) == 6
        asked_by_notebook(run, server, tmp_path, "-p", "max_usd", "0", check=0)  # nothing is open, nothing is paid
        assert len(messages(server)) == 6
    assert set(verdict_grid(open_run(run.path))["state"]) == {"valid"}
    text = (run.path / "notebooks" / "03_judge.ipynb").read_text("utf-8")
    cells = [one for one in json.loads(text)["cells"] if one["cell_type"] == "code"]
    shown = {"".join(one["source"]): json.dumps(one["outputs"]) for one in cells}
    cost = next(out for source, out in shown.items() if "judging_cost" in source)
    assert "Planned" in cost and f"{spent_in(run).usd:.4f}" in cost
    assert any("evidence_view" in source and "thing 0" in out for source, out in shown.items())
    assert KEY not in text
    assert verify_run(open_run(run.path)) == []


def test_it_stops_at_the_dollars_it_was_given(tmp_path, run, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with ProviderServer(dialect()) as server:
        done = asked_by_notebook(run, server, tmp_path, "-p", "max_usd", "0.01", check=None)
        assert done.returncode != 0 and "budget of $0.01" in done.stderr
        assert len(messages(server)) == 0


def test_without_a_key_it_says_which_one(tmp_path, run, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with ProviderServer(dialect()) as server:
        done = asked_by_notebook(run, server, tmp_path, check=None)
        assert done.returncode != 0 and "ANTHROPIC_API_KEY" in done.stderr
        assert not messages(server)
