"""A quick stand-in for Anthropic's API on one core: reads bodies away, answers after a latency, and counts.

    python tests/bench/fake_provider.py --latency 0.05 --core 1

The first line it prints is its address. `GET /bench/stats` tells what came, `POST /bench/reset` forgets it (files stay),
`POST /bench/forget` forgets the files.
It checks nothing of what is asked; that is what `tests/provider_server` is for.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import time
from dataclasses import dataclass, field
from typing import Any

BUFFER_BYTES = 1 << 20
START_BYTES = 2048  # of a body, kept for the name of a file
FILE_NAME = re.compile(rb'filename="([^"]*)"')
MESSAGE = json.dumps(
    {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": [{"type": "text", "text": json.dumps({"rationale": "The cup stands left of the plate.", "verdict": "Pass"})}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "stop_details": None,
        "usage": {
            "input_tokens": 5940,
            "output_tokens": 40,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
            "service_tier": "standard",
        },
    }
).encode()


@dataclass(slots=True)
class Counts:
    """What came since the last reset; moments are those of `time.time()`."""

    bytes_read: int = 0
    messages: list[float] = field(default_factory=list)
    first_at: float | None = None
    files: int = 0
    errors: int = 0

    def as_json(self) -> dict[str, Any]:
        """Counts, the bytes of message bodies and uploads with their heads, and requests a second of the middle eight tenths."""
        at, tenth = self.messages, len(self.messages) // 10
        middle = at[tenth : len(at) - tenth]
        rate = (len(middle) - 1) / (middle[-1] - middle[0]) if len(middle) > 2 else None
        return {
            "messages": len(at),
            "files": self.files,
            "bytes": self.bytes_read,
            "first_at": self.first_at,
            "last_at": at[-1] if at else None,
            "steady_per_s": rate,
            "errors": self.errors,
        }


@dataclass(slots=True)
class Provider:
    """What all connections share."""

    latency_s: float
    counts: Counts = field(default_factory=Counts)
    files: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, method: str, path: str, start: bytes) -> tuple[float, int, bytes]:
        """After how long, with which status and what a whole request is answered; `start` is the beginning of its body."""
        if (method, path) == ("POST", "/v1/messages"):
            self.counts.messages.append(time.time())
            return self.latency_s, 200, MESSAGE
        if (method, path) == ("POST", "/v1/files"):
            self.counts.files += 1
            return self.latency_s, 200, json.dumps(self._file(start)).encode()
        if (method, path) == ("GET", "/v1/files"):
            return 0.0, 200, json.dumps({"data": self.files, "next_page": None, "has_more": False}).encode()
        if path == "/bench/stats":
            return 0.0, 200, json.dumps(self.counts.as_json()).encode()
        if path == "/bench/reset":
            self.counts = Counts()
            return 0.0, 200, b"{}"
        if path == "/bench/forget":
            self.files = []
            return 0.0, 200, b"{}"
        self.counts.errors += 1
        error = {"type": "error", "error": {"type": "not_found_error", "message": f"no {method} {path}"}}
        return 0.0, 404, json.dumps(error).encode()

    def _file(self, start: bytes) -> dict[str, Any]:
        number = f"file_{len(self.files) + 1}"
        named = FILE_NAME.search(start)
        file = {
            "id": number,
            "type": "file",
            "filename": named[1].decode() if named else "unnamed",
            "mime_type": "image/jpeg",
            "created_at": "2026-11-30T00:00:00Z",
            "downloadable": False,
            "expires_at": "2099-01-01T00:00:00Z",
        }
        self.files.append(file)
        return file


class Connection(asyncio.BufferedProtocol):
    """One connection: heads are kept until they are whole, bodies are counted and thrown away."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.transport: asyncio.Transport | None = None
        self.block = memoryview(bytearray(BUFFER_BYTES))
        self.head = self.start = b""
        self.asked: tuple[str, str] | None = None
        self.missing = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.block

    def buffer_updated(self, nbytes: int) -> None:
        counts = self.provider.counts
        counts.bytes_read += nbytes
        counts.first_at = counts.first_at or time.time()
        if self.asked is not None:
            self.missing -= nbytes
            if len(self.start) < START_BYTES:
                self.start += bytes(self.block[: min(nbytes, START_BYTES)])
        else:
            self.head += bytes(self.block[:nbytes])
            head, end, rest = self.head.partition(b"\r\n\r\n")
            if not end:
                return
            lines = head.decode("latin-1").split("\r\n")
            method, target, _ = lines[0].split(" ", 2)
            lengths = [line.partition(":")[2] for line in lines[1:] if line.lower().startswith("content-length:")]
            self.asked, self.head, self.start = (method, target.partition("?")[0]), b"", rest[:START_BYTES]
            self.missing = int(lengths[0]) - len(rest) if lengths else 0
        if self.missing == 0:
            asked, self.asked = self.asked, None
            delay_s, status, data = self.provider.answer(*asked, self.start)
            asyncio.get_running_loop().call_later(delay_s, self.reply, status, data)

    def reply(self, status: int, data: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nrequest-id: req_1\r\n"
            head += f"Content-Length: {len(data)}\r\n\r\n"
            self.transport.write(head.encode() + data)


async def serve(latency_s: float) -> None:
    """Serve until the process is ended."""
    provider = Provider(latency_s)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(provider), "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--core", type=int, default=None)
    given = parser.parse_args()
    if given.core is not None:
        os.sched_setaffinity(0, {given.core})
    asyncio.run(serve(given.latency))


if __name__ == "__main__":
    main()
