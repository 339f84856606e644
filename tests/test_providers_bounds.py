"""Bodies without end, of answers, of errors and of results, and small ones that unpack to large ones, through the true SDKs."""

import asyncio
import datetime as dt
import gzip
import json

import pytest
from provider_server import Answer, ProviderServer
from provider_server.anthropic import AnthropicDialect
from provider_server.google import GoogleDialect
from provider_server.openai import ChatDialect, OpenAIDialect

from longbanana_nb.providers import http
from longbanana_nb.providers.catalogue import resolve
from longbanana_nb.providers.connecting import connect
from longbanana_nb.providers.contracts import ProviderError, Request, Text, UserMessage

TODAY = dt.date(2026, 11, 30)
PROVIDERS = {
    "google": ("gemini-3.8-flash", GoogleDialect, ""),
    "openai": ("gpt-6.1-sol", OpenAIDialect, "/v1"),
    "anthropic": ("claude-sonnet-4-6", AnthropicDialect, ""),
    "openai-compatible": ("mine", ChatDialect, "/v1"),
}
MOST = 200_000


@pytest.fixture(params=PROVIDERS)
def asked(request, monkeypatch):
    """Asks one question of a provider whose only answer is this one; bounds are small, so that little has to be sent."""
    monkeypatch.setattr(http, "ANSWER_BYTES", MOST)
    monkeypatch.setattr(http, "ERROR_BYTES", MOST // 4)
    name, dialect, path = PROVIDERS[request.param]

    def ask(answer):
        async def once(server):
            model = resolve(request.param, name, on=TODAY, base_url=f"{server.url}{path}")
            adapter = connect(model, key="test-key", base_url=f"{server.url}{path}", timeout_s=10, connections=2)
            try:
                return await adapter.ask(Request("You judge.", (UserMessage((Text("CHECK"),)),), 400))
            finally:
                await adapter.close()

        with ProviderServer(dialect(lambda body: answer, key="test-key")) as server, pytest.raises(ProviderError) as caught:
            asyncio.run(once(server))
        return caught.value

    return ask


def test_an_answer_without_end_is_not_read_to_its_end(asked):
    error = asked(Answer({"padding": "x" * 2 * MOST}))
    assert (error.kind, error.maybe_paid) == ("transport", True)
    assert "longer than 200,000 bytes" in str(error)


def test_an_error_without_end_is_not_read_to_its_end(asked):
    error = asked(Answer({"error": {"message": "x" * MOST}}, status=500))
    assert error.kind in ("transport", "overloaded")
    assert len(str(error)) < 1000


def test_a_compressed_body_is_refused_for_it_may_hold_anything(asked):
    bomb = gzip.compress(json.dumps({"padding": "x" * 50_000_000}).encode())
    assert len(bomb) < MOST
    error = asked(Answer(bomb, headers={"Content-Encoding": "gzip"}, content_type="application/json"))
    assert error.kind == "transport" and "gzip" in str(error)


@pytest.mark.parametrize(
    ("path", "most"),
    [("/v1/messages/batches/b/results", http.RESULTS_BYTES), ("/v1/files/f/content", http.RESULTS_BYTES), ("/v1/messages", MOST)],
)
def test_results_may_be_longer_than_an_answer_and_not_endless(path, most, monkeypatch):
    import httpx2

    monkeypatch.setattr(http, "ANSWER_BYTES", MOST)
    request = httpx2.Request("GET", f"https://example.org{path}")
    assert http.most_bytes(request, 200) == most
    assert http.most_bytes(request, 500) == http.ERROR_BYTES
