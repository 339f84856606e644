"""What the gateway does not pass on: each refusal is answered in the dialect, written down, and nothing of it is sent."""

import contextlib
import dataclasses
import json

import anthropic
import openai
import pytest
from gateway_fixtures import DIALECTS, PATHS, door, permit, provider
from generation_fixtures import picture
from provider_server.scripted_agent import picture_part, request_body

from longbanana_nb.generation.gateway import Gateway

URL = "https://example.org/secret.png"
BY_ADDRESS = {
    "anthropic-messages": {"type": "image", "source": {"type": "url", "url": URL}},
    "openai-chat": {"type": "image_url", "image_url": {"url": URL}},
    "openai-responses": {"type": "input_image", "image_url": URL},
}
BY_FILE = {
    "anthropic-messages": {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
    "openai-chat": {"type": "file", "file": {"file_id": "file_1"}},
    "openai-responses": {"type": "input_image", "file_id": "file_1"},
}
WEB_TOOL = {
    "anthropic-messages": {"type": "web_search_20250305", "name": "web_search"},
    "openai-chat": {"type": "web_search"},
    "openai-responses": {"type": "web_search"},
}


@pytest.fixture(scope="module")
def server():
    with provider() as one:
        yield one


@pytest.fixture(scope="module")
def doors(server, tmp_path_factory):
    """One open case a dialect."""
    with Gateway() as gateway, contextlib.ExitStack() as stack:
        base, folder = f"{server.url}/s/no_image", tmp_path_factory.mktemp("cases")
        yield {one: stack.enter_context(door(gateway, permit(folder / one, one, base))) for one in DIALECTS}


def refused(server, one, body, code, status=400, path=None, **headers):
    """Send a body that must be refused; returns the message the agent gets."""
    before, calls = len(server.seen), one.gate.calls
    reply = one.post(body, path, **headers)
    assert reply.status_code == status, reply.text
    assert len(server.seen) == before
    assert one.gate.calls == calls
    assert one.gate.refusals[-1].code == code
    line = one.gate.transcript[-1]
    assert (line["actor"], line["kind"], line["name"]) == ("gateway", "refused", code)
    error = reply.json()["error"]
    assert error["type"]
    assert (reply.json().get("type") == "error") == (one.dialect == "anthropic-messages")
    return error["message"]


def body_of(one, *parts, **more):
    return request_body(one.dialect, one.gate.permit.model.id, *parts, **more)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_pictures_travel_as_bytes_only(server, doors, dialect):
    one = doors[dialect]
    refused(server, one, body_of(one, BY_ADDRESS[dialect]), "image_source")
    refused(server, one, body_of(one, BY_FILE[dialect]), "part" if dialect == "openai-chat" else "image_source")
    wrong = json.loads(json.dumps(picture_part(dialect, picture("red"))).replace("iVBOR", "!!!!!"))
    refused(server, one, body_of(one, wrong), "image_source")
    assert one.post(body_of(one, picture_part(dialect, picture("red")))).status_code == 200


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_picture_by_address_in_a_tools_result_is_refused_too(server, doors, dialect):
    one = doors[dialect]
    part = BY_ADDRESS[dialect]
    body = body_of(one)
    field = "input" if dialect == "openai-responses" else "messages"
    body[field] += {
        "anthropic-messages": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [part]}]},
        ],
        "openai-chat": [{"role": "tool", "tool_call_id": "t1", "content": [part]}],
        "openai-responses": [{"type": "function_call_output", "call_id": "t1", "output": [part]}],
    }[dialect]
    refused(server, one, body, "image_source")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_tools_of_the_provider_are_refused(server, doors, dialect):
    one = doors[dialect]
    body = body_of(one)
    body["tools"].append(WEB_TOOL[dialect])
    assert "web_search" in refused(server, one, body, "tool")
    refused(server, one, body_of(one, tool_choice={"type": "web_search_preview"}), "tool")
    refused(server, one, body_of(one, tools=["web_search"]), "tool")


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "code_execution_20250825", "name": "code_execution"},
        {"type": "bash_20250124", "name": "bash"},
        {"type": "mcp_toolset", "mcp_server_name": "x"},
        {"name": "x", "input_schema": {"type": "object"}, "allowed_callers": ["code_execution_20250825"]},
    ],
)
def test_tools_that_are_not_the_agents_own_are_refused_by_anthropics_dialect(server, doors, tool):
    one = doors["anthropic-messages"]
    refused(server, one, body_of(one, tools=[tool]), "tool")


@pytest.mark.parametrize(
    "kind", ["file_search", "code_interpreter", "image_generation", "mcp", "computer_use_preview", "local_shell"]
)
def test_tools_that_are_not_the_agents_own_are_refused_by_the_responses_dialect(server, doors, kind):
    one = doors["openai-responses"]
    refused(server, one, body_of(one, tools=[{"type": kind}]), "tool")
    hidden = {"type": "namespace", "name": "mine", "tools": [{"type": kind}]}
    refused(server, one, body_of(one, tools=[hidden]), "tool")


@pytest.mark.parametrize(
    ("dialect", "field", "value"),
    [
        ("anthropic-messages", "mcp_servers", [{"type": "url", "url": URL}]),
        ("anthropic-messages", "container", "container_1"),
        ("anthropic-messages", "speed", "fast"),
        ("openai-chat", "web_search_options", {}),
        ("openai-chat", "modalities", ["text", "audio"]),
        ("openai-chat", "n", 4),
        ("openai-responses", "previous_response_id", "resp_1"),
        ("openai-responses", "conversation", "conv_1"),
        ("openai-responses", "prompt", {"id": "pmpt_1"}),
        ("openai-responses", "background", True),
        ("openai-responses", "include", ["web_search_call.action.sources"]),
    ],
)
def test_fields_that_reach_further_are_refused(server, doors, dialect, field, value):
    one = doors[dialect]
    assert field in refused(server, one, body_of(one, **{field: value}), "field")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_another_model_is_refused_also_on_the_side(server, doors, dialect):
    one = doors[dialect]
    text = refused(server, one, request_body(dialect, "another-model", has_tools=False), "model")
    assert one.gate.permit.model.id in text
    refused(server, one, request_body(dialect, one.gate.permit.model.id.upper()), "model")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_only_the_dialects_own_address_is_there(server, doors, dialect):
    one = doors[dialect]
    for other in DIALECTS:
        if other != dialect:
            refused(server, one, request_body(other, one.gate.permit.model.id), "endpoint", 404, PATHS[other])
    for path in ("/v1/files", "/v1/batches", "/v1/images/generations", "/v1/messages/batches", "/v1/responses/resp_1", "/"):
        refused(server, one, {}, "endpoint", 404, path)
    with one.http() as client:
        assert client.get(PATHS[dialect]).status_code == 405
        assert client.delete("/v1/files/file_1").status_code == 404
        assert client.get("/v1/models/another").status_code == 404
        assert client.get("http://elsewhere.example/v1/models").json()["data"][0]["id"] == one.gate.permit.model.id


@pytest.mark.parametrize(
    "raw",
    [b"", b"[]", b"{", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"model": NaN}'],
)
def test_what_is_no_request_is_refused(server, doors, raw):
    one = doors["openai-chat"]
    reply = one.post(raw or b" ")
    assert reply.status_code == 400
    assert one.gate.refusals[-1].code in ("json", "model")


@pytest.mark.parametrize(
    ("dialect", "more"),
    [
        ("anthropic-messages", {"messages": "text"}),
        ("anthropic-messages", {"messages": [{"role": 1, "content": "x"}]}),
        ("anthropic-messages", {"messages": [{"role": "user", "content": [{"type": "text", "text": {"a": 1}}]}]}),
        ("anthropic-messages", {"messages": [{"role": "user", "content": [[]]}]}),
        ("anthropic-messages", {"tools": {"a": 1}}),
        ("openai-chat", {"messages": [None]}),
        ("openai-responses", {"input": 5}),
    ],
)
def test_forms_that_nobody_could_check_are_refused(server, doors, dialect, more):
    one = doors[dialect]
    refused(server, one, body_of(one, **more), "json")


@pytest.mark.parametrize(
    ("dialect", "item"),
    [
        ("anthropic-messages", {"type": "document", "source": {"type": "url", "url": URL}}),
        ("anthropic-messages", {"type": "container_upload", "file_id": "file_1"}),
        ("anthropic-messages", {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
        ("openai-chat", {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}),
        ("openai-responses", {"type": "input_file", "file_url": URL}),
    ],
)
def test_parts_that_are_neither_text_nor_picture_are_refused(server, doors, dialect, item):
    one = doors[dialect]
    refused(server, one, body_of(one, item), "part")


def test_items_that_point_to_what_lies_with_the_provider_are_refused(server, doors):
    one = doors["openai-responses"]
    refused(server, one, body_of(one, input=[{"type": "item_reference", "id": "msg_1"}]), "part")


def test_the_sdks_read_a_refusal_as_their_own_error(doors):
    one = doors["anthropic-messages"]
    with one.anthropic() as client, pytest.raises(anthropic.BadRequestError, match="not the model of this system"):
        client.messages.create(model="claude-opus-9", max_tokens=5, messages=[{"role": "user", "content": "x"}])
    two = doors["openai-responses"]
    with two.openai() as client, pytest.raises(openai.BadRequestError, match="not the model of this system"):
        client.responses.create(model="gpt-9", input="x")


def test_a_request_that_is_too_large_is_refused(server, tmp_path):
    wanted = permit(tmp_path, "openai-chat", f"{server.url}/s/no_image")
    limits = wanted.model.limits.__class__(**{
        **{name: getattr(wanted.model.limits, name) for name in wanted.model.limits.__struct_fields__}, "request_bytes": 4000,
    })  # fmt: skip
    small = dataclasses.replace(wanted, model=dataclasses.replace(wanted.model, limits=limits))
    with Gateway() as gateway, door(gateway, small) as one:
        refused(server, one, body_of(one, "x" * 5000), "size", 413)
        assert one.post(body_of(one, "x" * 1000)).status_code == 200


def test_a_refused_request_with_tools_is_the_reason_where_nothing_follows(server, tmp_path):
    with Gateway() as gateway, door(gateway, permit(tmp_path, "openai-chat", f"{server.url}/s/no_image")) as one:
        body = body_of(one)
        body["tools"].append(WEB_TOOL["openai-chat"])
        one.post(body)
        assert one.gate.trouble[1].code == "refused_by_gateway"
        one.post(body_of(one))
        assert one.gate.trouble is None
