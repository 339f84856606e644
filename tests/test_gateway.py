"""The gateway with true SDKs: what passes in each dialect, whole and streamed, and what its record says of it."""

import contextlib
import json
import threading
import time

import httpx2
import pytest
from gateway_fixtures import DIALECTS, KEY, PATHS, PRICE, door, permit, provider, until
from generation_fixtures import purse
from provider_server.scripted_agent import request_body

from longbanana_nb.errors import CallError
from longbanana_nb.generation.gateway import Gateway

TOOL = [{"name": "mcp__imagetool__generate", "description": "d", "input_schema": {"type": "object", "properties": {}}}]


@pytest.fixture(scope="module")
def server():
    with provider() as one:
        yield one


@pytest.fixture(scope="module")
def gateway():
    with Gateway() as one:
        yield one


@pytest.fixture
def opened(gateway, server, tmp_path):
    """A function that opens a door: dialect, script, fields of the permit."""
    with contextlib.ExitStack() as stack:

        def open_one(dialect, script="success", name="a", **more):
            base = f"{server.url}/s/{script}"
            return stack.enter_context(door(gateway, permit(tmp_path / name, dialect, base, **more)))

        yield open_one


def upstream(server, dialect, script):
    return [seen for seen in server.seen if seen.path == f"/s/{script}{PATHS[dialect]}"]


def test_anthropics_sdk_streams_a_tool_call_through(opened):
    one = opened("anthropic-messages", "endless", price=PRICE)
    tools = [{**TOOL[0], "name": "mcp__imagetool__list_references"}]
    asked = {"model": "claude-sonnet-5-5", "max_tokens": 300, "messages": [{"role": "user", "content": "Draw."}], "tools": tools}
    with one.anthropic() as client:
        with client.messages.stream(**asked) as stream:
            message = stream.get_final_message()
        again = client.messages.create(**asked)
    (call,) = message.content
    assert (call.name, message.stop_reason) == ("mcp__imagetool__list_references", "tool_use")
    assert again.usage.output_tokens == 20
    gate = one.gate
    assert (gate.calls, gate.turns) == (2, 2)
    assert gate.cost_usd == pytest.approx(2 * (1000 * 2 + 20 * 10) / 1e6)
    assert [kind for actor, kind, _ in one.names() if actor == "agent"] == ["tool_call", "tool_call"]
    assert gate.transcript[1]["tokens"] == {"in": 1000, "cached": 0, "out": 20}


def test_anthropics_sdk_counts_tokens_without_a_turn(opened):
    one = opened("anthropic-messages")
    asked = {"model": "claude-sonnet-5-5", "messages": [{"role": "user", "content": "Draw."}], "tools": TOOL}
    with one.anthropic() as client:
        found = client.messages.count_tokens(**asked)
    assert found.input_tokens == 1234
    assert (one.gate.calls, one.gate.turns, one.gate.transcript) == (0, 0, [])


def test_openais_sdk_speaks_chat_and_responses(opened):
    chat = opened("openai-chat", "no_image", "chat")
    asked = {"model": "some-model", "messages": [{"role": "user", "content": "Draw."}]}
    with chat.openai() as client:
        assert client.chat.completions.create(**asked).choices[0].message.content == "I am done."
        chunks = list(client.chat.completions.create(**asked, stream=True))
        assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "I am done."
        assert client.models.list().data[0].id == "some-model"
    responses = opened("openai-responses", "no_image", "responses")
    with responses.openai() as client:
        assert client.responses.create(model="gpt-6.1-sol", input="Draw.").output_text == "I am done."
        with client.responses.stream(model="gpt-6.1-sol", input="Draw.") as stream:
            assert stream.get_final_response().output_text == "I am done."
    for one in (chat, responses):
        assert one.gate.calls == 2
        assert [usage.input_tokens for usage in one.gate.usage] == [1000, 1000]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_reaches_the_provider_is_built_by_the_gateway(opened, server, dialect):
    limit = {"anthropic-messages": "max_tokens", "openai-chat": "max_completion_tokens", "openai-responses": "max_output_tokens"}[
        dialect
    ]
    one = opened(dialect, "no_image", params={"max_tokens": 400, "temperature": 0.5})
    model = one.gate.permit.model.id
    more = {limit: 90_000, "temperature": 1.9, "top_p": 0.1, "metadata": {"user_id": "somebody"}, "service_tier": "priority"}
    reply = one.post(
        request_body(dialect, model, stream=True, **more),
        **{
            "authorization": "Bearer permit",
            "x-api-key": "permit",
            "cookie": "a=b",
            "anthropic-beta": "files-api-2025-04-14,thinking-1",
        },
    )
    assert reply.status_code == 200
    seen = upstream(server, dialect, "no_image")[-1]
    sent = seen.json()
    assert (sent[limit], sent["temperature"]) == (400, 0.5)
    assert {"top_p", "metadata", "service_tier"}.isdisjoint(sent)
    if dialect == "anthropic-messages":
        assert (seen.headers["x-api-key"], seen.headers["anthropic-beta"]) == (KEY, "thinking-1")
        assert "authorization" not in seen.headers
    else:
        assert seen.headers["authorization"] == f"Bearer {KEY}"
        assert {"x-api-key", "anthropic-beta"}.isdisjoint(seen.headers)
        assert sent.get("store") is (False if dialect == "openai-responses" else None)
    assert "cookie" not in seen.headers
    (changed,) = [line["text"] for line in one.gate.transcript if line["kind"] == "changed"]
    assert "top_p 0.1 taken out" in changed
    assert "temperature 1.9 replaced" in changed
    assert f"{limit} 90000 lowered to 400" in changed


def test_a_stream_without_a_wish_for_tokens_is_counted_all_the_same(opened, server):
    one = opened("openai-chat", "no_image")
    one.post(request_body("openai-chat", "some-model", stream=True))
    assert upstream(server, "openai-chat", "no_image")[-1].json()["stream_options"] == {"include_usage": True}
    assert one.gate.usage[0].output_tokens == 20


def test_streams_are_passed_on_as_they_come(opened):
    one = opened("openai-chat", "slow")
    began, first = time.monotonic(), None
    with (
        one.http() as client,
        client.stream("POST", PATHS["openai-chat"], json=request_body("openai-chat", "some-model", stream=True)) as reply,
    ):
        for _ in reply.iter_bytes():
            first = first or time.monotonic() - began
    whole = time.monotonic() - began
    assert first is not None
    assert first < whole / 2


def test_an_agent_that_goes_away_ends_its_request(opened, server):
    one = opened("openai-chat", "hangs", price=PRICE)
    with one.http() as client, pytest.raises(Exception, match="timed out"):
        client.post(PATHS["openai-chat"], json=request_body("openai-chat", "some-model"), timeout=0.5)
    ledger = one.gate.permit.purse.ledger.journal
    assert until(lambda: one.gate.permit.purse.budget.reserved_usd == 0)
    assert [json.loads(line)["event"] for line in ledger.lines()] == ["opened"], "it may have been paid"
    assert one.gate.permit.purse.budget.spent_usd > 0
    assert one.names()[-1] == ("model", "failed", "abandoned")


def test_no_request_outlives_the_case(opened):
    one = opened("openai-chat", "slow", deadline=time.monotonic() + 0.4)
    began = time.monotonic()
    with contextlib.suppress(httpx2.RemoteProtocolError):
        one.post(request_body("openai-chat", "some-model", stream=True))
    assert time.monotonic() - began < 3
    assert one.gate.trouble[0] == "timeout"
    time.sleep(max(0.0, began + 0.5 - time.monotonic()))
    assert one.post({}, "/tool/list_references").status_code == 403


def test_closing_a_gate_ends_what_is_under_way(gateway, server, tmp_path):
    answers = []
    with door(gateway, permit(tmp_path, "openai-chat", f"{server.url}/s/hangs")) as one:

        def ask():
            try:
                answers.append(one.post(request_body("openai-chat", "some-model")).status_code)
            except Exception as error:
                answers.append(type(error).__name__)

        asking = threading.Thread(target=ask)
        asking.start()
        assert until(lambda: one.gate.calls == 1)
        began = time.monotonic()
    assert time.monotonic() - began < 5
    asking.join(5)
    assert answers == ["RemoteProtocolError"] or answers == ["ReadError"]
    assert not one.path.exists()


def test_two_cases_do_not_see_each_other(opened, server):
    other = "sk-other-9876543210"
    one = opened("openai-chat", "no_image", "one")
    two = opened("openai-responses", "no_image", "two", key=other)
    assert one.post(request_body("openai-chat", "some-model", "first")).status_code == 200
    assert two.post(request_body("openai-responses", "gpt-6.1-sol", "second")).status_code == 200
    assert one.post(request_body("openai-responses", "gpt-6.1-sol"), PATHS["openai-responses"]).status_code == 404
    drawn = {"prompt": "A", "references": ["ref_01"], "keep_current": False}
    assert one.post(drawn, "/tool/generate").json()["ok"]
    assert two.post({}, "/tool/look_at_result").json()["value"] == {"error": "Nothing is drawn yet."}
    assert (one.gate.image_calls, two.gate.image_calls) == (1, 0)
    assert "second" not in json.dumps(one.gate.transcript)
    assert upstream(server, "openai-responses", "no_image")[-1].headers["authorization"] == f"Bearer {other}"


def test_cases_are_served_at_once(gateway, server, tmp_path):
    with contextlib.ExitStack() as stack:
        doors = [
            stack.enter_context(door(gateway, permit(tmp_path / str(n), "openai-chat", f"{server.url}/s/slow"))) for n in range(6)
        ]
        body = request_body("openai-chat", "some-model", stream=True)
        began = time.monotonic()
        doors[0].post(body)
        alone = time.monotonic() - began
        threads = [threading.Thread(target=one.post, args=(body,)) for one in doors]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert time.monotonic() - began < 4 * alone
        assert [one.gate.calls for one in doors] == [2, 1, 1, 1, 1, 1]


def test_turns_are_counted_and_held(opened):
    one = opened("anthropic-messages", "endless", max_turns=2)
    body = request_body("anthropic-messages", "claude-sonnet-5-5")
    assert [one.post(body).status_code for _ in range(3)] == [200, 200, 403]
    assert one.gate.limit.code == "max_turns"
    assert one.post({}, "/tool/list_references").status_code == 403
    assert (one.gate.calls, one.gate.turns) == (2, 2)


def test_requests_without_tools_are_no_turns_but_have_an_end_too(opened):
    one = opened("openai-chat", "no_image", max_turns=1)
    body = request_body("openai-chat", "some-model", has_tools=False)
    assert [one.post(body).status_code for _ in range(5)] == [200] * 4 + [403]
    assert (one.gate.turns, one.gate.limit.code) == (0, "max_calls")


def test_a_refusal_of_the_model_is_known_from_its_answer(opened):
    for n, dialect in enumerate(DIALECTS):
        one = opened(dialect, "refuses", str(n))
        one.post(request_body(dialect, one.gate.permit.model.id, stream=True))
        outcome, reason = one.gate.trouble
        assert (outcome, reason.code) == ("blocked", "agent_refused"), dialect


def test_permits_that_cannot_be_kept_are_not_opened(gateway, server, tmp_path):
    base = f"{server.url}/s/success"
    for name, more, text in (
        ("a", {"purse": purse(tmp_path, run_usd=1.0)}, "price is unknown"),
        ("b", {"params": {"effort": "high"}}, "effort"),
    ):
        with pytest.raises(CallError, match=text), door(gateway, permit(tmp_path / name, "openai-chat", base, **more)):
            pass
