"""Servers that speak chat completions (vLLM, Ollama, llama.cpp, gateways), and storms over all three dialects of this kind."""

import asyncio
import base64
import datetime as dt
import hashlib
import json
import random
import threading
from contextlib import asynccontextmanager

import pytest
from provider_server import Answer, ProviderServer
from provider_server.google import GoogleDialect
from provider_server.openai import ChatDialect, OpenAIDialect, failure

from longbanana_nb.errors import CallError
from longbanana_nb.providers.catalogue import resolve
from longbanana_nb.providers.connecting import connect
from longbanana_nb.providers.contracts import (
    BatchItem,
    ModelMessage,
    Picture,
    ProviderError,
    Reply,
    Request,
    Text,
    Tool,
    ToolResult,
    UserMessage,
)
from longbanana_nb.providers.retry import Retry, asked

TODAY = dt.date(2026, 11, 30)
SCHEMA = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
PNG = bytes(range(256)) * 4
PICTURE = Picture(hashlib.sha256(PNG).hexdigest(), "image/png", 8, 8, data=PNG)
URI = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"


def question(*parts, **more):
    return Request("You judge.", (UserMessage(parts or (Text("R01"), PICTURE, Text("CHECK"))),), 400, **more)


@asynccontextmanager
async def connected(server, *, key=None, timeout_s=5.0, base_url=None):
    model = resolve("openai-compatible", "qwen-vl", base_url=base_url or f"{server.url}/v1", on=TODAY)
    adapter = connect(model, key=key, timeout_s=timeout_s, connections=4)
    try:
        yield adapter
    finally:
        await adapter.close()


def ask(server, request=None, **how):
    async def within():
        async with connected(server, **how) as adapter:
            return await adapter.ask(request or question())

    return asyncio.run(within())


def failed(server, request=None, **how):
    with pytest.raises(ProviderError) as caught:
        ask(server, request, **how)
    return caught.value


@pytest.fixture
def dialect():
    return ChatDialect()


@pytest.fixture
def server(dialect):
    with ProviderServer(dialect) as running:
        yield running


def test_a_question_goes_out_as_documented_and_comes_back_as_a_reply(server):
    params = {"temperature": 0, "top_p": 0.5, "seed": 3, "effort": "low", "detail": "high"}
    reply = ask(server, question(schema=SCHEMA, params=params))
    assert (reply.stop, json.loads(reply.text)["label"], reply.model, reply.request_id) == (
        "end",
        "Pass",
        "qwen-vl",
        "chatcmpl-1",
    )
    assert (reply.usage.input_tokens, reply.usage.cached_tokens, reply.usage.output_tokens) == (800, 100, 30)
    assert server.seen[0].json() == {
        "model": "qwen-vl",
        "max_tokens": 400,
        "messages": [
            {"role": "system", "content": "You judge."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "R01"},
                    {"type": "image_url", "image_url": {"url": URI, "detail": "high"}},
                    {"type": "text", "text": "CHECK"},
                ],
            },
        ],
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True}},
        "temperature": 0,
        "top_p": 0.5,
        "seed": 3,
        "reasoning_effort": "low",
    }


@pytest.mark.parametrize(("structured", "form"), [("json_object", {"type": "json_object"}), ("none", None)])
def test_without_a_schema_on_the_server_the_model_is_told_it(server, structured, form):
    ask(server, question(schema=SCHEMA, params={"structured": structured}))
    body = server.seen[0].json()
    assert body.get("response_format") == form
    assert json.dumps(SCHEMA) in body["messages"][0]["content"]


@pytest.mark.parametrize("status", [400, 422])
def test_a_server_that_refuses_schemas_is_named_with_what_to_do_and_nothing_else_is_tried(server, status):
    server.script(Answer({"error": {"message": "response_format json_schema is not supported"}}, status=status))
    error = failed(server, question(schema=SCHEMA))
    assert (error.kind, len(server.seen)) == ("bad_request", 1)
    assert "structured: json_object or none" in str(error)


def test_a_bad_request_about_something_else_gets_no_such_advice(server):
    server.script(failure(400, None, "image cannot be decoded"))
    assert "structured" not in str(failed(server, question(schema=SCHEMA)))


def test_a_key_is_sent_where_there_is_one_and_none_where_there_is_none(dialect, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "other")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-other")
    ask(server)
    assert {"authorization", "openai-organization"}.isdisjoint(server.seen[0].headers)
    dialect.key = "local-key-123"
    assert ask(server, key="local-key-123").stop == "end"
    error = failed(server, key="wrong-key-123")
    assert (error.kind, "wrong-key-123" in str(error)) == ("auth", False)


def test_an_address_is_needed():
    with pytest.raises(CallError, match="base_url"):
        resolve("openai-compatible", "qwen-vl", on=TODAY)


def choice(reason, **message):
    return {"choices": [{"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": "half"} | message}]}


@pytest.mark.parametrize(
    ("answer", "stop", "text", "detail"),
    [
        (choice("stop"), "end", "half", None),
        (choice("eos_token"), "end", "half", None),
        (choice("length"), "truncated", "half", None),
        (choice("content_filter"), "filtered", "half", "content_filter"),
        (choice("of_tomorrow"), "truncated", "half", "finish_reason 'of_tomorrow'"),
        (choice(None), "truncated", "half", "finish_reason None"),
        (choice("stop", content=None), "end", "", None),
        (choice("stop", content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "end", "ab", None),
        (choice("stop", content=None, refusal="I cannot."), "refused", "", "I cannot."),
        (choice("stop", reasoning_content="hm"), "end", "half", None),
        (choice("stop", content="<think>\nhm {}\n</think>\nhalf"), "end", "\nhalf", None),
        (choice("length", content="<think>\nhm"), "truncated", "<think>\nhm", None),
        (
            choice("tool_calls", tool_calls=[{"id": "1", "function": {"name": "ocr", "arguments": "{"}}]),
            "end",
            "",
            "malformed call of ocr: its arguments are no JSON",
        ),
    ],
)
def test_every_end_of_a_completion_has_its_stop(dialect, server, answer, stop, text, detail):
    dialect.reply = lambda body: answer
    reply = ask(server)
    assert (reply.stop, reply.text, reply.detail, reply.tool_calls) == (stop, text, detail, ())
    assert (reply.usage.input_tokens, reply.usage.output_tokens, dict(reply.usage.reported)) == (0, 0, {})  # none was said


def test_tools_are_called_and_answered_also_by_servers_that_give_no_ids_and_no_text_form(dialect, server):
    calls = [{"type": "function", "function": {"name": "crop", "arguments": {"box": [0]}}}]
    turns = iter([choice("stop", content=None, tool_calls=calls, reasoning_content="hm"), "done"])
    dialect.reply = lambda body: next(turns)
    tool = Tool("crop", "cut out", {"type": "object"})
    first = question(tools=(tool,))
    reply = ask(server, first)
    assert (reply.stop, reply.tool_calls[0].name, reply.tool_calls[0].arguments) == ("tool", "crop", {"box": [0]})
    result = ToolResult(reply.tool_calls[0].id, "crop", (Text("a crop"), PICTURE))
    again = Request("You judge.", (*first.messages, ModelMessage(reply.native), UserMessage((result,))), 400, tools=(tool,))
    assert ask(server, again).text == "done"
    said, told, shown = server.seen[1].json()["messages"][2:]
    assert said["tool_calls"][0]["id"] == told["tool_call_id"] == reply.tool_calls[0].id
    assert (told["role"], told["content"], said["reasoning_content"]) == ("tool", "a crop", "hm")
    assert (shown["role"], shown["content"][1]) == ("user", {"type": "image_url", "image_url": {"url": URI}})


@pytest.mark.parametrize(
    ("answer", "kind", "flags"),
    [
        (Answer({"error": {"message": "Provider returned error", "code": 502}}), "overloaded", {"is_transient": True}),
        (Answer({"error": {"message": "slow", "code": 429}}), "rate_limited", {"is_transient": True}),
        (Answer({"error": {"message": "Insufficient credits", "code": 402}}), "bad_request", {"is_quota": True}),
        (Answer({"error": {"message": "bad", "code": 400}}), "bad_request", {"is_transient": False}),
        (Answer({"error": "model not loaded"}), "transport", {"maybe_paid": True}),
        (Answer({"choices": [{"error": {"message": "upstream", "code": 503}}]}), "overloaded", {}),
        (Answer({"choices": []}), "transport", {"maybe_paid": True}),
        (Answer({"choices": None}), "transport", {}),
        (Answer({"choices": [{"finish_reason": "stop"}]}), "transport", {}),
        (Answer({"choices": ["x"]}), "transport", {}),
        (Answer({"choices": [{"finish_reason": "stop", "message": {"tool_calls": [3]}}]}), "transport", {}),
        (Answer("<html>Welcome</html>"), "transport", {"maybe_paid": True}),
        (Answer("<html>502</html>", status=502), "overloaded", {}),
        (Answer({"detail": "Not Found"}, status=404), "bad_request", {}),
        (Answer({"error": "model 'x' not found"}, status=404), "bad_request", {}),
        (
            Answer({"object": "error", "message": "This model's maximum context length is 4096 tokens", "code": 400}, status=400),
            "bad_request",
            {"is_too_large": True},
        ),
        (
            failure(400, None, "the request exceeds the available context size", "exceed_context_size_error"),
            "bad_request",
            {"is_too_large": True},
        ),
        (failure(503, None, "Loading model", "unavailable_error"), "overloaded", {"is_transient": True}),
        (Answer({"choices": []}, cut_after=4), "transport", {"maybe_paid": True}),
    ],
)
def test_every_failure_becomes_its_kind_after_one_call(server, answer, kind, flags):
    server.script(answer)
    error = failed(server)
    assert error.kind == kind, error
    assert {name: getattr(error, name) for name in flags} == flags
    assert len(server.seen) == 1


def test_uploads_and_batches_are_refused_plainly(server):
    handed = Picture("0" * 64, "image/png", 8, 8, handle="file-1")

    async def within():
        async with connected(server) as adapter:
            for call in (
                lambda: adapter.upload(PICTURE, "p"),
                adapter.uploads,
                lambda: adapter.open_batch([BatchItem("a", question())], "l"),
                lambda: adapter.batches("2026-01-01T00:00:00Z"),
                lambda: adapter.batch("b"),
                lambda: anext(adapter.batch_replies("b")),
                lambda: adapter.ask(question(handed)),
            ):
                with pytest.raises(ProviderError) as caught:
                    await call()
                assert caught.value.kind == "bad_request"

    asyncio.run(within())
    assert server.seen == []


# storms


class Storm:
    """Answers each request with a good reply or one of many faults, by chance but the same each time."""

    def __init__(self, dialect, seed):
        self.dialect, self.chance, self.lock, self.calm = dialect, random.Random(seed), threading.Lock(), 1

    def answer(self, seen, server):
        with self.lock:
            drawn, self.calm = (0.0, 0) if self.calm else (self.chance.random(), 0)
        if drawn < 0.4:
            return self.dialect.answer(seen, server)
        faults = [
            Answer({"error": {"message": "slow", "code": 429}}, status=429, headers={"Retry-After": "0"}),
            Answer({"error": {"message": "slow", "code": 429}}, status=429, headers={"Retry-After": "0.02"}),
            Answer({"error": {"message": "busy"}}, status=529),
            Answer("<html>busy</html>", status=503),
            Answer({"error": {"message": "Overloaded"}}, status=500),
            Answer({"a": "b" * 100}, cut_after=7),
            Answer({}, cut_after=-1),
            Answer("no JSON"),
        ]
        slow = Answer({}, delay_s=4.0)  # longer than the time a call has, and seldom
        faults = [*faults, *faults, *faults, slow]
        return faults[int((drawn - 0.4) / 0.6 * len(faults))]


MODELS = {
    "google": (GoogleDialect, "gemini-3.8-flash", "test-key", ""),
    "openai": (OpenAIDialect, "gpt-6.1-sol", "test-key", "/v1"),
    "openai-compatible": (ChatDialect, "qwen-vl", None, "/v1"),
}


@pytest.mark.parametrize("provider", sorted(MODELS))
def test_in_a_storm_every_request_ends_once_and_every_attempt_is_counted(provider):
    dialect, model_id, key, path = MODELS[provider]
    attempts = []
    retry = Retry(attempts=4, base_s=0.005, cap_s=0.02, retry_after_cap_s=0.05)

    async def storm(server):
        base_url = f"{server.url}{path}"
        model = resolve(provider, model_id, base_url=base_url, on=TODAY)
        adapter = connect(model, key=key, timeout_s=2.0, connections=32)
        try:
            await adapter.ask(question())  # an SDK loads its types with the first call, which would take time from the others
            work = [asked(adapter, question(), retry, attempts.append) for _ in range(200)]
            return await asyncio.gather(*work, return_exceptions=True)
        finally:
            await adapter.close()

    with ProviderServer(Storm(dialect(), seed=1), keep_bodies=False) as server:
        ends = asyncio.run(storm(server))
    replies = [end for end in ends if isinstance(end, Reply)]
    errors = [end for end in ends if isinstance(end, ProviderError)]
    assert len(replies) + len(errors) == len(ends) == 200
    assert 150 <= len(replies) < 200
    assert all(error.is_transient for error in errors)
    assert len(attempts) == len(server.seen) - 1
    assert sum(attempt.error is None for attempt in attempts) == len(replies)
    assert sum(attempt.wait_s is None for attempt in attempts) == 200
