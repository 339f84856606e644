"""Agent models of real providers, by their true SDKs against loopback servers: tools, pictures, refusals, faults, money."""

import datetime as dt
import json
import re
from pathlib import Path

import pytest
from generation_fixtures import make_case, make_release, native_system, purse
from provider_server import Answer, ProviderServer
from provider_server import anthropic as claude
from provider_server import google as gemini
from provider_server import openai as gpt

from longbanana_nb.errors import CallError, DataError
from longbanana_nb.generation import ModelChoice, Models, generate_run
from longbanana_nb.generation.agent_models import ProviderAgent, agent_model
from longbanana_nb.generation.native import native
from longbanana_nb.generation.prepare import prepare, require_ready
from longbanana_nb.providers.retry import Retry
from longbanana_nb.runs import Limits, create_run, parse_system

QUICK = Retry(attempts=3, base_s=0.01, cap_s=0.02, retry_after_cap_s=0.02)
LOOK = ("look", {"references": ["ref_01", "ref_02"]})
DRAW = ("generate", {"prompt": "A", "references": ["ref_01"], "keep_current": False})
SEE = ("look_at_result", {})
FINISH = ("finish", {"note": "good"})


class Scripted:
    """One provider: its server, and its words for tool calls, text, a refusal, a 429, and arguments that are no JSON."""

    def __init__(self, provider, model, key, dialect, calls, text, refusal, storm):
        self.provider, self.model, self.key = provider, model, key
        self.dialect, self.calls, self.text, self.refusal, self.storm = dialect, calls, text, refusal, storm


def claude_calls(*calls):
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig=="}
    used = [{"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": given} for n, (name, given) in enumerate(calls)]
    return {"content": [thought, {"type": "text", "text": "I act."}, *used], "stop_reason": "tool_use"}


def gemini_calls(*calls):
    parts = [{"functionCall": {"name": name, "args": given}, "thoughtSignature": "c2ln"} for name, given in calls]
    return {"candidates": [gemini.candidate("I act.", "STOP", *parts)]}


def gpt_calls(*calls):
    items = [
        {"type": "function_call", "call_id": f"c{n}", "name": name, "arguments": json.dumps(given)}
        for n, (name, given) in enumerate(calls)
    ]
    return {"output": [{"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "secret"}, *items]}


def chat_calls(*calls):
    made = [
        {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for n, (name, given) in enumerate(calls)
    ]
    said = {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": made}}
    return {"model": "qwen-vl", "choices": [said], "usage": gpt.CHAT_USAGE}


def chat_refusal():
    return {
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "refusal": "I would rather not."}}]
    }


PROVIDERS = {
    "anthropic": Scripted(
        *("anthropic", "claude-sonnet-4-6", "ANTHROPIC_API_KEY", claude.AnthropicDialect, claude_calls, lambda text: text),
        {"content": [], "stop_reason": "refusal", "stop_details": {"explanation": "I would rather not."}},
        lambda: claude.failure(429, "rate_limit_error", "slow down"),
    ),
    "google": Scripted(
        *("google", "gemini-3.8-flash", "GEMINI_API_KEY", gemini.GoogleDialect, gemini_calls, lambda text: text),
        {"promptFeedback": {"blockReason": "SAFETY"}},
        lambda: gemini.exhausted(None, "0.01s"),
    ),
    "openai": Scripted(
        *("openai", "gpt-6.1-sol", "OPENAI_API_KEY", gpt.OpenAIDialect, gpt_calls, lambda text: text),
        {"output": [gpt.message("", {"type": "refusal", "refusal": "I would rather not."})]},
        lambda: gpt.failure(429, "rate_limit_exceeded", "slow down"),
    ),
    "openai-compatible": Scripted(
        *("openai-compatible", "qwen-vl", None, gpt.ChatDialect, chat_calls, lambda text: text),
        chat_refusal(),
        lambda: gpt.failure(429, "rate_limit_exceeded", "slow down"),
    ),
}


@pytest.fixture(params=sorted(PROVIDERS))
def one(request, monkeypatch):
    scripted = PROVIDERS[request.param]
    if scripted.key:
        monkeypatch.setenv(scripted.key, "test-key")
    return scripted


def served(one, *replies):
    """A server that gives these replies in order, and the last one for ever after."""
    waiting = list(replies)

    def reply(body):
        given = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return given() if callable(given) else given

    return ProviderServer(one.dialect(reply))


def agent_of(one, server, **params):
    url = f"{server.url}/v1" if one.provider.startswith("openai") else server.url
    made = agent_model(ModelChoice(one.provider, one.model, params=params, base_url=url))
    return ProviderAgent(made.model, made._settings, on=dt.date(2026, 11, 30), retry=QUICK, timeout_s=5)


def drawn(one, server, folder, *, workflow="minimal", max_turns=12, **params):
    from generation_fixtures import PasteBackend

    spec = native_system(workflow=workflow, harness={"kind": "native", "max_turns": max_turns})
    backend = PasteBackend(ModelChoice("test", "paste"))
    return native(make_case(folder / "case"), spec, Models(backend, agent_of(one, server, **params), purse(folder)), 1)


def pictures_in(body):
    """How many base64 pictures a request holds, whatever the dialect."""
    return len(re.findall(r'"(?:data|image_url|url)": ?"(?:data:image/\w+;base64,)?[A-Za-z0-9+/=]{60,}"', json.dumps(body)))


def test_a_task_is_done_with_tools_and_the_model_is_shown_the_pictures(one, tmp_path):
    with served(one, one.calls(LOOK), one.calls(DRAW, SEE), one.calls(FINISH)) as server:
        draft = drawn(one, server, tmp_path)
        bodies = [seen.json() for seen in server.asked(method="POST")]
    assert (draft.outcome, draft.agent_calls, draft.image_calls, draft.opened) == ("image", 3, 1, ["ref_01", "ref_02"])
    assert [pictures_in(body) for body in bodies] == [0, 2, 3]
    assert "Draw a red pear." in json.dumps(bodies[0]) and "generate" in json.dumps(bodies[0])
    assert draft.answered["agent"] and sum(usage.output_tokens for usage in draft.usage) > 0
    kept = {"anthropic": "sig==", "google": "c2ln", "openai": "secret", "openai-compatible": '"tool_calls"'}
    assert kept[one.provider] in json.dumps(bodies[1])


def test_a_refusal_is_blocked_with_its_words(one, tmp_path):
    with served(one, one.refusal) as server:
        draft = drawn(one, server, tmp_path)
    assert (draft.outcome, draft.reason.code in ("refused", "filtered"), draft.image_calls) == ("blocked", True, 0)
    assert "rather not" in draft.reason.raw or "SAFETY" in draft.reason.raw


def test_wrong_arguments_and_unknown_tools_come_back_as_errors_and_reach_nothing(one, tmp_path):
    wrong = one.calls(("look", {"references": "ref_01"}), ("shell", {"command": "ls"}), ("generate", {"prompt": "A", "extra": 1}))
    with served(one, wrong, one.calls(DRAW), one.calls(FINISH)) as server:
        draft = drawn(one, server, tmp_path)
        second = json.dumps(server.asked(method="POST")[1].json())
    assert draft.outcome == "image"
    assert [line["kind"] for line in draft.trace].count("tool_error") == 3
    assert "expected a list of strings" in second and "There is no tool 'shell'" in second and "extra: unknown argument" in second


def test_a_storm_of_429_is_waited_out_and_each_try_is_in_the_transcript(one, tmp_path):
    with served(one, one.storm, one.storm, one.calls(DRAW), one.calls(FINISH)) as server:
        draft = drawn(one, server, tmp_path)
        asked = len(server.asked(method="POST"))
    assert (draft.outcome, draft.agent_calls, asked) == ("image", 2, 4)
    assert [line["kind"] for line in draft.trace][:2] == ["attempt", "attempt"]
    with served(one, one.storm) as server:
        ended = drawn(one, server, tmp_path / "again")
        assert len(server.asked(method="POST")) == QUICK.attempts
    assert (ended.outcome, ended.reason.code) == ("failed", "rate_limited")


def test_a_cut_connection_is_tried_once_more_and_counted_as_maybe_paid(one, tmp_path):
    cut = Answer({"half": "a reply" * 50}, cut_after=20)
    with served(one, lambda: cut, one.calls(DRAW), one.calls(FINISH)) as server:
        draft = drawn(one, server, tmp_path)
    assert draft.outcome == "image"
    assert (draft.usage[0].maybe_usd > 0) == (one.provider != "openai-compatible")  # whose price nobody knows
    with served(one, lambda: cut) as server:
        ended = drawn(one, server, tmp_path / "again")
        assert len(server.asked(method="POST")) == 2  # what was set aside for the turn allows for one lost try
    assert (ended.outcome, ended.reason.code) == ("failed", "transport")


def test_words_without_a_tool_are_answered_and_given_up_in_the_end(one, tmp_path):
    with served(one, one.text("All done!"), one.calls(DRAW), one.calls(FINISH)) as server:
        assert drawn(one, server, tmp_path).outcome == "image"
        assert "You called no tool" in json.dumps(server.asked(method="POST")[1].json())
    with served(one, one.text("All done!")) as server:
        ended = drawn(one, server, tmp_path / "again")
    assert (ended.outcome, ended.reason.code, ended.agent_calls) == ("failed", "no_tool_call", 3)


def test_artefacts_are_left_by_tools_of_the_workflow_alone(one, tmp_path):
    note = ("note_evidence", {"findings": [{"demand": "pear", "references": ["ref_01"], "seen": "red"}]})
    with served(one, one.calls(LOOK, note), one.calls(DRAW), one.calls(FINISH)) as server:
        draft = drawn(one, server, tmp_path, workflow="react")
        assert "note_evidence" in json.dumps(server.asked(method="POST")[0].json())
    assert draft.workflow.evidence.timely and draft.workflow.evidence.followed and list(draft.notes) == ["evidence.json"]
    with served(one, one.calls(LOOK, note), one.calls(DRAW), one.calls(FINISH)) as server:
        draft = drawn(one, server, tmp_path / "again")
        assert "note_evidence" not in json.dumps(server.asked(method="POST")[0].json())
    assert draft.notes == {} and "tool_error" in [line["kind"] for line in draft.trace]


@pytest.mark.parametrize("one", [one for one in PROVIDERS.values() if one.key is not None], ids=lambda one: one.key)
def test_a_wrong_key_is_nobodys_candidate(one, tmp_path, monkeypatch):
    monkeypatch.setenv(one.key, "wrong-key-123")
    with served(one, one.calls(FINISH)) as server, pytest.raises(CallError) as caught:
        drawn(one, server, tmp_path)
    assert "wrong-key-123" not in str(caught.value)


@pytest.mark.parametrize(("policy", "outcome"), [("stop", "failed"), ("forget-pictures", "image")])
def test_the_conversation_stays_within_its_tokens_or_is_refused(policy, outcome, tmp_path, monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", "test-key")
    one = PROVIDERS["google"]
    looks = [one.calls(LOOK) for _ in range(4)]
    with served(one, *looks, one.calls(DRAW), one.calls(FINISH)) as server:
        draft = drawn(one, server, tmp_path, max_input_tokens=10_000, context=policy)
        counts = [pictures_in(seen.json()) for seen in server.asked(method="POST")]
    assert (draft.outcome, max(counts)) == (outcome, 6)  # 1,120 tokens each, with a margin of a quarter
    if policy == "stop":
        assert (draft.reason.code, "10,000" in draft.reason.raw) == ("context_full", True)
    else:
        assert any("taken out of the conversation" in line["text"] for line in draft.trace)


def test_cache_marks_stand_at_the_end_of_the_first_and_the_last_message(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    one = PROVIDERS["anthropic"]
    with served(one, one.calls(LOOK), one.calls(LOOK), one.calls(DRAW), one.calls(FINISH)) as server:
        drawn(one, server, tmp_path)
        body = server.asked(method="POST")[3].json()
    marked = [n for n, said in enumerate(body["messages"]) if any("cache_control" in block for block in said["content"])]
    assert marked == [0, len(body["messages"]) - 1]


def system(**model):
    return native_system(agent_model={"provider": "anthropic", "id": "claude-sonnet-4-6", **model})


AGENTS = dict.fromkeys(("anthropic", "google", "openai", "openai-compatible"), agent_model)


def prepared(spec, case):
    from generation_fixtures import make_backend

    return prepare([spec], [case], backends={"test": make_backend}, agents=AGENTS)[0]


def test_what_cannot_run_is_refused_before_anything_is_sent(tmp_path, monkeypatch):
    case = make_case(tmp_path)
    for model, words in [
        ({"id": "claude-mythos-preview"}, "retired.*successor is claude-fable-5-2"),
        ({"params": {"temprature": 1}}, "temprature"),
        ({"params": {"context": "forget"}}, "forget-pictures"),
        ({"params": {"max_tokens": 0}}, "max_tokens is 0"),
        ({"provider": "google", "id": "gemini-3.1-flash-image", "route": "vertex"}, "no agent model"),
    ]:
        with pytest.raises(CallError, match=words):
            prepared(system(**model), case)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    ready = prepared(system(), case)
    assert ready.turn_usd > 0 and ready.is_paid
    with pytest.raises(CallError, match="ANTHROPIC_API_KEY"):
        require_ready([ready], Limits())


def test_an_unknown_price_is_written_down_and_allows_no_limit_in_dollars(tmp_path):
    own = {"provider": "openai-compatible", "id": "qwen-vl", "base_url": "http://127.0.0.1:9/v1"}
    ready = prepared(system(**own), make_case(tmp_path))
    assert (ready.turn_usd, ready.is_paid, ready.unpriced) == (0.0, True, ("openai-compatible/qwen-vl",))
    with pytest.raises(CallError, match="price of openai-compatible/qwen-vl is unknown"):
        require_ready([ready], Limits(max_usd=5))
    with pytest.raises(CallError, match="max_usd_per_case cannot be kept"):
        prepared(native_system(agent_model=own, limits={"max_usd_per_case": 1}), make_case(tmp_path / "b"))


def test_a_run_pays_from_its_ledger_and_keeps_no_key(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    one, release = PROVIDERS["anthropic"], make_release(tmp_path / "release", ("007", "NA"))
    from generation_fixtures import make_backend

    def reply(body):
        number = sum(message["role"] == "assistant" for message in body["messages"])
        return [one.calls(LOOK), one.calls(DRAW), one.calls(FINISH)][number]

    with ProviderServer(one.dialect(reply)) as server:
        spec = parse_system({**system(base_url=server.url).model_dump(mode="json"), "name": "claude"})
        run = create_run(tmp_path / "run", release)
        summary = generate_run(
            run, release, [spec], backends={"test": make_backend}, agents=AGENTS, limits=Limits(max_usd=50, concurrency=2)
        )
    assert summary.made == 2
    record = run.candidate("claude", "007", 0).record()
    assert record.cost_usd > 0 and record.calls.agent == 3 and record.simulated is not None
    ledger = [json.loads(line) for line in run.candidate("claude", "007", 0).calls.read_text().splitlines()]
    assert [line["event"] for line in ledger if line.get("role", "agent") == "agent"].count("opened") == 3
    assert not [file for file in Path(run.path).rglob("*") if file.is_file() and b"test-key" in file.read_bytes()]


def test_a_wrong_key_in_a_run_leaves_no_record(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "wrong-key-123")
    release = make_release(tmp_path / "release", ("007",))
    from generation_fixtures import make_backend

    with ProviderServer(claude.AnthropicDialect(lambda body: claude_calls(FINISH))) as server:
        run = create_run(tmp_path / "run", release)
        spec = system(base_url=server.url)
        with pytest.raises(DataError, match="anthropic/claude-sonnet-4-6"):
            generate_run(run, release, [spec], backends={"test": make_backend}, agents=AGENTS)
    assert run.candidate(spec.name, "007", 0).record() is None


def test_a_plan_has_dollars_where_they_can_be_known_and_says_where_not(tmp_path):
    from generation_fixtures import make_backend

    from longbanana_nb.planning import make_plan
    from longbanana_nb.runs import load_experiment

    release = make_release(tmp_path / "release", ("007",))
    own = {"provider": "openai-compatible", "id": "qwen-vl", "base_url": "http://127.0.0.1:9/v1"}
    systems = [
        {**system().model_dump(mode="json"), "name": "claude", "harness": {"kind": "native", "max_turns": 10}},
        {**native_system(agent_model=own).model_dump(mode="json"), "name": "own"},
    ]
    floors = dict.fromkeys(("blank", "single-reference", "collage", "words"), "off")
    value = {"schema": "lb.experiment.v1", "run": "run", "release": str(release.manifest), "cases": "all", "systems": systems}
    file = tmp_path / "experiment.yaml"

    def planned(limits):
        file.write_text(json.dumps({**value, "judges": [], "floors": floors, "limits": limits}))
        return make_plan(load_experiment(file), release, backends={"test": make_backend}, agents=AGENTS)

    plan = planned({})
    turn = prepared(system(), release.cases["007"]).turn_usd
    assert [part.cost_usd for part in plan.systems] == [pytest.approx(10 * turn), None]
    assert "price unknown" in plan.text() and "what it costs is unknown" in plan.text()
    assert "time unknown" in plan.text()
    assert "limits.max_usd cannot be kept" in planned({"max_usd": 5}).systems[1].cannot_run
