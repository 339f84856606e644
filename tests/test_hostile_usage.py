"""Accounts of tokens that no call can have: a budget is not enlarged by them, and a journal stays readable."""

import pytest
from model_run_fixtures import KEY, dialect, judged, make_release, make_run, profile, verdict
from provider_server import ProviderServer

from longbanana_nb.runs import open_run, spent_in, verdict_grid, verify_run


@pytest.mark.parametrize("told", [-(10**9), 10**30, "12", 1.5, True, None, [7], {"a": 1}])
@pytest.mark.parametrize("name", ["input_tokens", "output_tokens", "cache_read_input_tokens"])
def test_an_impossible_count_is_no_count(tmp_path, monkeypatch, told, name):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    release = make_release(tmp_path / "release", cases=1, checks=1, references=1)
    run = make_run(tmp_path / "run", release, systems=("mine",))
    usage = {"input_tokens": 1000, "output_tokens": 40, name: told}

    def reply(body):
        return {"content": [{"type": "text", "text": verdict()}], "usage": usage}

    with ProviderServer(dialect(reply)) as server:
        summary = judged(run, release, profile(server), limits={"max_usd": 1})
    assert summary.is_complete
    assert 0 <= spent_in(run).usd <= (1000 * 3 + 40 * 15) / 1e6
    assert set(verdict_grid(open_run(run.path))["state"]) == {"valid"}
    assert verify_run(open_run(run.path)) == []
