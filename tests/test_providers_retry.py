"""One policy of trying again, with true SDK calls against a loopback server and waits made small."""

import asyncio
import datetime as dt
import email.utils
import time

import pytest
from provider_server import Answer, ProviderServer
from provider_server.anthropic import AnthropicDialect, failure

from longbanana_nb.providers.catalogue import resolve
from longbanana_nb.providers.connecting import connect
from longbanana_nb.providers.contracts import ProviderError, Request, Text, UserMessage
from longbanana_nb.providers.faults import clean, kind_of_status, retry_after, retry_info
from longbanana_nb.providers.retry import Retry, asked

QUICK = Retry(attempts=4, base_s=0.005, cap_s=0.02, retry_after_cap_s=0.3)
REQUEST = Request("", (UserMessage((Text("?"),)),), 50)
BUSY = failure(529, "overloaded_error", "Overloaded")


@pytest.fixture
def server():
    with ProviderServer(AnthropicDialect()) as running:
        yield running


def ask(server, retry=QUICK, timeout_s=5.0):
    """The reply or the error, and what the log saw."""
    attempts = []

    async def run():
        model = resolve("anthropic", "claude-sonnet-4-6", on=dt.date(2026, 11, 30))
        adapter = connect(model, key="test-key", base_url=server.url, timeout_s=timeout_s, connections=2)
        try:
            return await asked(adapter, REQUEST, retry, attempts.append)
        except ProviderError as error:
            return error
        finally:
            await adapter.close()

    return asyncio.run(run()), attempts


def test_overload_is_tried_again_until_it_works_and_every_attempt_is_seen(server):
    server.script(BUSY, failure(500, "api_error", "Overloaded"), Answer("<html>bad gateway</html>", status=502))
    reply, attempts = ask(server)
    assert reply.stop == "end" and len(server.seen) == 4
    assert [(a.number, a.error and a.error.status) for a in attempts] == [(1, 529), (2, 500), (3, 502), (4, None)]
    assert all(a.wait_s > 0 for a in attempts[:3]) and attempts[3].wait_s is None


def test_no_more_attempts_are_made_than_were_allowed(server):
    server.script(*[BUSY] * 9)
    error, attempts = ask(server)
    assert (error.kind, len(server.seen), len(attempts)) == ("overloaded", 4, 4)
    assert attempts[-1].wait_s is None


@pytest.mark.parametrize(
    "answer",
    [
        failure(400, "invalid_request_error", "no"),
        failure(401, "authentication_error", "no"),
        failure(403, "permission_error", "no"),
        failure(404, "not_found_error", "no"),
        failure(413, "request_too_large", "no"),
        failure(422, "invalid_request_error", "no"),
        failure(402, "billing_error", "no"),
        failure(429, "rate_limit_error", "spend limit", error_code="enforced_spend_limit_reached", headers={"Retry-After": "1"}),
        failure(400, "invalid_request_error", "Your credit balance is too low"),
    ],
)
def test_what_waiting_does_not_help_is_asked_once(server, answer):
    server.script(answer)
    error, attempts = ask(server)
    assert isinstance(error, ProviderError) and len(server.seen) == len(attempts) == 1
    assert not attempts[0].maybe_paid


def test_a_wait_in_seconds_is_obeyed(server):
    server.script(failure(429, "rate_limit_error", "slower", headers={"Retry-After": "0.15"}))
    reply, attempts = ask(server)
    assert reply.stop == "end"
    assert server.seen[1].at - server.seen[0].at >= 0.15
    assert attempts[0].wait_s >= 0.15


def test_a_wait_until_a_date_is_obeyed(server):
    then = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=2)
    server.script(failure(503, "api_error", "soon", headers={"Retry-After": email.utils.format_datetime(then, usegmt=True)}))
    retry = Retry(attempts=2, base_s=0.001, cap_s=0.001, retry_after_cap_s=3)
    reply, attempts = ask(server, retry)
    assert reply.stop == "end" and attempts[0].wait_s > 0.5


@pytest.mark.parametrize("asked_for", ["3600", "Fri, 31 Dec 2027 23:59:59 GMT", "99999999999"])
def test_no_server_makes_us_wait_longer_than_the_cap(server, asked_for):
    server.script(failure(429, "rate_limit_error", "slower", headers={"Retry-After": asked_for}))
    started = time.monotonic()
    reply, attempts = ask(server, Retry(attempts=2, base_s=0.001, cap_s=0.001, retry_after_cap_s=0.05))
    assert reply.stop == "end" and attempts[0].wait_s <= 0.06 and time.monotonic() - started < 2


def test_a_cut_connection_is_tried_again_and_may_have_been_paid(server):
    server.script(Answer({"content": "x" * 400}, cut_after=100), Answer(cut_after=-1))
    reply, attempts = ask(server)
    assert reply.stop == "end"
    assert [a.maybe_paid for a in attempts] == [True, True, False]


def test_a_timeout_is_in_seconds_is_tried_again_and_may_have_been_paid(server):
    server.script(Answer({}, delay_s=5))
    started = time.monotonic()
    reply, attempts = ask(server, timeout_s=0.2)
    assert reply.stop == "end" and attempts[0].maybe_paid
    assert 0.2 <= attempts[0].seconds < 1.5 and time.monotonic() - started < 4


def test_what_may_have_been_paid_is_not_repeated_where_that_is_asked_for(server):
    server.script(Answer(cut_after=-1), BUSY)
    careful = Retry(attempts=4, base_s=0.001, cap_s=0.001, repeats_paid=False)
    error, attempts = ask(server, careful)
    assert error.maybe_paid and len(attempts) == len(server.seen) == 1
    reply, attempts = ask(server, careful)
    assert reply.stop == "end" and len(attempts) == 2  # an overload was not paid


def test_waits_double_up_to_their_cap_and_spread():
    retry, busy = Retry(attempts=9, base_s=1, cap_s=10), ProviderError("overloaded", "busy")
    assert [retry.wait_s(n, busy, 1.0) for n in range(1, 7)] == [1, 2, 4, 8, 10, 10]
    assert [retry.wait_s(n, busy, 0.0) for n in range(1, 7)] == [0.5, 1, 2, 4, 5, 5]
    assert retry.wait_s(9, busy, 1.0) is None
    assert Retry(attempts=5000).wait_s(4000, busy, 1.0) == 30


def test_a_wait_that_was_asked_for_is_never_cut_short_and_spreads_a_little():
    asked_for = ProviderError("rate_limited", "slower", retry_after_s=20)
    assert Retry().wait_s(1, asked_for, 0.0) == 20
    assert 20 < Retry().wait_s(1, asked_for, 1.0) <= 21
    assert Retry(retry_after_cap_s=5).wait_s(1, asked_for, 0.0) == 5


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"Retry-After": "-3"}, 0),
        ({"retry-after-ms": "250", "Retry-After": "9"}, 0.25),
        ({"Retry-After": "Mon, 30 Nov 2026 12:00:30 GMT"}, 30),
        ({"Retry-After": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0),
        ({"Retry-After": "Monday, 30-Nov-26 12:00:10 GMT"}, 10),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": ""}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(headers, seconds):
    assert retry_after(headers, dt.datetime(2026, 11, 30, 12, tzinfo=dt.UTC)) == seconds


@pytest.mark.parametrize(
    ("details", "seconds"),
    [
        ([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}], 37),
        ([{"reason": "x"}, {"retryDelay": "0.5s"}], 0.5),
        ([{"retryDelay": "soon"}], None),
        ([{"retryDelay": 5}], None),
        ("text", None),
        (None, None),
    ],
)
def test_retry_info_is_read_and_rubbish_is_not(details, seconds):
    assert retry_info(details) == seconds


def test_every_status_has_its_kind():
    kinds = {
        status: kind_of_status(status) for status in (400, 401, 403, 404, 408, 409, 413, 422, 425, 429, 500, 502, 503, 504, 529)
    }
    assert {kind for status, kind in kinds.items() if status >= 500} == {"overloaded"}
    assert {status for status, kind in kinds.items() if kind == "auth"} == {401, 403}
    assert {status for status, kind in kinds.items() if kind == "bad_request"} == {400, 404, 413, 422}
    assert (kinds[429], kinds[408], kinds[409]) == ("rate_limited", "transport", "overloaded")


def test_what_a_server_says_is_one_short_line_without_tricks():
    told = clean("a\x1b[31mred\r\n\u202eb" + "x" * 999 + "my-key", "my-key")
    assert told.startswith("a [31mred b") and len(told) < 410 and "\n" not in told
    assert clean("bad key my-key!", "my-key") == "bad key [redacted]!"
