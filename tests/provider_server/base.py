"""A small HTTP/1.1 server on 127.0.0.1 in a thread of its own: scripted answers, faults, and a record of what was asked."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

CHUNK = 1 << 16


@dataclass(frozen=True)
class Seen:
    """One request as it came; header names are in small letters."""

    number: int
    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes
    at: float

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """What to send back, and what goes wrong with it.

    `body` is sent as JSON unless it is text or bytes. `delay_s` passes before the first byte. `cut_after` ends the connection
    when so many bytes of the body are out (-1: before the status line). `drip_s` passes between single bytes of the body.
    `length` promises that many bytes whatever is sent.
    """

    body: Any = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str | None = None
    delay_s: float = 0.0
    cut_after: int | None = None
    drip_s: float = 0.0
    length: int | None = None

    def data(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()

    def kind(self) -> str:
        usual = "text/html; charset=utf-8" if isinstance(self.body, str) else "application/json"
        return self.content_type or usual


class Dialect(Protocol):
    """A provider's side of the conversation."""

    def answer(self, seen: Seen, server: ProviderServer) -> Answer: ...


class ProviderServer:
    """Serves one dialect until closed. Use as a context manager, or call `start` and `close`.

    `script` puts answers before the dialect's own, in order; None in a script lets the dialect answer that request.
    """

    def __init__(self, dialect: Dialect, *, keep_bodies: bool = True) -> None:
        self.dialect = dialect
        self.seen: list[Seen] = []
        self.keep_bodies = keep_bodies
        self.connections = self.in_flight = self.most_in_flight = self.bytes_read = 0
        self.url = ""
        self._scripts: list[tuple[Callable[[Seen], bool], deque[Answer | None]]] = []
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="provider-server", daemon=True)

    def __enter__(self) -> ProviderServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> ProviderServer:
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("the loopback server did not start")
        return self

    def close(self) -> None:
        if self._stop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def script(self, *answers: Answer | None, path: str = "", method: str | None = None) -> None:
        """Answer the next requests whose path holds `path` with these, one each."""

        def fits(seen: Seen) -> bool:
            return path in seen.path and method in (None, seen.method)

        with self._lock:
            self._scripts.append((fits, deque(answers)))

    def asked(self, path: str = "", method: str | None = None) -> list[Seen]:
        """The requests whose path holds `path`."""
        with self._lock:
            return [s for s in self.seen if path in s.path and method in (None, s.method)]

    # the thread of the server

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, limit=1 << 20)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client went away, or the server is closing
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ", 2)
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
        body = await self._body(reader, writer, headers)
        self.bytes_read += len(head) + len(body)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._reply(self._note(method, target, headers, body), writer)
        finally:
            self.in_flight -= 1

    async def _body(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, headers: Mapping[str, str]) -> bytes:
        if headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return await reader.readexactly(int(headers.get("content-length", 0)))
        parts = []
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            parts.append(await reader.readexactly(size))
            await reader.readexactly(2)
        await reader.readuntil(b"\r\n")
        return b"".join(parts)

    def _note(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Seen:
        parts = urlsplit(target)
        with self._lock:
            seen = Seen(len(self.seen) + 1, method, parts.path, parse_qs(parts.query), headers, body, time.monotonic())
            self.seen.append(
                seen if self.keep_bodies else Seen(seen.number, method, parts.path, seen.query, headers, b"", seen.at)
            )
        return seen

    def _answer(self, seen: Seen) -> Answer:
        with self._lock:
            for fits, answers in self._scripts:
                if answers and fits(seen):
                    scripted = answers.popleft()
                    if scripted is not None:
                        return scripted
                    break
        return self.dialect.answer(seen, self)

    async def _reply(self, seen: Seen, writer: asyncio.StreamWriter) -> bool:
        answer = self._answer(seen)
        await asyncio.sleep(answer.delay_s)
        if answer.cut_after == -1:
            return False
        data = answer.data()
        length = len(data) if answer.length is None else answer.length
        head = {
            "Content-Type": answer.kind(),
            "Content-Length": str(length),
            "request-id": f"req_{seen.number}",
            **answer.headers,
        }
        lines = [f"HTTP/1.1 {answer.status} Scripted", *(f"{name}: {value}" for name, value in head.items())]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        await self._send(writer, data if answer.cut_after is None else data[: answer.cut_after], answer.drip_s)
        return answer.cut_after is None and length == len(data)

    async def _send(self, writer: asyncio.StreamWriter, data: bytes, drip_s: float) -> None:
        step = 1 if drip_s else CHUNK
        for start in range(0, len(data), step):
            writer.write(data[start : start + step])
            await writer.drain()
            if drip_s:
                await asyncio.sleep(drip_s)
