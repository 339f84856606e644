"""Gates for tests: a case with real pictures, a scripted provider on loopback, and true clients over the case's socket."""

from __future__ import annotations

import contextlib
import datetime as dt
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
from generation_fixtures import PasteBackend, make_case, purse
from provider_server import ProviderServer
from provider_server.scripted_agent import ScriptedAgent

from longbanana_nb.generation import ModelChoice
from longbanana_nb.generation.drawing import DrawingBoard
from longbanana_nb.generation.gateway import Gate, Gateway, Permit
from longbanana_nb.generation.workspace import Workspace
from longbanana_nb.providers.catalogue import resolve
from longbanana_nb.providers.prices import Price, Rates

KEY = "sk-test-SECRET-0123456789"
DIALECTS = ("anthropic-messages", "openai-chat", "openai-responses")
PROVIDERS = {
    "anthropic-messages": ("anthropic", "claude-sonnet-5-5"),
    "openai-chat": ("openai-compatible", "some-model"),
    "openai-responses": ("openai", "gpt-6.1-sol"),
}
PATHS = {
    "anthropic-messages": "/v1/messages",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
}
PRICE = Price(((0, Rates(input=2.0, output=10.0)),), "tests")


def model_of(dialect: str, base: str) -> Any:
    provider, name = PROVIDERS[dialect]
    base_url = base if dialect == "anthropic-messages" else f"{base}/v1"
    return resolve(provider, name, base_url=base_url, on=dt.date(2026, 12, 1))


def permit(folder: Path, dialect: str, base: str, **more: Any) -> Permit:
    """A permit of a small case on the paste backend; keywords replace fields, `backend` its parameters."""
    folder.mkdir(parents=True, exist_ok=True)
    case = more.pop("case", None) or make_case(folder / "images")
    paying = more.pop("purse", None) or purse(folder)
    backend = PasteBackend(ModelChoice("test", "paste", params=more.pop("backend", {})))
    board = DrawingBoard(case, backend, 7, paying)
    workspace = Workspace(case, board, more.pop("max_image_calls", 4))
    fields = {"key": KEY, "price": None, "request_timeout_s": 20.0, **more}
    return Permit(
        case=case, model=model_of(dialect, base), dialect=dialect, board=board, workspace=workspace, purse=paying, **fields
    )


class Door:
    """One open case: its gate, and clients that speak over its socket."""

    def __init__(self, gate: Gate, path: Path) -> None:
        self.gate, self.path = gate, path
        self.dialect = gate.permit.dialect

    def http(self, **more: Any) -> httpx2.Client:
        return httpx2.Client(transport=httpx2.HTTPTransport(uds=str(self.path)), base_url="http://gate", timeout=30, **more)

    def post(self, body: Any, path: str | None = None, **headers: str) -> httpx2.Response:
        with self.http() as client:
            content = body if isinstance(body, bytes) else None
            return client.post(path or PATHS[self.dialect], content=content, json=None if content else body, headers=headers)

    def anthropic(self) -> anthropic.Anthropic:
        """Anthropic's SDK; use it as a context manager."""
        return anthropic.Anthropic(api_key="permit", base_url="http://gate", max_retries=0, http_client=self.http())

    def openai(self) -> openai.OpenAI:
        """OpenAI's SDK; use it as a context manager."""
        return openai.OpenAI(api_key="permit", base_url="http://gate/v1", max_retries=0, http_client=self.http())

    def names(self) -> list[tuple[str, str, str]]:
        return [(line["actor"], line["kind"], line["name"]) for line in self.gate.transcript]


@contextlib.contextmanager
def provider(scripts: dict[str, list[Any]] | None = None) -> Iterator[ProviderServer]:
    with ProviderServer(ScriptedAgent(scripts)) as server:
        yield server


@contextlib.contextmanager
def door(gateway: Gateway, wanted: Permit) -> Iterator[Door]:
    with tempfile.TemporaryDirectory(prefix="gate-") as folder, gateway.open(wanted, Path(folder)) as gate:
        yield Door(gate, Path(folder) / "model.sock")


def until(true: Any, seconds: float = 10.0) -> bool:
    """Wait until something holds."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if true():
            return True
        time.sleep(0.01)
    return False
