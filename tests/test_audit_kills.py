"""kill -9 in the middle of an audit of a model judge, and a judge with turns under audit: nothing answered is asked again."""

import json
import os
import subprocess
import sys
import time
from collections import Counter

import pytest
from model_run_fixtures import KEY, QUICK, dialect, judged, make_release, make_run, messages, profile, verdict
from provider_server import ProviderServer

from longbanana_nb.auditing import audit_run, canary_run
from longbanana_nb.runs import JudgmentJournal, open_run, spent_in, verdict_grid, verify_run
from longbanana_nb.runs.ledger import spent_on

AGENTIC = {"protocol": "agentic", "agentic": {"max_turns": 3, "tools": ["crop"]}}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


@pytest.fixture
def release(tmp_path):
    return make_release(tmp_path / "release", checks=3)


def opens_then_says(body):
    """A critic that opens what is bound, crops the candidate, and then answers."""
    said = json.dumps(body["messages"])
    if "tool_result" in said:
        return verdict()
    bound = [name for name in ("r0", "r1", "r2", "r3") if name in said]
    calls = [("open", {"reference_id": bound[0]})] if bound else []
    calls.append(("crop", {"image": "CANDIDATE", "box": [0, 0, 0.5, 0.5]}))
    blocks = [{"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": args} for n, (name, args) in enumerate(calls)]
    return {"content": blocks, "stop_reason": "tool_use"}


@pytest.fixture
def critic(tmp_path, release):
    """A run judged by a judge with turns, its server and its profile."""
    with ProviderServer(dialect(opens_then_says)) as server:
        run, spec = make_run(tmp_path / "run", release), profile(server, **AGENTIC)
        judged(run, release, spec)
        yield open_run(run.path), server, spec


def audit_started(run, spec, tmp_path, *more):
    """`longbanana-nb audit` in a process of its own."""
    file = tmp_path / f"{spec.name}.yaml"
    file.write_text(spec.model_dump_json(exclude_none=True))  # JSON is YAML
    command = [sys.executable, "-m", "longbanana_nb", "audit", str(run.path), "--profile", str(file), *more]
    environment = {**os.environ, "LONGBANANA_PROGRESS": "off", "LONGBANANA_HOME": str(tmp_path)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def killed_when(condition, process, seconds=60):
    ends = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < ends
        time.sleep(0.005)
    process.kill()
    process.communicate()


def lines(path):
    return JudgmentJournal(path).read()


def test_a_judge_with_turns_is_audited_and_every_turn_is_paid_once(critic):
    run, server, spec = critic
    before, spent = len(messages(server)), spent_in(run)
    told = audit_run(run, spec, pairs=4, patience=QUICK)
    assert told["complete"] and told["questions"] > told["pairs"] > 0
    given = lines(run.path / "audits" / "claude" / "answers.jsonl")
    new = [line for line in given if line.cost_usd > 0]
    assert {line.usage["calls"] for line in new} == {2}
    assert {one.tool for line in new for one in line.evidence} == {"route", "open", "crop"}
    assert len(messages(server)) - before == 2 * len(new)
    ledger = spent_on(run.path / "audits" / "claude" / "calls.jsonl")
    assert (ledger.calls, ledger.open_calls) == (2 * len(new), 0)
    assert told["cost_usd"] == pytest.approx(ledger.usd)
    assert spent_in(run).usd == pytest.approx(spent.usd + ledger.usd)
    assert audit_run(open_run(run.path), spec, pairs=4, patience=QUICK) == told
    assert len(messages(server)) - before == 2 * len(new)


@pytest.mark.parametrize("way", ["direct", "agentic"])
def test_kill_in_the_middle_of_an_audit(tmp_path, release, way):
    with ProviderServer(dialect(opens_then_says if way == "agentic" else None, latency_s=0.1)) as server:
        run, spec = make_run(tmp_path / "run", release), profile(server, **(AGENTIC if way == "agentic" else {}))
        judged(run, release, spec, limits={"concurrency": 16})
        answers = run.path / "audits" / "claude" / "answers.jsonl"
        grid = verdict_grid(open_run(run.path)).to_json()
        process = audit_started(run, spec, tmp_path, "--pairs", "10")
        killed_when(lambda: sum(line.cost_usd > 0 for line in lines(answers)) >= 6, process)
        standing = lines(answers)
        unclosed = spent_on(answers.with_name("calls.jsonl")).open_calls
        assert spent_in(run).open_calls == unclosed
        assert not answers.with_name("audit.json").exists()
        server.dialect.latency_s = 0.0
        time.sleep(0.3)  # what the killed process had sent is then in
        before = len(messages(server))
        told = audit_run(open_run(run.path), spec, pairs=10, patience=QUICK)
        again = lines(answers)
        assert told["complete"] and told["answered"] > len(standing)
        assert again[: len(standing)] == standing
        assert set(Counter(line.key for line in again).values()) == {1}
        asked = sum(line.cost_usd > 0 for line in again[len(standing) :])
        assert len(messages(server)) - before == asked * (1 if way == "direct" else 2)
        assert verdict_grid(open_run(run.path)).to_json() == grid
        assert verify_run(open_run(run.path)) == []
        assert spent_in(run).open_calls == unclosed  # what may have been paid stays counted


def test_kill_in_the_middle_of_a_canary_finishes_the_round(tmp_path, release):
    with ProviderServer(dialect()) as server:
        run, spec = make_run(tmp_path / "run", release), profile(server)
        judged(run, release, spec)
        server.dialect.latency_s = 0.2
        answers = run.path / "audits" / "claude" / "canary.jsonl"
        process = audit_started(run, spec, tmp_path, "--canary", "--units", "12")
        killed_when(lambda: len(lines(answers)) >= 2, process)
        standing, server.dialect.latency_s = len(lines(answers)), 0.0
        told = canary_run(open_run(run.path), spec, units=12, patience=QUICK)
        assert (len(told["rounds"]), told["complete"]) == (1, True)
        assert len(lines(answers)) == 12 and standing < 12
        assert spent_on(answers.with_name("calls.jsonl")).calls >= 12 - standing
