"""Reading what a server sends: bounded, and line by line without holding a whole file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from longbanana_nb.providers import faults

if TYPE_CHECKING:
    import httpx2

MOST_BYTES = 64 * 1024 * 1024
"""No answer of a model, and no line of a batch, is longer; what is longer is not read to its end."""


MOST_TOKENS = 1_000_000_000
"""No call has more."""


def count(reported: Mapping[str, Any], name: str) -> int:
    """A number of tokens; 0 where the provider does not say, or says what no call can have (negative, or past all bounds)."""
    value = reported.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return value if 0 <= value <= MOST_TOKENS else 0


async def whole(who: str, response: httpx2.Response, most_bytes: int = MOST_BYTES) -> bytes:
    """The body of a streamed response; an error where it is longer than any answer."""
    parts, size = [], 0
    try:
        async for part in response.aiter_bytes():
            parts.append(part)
            size += len(part)
            if size > most_bytes:
                raise faults.unreadable(who, f"it is longer than {most_bytes:,} bytes", status=response.status_code)
    finally:
        await response.aclose()
    return b"".join(parts)


def object_of(who: str, data: bytes, *, status: int = 200, request_id: str | None = None) -> Mapping[str, Any]:
    """The JSON object of a body; an unreadable answer where it is none."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        told = faults.words_of(data) or "it is empty"
        raise faults.unreadable(who, told, status=status, request_id=request_id) from None
    if not isinstance(found, dict):
        raise faults.unreadable(who, "it is no JSON object", status=status, request_id=request_id)
    return found


async def lines_of(who: str, chunks: AsyncIterator[bytes], most_bytes: int = MOST_BYTES) -> AsyncIterator[Mapping[str, Any]]:
    """The objects of JSON lines as they arrive. Lines end at a newline alone: other separators may stand inside a string."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > most_bytes:
            raise faults.unreadable(who, f"a line of the results is longer than {most_bytes:,} bytes")
        for line in lines:
            if line.strip():
                yield object_of(who, line)
    if rest.strip():
        yield object_of(who, rest)
