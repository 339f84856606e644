"""Gemini through the true SDK against a loopback server: what is sent, what comes of every answer and every failure."""

import asyncio
import base64
import datetime as dt
import hashlib
import json
from contextlib import asynccontextmanager

import pytest
from provider_server import Answer, ProviderServer
from provider_server.google import GoogleDialect, candidate, exhausted, failure

from longbanana_nb.errors import CallError
from longbanana_nb.providers import google_batches
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
SCHEMA = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
JPEG = bytes(range(256)) * 4
PICTURE = Picture(hashlib.sha256(JPEG).hexdigest(), "image/jpeg", 8, 8, data=JPEG)


def question(*parts, **more):
    return Request("You judge.", (UserMessage(parts or (Text("R01"), PICTURE, Text("CHECK"))),), 400, **more)


@asynccontextmanager
async def connected(server, *, key="test-key", route="developer", timeout_s=5.0, base_url=None):
    model = resolve("google", "gemini-3.8-flash" if route == "developer" else "gemini-3.1-flash-image", route, on=TODAY)
    adapter = connect(model, key=key, base_url=base_url or server.url, timeout_s=timeout_s, connections=4)
    try:
        yield adapter
    finally:
        await adapter.close()


def ask(server, request=None, **how):
    async def once():
        async with connected(server, **how) as adapter:
            return await adapter.ask(request or question())

    return asyncio.run(once())


def failed(server, request=None, **how):
    with pytest.raises(ProviderError) as caught:
        ask(server, request, **how)
    return caught.value


@pytest.fixture
def dialect():
    return GoogleDialect()


@pytest.fixture
def server(dialect):
    with ProviderServer(dialect) as running:
        yield running


def test_a_question_goes_out_as_documented_and_comes_back_as_a_reply(server):
    params = {"thinking_level": "low", "media_resolution": "high", "seed": 7}
    reply = ask(server, question(schema=SCHEMA, params=params))
    assert json.loads(reply.text) == {"label": "Pass", "rationale": "seen"}
    assert (reply.stop, reply.model, reply.request_id, reply.detail) == ("end", "gemini-3.8-flash", "resp-1", None)
    [seen] = server.asked()
    assert seen.path == "/v1/models/gemini-3.8-flash:generateContent"
    assert seen.headers["x-goog-api-key"] == "test-key"
    inline = {"mimeType": "image/jpeg", "data": base64.b64encode(JPEG).decode()}
    assert seen.json() == {
        "contents": [{"role": "user", "parts": [{"text": "R01"}, {"inlineData": inline}, {"text": "CHECK"}]}],
        "systemInstruction": {"parts": [{"text": "You judge."}]},
        "generationConfig": {
            "maxOutputTokens": 400,
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
            "thinkingConfig": {"thinkingLevel": "LOW"},
            "mediaResolution": "MEDIA_RESOLUTION_HIGH",
            "seed": 7,
        },
    }


def test_thoughts_are_output_and_what_was_cached_is_not_input(server):
    usage = ask(server).usage
    assert (usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens, usage.output_tokens) == (500, 1000, 0, 100)
    assert usage.reported["thoughtsTokenCount"] == 60


def test_thoughts_are_kept_out_of_the_text(dialect, server):
    dialect.reply = lambda body: {"candidates": [candidate(None, "STOP", {"text": "plan", "thought": True}, {"text": "answer"})]}
    assert ask(server).text == "answer"


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("STOP", "end"),
        ("MAX_TOKENS", "truncated"),
        ("CONTINUATION", "truncated"),
        ("SAFETY", "filtered"),
        ("RECITATION", "filtered"),
        ("BLOCKLIST", "filtered"),
        ("PROHIBITED_CONTENT", "filtered"),
        ("SPII", "filtered"),
        ("IMAGE_SAFETY", "filtered"),
        ("MODEL_ARMOR", "filtered"),
        ("OTHER", "truncated"),
        ("LANGUAGE", "truncated"),
        ("NO_IMAGE", "truncated"),
        ("A_REASON_OF_TOMORROW", "truncated"),
        (None, "truncated"),
    ],
)
def test_every_reason_for_an_end_has_its_stop_and_only_stop_is_an_end(dialect, server, reason, stop):
    dialect.reply = lambda body: {"candidates": [candidate('{"label": "Pass"}', reason)]}
    reply = ask(server)
    assert reply.stop == stop
    assert len(server.seen) == 1  # a continuation would be another call, and paid
    assert (reply.detail is None) == (reason in ("STOP", "MAX_TOKENS"))


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"])
def test_a_call_that_cannot_be_read_is_an_end_without_an_answer(dialect, server, reason):
    dialect.reply = lambda body: {"candidates": [candidate('{"label": "Pass"}', reason, finishMessage="print(")]}
    reply = ask(server)
    assert (reply.stop, reply.text, reply.tool_calls, reply.detail) == ("end", "", (), f"{reason}: print(")
    assert reply.usage.output_tokens == 100  # it was paid


def test_a_reply_cut_before_its_first_word_is_truncated(dialect, server):
    dialect.reply = lambda body: {"candidates": [{"finishReason": "MAX_TOKENS", "content": {"role": "model"}}]}
    assert (ask(server).stop, ask(server).text) == ("truncated", "")


def test_an_end_without_content_is_an_empty_reply(dialect, server):
    dialect.reply = lambda body: {"candidates": [{"finishReason": "STOP", "index": 0}]}
    reply = ask(server)
    assert (reply.stop, reply.text, reply.usage.input_tokens) == ("end", "", 500)


@pytest.mark.parametrize("empty", [None, []])
def test_a_blocked_prompt_is_filtered_and_says_why(dialect, server, empty):
    dialect.reply = lambda body: {
        "candidates": empty, "promptFeedback": {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "no"},
    }  # fmt: skip
    reply = ask(server)
    assert (reply.stop, reply.text, reply.detail) == ("filtered", "", "prompt: PROHIBITED_CONTENT: no")


def test_no_candidate_and_no_reason_is_unreadable_and_maybe_paid(dialect, server):
    dialect.reply = lambda body: {"promptFeedback": {}}
    error = failed(server)
    assert (error.kind, error.maybe_paid, error.is_transient) == ("transport", True, True)


def test_tools_are_called_answered_and_their_thoughts_returned(dialect, server):
    signed = {"functionCall": {"name": "crop", "args": {"box": [0, 0, 4, 4]}}, "thoughtSignature": "c2ln"}
    turns = iter([{"candidates": [candidate(None, "STOP", signed)]}, "done"])
    dialect.reply = lambda body: next(turns)
    tool = Tool("crop", "cut out", {"type": "object"})
    first = question(tools=(tool,))
    reply = ask(server, first)
    assert (reply.stop, reply.tool_calls[0].name, reply.tool_calls[0].arguments) == ("tool", "crop", {"box": [0, 0, 4, 4]})
    result = ToolResult(reply.tool_calls[0].id, "crop", (Text("a crop"), PICTURE))
    again = Request("You judge.", (*first.messages, ModelMessage(reply.native), UserMessage((result,))), 400, tools=(tool,))
    assert ask(server, again).text == "done"
    body = server.seen[1].json()
    assert body["tools"] == [
        {"functionDeclarations": [{"name": "crop", "description": "cut out", "parametersJsonSchema": {"type": "object"}}]}
    ]
    assert body["contents"][1] == {"role": "model", "parts": [signed]}
    answer = body["contents"][2]["parts"][0]["functionResponse"]
    assert (answer["response"], "id" in answer) == ({"result": "a crop"}, False)  # the call had no id, so none goes back
    assert answer["parts"][0]["inlineData"]["mimeType"] == "image/jpeg"


def test_an_id_of_a_call_goes_back_with_its_result(dialect, server):
    call = {"functionCall": {"id": "c9", "name": "ocr", "args": None}}
    turns = iter([{"candidates": [candidate(None, "STOP", call)]}, "done"])
    dialect.reply = lambda body: next(turns)
    reply = ask(server)
    assert (reply.tool_calls[0].id, reply.tool_calls[0].arguments) == ("c9", {})
    result = ToolResult("c9", "ocr", (Text("no text"),), is_error=True)
    ask(server, Request("", (ModelMessage(reply.native), UserMessage((result,))), 400))
    [part] = server.seen[1].json()["contents"][1]["parts"]
    assert part["functionResponse"] == {"name": "ocr", "response": {"error": "no text"}, "id": "c9"}


HTML = "<html><body>502 Bad Gateway</body></html>"
INFO = "type.googleapis.com/google.rpc.ErrorInfo"


@pytest.mark.parametrize(
    ("answer", "kind", "flags"),
    [
        (failure(400, "INVALID_ARGUMENT", "Unknown name"), "bad_request", {}),
        (failure(400, "INVALID_ARGUMENT", "x", {"@type": INFO, "reason": "API_KEY_INVALID"}), "auth", {}),
        (failure(400, "INVALID_ARGUMENT", "API key expired. Please renew the API key."), "auth", {}),
        (failure(400, "FAILED_PRECONDITION", "User location is not supported for the API use."), "bad_request", {}),
        (failure(403, "PERMISSION_DENIED", "no"), "auth", {}),
        (failure(404, "NOT_FOUND", "models/x is not found"), "bad_request", {}),
        (
            failure(400, "INVALID_ARGUMENT", "The input token count exceeds the maximum number of tokens allowed (1048576)."),
            "bad_request",
            {"is_too_large": True},
        ),
        (failure(413, "", "Request Entity Too Large"), "bad_request", {"is_too_large": True}),
        (
            exhausted("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "31.5s"),
            "rate_limited",
            {"retry_after_s": 31.5, "is_quota": False, "is_transient": True},
        ),
        (
            exhausted("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "3600s"),
            "rate_limited",
            {"is_quota": True, "is_transient": False},
        ),
        (failure(429, "RESOURCE_EXHAUSTED", "Resource exhausted, try again."), "rate_limited", {"is_quota": False}),
        (failure(429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted."), "rate_limited", {"is_quota": True}),
        (failure(429, "", "slow", headers={"Retry-After": "2"}), "rate_limited", {"retry_after_s": 2.0}),
        (failure(500, "INTERNAL", "The model is overloaded."), "overloaded", {"is_transient": True}),
        (failure(503, "UNAVAILABLE", "The model is overloaded."), "overloaded", {"is_transient": True}),
        (failure(529, "", "overloaded"), "overloaded", {}),
        (Answer(HTML, status=502), "overloaded", {"is_transient": True}),
        (Answer(b"", status=500), "overloaded", {}),
        (Answer("[]", status=400, content_type="application/json"), "bad_request", {}),
        (Answer(HTML), "transport", {"maybe_paid": True}),
        (Answer(b""), "transport", {"maybe_paid": True}),
        (Answer("[1]"), "transport", {"maybe_paid": True}),
        (Answer({"candidates": ["no"]}), "transport", {"maybe_paid": True}),
        (Answer({"error": {"code": 429, "message": "slow down"}}), "rate_limited", {}),
        (Answer({"candidates": []}, cut_after=5), "transport", {"maybe_paid": True}),
        (Answer({}, cut_after=-1), "transport", {"maybe_paid": True}),
        (Answer(status=302, headers={"Location": "http://127.0.0.1:9/"}), "bad_request", {}),
    ],
)
def test_every_failure_becomes_its_kind_after_one_call(server, answer, kind, flags):
    server.script(answer)
    error = failed(server)
    assert error.kind == kind, error
    assert {name: getattr(error, name) for name in flags} == flags
    assert len(server.seen) == 1


def test_an_answer_may_take_its_seconds(server):
    server.script(Answer({"candidates": [candidate("late")]}, delay_s=0.3))
    assert ask(server, timeout_s=20.0).text == "late"  # 20 of the SDK's milliseconds would be over


def test_a_time_limit_is_in_seconds_and_the_call_maybe_paid(server):
    server.script(Answer({}, delay_s=3))
    error = failed(server, timeout_s=0.4)
    assert (error.kind, error.maybe_paid) == ("transport", True)
    assert "0.4 s" in str(error) or "Timeout" in str(error)


def test_a_dripping_answer_does_not_hold_a_call(server):
    server.script(Answer({"candidates": [candidate("x" * 200)]}, drip_s=0.05))
    assert failed(server, timeout_s=0.5).kind == "transport"


def test_a_server_that_is_not_there_was_not_paid(server):
    error = failed(server, base_url="http://127.0.0.1:9")
    assert (error.kind, error.maybe_paid) == ("transport", False)


def test_a_bad_key_is_said_without_the_key(server):
    server.script(failure(400, "INVALID_ARGUMENT", "API key not valid: wrong-key-123"))
    error = failed(server, key="wrong-key-123")
    assert (error.kind, error.is_transient) == ("auth", False)
    assert "wrong-key-123" not in str(error)


def test_the_environment_gives_no_key_no_address_and_no_route(server, monkeypatch):
    for name, value in {
        "GEMINI_API_KEY": "other", "GOOGLE_API_KEY": "other", "GOOGLE_GENAI_USE_ENTERPRISE": "true",
        "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9", "GOOGLE_GENAI_API_VERSION": "v9", "HTTP_PROXY": "http://127.0.0.1:9",
        "GOOGLE_CLOUD_PROJECT": "p",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    assert ask(server).stop == "end"


def test_without_a_key_nothing_is_opened(server):
    with pytest.raises(CallError, match="GEMINI_API_KEY"):
        ask(server, key=None)


def test_more_bytes_than_google_takes_are_not_sent(server):
    large = bytes(15_000_000)
    picture = Picture(hashlib.sha256(large).hexdigest(), "image/png", 8, 8, data=large)
    error = failed(server, question(picture))
    assert (error.kind, error.is_too_large, server.seen) == ("bad_request", True, [])


def test_an_unknown_parameter_is_refused_and_not_dropped(server):
    assert failed(server, question(params={"top_k": 3})).kind == "bad_request"
    assert server.seen == []


# Google Cloud


@pytest.fixture
def cloud(server, tmp_path, monkeypatch):
    """Credentials as the environment names them (workload identity by a file), whose sign-in is the loopback server."""
    (tmp_path / "subject").write_text("who-we-are", "utf-8")
    account = {
        "type": "external_account", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
        "token_url": f"{server.url}/token", "credential_source": {"file": str(tmp_path / "subject")},
    }  # fmt: skip
    file = tmp_path / "account.json"
    file.write_text(json.dumps(account), "utf-8")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "lab")
    monkeypatch.delenv("GOOGLE_CLOUD_LOCATION", raising=False)
    return server


def test_the_route_vertex_signs_in_and_names_project_and_place(cloud):
    assert ask(cloud, key=None, route="vertex").stop == "end"
    [seen] = cloud.asked("generateContent")
    place = "/v1beta1/projects/lab/locations/global/publishers/google/models/gemini-3.1-flash-image:generateContent"
    assert (seen.path, seen.headers["authorization"]) == (place, "Bearer cloud-token")


def test_the_route_vertex_needs_a_project(cloud, monkeypatch):
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT")
    with pytest.raises(CallError, match="GOOGLE_CLOUD_PROJECT"):
        ask(cloud, key=None, route="vertex")


def test_credentials_that_are_refused_are_auth_and_not_tried_again(cloud):
    cloud.script(Answer({"error": "invalid_grant", "error_description": "Account has been deleted"}, status=400), path="/token")
    error = failed(cloud, key=None, route="vertex")
    assert (error.kind, cloud.asked("generateContent")) == ("auth", [])


def test_credentials_that_are_not_there_are_auth(cloud, tmp_path, monkeypatch):
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    assert failed(cloud, key=None, route="vertex").kind == "auth"


def test_the_route_vertex_takes_no_uploads_and_no_batches_and_says_so(cloud):
    async def tried():
        async with connected(cloud, key=None, route="vertex") as adapter:
            with pytest.raises(ProviderError, match="route developer"):
                await adapter.upload(PICTURE, "p")
            with pytest.raises(ProviderError, match="route developer"):
                await adapter.open_batch([BatchItem("a", question())], "l")

    asyncio.run(tried())


# uploads and batches


def run(server, work):
    async def within():
        async with connected(server) as adapter:
            return await work(adapter)

    return asyncio.run(within())


def test_an_upload_waits_until_it_can_be_used_and_is_then_named(dialect, server):
    async def work(adapter):
        upload = await adapter.upload(PICTURE, "picture")
        handed = Picture(PICTURE.sha256, "image/jpeg", 8, 8, handle=upload.handle)
        await adapter.ask(question(handed))
        return upload, await adapter.uploads()

    upload, listed = run(server, work)
    assert dialect.file_bytes == {"files/f1": JPEG}
    assert (upload.handle, listed) == (f"{server.url}/v1/files/f1", [upload])
    assert (upload.name, upload.size) == ("picture", len(JPEG))
    assert upload.expires_at > dt.datetime.now(dt.UTC).isoformat()
    part = server.asked("generateContent")[0].json()["contents"][0]["parts"][0]
    assert part == {"fileData": {"mimeType": "image/jpeg", "fileUri": upload.handle}}


def test_uploads_that_expired_or_failed_are_not_listed(dialect, server):
    async def work(adapter):
        for n in range(4):
            await adapter.upload(PICTURE, f"p{n}")
        dialect.files["files/f1"]["expirationTime"] = "2026-01-01T00:00:00Z"
        dialect.files["files/f2"]["state"] = "FAILED"
        return await adapter.uploads()

    assert [upload.handle.rsplit("/")[-1] for upload in run(server, work)] == ["f3", "f4"]


def test_an_upload_that_google_cannot_use_is_an_error(dialect, server):
    dialect.file_state = "FAILED"
    with pytest.raises(ProviderError) as caught:
        run(server, lambda adapter: adapter.upload(PICTURE, "p"))
    assert caught.value.kind == "bad_request"


def test_a_piece_of_an_upload_is_sent_once_also_when_it_fails(server):
    server.script(None, failure(503, "UNAVAILABLE", "busy"), path="/upload")
    with pytest.raises(ProviderError) as caught:
        run(server, lambda adapter: adapter.upload(PICTURE, "p"))
    assert (caught.value.kind, len(server.asked("/upload"))) == ("overloaded", 2)


OUTCOMES = {
    "b": {"error": {"code": 3, "message": "bad"}},
    "c": {"error": {"code": 8, "message": "too many"}},
    "d": {"response": {"promptFeedback": {"blockReason": "SAFETY"}}},
    "e": {"response": {"candidates": [candidate("{", "MAX_TOKENS")]}},
    "f": {"response": {"usageMetadata": {}}},
}


@pytest.mark.parametrize("by_file", [False, True])
def test_a_batch_is_handed_in_found_again_and_its_outcomes_come_by_our_ids(dialect, server, monkeypatch, by_file):
    if by_file:
        monkeypatch.setattr(google_batches, "INLINE_BYTES", 100)
    dialect.outcomes = OUTCOMES

    async def work(adapter):
        before = dt.datetime.now(dt.UTC).isoformat()
        opened = await adapter.open_batch([BatchItem(key, question(schema=SCHEMA)) for key in "abcdef"], "lb-7")
        found = await adapter.batches(before)
        later = await adapter.batches((dt.datetime.now(dt.UTC) + dt.timedelta(hours=1)).isoformat())
        state = await adapter.batch(opened.handle)
        return opened, found, later, state, {key: outcome async for key, outcome in adapter.batch_replies(opened.handle)}

    opened, found, later, state, replies = run(server, work)
    assert (opened.state, opened.label, state.state) == ("working", "lb-7", "ended")
    assert ([(batch.handle, batch.label) for batch in found], later) == ([(opened.handle, "lb-7")], [])
    assert dialect.batches[opened.handle]["by_file"] is by_file
    assert dialect.batch_requests[opened.handle][0][1]["generationConfig"]["responseJsonSchema"] == SCHEMA
    assert (replies["a"].stop, json.loads(replies["a"].text)["label"], replies["a"].usage.input_tokens) == ("end", "Pass", 500)
    assert [replies[key].kind for key in "bcf"] == ["bad_request", "rate_limited", "transport"]
    assert (replies["d"].stop, replies["e"].stop) == ("filtered", "truncated")


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("BATCH_STATE_FAILED", "failed"), ("BATCH_STATE_CANCELLED", "failed"), ("BATCH_STATE_EXPIRED", "expired")],
)
def test_a_batch_that_came_to_nothing_says_so(dialect, server, theirs, ours):
    dialect.batch_state = theirs

    async def work(adapter):
        opened = await adapter.open_batch([BatchItem("a", question())], "l")
        replies = [key async for key, _ in adapter.batch_replies(opened.handle)]
        return await adapter.batch(opened.handle), replies

    state, replies = run(server, work)
    assert (state.state, state.detail, replies) == (ours, theirs.replace("BATCH", "JOB"), [])
