"""The HTTP client under every SDK: our own, so that nothing of the environment decides where requests and keys go."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2

CONNECT_S = 10.0


def http_client(*, timeout_s: float, connections: int) -> httpx2.AsyncClient:
    """A client with `connections` to keep, TLS verified, no proxy and no `.netrc` of the environment, no redirects.

    `timeout_s` bounds each wait for the network; `faults.within` bounds the whole call. A call waits for a free connection
    as long as it must: that queue is ours.
    """
    import httpx2

    return httpx2.AsyncClient(
        trust_env=False,
        follow_redirects=False,
        timeout=httpx2.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s), pool=None),
        limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=60.0),
    )
