"""Judging a run by a model, over the wire: answered once, kept, asked again by the rules, stopped where it should be."""

import asyncio
import json

import pytest
from model_run_fixtures import (
    KEY,
    asked_how_often,
    dialect,
    judged,
    make_release,
    make_run,
    messages,
    profile,
    verdict,
)  # fmt: skip
from provider_server import ProviderServer
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


def test_what_cannot_be_read_is_asked_again_and_no_more_than_allowed(run, release):
    replies = iter([*(["I think so?"] * 40), *([verdict()] * 40)])
    with ProviderServer(dialect(lambda body: next(replies))) as server:
        summary = judged(run, release, profile(server, reask={"parse_error": 1}), limits={"concurrency": 1})
        assert dict(summary.invalid) == {"parse_error": 16}
        assert (summary.asked, len(messages(server))) == (32, 32)
        said = [json.dumps(body["messages"]) for body in messages(server)]
        assert sum("An earlier answer" in text for text in said) == 16
        judged(run, release, profile(server, reask={"parse_error": 1}), limits={"concurrency": 1})
        assert len(messages(server)) == 32
        once = judged(run, release, profile(server, reask={"parse_error": 1}), limits={"concurrency": 1}, retry=["parse_error"])
        assert (once.asked, once.valid) == (16, 8)  # the next eight replies are unreadable too, and asked again no more


def test_a_cut_answer_gets_more_room_once(run, release):
    def reply(body):
        return (
            verdict()
            if body["max_tokens"] > 4096
            else {"content": [{"type": "text", "text": '{"ver'}], "stop_reason": "max_tokens"}
        )

    with ProviderServer(dialect(reply)) as server:
        summary = judged(run, release, profile(server))
        assert (summary.asked, summary.valid) == (32, 16)
        assert sorted({body["max_tokens"] for body in messages(server)}) == [4096, 8192]


def test_refusals_are_asked_again_on_request_only(run, release):
    given = {"stop": "refusal"}

    def reply(body):
        return {"stop_reason": "refusal", "content": []} if given["stop"] == "refusal" else verdict()

    with ProviderServer(dialect(reply)) as server:
        assert dict(judged(run, release, profile(server)).invalid) == {"refused": 16}
        given["stop"] = "end"
        assert judged(run, release, profile(server)).asked == 0
        assert judged(run, release, profile(server), retry=["refused"]).valid == 16


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (failure(401, "authentication_error", "invalid x-api-key"), "the key is refused"),
        (failure(404, "not_found_error", "model: claude-sonnet-4-6"), "404"),
        (failure(400, "invalid_request_error", "output_config: not supported"), "not supported"),
    ],
)
def test_what_concerns_every_question_stops_at_once(run, release, answer, words):
    with ProviderServer(dialect(lambda body: answer)) as server:
        with pytest.raises(CallError, match=words):
            judged(run, release, profile(server))
        assert len(messages(server)) <= 4
        assert states(run) == {"not_asked": 16}


def test_a_picture_that_the_provider_cannot_take_is_one_question_s_fault(run, release):
    def reply(body):
        is_odd = "thing 2" in json.dumps(body["messages"])
        return failure(400, "invalid_request_error", "Could not process image") if is_odd else verdict()

    with ProviderServer(dialect(reply)) as server:
        summary = judged(run, release, profile(server, reask={}), limits={"concurrency": 1})
        assert (summary.valid, dict(summary.invalid)) == (12, {"transport": 4})


def test_a_storm_ends_the_asking_and_leaves_questions_open(tmp_path):
    release = make_release(tmp_path / "release", checks=10)
    run = make_run(tmp_path / "run", release)
    given = {"n": 0}

    def reply(body):
        given["n"] += 1
        return verdict() if given["n"] <= 3 else failure(529, "overloaded_error", "Overloaded")

    with ProviderServer(dialect(reply)) as server:
        with pytest.raises(Incomplete, match="in a row brought no reply"):
            judged(run, release, profile(server))
        assert states(run) == {"valid": 3, "not_asked": 37}
        assert len(messages(server)) <= 3 + 2 * (20 + 4)
        given["n"] = -1000
        assert judged(run, release, profile(server)).is_complete


def test_the_budget_counts_what_is_on_its_way_and_what_was_spent_before(run, release):
    with ProviderServer(dialect(latency_s=0.02)) as server:
        with pytest.raises(Incomplete, match="budget"):
            judged(run, release, profile(server), limits={"max_usd": 0.2})
        spent = spent_in(run)
        assert 0 < spent.usd <= 0.2
        assert spent.calls == len(messages(server)) == states(run)["valid"]
        asked = len(messages(server))
        with pytest.raises(Incomplete, match="budget"):
            judged(run, release, profile(server), limits={"max_usd": 0.2})
        assert len(messages(server)) <= asked + 1
        assert judged(run, release, profile(server), limits={"max_usd": 5}).is_complete


def test_every_call_is_written_down_once_and_counted_once(run, release, server):
    summary = judged(run, release, profile(server))
    lines = read_calls(calls_of_judge(run, "claude"))
    assert [line.event for line in lines].count("opened") == [line.event for line in lines].count("closed") == 16
    by_judgments = sum(
        line.cost_usd for system in run.systems for c in release.cases for line in run.judgments("claude", system, c).read()
    )
    assert spent_in(run).usd == pytest.approx(summary.money.cost_usd) == pytest.approx(by_judgments)
    assert all(line.max_usd > 0 for line in lines if line.event == "opened")
    assert max(line.cost_usd for line in lines) <= max(line.max_usd for line in lines)


def test_an_unknown_price_runs_without_a_limit_and_is_called_unknown(run, release, server):
    spec = profile(server, model={"id": "claude-of-tomorrow"})
    with pytest.raises(CallError, match=r"price .* is unknown"):
        judged(run, release, spec, limits={"max_usd": 5})
    assert messages(server) == []
    summary = judged(run, release, spec)
    assert summary.money.cost_usd is None and "cost unknown" in summary.text()


def test_no_key_no_call(run, release, server, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(CallError, match="ANTHROPIC_API_KEY"):
        judged(run, release, profile(server))
    assert not server.seen and "claude" not in run.judges


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": {"id": "claude-sonnet-4-5"}}, "retired"),
        ({"model": {"params": {"temperatur": 0}}}, "did you mean temperature"),
        ({"model": {"provider": "openai", "id": "gpt-6.1-sol"}, "sending": {"cache": "5m"}}, "sending.cache"),
        ({"model": {"provider": "openai-compatible", "id": "mine"}, "sending": {"images": "uploaded"}}, "sending.images"),
        ({"model": {"provider": "openai-compatible", "id": "mine"}, "sending": {"batch": True}}, "sending.batch"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_sent(run, release, server, changes, words):
    with pytest.raises(CallError, match=words):
        judged(run, release, profile(server, **changes))
    assert not server.seen


def test_changed_bytes_of_a_bound_reference_make_the_answers_stale(run, release, server):
    judged(run, release, profile(server))
    plan = run.path / "cases.jsonl"
    plan.write_text(plan.read_text().replace(release.cases["case_0"].reference("r0").sha256, "0" * 64))
    # of case_0, check k0 binds r0 and r1, k1 r1 and r2, k2 r2 and r3, k3 nothing; two systems
    grid = verdict_grid(open_run(run.path))
    assert set(grid.loc[grid["state"] == "stale", "check_id"]) == {"k0"}
    assert states(open_run(run.path)) == {"valid": 14, "stale": 2}


def test_in_a_cell_with_a_running_loop(run, release, server):
    async def cell():
        return judged(run, release, profile(server)), judged(run, release, profile(server))

    first, second = asyncio.run(cell())
    assert (first.asked, second.found) == (16, 16)


def test_answers_of_another_run_are_taken_without_a_call(tmp_path, run, release, server):
    judged(run, release, profile(server))
    taken = judged(make_run(tmp_path / "second", release), release, profile(server), reuse=[run.path])
    assert (taken.reused, taken.asked, len(messages(server))) == (16, 0, 16)


def test_two_judges_after_another_share_the_budget_and_nothing_else(run, release, server):
    judged(run, release, profile(server))
    second = judged(run, release, profile(server, name="other", model={"id": "claude-sonnet-5-5"}))
    assert (second.asked, second.found) == (16, 0)
    assert states(run) == {"valid": 32}
    assert spent_in(run).calls == 32


def test_with_a_cache_the_first_of_a_candidate_goes_alone(run, release):
    with ProviderServer(dialect(latency_s=0.05)) as server:
        judged(run, release, profile(server, sending={"cache": "5m"}), limits={"concurrency": 8})
        seen = messages(server)
    assert all(body["messages"][0]["content"][1].get("cache_control") == {"type": "ephemeral", "ttl": "5m"} for body in seen)
    assert sum("cache_control" in block for body in seen for block in body["messages"][0]["content"]) == 16
    first = [body["messages"][0]["content"][1]["source"]["data"] for body in seen[:4]]
    assert len(set(first)) == 4  # one of each candidate before the second of any


def test_a_run_log_stays_small(run, release, server):
    judged(run, release, profile(server))
    size = sum(path.stat().st_size for path in (run.path / "judgments" / "claude").rglob("*.jsonl"))
    assert size / 16 <= 4096, size / 16


def test_an_agentic_judge_takes_turns_and_every_turn_is_paid_and_written_down(run, release):
    def reply(body):
        is_first = len(body["messages"]) == 1
        if not is_first or not body.get("tools"):
            return verdict()
        call = {"type": "tool_use", "id": "t1", "name": "open", "input": {"reference_id": "r1"}}
        return {"content": [call], "stop_reason": "tool_use"}

    with ProviderServer(dialect(reply)) as server:
        spec = profile(
            server, protocol="agentic", agentic={"max_turns": 3, "tools": []}, sending={"cache": "5m", "images": "uploaded"}
        )
        summary = judged(run, release, spec)
        assert summary.is_complete and summary.money.calls == len(messages(server)) == 32
        assert spent_in(run).calls == 32
        lines = [line for system in run.systems for c in release.cases for line in run.judgments("claude", system, c).read()]
        assert all(line.usage["calls"] == 2 for line in lines)
        assert sum(line.cost_usd for line in lines) == pytest.approx(spent_in(run).usd)
        plan = run.path / "checks.jsonl"
        plan.write_text(plan.read_text().replace("Relational Binding", "Global Constraint Satisfaction"))
        assert states(open_run(run.path)) == {"valid": 8, "stale": 8}  # another critic would have been asked
