"""The HTTP client under every SDK: our own, so that nothing of the environment decides where requests and keys go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import cast

import httpx2

CONNECT_S = 10.0
KEPT_S = 60.0  # how long a connection at rest is kept


def http_client(*, timeout_s: float, connections: int) -> httpx2.AsyncClient:
    """A client with `connections` to keep, TLS verified, no proxy and no `.netrc` of the environment, no redirects.

    `timeout_s` bounds each wait for the network; `faults.within` bounds the whole call. A call waits for a free connection
    as long as it must: that queue is ours.
    """
    trusted = httpx2.create_ssl_context(verify=True, trust_env=False)
    one = httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=KEPT_S)
    return httpx2.AsyncClient(
        trust_env=False,
        follow_redirects=False,
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
        response.stream = _Held(cast(httpx2.AsyncByteStream, response.stream), lambda: self._leave(lane))
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


class _Held(httpx2.AsyncByteStream):
    """A response's bytes, with what is done once when they are closed."""

    def __init__(self, stream: httpx2.AsyncByteStream, closed: Callable[[], None]) -> None:
        self._stream = stream
        self._closed: Callable[[], None] | None = closed

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._stream.__aiter__()

    async def aclose(self) -> None:
        """Close the bytes; whatever that brings, the lane is free after it."""
        closed, self._closed = self._closed, None
        try:
            await self._stream.aclose()
        finally:
            if closed is not None:
                closed()
