"""The HTTP client under every SDK: our own, so that nothing of the environment decides where requests and keys go."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from typing import cast

import httpx2

CONNECT_S = 10.0
KEPT_S = 60.0  # how long a connection at rest is kept
ANSWER_BYTES = 64 * 1024 * 1024  # no answer of a model is longer
ERROR_BYTES = 1024 * 1024  # what an error has to say is shorter by far
RESULTS_BYTES = 2 * 1024 * 1024 * 1024  # of the results of a batch, as of the largest file of requests that is taken
_RESULTS = re.compile(r"/results$|/content$|:download$")


def http_client(*, timeout_s: float, connections: int) -> httpx2.AsyncClient:
    """A client with `connections` to keep, TLS verified, no proxy and no `.netrc` of the environment, no redirects.

    Whatever reads a body, an SDK or we, reads no more of it than an answer can have; bodies are asked for uncompressed, for a
    small compressed one can be as large as it likes, and one that comes compressed is refused.
    `timeout_s` bounds each wait for the network; `faults.within` bounds the whole call. A call waits for a free connection
    as long as it must: that queue is ours.
    """
    trusted = httpx2.create_ssl_context(verify=True, trust_env=False)
    one = httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=KEPT_S)
    return httpx2.AsyncClient(
        trust_env=False,
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
        timeout=httpx2.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s), pool=None),
        transport=Lanes(connections, lambda: httpx2.AsyncHTTPTransport(verify=trusted, trust_env=False, limits=one)),
    )


class Lanes(httpx2.AsyncBaseTransport):
    """Transports of one connection each, as many as are needed up to `connections`; the one that was free last goes first.

    A single pool looks at every connection it has, and asks the system about each that rests, whenever a request begins or
    ends: with 32 of them that is a fifth of the processor time of a short call.
    """

    def __init__(self, connections: int, opened: Callable[[], httpx2.AsyncBaseTransport]) -> None:
        self._opened = opened
        self._room = asyncio.Semaphore(connections)
        self._free: list[httpx2.AsyncBaseTransport] = []
        self._all: list[httpx2.AsyncBaseTransport] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request on a free lane; the lane is free again when the response is closed, or when none came.

        A body in pieces (a form) goes as one: every piece costs the processor as much as a whole body.
        """
        if not isinstance(request.stream, httpx2.ByteStream):
            request.stream = httpx2.ByteStream(await request.aread())
        await self._room.acquire()
        lane = self._free.pop() if self._free else self._new()
        try:
            response = await lane.handle_async_request(request)
        except BaseException:
            self._leave(lane)
            raise
        stream = cast(httpx2.AsyncByteStream, response.stream)
        response.stream = _Held(stream, lambda: self._leave(lane), request, most_bytes(request, response.status_code))
        if (encoding := response.headers.get("content-encoding", "identity").lower()) != "identity":
            await response.stream.aclose()
            raise httpx2.DecodingError(f"the body is {encoding[:20]}, and was asked for as it is", request=request)
        return response

    async def aclose(self) -> None:
        """Close every connection."""
        for lane in self._all:
            await lane.aclose()

    def _new(self) -> httpx2.AsyncBaseTransport:
        lane = self._opened()
        self._all.append(lane)
        return lane

    def _leave(self, lane: httpx2.AsyncBaseTransport) -> None:
        self._free.append(lane)
        self._room.release()


def most_bytes(request: httpx2.Request, status: int) -> int:
    """How many bytes of a response are read: of an error, of an answer, or of the results of a batch."""
    if status >= 400:
        return ERROR_BYTES
    return RESULTS_BYTES if request.method == "GET" and _RESULTS.search(request.url.path) else ANSWER_BYTES


class _Held(httpx2.AsyncByteStream):
    """A response's bytes, no more than so many, with what is done once when they are closed."""

    def __init__(self, stream: httpx2.AsyncByteStream, closed: Callable[[], None], request: httpx2.Request, most: int) -> None:
        self._stream, self._request, self._most = stream, request, most
        self._closed: Callable[[], None] | None = closed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            if size > self._most:
                raise httpx2.DecodingError(f"the body is longer than {self._most:,} bytes", request=self._request)
            yield part

    async def aclose(self) -> None:
        """Close the bytes; whatever that brings, the lane is free after it."""
        closed, self._closed = self._closed, None
        try:
            await self._stream.aclose()
        finally:
            if closed is not None:
                closed()
