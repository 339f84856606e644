"""OpenAI through the true SDK against a loopback server: what is sent, what comes of every answer and every failure."""

import asyncio
import base64
import datetime as dt
import email.utils
import hashlib
import json
from contextlib import asynccontextmanager

import pytest
from provider_server import Answer, ProviderServer
from provider_server.openai import OpenAIDialect, failure, message

from longbanana_nb.providers.catalogue import resolve
from longbanana_nb.providers.connecting import connect
from longbanana_nb.providers.contracts import (
    BatchItem,
    ModelMessage,
    Picture,
    ProviderError,
    Request,
    Text,
    Tool,
    ToolResult,
    UserMessage,
)

TODAY = dt.date(2026, 11, 30)
SCHEMA = {
    "type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"], "additionalProperties": False,
}  # fmt: skip
PNG = bytes(range(256)) * 4
PICTURE = Picture(hashlib.sha256(PNG).hexdigest(), "image/png", 8, 8, data=PNG)
URI = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"


def question(*parts, **more):
    return Request("You judge.", (UserMessage(parts or (Text("R01"), PICTURE, Text("CHECK"))),), 400, **more)


@asynccontextmanager
async def connected(server, *, key="test-key", timeout_s=5.0, base_url=None):
    model = resolve("openai", "gpt-6.1-sol", on=TODAY)
    adapter = connect(model, key=key, base_url=base_url or f"{server.url}/v1", timeout_s=timeout_s, connections=4)
    try:
        yield adapter
    finally:
        await adapter.close()


def run(server, work, **how):
    async def within():
        async with connected(server, **how) as adapter:
            return await work(adapter)

    return asyncio.run(within())


def ask(server, request=None, **how):
    return run(server, lambda adapter: adapter.ask(request or question()), **how)


def failed(server, request=None, **how):
    with pytest.raises(ProviderError) as caught:
        ask(server, request, **how)
    return caught.value


@pytest.fixture
def dialect():
    return OpenAIDialect()


@pytest.fixture
def server(dialect):
    with ProviderServer(dialect) as running:
        yield running


def test_a_question_goes_out_as_documented_and_comes_back_as_a_reply(server):
    reply = ask(server, question(schema=SCHEMA, params={"effort": "low", "detail": "high"}))
    assert (reply.stop, json.loads(reply.text)["label"], reply.model) == ("end", "Pass", "gpt-6.1-sol")
    assert (reply.request_id, reply.detail) == ("req_openai", None)
    [seen] = server.asked()
    assert seen.headers["content-type"] == "application/json"
    assert seen.json() == {
        "model": "gpt-6.1-sol",
        "instructions": "You judge.",
        "input": [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "R01"},
                    {"type": "input_image", "image_url": URI, "detail": "high"},
                    {"type": "input_text", "text": "CHECK"},
                ],
            }
        ],
        "max_output_tokens": 400,
        "store": False,
        "text": {"format": {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": True}},
        "reasoning": {"effort": "low"},
    }


def test_cached_and_written_tokens_are_not_input(server):
    usage = ask(server).usage
    assert (usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens, usage.output_tokens) == (400, 4000, 600, 90)
    assert usage.reported["total_tokens"] == 5090


REFUSAL = {"type": "refusal", "refusal": "I cannot."}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "crop", "arguments": '{"box": [0, 0, 4, 4]}'}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}


@pytest.mark.parametrize(
    ("fields", "stop", "text", "detail"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "truncated", "half", None),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "filtered", "half", "content_filter"),
        ({"status": "incomplete", "incomplete_details": {"reason": "of tomorrow"}}, "truncated", "half", "of tomorrow"),
        ({"status": "incomplete"}, "truncated", "half", "incomplete"),
        ({"status": "in_progress"}, "truncated", "half", "in_progress"),
        ({"output": [message("", REFUSAL)]}, "refused", "", "I cannot."),
        ({"output": []}, "end", "", None),
        ({"output": [THOUGHT]}, "end", "", None),
        ({"output": [THOUGHT, message("an"), message("swer")]}, "end", "answer", None),
        ({"output": [CALL | {"arguments": '{"box": [0,'}]}, "end", "", "malformed call of crop: its arguments are no JSON"),
        ({"output": [CALL | {"arguments": "[1]"}]}, "end", "", "malformed call of crop: its arguments are no object"),
    ],
)
def test_every_end_of_a_response_has_its_stop(dialect, server, fields, stop, text, detail):
    dialect.reply = lambda body: {"output": [message("half")]} | fields
    reply = ask(server)
    assert (reply.stop, reply.text, reply.detail, reply.tool_calls) == (stop, text, detail, ())
    assert reply.usage.output_tokens == 90


@pytest.mark.parametrize(
    ("code", "kind", "flags"),
    [
        ("server_error", "overloaded", {"is_transient": True}),
        ("rate_limit_exceeded", "rate_limited", {"is_transient": True}),
        ("insufficient_quota", "rate_limited", {"is_quota": True, "is_transient": False}),
        ("image_content_policy_violation", "bad_request", {"is_filtered": True}),
        ("image_too_large", "bad_request", {"is_too_large": True}),
        ("code_of_tomorrow", "transport", {"maybe_paid": True}),
    ],
)
def test_a_response_that_failed_is_an_error(dialect, server, code, kind, flags):
    dialect.reply = lambda body: {"status": "failed", "output": [], "error": {"code": code, "message": "it failed"}}
    error = failed(server)
    assert (error.kind, error.code) == (kind, code)
    assert {name: getattr(error, name) for name in flags} == flags


def test_tools_are_called_answered_and_thoughts_come_back_sealed(dialect, server):
    turns = iter([{"output": [THOUGHT, CALL]}, "done"])
    dialect.reply = lambda body: next(turns)
    tool = Tool("crop", "cut out", {"type": "object"})
    first = question(tools=(tool,))
    reply = ask(server, first)
    assert (reply.stop, reply.tool_calls[0].id, reply.tool_calls[0].arguments) == ("tool", "call_1", {"box": [0, 0, 4, 4]})
    result = ToolResult("call_1", "crop", (Text("a crop"), PICTURE))
    said = UserMessage((result, Text("go on")))
    again = Request("You judge.", (*first.messages, ModelMessage(reply.native), said), 400, tools=(tool,))
    assert ask(server, again).text == "done"
    body = server.seen[1].json()
    assert body["tools"][0] == {
        "type": "function", "name": "crop", "description": "cut out", "parameters": {"type": "object"}, "strict": False,
    }  # fmt: skip
    assert (body["store"], body["include"], body["input"][1:3]) == (False, ["reasoning.encrypted_content"], [THOUGHT, CALL])
    shown = [{"type": "input_text", "text": "a crop"}, {"type": "input_image", "image_url": URI, "detail": "auto"}]
    assert body["input"][3] == {"type": "function_call_output", "call_id": "call_1", "output": shown}
    assert body["input"][4] == {"role": "user", "content": [{"type": "input_text", "text": "go on"}]}


HTML = "<html><body>502 Bad Gateway</body></html>"


def in_90_seconds():
    return email.utils.format_datetime(dt.datetime.now(dt.UTC) + dt.timedelta(seconds=90), usegmt=True)


@pytest.mark.parametrize(
    ("answer", "kind", "flags"),
    [
        (failure(400, None, "bad"), "bad_request", {"is_transient": False, "is_filtered": False, "request_id": "req_openai"}),
        (failure(400, "content_filter", "The response was filtered"), "bad_request", {"is_filtered": True}),
        (failure(400, "content_policy_violation", "no"), "bad_request", {"is_filtered": True}),
        (failure(400, "context_length_exceeded", "long"), "bad_request", {"is_too_large": True}),
        (failure(413, None, "Request too large"), "bad_request", {"is_too_large": True}),
        (failure(401, "invalid_api_key", "Incorrect API key provided"), "auth", {"is_transient": False}),
        (failure(403, "unsupported_country_region_territory", "no"), "auth", {}),
        (failure(404, "model_not_found", "The model `x` has been deprecated"), "bad_request", {"code": "model_not_found"}),
        (failure(429, "rate_limit_exceeded", "slow", retry_after="2"), "rate_limited", {"retry_after_s": 2.0, "is_quota": False}),
        (failure(429, "rate_limit_exceeded", "slow", retry_after_ms="250"), "rate_limited", {"retry_after_s": 0.25}),
        (failure(429, "rate_limit_exceeded", "slow", retry_after="200"), "rate_limited", {"retry_after_s": 200.0}),
        (
            failure(429, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details."),
            "rate_limited",
            {"is_quota": True, "is_transient": False},
        ),
        (failure(500, None, "The server had an error", "server_error"), "overloaded", {"is_transient": True}),
        (failure(503, None, "Overloaded", "server_error"), "overloaded", {"is_transient": True}),
        (Answer("Overloaded", status=529), "overloaded", {"is_transient": True}),
        (Answer(HTML, status=502), "overloaded", {"is_transient": True}),
        (Answer(b"", status=500), "overloaded", {}),
        (Answer({"error": "a text"}, status=400), "bad_request", {}),
        (Answer(HTML), "transport", {"maybe_paid": True}),
        (Answer(b""), "transport", {"maybe_paid": True}),
        (Answer({"output": "no"}), "transport", {"maybe_paid": True}),
        (Answer({"status": "completed", "output": [7]}), "transport", {"maybe_paid": True}),
        (Answer([1]), "transport", {"maybe_paid": True}),
        (Answer({"output": []}, cut_after=5), "transport", {"maybe_paid": True, "is_transient": True}),
        (Answer({}, cut_after=-1), "transport", {"maybe_paid": True, "is_transient": True}),
        (Answer(status=307, headers={"Location": "http://127.0.0.1:9/"}), "bad_request", {}),
    ],
)
def test_every_failure_becomes_its_kind_after_one_call(server, answer, kind, flags):
    server.script(answer)
    error = failed(server)
    assert error.kind == kind, error
    assert {name: getattr(error, name) for name in flags} == flags
    assert len(server.seen) == 1


def test_a_wait_until_a_date_is_read(server):
    server.script(failure(429, "rate_limit_exceeded", "slow", retry_after=in_90_seconds()))
    assert 30 < failed(server).retry_after_s <= 90


def test_time_limits_are_in_seconds_and_hold_for_the_whole_call(server):
    server.script(Answer({}, delay_s=3), Answer({"output": [message("x" * 200)]}, drip_s=0.05))
    for _ in range(2):
        error = failed(server, timeout_s=0.4)
        assert (error.kind, error.maybe_paid) == ("transport", True)


def test_a_server_that_is_not_there_was_not_paid(server):
    error = failed(server, base_url="http://127.0.0.1:9/v1")
    assert (error.kind, error.maybe_paid) == ("transport", False)


def test_the_environment_decides_nothing_and_a_key_is_never_repeated(server, monkeypatch):
    for name, value in {
        "OPENAI_API_KEY": "other", "OPENAI_ADMIN_KEY": "admin", "OPENAI_ORG_ID": "org-other", "OPENAI_PROJECT_ID": "proj-other",
        "OPENAI_BASE_URL": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9",
        "OPENAI_CUSTOM_HEADERS": "Authorization: Bearer stolen\nX-Other: 1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    assert ask(server).stop == "end"
    sent = server.seen[0].headers
    assert sent["authorization"] == "Bearer test-key"
    assert {"openai-organization", "openai-project", "x-other"}.isdisjoint(sent)
    error = failed(server, key="wrong-key-123")
    assert error.kind == "auth"
    assert "wrong-key-123" not in str(error)


def test_an_unknown_parameter_is_refused_and_not_dropped(server):
    assert failed(server, question(params={"verbosity": "low"})).kind == "bad_request"
    assert server.seen == []


def test_uploads_are_laid_down_for_a_week_named_and_listed(dialect, server):
    async def work(adapter):
        uploads = [await adapter.upload(PICTURE, f"p{n}.png") for n in range(3)]
        dialect.files["file-2"]["expires_at"] = 1
        dialect.files["batch-input"] = dialect.files["file-1"] | {"id": "batch-input", "purpose": "batch"}
        await adapter.ask(question(Picture(PICTURE.sha256, "image/png", 8, 8, handle=uploads[0].handle)))
        return uploads, await adapter.uploads()

    uploads, listed = run(server, work)
    assert (dialect.file_bytes["file-1"], dialect.files["file-1"]["purpose"], dialect.files["file-1"]["mime"]) == (
        PNG,
        "vision",
        "image/png",
    )
    assert listed == [uploads[0], uploads[2]]
    assert (listed[1].name, listed[1].size) == ("p2.png", len(PNG))
    days = (dt.datetime.fromisoformat(uploads[0].expires_at) - dt.datetime.now(dt.UTC)) / dt.timedelta(days=1)
    assert 6.9 < days < 7.1
    part = server.asked("/responses")[0].json()["input"][0]["content"][0]
    assert part == {"type": "input_image", "file_id": "file-1", "detail": "auto"}


def test_a_batch_is_handed_in_found_again_and_its_outcomes_come_by_our_ids(dialect, server):
    dialect.outcomes = {
        "b": failure(400, "image_too_large", "large"),
        "c": failure(429, "rate_limit_exceeded", "slow"),
        "d": Answer({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []}),
    }

    async def work(adapter):
        before = (dt.datetime.now(dt.UTC) - dt.timedelta(seconds=2)).isoformat()
        for n in range(3):
            opened = await adapter.open_batch([BatchItem(key, question(schema=SCHEMA)) for key in "abcd"], f"lb-{n}")
        found, later = await adapter.batches(before), await adapter.batches("2100-01-01T00:00:00Z")
        state = await adapter.batch(opened.handle)
        return opened, found, later, state, {key: outcome async for key, outcome in adapter.batch_replies(opened.handle)}

    opened, found, later, state, replies = run(server, work)
    assert (opened.state, opened.label, state.state, state.requests) == ("working", "lb-2", "ended", 4)
    assert ([batch.label for batch in found], later) == (["lb-2", "lb-1", "lb-0"], [])
    line = json.loads(dialect.file_bytes["file-1"].splitlines()[0])
    assert (line["custom_id"], line["method"], line["url"]) == ("a", "POST", "/v1/responses")
    assert dialect.files["file-1"]["purpose"] == "batch"
    assert (json.loads(replies["a"].text)["label"], replies["a"].usage.cached_tokens) == ("Pass", 4000)
    assert (replies["b"].kind, replies["b"].is_too_large, replies["c"].kind) == ("bad_request", True, "rate_limited")
    assert replies["d"].stop == "truncated"


def test_an_expired_batch_gives_what_it_came_to_and_the_rest_may_be_asked_again(dialect, server):
    dialect.batch_state, dialect.never_run = "expired", {"b"}

    async def work(adapter):
        opened = await adapter.open_batch([BatchItem(key, question()) for key in "ab"], "l")
        state = await adapter.batch(opened.handle)
        return state, {key: outcome async for key, outcome in adapter.batch_replies(opened.handle)}

    state, replies = run(server, work)
    assert (state.state, replies["a"].stop) == ("expired", "end")
    assert (replies["b"].code, replies["b"].is_transient, replies["b"].maybe_paid) == ("batch_expired", True, False)


def test_a_failed_batch_says_why(dialect, server):
    dialect.batch_state = "failed"

    async def work(adapter):
        opened = await adapter.open_batch([BatchItem("a", question())], "l")
        return await adapter.batch(opened.handle), [key async for key, _ in adapter.batch_replies(opened.handle)]

    state, replies = run(server, work)
    assert (state.state, state.detail, replies) == ("failed", "invalid_json_line: line 1", [])
