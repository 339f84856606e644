"""Claude through its SDK against a loopback server: what is sent, what comes back, what goes wrong."""

import asyncio
import base64
import datetime as dt
import hashlib
import json

import pytest
from provider_server import Answer, ProviderServer
from provider_server.anthropic import CURRENT, OLDER, AnthropicDialect, failure

from longbanana_nb.errors import CallError
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
    ToolCall,
    ToolResult,
    UserMessage,
)
from longbanana_nb.providers.encoding import PICTURES, EncodedPictures

DAY = dt.date(2026, 11, 30)
SCHEMA = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"], "additionalProperties": False}


def picture(data=b"\xff\xd8 a picture", **fields):
    return Picture(hashlib.sha256(data).hexdigest(), "image/jpeg", 1024, 1024, data, **fields)


def question(*parts, **fields):
    return Request("Judge.", (UserMessage(parts or (Text("Is it red?"),)),), 300, **fields)


@pytest.fixture
def dialect():
    return AnthropicDialect()


@pytest.fixture
def server(dialect):
    with ProviderServer(dialect) as running:
        yield running


def adapted(server, use, *, model_id="claude-sonnet-4-6", key="test-key", timeout_s=5.0, connections=4):
    """Run `use(adapter)` in a loop of its own and close what it opened."""

    async def run():
        adapter = connect(
            resolve("anthropic", model_id, on=DAY), key=key, base_url=server.url, timeout_s=timeout_s, connections=connections
        )
        try:
            return await use(adapter)
        finally:
            await adapter.close()

    return asyncio.run(run())


def ask(server, request, **options):
    return adapted(server, lambda adapter: adapter.ask(request), **options)


def error_of(server, request=None, **options):
    with pytest.raises(ProviderError) as caught:
        ask(server, request or question(), **options)
    return caught.value


def test_a_request_says_all_it_should_and_nothing_else(server):
    shared = picture(ends_prefix=True)
    reply = ask(server, question(Text("R01:"), shared, Text(""), Text("CHECK: red?"), schema=SCHEMA, cache="1h"))
    (seen,) = server.seen
    assert seen.headers["authorization"] == "Bearer test-key"
    assert seen.headers["anthropic-version"] == CURRENT
    assert seen.json() == {
        "model": "claude-sonnet-4-6",
        "max_tokens": 300,
        "system": [{"type": "text", "text": "Judge."}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "R01:"},
                    {
                        "type": "image",
                        "source": {
                            "type": "base64",
                            "media_type": "image/jpeg",
                            "data": base64.b64encode(shared.data).decode(),
                        },
                        "transformations": {"oversized_image": "error"},
                        "cache_control": {"type": "ephemeral", "ttl": "1h"},
                    },
                    {"type": "text", "text": "CHECK: red?"},
                ],
            }
        ],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
    }
    assert (reply.stop, reply.model, reply.request_id) == ("end", "claude-sonnet-4-6", "req_1")
    assert json.loads(reply.text)["label"] == "Pass"


def test_temperature_travels_under_the_older_version_for_the_one_model_that_takes_it(server):
    ask(server, question(params={"temperature": 0}))
    assert (server.seen[0].json()["temperature"], server.seen[0].headers["anthropic-version"]) == (0, OLDER)
    error = error_of(server, question(params={"temperature": 0}), model_id="claude-sonnet-5-5")
    assert error.kind == "bad_request" and "it takes no temperature" in str(error)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("model_id", "params", "sent"),
    [
        ("claude-sonnet-5-5", {"effort": "low", "thinking": "between_tools"}, {"thinking": {"type": "between_tools"}}),
        (
            "claude-sonnet-4-6",
            {"effort": "low", "thinking": "enabled", "thinking_budget": 2048},
            {"thinking": {"type": "enabled", "budget_tokens": 2048}},
        ),
    ],
)
def test_effort_and_thinking_are_sent_as_the_model_takes_them(server, model_id, params, sent):
    ask(server, question(params=params), model_id=model_id)
    body = server.seen[0].json()
    assert body["output_config"] == {"effort": "low"}
    assert sent.items() <= body.items()


def test_a_tool_is_offered_not_forced_and_its_result_goes_back_first(server, dialect):
    call = {"type": "tool_use", "id": "t1", "name": "crop", "input": {"box": [0, 0, 5, 5]}}
    thought = {"type": "thinking", "thinking": "hm", "signature": "s=="}
    dialect.reply = lambda body: {"content": [thought, call], "stop_reason": "tool_use"}
    tool = Tool("crop", "Cut out a part.", {"type": "object", "properties": {}})
    first = ask(server, question(tools=(tool,)))
    assert (first.stop, first.tool_calls) == ("tool", (ToolCall("t1", "crop", {"box": [0, 0, 5, 5]}),))
    result = ToolResult("t1", "crop", (Text("done"), picture()))
    second = Request("", (UserMessage((Text("?"),)), ModelMessage(first.native), UserMessage((Text("go on"), result))), 50)
    ask(server, second)
    body = server.seen[1].json()
    assert "tool_choice" not in server.seen[0].json() and "system" not in body
    assert body["messages"][1] == {"role": "assistant", "content": [thought, call]}
    assert [block["type"] for block in body["messages"][2]["content"]] == ["tool_result", "text"]
    assert [block["type"] for block in body["messages"][2]["content"][0]["content"]] == ["text", "image"]


@pytest.mark.parametrize(
    ("fields", "stop", "detail"),
    [
        ({"stop_reason": "end_turn"}, "end", None),
        ({"stop_reason": "stop_sequence"}, "end", None),
        ({"stop_reason": "max_tokens"}, "truncated", "max_tokens"),
        ({"stop_reason": "pause_turn"}, "truncated", "pause_turn"),
        ({"stop_reason": "model_context_window_exceeded"}, "truncated", "model_context_window_exceeded"),
        ({"stop_reason": "one_of_next_year"}, "truncated", "unknown reason to stop: one_of_next_year"),
        (
            {"stop_reason": "refusal", "stop_details": {"type": "refusal", "category": "bio", "explanation": "no\u202e"}},
            "refused",
            "bio: no",
        ),
        ({"stop_reason": "refusal"}, "refused", "refusal"),
    ],
)
def test_every_reason_to_stop_is_told_apart(server, dialect, fields, stop, detail):
    dialect.reply = lambda body: {"content": [], **fields}
    reply = ask(server, question())
    assert (reply.stop, reply.detail, reply.text) == (stop, detail, "")


ERRORS = [
    (failure(401, "authentication_error", "invalid x-api-key"), {"kind": "auth", "is_transient": False}),
    (failure(403, "permission_error", "no"), {"kind": "auth"}),
    (failure(404, "not_found_error", "model: x"), {"kind": "bad_request", "code": "not_found_error"}),
    (failure(413, "request_too_large", "Request exceeds the maximum size"), {"kind": "bad_request", "is_too_large": True}),
    (
        failure(400, "invalid_request_error", "image too large", error_code="image_dimensions_too_large", paths=["a"]),
        {"kind": "bad_request", "is_too_large": True, "code": "image_dimensions_too_large"},
    ),
    (failure(400, "invalid_request_error", "image exceeds 5 MB maximum: 6 MB"), {"is_too_large": True}),
    (failure(400, "invalid_request_error", "prompt is too long: 1 > 0"), {"is_too_large": True}),
    (failure(400, "invalid_request_error", "max_tokens: field required"), {"kind": "bad_request", "is_too_large": False}),
    (
        failure(400, "invalid_request_error", "Your credit balance is too low to access the API."),
        {"is_quota": True, "is_transient": False},
    ),
    (failure(402, "billing_error", "Pay."), {"is_quota": True, "is_transient": False}),
    (
        failure(429, "rate_limit_error", "no more", error_code="enforced_spend_limit_reached"),
        {"kind": "rate_limited", "is_quota": True, "is_transient": False},
    ),
    (
        failure(429, "rate_limit_error", "slower", error_code="ramp_limit_exceeded", headers={"Retry-After": "7"}),
        {"kind": "rate_limited", "is_quota": False, "retry_after_s": 7.0, "is_transient": True, "code": "ramp_limit_exceeded"},
    ),
    (failure(529, "overloaded_error", "Overloaded"), {"kind": "overloaded", "status": 529, "is_transient": True}),
    (failure(500, "api_error", "Overloaded"), {"kind": "overloaded", "is_transient": True}),
    (Answer("<html><body>502 Bad <b>Gateway</b></body></html>", status=502), {"kind": "overloaded", "status": 502}),
    (Answer(b"", status=503), {"kind": "overloaded", "status": 503}),
    (Answer("<html>Sign in to the network</html>"), {"kind": "transport", "maybe_paid": True}),
    (Answer(b'{"content": ['), {"kind": "transport", "maybe_paid": True}),
    (Answer([1]), {"kind": "transport", "maybe_paid": True}),
    (Answer({"type": "message"}), {"kind": "transport", "maybe_paid": True}),
    (Answer({"content": "x" * 999}, cut_after=300), {"kind": "transport", "maybe_paid": True, "is_transient": True}),
    (Answer(cut_after=-1), {"kind": "transport", "maybe_paid": True}),
    (Answer(b"", status=307, headers={"Location": "http://127.0.0.1:9/"}), {"is_transient": False}),
]


@pytest.mark.parametrize(("answer", "expected"), ERRORS, ids=range(len(ERRORS)))
def test_errors_are_one_of_five_kinds_and_one_call_is_one_attempt(server, answer, expected):
    server.script(answer)
    error = error_of(server)
    assert {name: getattr(error, name) for name in expected} == expected
    assert "<" not in str(error) and "\n" not in str(error)
    assert len(server.seen) == 1


def test_a_message_of_a_server_never_repeats_the_key(server):
    error = error_of(server, key="a-wrong-key-of-mine")
    assert error.kind == "auth" and "a-wrong-key" not in str(error) and "[redacted]" in str(error)


def test_a_slow_answer_ends_in_time_even_if_it_drips(server):
    server.script(Answer({"content": "x" * 500}, drip_s=0.02), Answer({}, delay_s=3))
    for _ in range(2):
        error = error_of(server, timeout_s=0.3)
        assert (error.kind, error.maybe_paid, error.is_transient) == ("transport", True, True)


def test_a_connection_refused_was_not_paid(server):
    server.close()
    error = error_of(server)
    assert (error.kind, error.maybe_paid) == ("transport", False)


def test_nothing_of_the_environment_reaches_the_wire(server, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "Authorization: Bearer other\nx-mine: 1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "other")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "other")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    ask(server, question())
    (seen,) = server.seen
    assert seen.headers["authorization"] == "Bearer test-key"
    assert {"x-mine", "x-api-key"}.isdisjoint(seen.headers)


def test_a_cached_prefix_is_written_once_and_read_after(server):
    def parts(check):
        return [*(picture(bytes([n])) for n in range(2)), picture(b"last", ends_prefix=True), Text(check)]

    first = ask(server, question(*parts("one"), cache="5m")).usage
    second = ask(server, question(*parts("two"), cache="5m")).usage
    assert first.cached_tokens == 0 and first.cache_write_tokens > 4000
    assert (second.cached_tokens, second.cache_write_tokens) == (first.cache_write_tokens, 0)
    assert 0 < second.input_tokens < 20
    assert second.reported["cache_read_input_tokens"] == second.cached_tokens


def test_more_cached_prefixes_than_there_may_be_are_refused_unsent(server):
    error = error_of(server, question(*(Text(f"{n}", ends_prefix=True) for n in range(5)), cache="5m"))
    assert error.kind == "bad_request" and server.seen == []


def test_a_request_larger_than_the_limit_is_not_sent(server):
    error = error_of(server, question(*(picture(bytes([n]) * 4_900_000) for n in range(5))))
    assert error.is_too_large and not error.maybe_paid and server.seen == []


def test_uploads_are_used_by_handle_and_listed_until_they_expire(server, dialect):
    async def use(adapter):
        laid = [await adapter.upload(picture(bytes([n])), f"R{n:02}.jpg") for n in range(3)]
        dialect.files[laid[1].handle]["expires_at"] = "2026-01-01T00:00:00Z"
        shown = Picture("0" * 64, "image/jpeg", 8, 8, handle=laid[0].handle)
        return laid, await adapter.uploads(), await adapter.ask(question(shown)), shown

    laid, listed, reply, _ = adapted(server, use)
    assert dialect.file_bytes[laid[2].handle] == b"\x02"
    assert dialect.files[laid[2].handle]["mime_type"] == "image/jpeg"
    assert [upload.handle for upload in listed] == [laid[0].handle, laid[2].handle]
    assert [(upload.name, upload.size) for upload in listed] == [("R00.jpg", 1), ("R02.jpg", 1)]
    left = dt.datetime.fromisoformat(laid[0].expires_at) - dt.datetime.now(dt.UTC)
    assert dt.timedelta(days=6.9) < left <= dt.timedelta(days=7)
    assert reply.stop == "end" and len(server.asked("/v1/messages")[0].body) < 1000


def test_a_request_for_an_expired_upload_says_so(server):
    error = error_of(server, question(Picture("0" * 64, "image/jpeg", 8, 8, handle="file_gone")))
    assert (error.kind, error.code, error.is_transient) == ("bad_request", "file_expired", False)


def test_a_batch_is_found_again_and_every_outcome_told_apart(server, dialect):
    dialect.polls = 2
    dialect.outcomes = {
        "bad": {"type": "invalid_request_error", "message": "bad image"},
        "busy": {"type": "overloaded_error", "message": "Overloaded"},
        "late": "expired",
        "away": "canceled",
    }
    dialect.reply = lambda body: "a line\u2028within\x85 a string"

    async def use(adapter):
        names = ("good", "bad", "busy", "late", "away")
        opened = await adapter.open_batch([BatchItem(n, question(params={"temperature": 0})) for n in names], "mine")
        await adapter.open_batch([BatchItem("x", question())], "another")
        await adapter.open_batch([BatchItem("y", question())], "and another")
        states = [(await adapter.batch(opened.handle)).state for _ in range(2)]
        found = await adapter.batches(opened.created_at)
        later = await adapter.batches("2099-01-01T00:00:00+00:00")
        return opened, states, found, later, {n: r async for n, r in adapter.batch_replies(opened.handle)}

    opened, states, found, later, outcomes = adapted(server, use, connections=1)
    assert (opened.state, opened.requests, states) == ("working", 5, ["working", "ended"])
    assert [batch.handle for batch in found] == ["msgbatch_3", "msgbatch_2", "msgbatch_1"] and later == []
    assert outcomes["good"].text == "a line\u2028within\x85 a string"
    kinds = {name: (outcomes[name].kind, outcomes[name].code, outcomes[name].is_transient) for name in outcomes if name != "good"}
    assert kinds == {
        "bad": ("bad_request", "invalid_request_error", False),
        "busy": ("overloaded", "overloaded_error", True),
        "late": ("overloaded", "expired", True),
        "away": ("overloaded", "canceled", True),
    }
    assert server.seen[0].headers["anthropic-version"] == OLDER
    assert all("elsewhere" not in seen.headers["host"] for seen in server.seen)


def test_results_cut_half_way_are_an_error_after_what_came(server, dialect):
    async def use(adapter):
        opened = await adapter.open_batch([BatchItem(f"c{n}", question()) for n in range(3)], "")
        whole = dialect.results(server.seen[0], server, opened.handle).body
        server.script(Answer(whole, cut_after=len(whole) - 40), path="/results")
        got = []
        with pytest.raises(ProviderError) as caught:
            async for name, _ in adapter.batch_replies(opened.handle):
                got.append(name)
        return got, caught.value

    got, error = adapted(server, use)
    assert got == ["c2", "c1"] and error.kind == "transport"


def test_tokens_are_counted_without_an_answer(server):
    assert adapted(server, lambda adapter: adapter.count_tokens(question(picture()))) > 1369
    assert "max_tokens" not in server.seen[0].json()


def test_no_more_calls_travel_than_there_are_connections_and_waiting_is_not_timed(server, dialect):
    dialect.latency_s = 0.1

    async def use(adapter):
        return await asyncio.gather(*(adapter.ask(question()) for _ in range(12)))

    assert len(adapted(server, use, connections=2, timeout_s=0.4)) == 12
    assert server.most_in_flight == 2 and server.connections <= 3


def test_a_picture_is_encoded_once_within_the_bound():
    kept = EncodedPictures(most_bytes=60)
    one, two = picture(b"x" * 30), picture(b"y" * 30)
    assert bytes(kept.quoted(one)) == b'"' + base64.b64encode(one.data) + b'"'
    kept.quoted(one)
    assert kept.encoded == 1
    kept.quoted(two)
    kept.quoted(one)
    assert kept.encoded == 3 and kept.kept_bytes <= 60


def test_one_picture_in_many_requests_is_encoded_once(server):
    before, shown = PICTURES.encoded, picture(b"seen in every request")
    adapted(server, lambda adapter: asyncio.gather(*(adapter.ask(question(shown, Text(f"{n}"))) for n in range(3))))
    ask(server, question(shown))
    assert PICTURES.encoded - before == 1


def test_a_judge_needs_a_key_and_an_image_provider_answers_nothing():
    with pytest.raises(ProviderError, match="needs a key"):
        connect(resolve("anthropic", "claude-sonnet-4-6", on=DAY), key=None)
    with pytest.raises(CallError, match="draws pictures"):
        connect(resolve("ark", "seedream-4-0-250828", on=DAY), key="k")
