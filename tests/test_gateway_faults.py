"""What the provider does wrong goes back in the dialect, once a request; what it costs is counted, cut or not."""

import contextlib
import json

import anthropic
import httpx2
import openai
import pytest
from gateway_fixtures import DIALECTS, KEY, PATHS, PRICE, door, permit, provider
from generation_fixtures import picture, purse
from provider_server.scripted_agent import picture_part, request_body

from longbanana_nb.generation.gateway import Gateway

CODES = {
    "bad_key": (401, "auth"),
    "busy": (429, "rate_limited"),
    "broken": (500, "overloaded"),
    "overloaded": (529, "overloaded"),
}


@pytest.fixture(scope="module")
def server():
    with provider() as one:
        yield one


@pytest.fixture
def opened(server, tmp_path):
    with Gateway() as gateway, contextlib.ExitStack() as stack:

        def open_one(dialect, script, name="a", **more):
            return stack.enter_context(door(gateway, permit(tmp_path / name, dialect, f"{server.url}/s/{script}", **more)))

        yield open_one


def body_of(one, *parts, **more):
    return request_body(one.dialect, one.gate.permit.model.id, *parts, **more)


def lines(one):
    return [json.loads(line) for line in one.gate.permit.purse.ledger.journal.lines()]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("script", CODES)
def test_errors_go_back_as_they_came_without_the_key(opened, server, dialect, script):
    status, code = CODES[script]
    one = opened(dialect, script, price=PRICE)
    before = len(server.seen)
    reply = one.post(body_of(one, stream=True))
    assert reply.status_code == status
    assert len(server.seen) == before + 1, "nobody but the agent tries again"
    assert reply.headers.get("retry-after") == ("7" if status == 429 else None)
    assert KEY not in reply.text
    assert "[redacted]" in reply.text, "the provider repeats the key here"
    assert KEY not in json.dumps(one.gate.transcript)
    assert (reply.json().get("type") == "error") == (dialect == "anthropic-messages")
    assert (one.gate.calls, one.gate.turns, one.gate.trouble[1].code) == (1, 0, code)
    assert [line["event"] for line in lines(one)] == ["opened", "closed"]
    assert one.gate.permit.purse.budget.spent_usd == 0


def test_the_sdks_read_them_as_their_own_errors(opened):
    asked = {"model": "claude-sonnet-5-5", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}]}
    with opened("anthropic-messages", "busy").anthropic() as client, pytest.raises(anthropic.RateLimitError) as caught:
        client.messages.create(**asked)
    assert caught.value.response.headers["retry-after"] == "7"
    with opened("openai-responses", "broken", "b").openai() as client, pytest.raises(openai.InternalServerError):
        client.responses.create(model="gpt-6.1-sol", input="x")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_key_in_an_answer_does_not_reach_the_agent(opened, dialect):
    one = opened(dialect, "echo")
    for stream in (False, True):
        reply = one.post(body_of(one, stream=stream))
        assert reply.status_code == 200
        assert KEY not in reply.text
        assert "[redacted]" in reply.text
    assert KEY not in json.dumps(one.gate.transcript)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_cut_off_ends_with_an_error_and_counts_with_its_most(opened, dialect):
    one = opened(dialect, "cut", price=PRICE)
    told = b""
    with (
        one.http() as client,
        pytest.raises(httpx2.RemoteProtocolError),
        client.stream("POST", PATHS[dialect], json=body_of(one, stream=True)) as reply,
    ):
        assert reply.status_code == 200
        for block in reply.iter_bytes():
            told += block
    assert b"RemoteProtocolError" in told.splitlines()[-2], "the last event says what happened"
    assert one.gate.trouble[1].code == "transport"
    assert [line["event"] for line in lines(one)] == ["opened"]
    assert one.gate.permit.purse.budget.spent_usd == pytest.approx(lines(one)[0]["max_usd"])
    assert one.gate.permit.purse.budget.reserved_usd == 0


def test_a_provider_that_says_nothing_is_given_up(opened):
    one = opened("anthropic-messages", "hangs", request_timeout_s=0.5, price=PRICE)
    reply = one.post(body_of(one, stream=True))
    assert (reply.status_code, reply.json()["error"]["type"]) == (504, "api_error")
    outcome, reason = one.gate.trouble
    assert (outcome, reason.code) == ("timeout", "timeout")
    assert one.gate.permit.purse.budget.spent_usd > 0, "it may have been paid"


def test_a_provider_that_is_not_there_costs_nothing(opened, tmp_path):
    with Gateway() as gateway, door(gateway, permit(tmp_path / "x", "openai-chat", "http://127.0.0.1:9", price=PRICE)) as one:
        reply = one.post(body_of(one))
        assert reply.status_code == 502
        assert one.gate.trouble[1].code == "transport"
        assert one.gate.permit.purse.budget.spent_usd == 0
    gone = opened("openai-chat", "gone", "gone", price=PRICE)
    assert gone.post(body_of(gone)).status_code == 502
    assert gone.gate.permit.purse.budget.spent_usd > 0, "it was sent whole"


def test_calls_are_reserved_before_and_settled_by_the_providers_count(opened):
    one = opened("anthropic-messages", "no_image", price=PRICE)
    one.post(body_of(one, stream=True, usage={"input_tokens": 1}))
    assert one.gate.refusals[-1].code == "field", "what an agent says of usage is no field of a request"
    one.post(body_of(one, stream=True))
    first, last = lines(one)
    assert (first["event"], first["role"], last["event"]) == ("opened", "agent", "closed")
    assert first["max_usd"] > last["cost_usd"] == pytest.approx((1000 * 2 + 20 * 10) / 1e6)
    assert last["usage"] == {"in": 1000, "cached": 0, "out": 20}


def test_a_call_that_could_pass_a_budget_is_not_made(opened, server, tmp_path):
    one = opened("openai-chat", "no_image", price=PRICE, purse=purse(tmp_path, case_usd=0.02), params={"max_tokens": 500})
    assert one.post(body_of(one)).status_code == 200
    before = len(server.seen)
    reply = one.post(body_of(one, "x" * 40_000))
    assert reply.status_code == 403
    assert "budget" in reply.text
    assert len(server.seen) == before
    assert one.gate.limit.code == "max_usd_per_case"
    assert one.post(body_of(one)).status_code == 403, "it stays closed"
    assert one.post({}, "/tool/list_references").status_code == 403


def test_pictures_count_in_what_a_call_may_cost(opened):
    one = opened("anthropic-messages", "no_image", price=PRICE)
    one.post(body_of(one))
    one.post(body_of(one, "x", picture_part("anthropic-messages", picture("red", size=(1400, 1400)))))
    plain, shown = (line["max_usd"] for line in lines(one) if line["event"] == "opened")
    assert (shown - plain) * 1e6 / 2 >= 2500


def test_image_calls_and_model_calls_share_a_purse(opened, tmp_path):
    one = opened("openai-chat", "no_image", price=PRICE, purse=purse(tmp_path, case_usd=1.2), backend={"cost": 0.5, "most": 1.0})
    drawn = {"prompt": "A", "references": ["ref_01"], "keep_current": False}
    assert one.post(drawn, "/tool/generate").json()["value"]["outcome"] == "image"
    assert one.gate.cost_usd == pytest.approx(0.5)
    assert one.post(drawn, "/tool/generate").status_code == 403
    assert (one.gate.limit.code, one.gate.image_calls) == ("max_usd_per_case", 1)
    assert [line["event"] for line in lines(one)] == ["opened", "closed"]
