"""Judging a run by a model, over the wire: answered once, kept, asked again by the rules, stopped where it should be."""

import asyncio
import json

import pytest
from model_run_fixtures import (
    KEY, QUICK, asked_how_often, dialect, judged, make_release, make_run, messages, noise, profile, verdict,
)  # fmt: skip
from provider_server import Answer, ProviderServer
from provider_server.anthropic import failure

from longbanana_nb.errors import CallError, Incomplete
from longbanana_nb.runs import open_run, spent_in, verdict_grid, verify_run
from longbanana_nb.runs.ledger import calls_of_judge, read_calls


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


@pytest.fixture
def release(tmp_path):
    return make_release(tmp_path / "release")


@pytest.fixture
def run(tmp_path, release):
    return make_run(tmp_path / "run", release)


@pytest.fixture
def server():
    with ProviderServer(dialect()) as running:
        yield running


def states(run):
    return dict(verdict_grid(run)["state"].value_counts())


def test_every_check_is_asked_once_and_stands(run, release, server):
    summary = judged(run, release, profile(server))
    assert (summary.asked, summary.valid, summary.is_complete) == (16, 16, True)
    assert states(open_run(run.path)) == {"valid": 16}
    assert sorted(asked_how_often(server).values()) == [1] * 16
    again = judged(open_run(run.path), release, profile(server))
    assert (again.asked, again.found, len(messages(server))) == (0, 16, 16)
    assert verify_run(run) == []
