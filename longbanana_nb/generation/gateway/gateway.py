"""The gateway of a run: a thread with an event loop, and one unix socket a case."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_unix_socket

from longbanana_nb.errors import CallError
from longbanana_nb.generation.gateway.checking import most_body, refuse_odd_params
from longbanana_nb.generation.gateway.contracts import Permit
from longbanana_nb.generation.gateway.gate import Gate
from longbanana_nb.generation.gateway.serving import application
from longbanana_nb.generation.gateway.upstream import Upstream, refuse_without_address
from longbanana_nb.generation.sandbox.contracts import SOCKET
from longbanana_nb.providers.http import http_client

CONNECTIONS = 64
START_S = 30.0


@dataclass(slots=True)
class _Open:
    """One case's server, and what is under way in it."""

    server: HTTPServer
    works: set[asyncio.Task[None]] = field(default_factory=set)


class Gateway:
    """Leads the agents of a run to their models. One a run, in the process that owns it; holds the keys of the permits.

    Use as a context manager. At its end whatever is still under way is ended.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="gateway", daemon=True)
        self._is_ready = threading.Event()
        self._open: dict[Gate, _Open] = {}
        self._upstream: Upstream | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._is_ready.wait(START_S):
            raise CallError("The gateway did not start.")
        return self

    def __exit__(self, *_: object) -> None:
        self._wait(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @contextmanager
    def open(self, permit: Permit, folder: Path) -> Iterator[Gate]:
        """The gate of one case at `folder/model.sock`. Whoever reaches that socket is that case, and no other.

        At the end requests under way are ended, and an image call under way is waited for, for it is paid.

        Raises:
            CallError: before anything is opened, for a permit that cannot be kept: a price that no purse pays or no budget can
                count on, parameters or an address that do not fit, a path too long for a socket.
            DataError: at the end, where a reference proved damaged.
        """
        refuse_without_address(permit)
        refuse_odd_params(permit)
        refuse_unpayable(permit)
        gate = Gate(permit)
        self._wait(self._start(gate, folder / SOCKET))
        try:
            yield gate
        finally:
            self._wait(self._close(gate))
            (folder / SOCKET).unlink(missing_ok=True)
        if gate.fault is not None:
            raise gate.fault

    # the thread of the gateway

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.call_soon(self._is_ready.set)
        self._loop.run_forever()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())

    def _wait(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _start(self, gate: Gate, path: Path) -> None:
        if self._upstream is None:
            self._upstream = Upstream(http_client(timeout_s=300.0, connections=CONNECTIONS))
        works: set[asyncio.Task[None]] = set()
        most = most_body(gate.permit)
        server = HTTPServer(
            application(gate, self._upstream, works), max_body_size=2 * most, max_buffer_size=2 * most + (1 << 20)
        )
        try:
            server.add_socket(bind_unix_socket(str(path), mode=0o600))
        except (OSError, ValueError) as error:
            raise CallError(
                f"{path}: no socket can be made there ({error}). Set TMPDIR to a short path on a local disk."
            ) from None
        self._open[gate] = _Open(server, works)

    async def _close(self, gate: Gate) -> None:
        gate.is_closed = True
        there = self._open.pop(gate, None)
        if there is None:
            return
        there.server.stop()
        works = list(there.works)
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)
        await gate.drawing_ended()
        await there.server.close_all_connections()

    async def _end(self) -> None:
        for gate in list(self._open):
            await self._close(gate)
        if self._upstream is not None:
            await self._upstream.client.aclose()


def refuse_unpayable(permit: Permit) -> None:
    """CallError where calls of the model could not be paid, or no budget could be kept."""
    name, purse = f"{permit.model.provider}/{permit.model.id}", permit.purse
    if purse is None and permit.price is not None:
        raise CallError(f"{name}: its calls are paid, and there is no ledger to write them to. Use generate_run.")
    limits = [] if purse is None else [one.max_usd for one in (purse.budget, purse.allowance) if one.max_usd is not None]
    if permit.price is None and limits:
        raise CallError(
            f"{name}: its price is unknown, so a limit of ${limits[0]:g} cannot be kept. Set limits.max_usd and "
            "limits.max_usd_per_case to null to run it at an unknown cost, or choose a model with a known price."
        )
