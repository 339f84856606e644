"""The provider's side: one request with the key, its answer as it comes, and what a failure of the wire means."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import httpx2

from longbanana_nb.errors import CallError
from longbanana_nb.generation.gateway.contracts import Permit
from longbanana_nb.generation.gateway.dialects import RULES
from longbanana_nb.providers import faults
from longbanana_nb.providers.http import CONNECT_S

MOST_ANSWER: Final = 64 << 20  # bytes of a whole answer, or of one line of a stream
MOST_ERROR: Final = 1 << 20
PASSED_BACK: Final = ("retry-after", "retry-after-ms", "request-id", "x-request-id", "x-should-retry")
_REFUSED_BETAS: Final = (
    "code-execution",
    "files-api",
    "mcp-client",
    "skills",
    "computer-use",
    "web-",
    "fast-mode",
    "environments",
)


class UpstreamError(Exception):
    """The provider gave no whole answer: a closed `code`, what is said about it, the status for the agent."""

    def __init__(self, code: str, text: str, status: int, *, maybe_paid: bool, headers: Mapping[str, str] | None = None) -> None:
        self.code, self.text, self.status, self.maybe_paid, self.headers = code, text, status, maybe_paid, headers or {}
        super().__init__(text)


def refuse_without_address(permit: Permit) -> None:
    """CallError for a model whose address is not known."""
    if not permit.model.base_url:
        raise CallError(f"{permit.model.provider}/{permit.model.id}: no address is known for it, so no agent can be led there.")


@dataclass(slots=True)
class Upstream:
    """One client for all cases; the key of a case goes into its own requests alone."""

    client: httpx2.AsyncClient

    @asynccontextmanager
    async def answer(self, permit: Permit, path: str, data: bytes, betas: str | None) -> AsyncIterator[httpx2.Response]:
        """Send a request once; its answer with status 200, body unread.

        Raises:
            UpstreamError: any other answer, or none.
        """
        request = self.client.build_request(
            "POST", address(permit, path), headers=headers(permit, betas), content=data, timeout=_timeout(permit)
        )
        with explained(permit):
            response = await self.client.send(request, stream=True)
            try:
                if response.status_code != 200:
                    raise await _refused(permit, response)
                yield response
            finally:
                await response.aclose()


def address(permit: Permit, path: str) -> str:
    """Where a request goes. An address of Anthropic's kind ends before `/v1`, one of OpenAI's after it."""
    rules = RULES[permit.dialect]
    base = str(permit.model.base_url).rstrip("/")
    return base + (path if path == rules.counting else rules.target)


def headers(permit: Permit, betas: str | None) -> dict[str, str]:
    """All headers of a request: nothing of the agent's own but the names of features that it may use."""
    found = {"content-type": "application/json", "accept-encoding": "identity", "user-agent": "longbanana-nb"}
    if permit.dialect != "anthropic-messages":
        return found | ({"authorization": f"Bearer {permit.key}"} if permit.key else {})
    found["anthropic-version"] = "2023-06-01"
    kept = [beta for beta in (one.strip() for one in (betas or "").split(",")) if beta and not beta.startswith(_REFUSED_BETAS)]
    if kept:
        found["anthropic-beta"] = ",".join(kept)
    return found | ({"x-api-key": permit.key} if permit.key else {})


@asynccontextmanager
async def in_time(permit: Permit) -> AsyncIterator[None]:
    """A bound on a whole request: none outlives the case, however slowly its answer comes."""
    left = None if permit.deadline is None else max(0.0, permit.deadline - time.monotonic())
    try:
        async with asyncio.timeout(left):
            yield
    except TimeoutError:
        raise UpstreamError("timeout", "The time of this task is used up.", 504, maybe_paid=True) from None


async def whole(permit: Permit, response: httpx2.Response) -> bytes:
    """The body of an answer, without the key."""
    parts, size = [], 0
    async for block in response.aiter_bytes():
        parts.append(block)
        size += len(block)
        if size > MOST_ANSWER:
            raise UpstreamError("transport", "The provider's answer is too large.", 502, maybe_paid=True)
    return without_key(permit, b"".join(parts))


async def lines(permit: Permit, response: httpx2.Response) -> AsyncIterator[bytes]:
    """The lines of a stream with their ends, as they come, without the key."""
    rest = b""
    async for block in response.aiter_bytes():
        *whole_lines, rest = (rest + block).split(b"\n")
        if whole_lines:
            yield without_key(permit, b"\n".join([*whole_lines, b""]))
        if len(rest) > MOST_ANSWER:
            raise UpstreamError("transport", "A line of the provider's stream is too large.", 502, maybe_paid=True)
    if rest:
        yield without_key(permit, rest)


def without_key(permit: Permit, data: bytes) -> bytes:
    """The same bytes, should a provider repeat the key."""
    return data.replace(permit.key.encode(), b"[redacted]") if permit.key else data


class explained:  # noqa: N801  a context manager used like a function
    """Errors of the wire as an UpstreamError."""

    def __init__(self, permit: Permit) -> None:
        self._permit = permit

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, httpx2.TimeoutException) and not isinstance(error, httpx2.ConnectTimeout | httpx2.PoolTimeout):
            seconds = self._permit.request_timeout_s
            raise UpstreamError("timeout", f"The provider sent nothing for {seconds:g} s.", 504, maybe_paid=True) from None
        if isinstance(error, httpx2.HTTPError | httpx2.StreamError):
            model = self._permit.model
            found = faults.of_transport(f"{model.provider}/{model.id}", error, key=self._permit.key)
            raise UpstreamError("transport", str(found), 502, maybe_paid=found.maybe_paid) from None


async def _refused(permit: Permit, response: httpx2.Response) -> UpstreamError:
    """An answer that is none, in our words, with what the provider said of waiting."""
    body = b""
    async for block in response.aiter_bytes():
        body += block
        if len(body) > MOST_ERROR:
            break
    status = response.status_code
    told = faults.clean(faults.words_of(body), permit.key) or f"status {status}"
    kept = {name: faults.clean(response.headers[name], permit.key) for name in PASSED_BACK if name in response.headers}
    shown = status if 400 <= status < 600 else 502  # an address that leads elsewhere is not followed
    return UpstreamError(faults.kind_of_status(shown), told, shown, maybe_paid=False, headers=kept)


def _timeout(permit: Permit) -> httpx2.Timeout:
    left = permit.request_timeout_s
    if permit.deadline is not None:
        left = max(0.1, min(left, permit.deadline - time.monotonic()))
    return httpx2.Timeout(left, connect=min(CONNECT_S, left), pool=None)
