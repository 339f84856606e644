"""No request, however malformed, breaks a case: it passes, or it is refused."""

import json

import pytest
from gateway_fixtures import DIALECTS, PATHS, door, permit, provider
from generation_fixtures import picture
from provider_server.scripted_agent import picture_part, request_body

from longbanana_nb.generation.gateway import Gateway
from longbanana_nb.generation.gateway.checking import checked
from longbanana_nb.generation.gateway.contracts import RefusedError

ODD = [
    None, 0, 1.5, -3, True, "x", "", [], {}, [[]], [{}], {"type": []}, {"type": {}}, {"type": "namespace", "tools": 5}, "\ud800",
    {"type": "image", "source": 5}, {"type": "tool_result", "content": [{"type": "tool_use"}]},
]  # fmt: skip


def whole_request(dialect, model):
    """A request with one of everything."""
    part = picture_part(dialect, picture("red", size=(20, 20)))
    body = request_body(dialect, model, "a", part, stream=True, tool_choice={"type": "auto"}, temperature=1)
    call = {"id": "t", "type": "function", "function": {"name": "n", "arguments": "{}"}}
    if dialect == "anthropic-messages":
        body["system"] = [{"type": "text", "text": "s"}]
        body["messages"] += [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [part]}]},
        ]
    elif dialect == "openai-chat":
        body["messages"] += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "t", "content": [part]},
        ]
    else:
        body["include"] = ["reasoning.encrypted_content"]
        body["tools"].append({"type": "namespace", "name": "z", "tools": [{"type": "function", "name": "q"}]})
        body["input"] += [
            {"type": "function_call", "call_id": "t", "name": "n", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "t", "output": [part]},
        ]
    return body


def places(value, path=()):
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*path, key))


def replaced(value, path, new):
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("dialect", DIALECTS)
def test_anything_anywhere_is_passed_or_refused(dialect, tmp_path):
    wanted = permit(tmp_path, dialect, "http://127.0.0.1:1", params={"max_tokens": 100})
    body = whole_request(dialect, wanted.model.id)
    assert checked(wanted, PATHS[dialect], json.dumps(body).encode()).has_tools
    passed = refused = 0
    for path in list(places(body)):
        for odd in ODD:
            try:
                checked(wanted, PATHS[dialect], json.dumps(replaced(body, path, odd)).encode())
                passed += 1
            except RefusedError:
                refused += 1
    assert passed > 50
    assert refused > 300


def test_the_case_goes_on_after_them(tmp_path):
    dialect = "anthropic-messages"
    with (
        provider() as server,
        Gateway() as gateway,
        door(gateway, permit(tmp_path, dialect, f"{server.url}/s/no_image")) as one,
    ):
        body = request_body(dialect, one.gate.permit.model.id)
        nested = '{"type":"tool_result","content":[' * 400 + "]}" * 400
        deep = json.dumps({**body, "messages": [{"role": "user", "content": ["HERE"]}]}).replace('"HERE"', nested)
        assert one.post(deep.encode()).status_code == 400
        for raw in (b"[1]", b"{", b'{"prompt": {"a": 1}, "references": 5, "keep_current": "yes"}', b'{"prompt": "\\ud800"}'):
            reply = one.post(raw, "/tool/generate")
            assert reply.status_code in (200, 400)
            assert reply.status_code == 400 or reply.json()["ok"] is False
        assert one.post(body).status_code == 200
        assert one.gate.fault is None
