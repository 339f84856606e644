"""Bodies of requests, and pictures as base64 inside them, encoded once for all requests that show them."""

from __future__ import annotations

import asyncio
import base64
import threading
from collections import OrderedDict
from collections.abc import Callable

import msgspec

from longbanana_nb.providers.contracts import Picture, ProviderError, Request, ToolResult, UserMessage

MOST_KEPT_BYTES = 256 * 1024 * 1024


class EncodedPictures:
    """Base64 by the hash of the bytes, the longest unused forgotten first. Safe to use from several threads."""

    def __init__(self, most_bytes: int = MOST_KEPT_BYTES) -> None:
        self.most_bytes = most_bytes
        self.kept_bytes = self.encoded = 0
        self._kept: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def quoted(self, picture: Picture, prefix: str = "") -> msgspec.Raw:
        """The picture as a JSON string, to be put into a body as it is; `prefix` stands before the base64, as in a data URI."""
        if picture.data is None:
            raise ProviderError("bad_request", "A picture without bytes cannot be sent inline.")
        key = (picture.sha256, prefix)
        with self._lock:  # held while encoding: the interpreter does one at a time anyway, and each is done once
            found = self._kept.get(key)
            if found is None:
                found = b'"' + prefix.encode("ascii") + base64.b64encode(picture.data) + b'"'
                self._keep(key, found)
            self._kept.move_to_end(key)
        return msgspec.Raw(found)

    def _keep(self, key: tuple[str, str], made: bytes) -> None:
        self.encoded += 1
        self._kept[key] = made
        self.kept_bytes += len(made)
        while self.kept_bytes > self.most_bytes and len(self._kept) > 1:
            _, old = self._kept.popitem(last=False)
            self.kept_bytes -= len(old)


PICTURES = EncodedPictures()


async def built(request: Request, build: Callable[[], bytes]) -> bytes:
    """A request's body: with pictures in it off the event loop; a few kilobytes of text and handles are not worth a thread."""
    return await asyncio.to_thread(build) if carries_bytes(request) else build()


def carries_bytes(request: Request) -> bool:
    """Whether pictures travel within the request and not by handle."""
    parts = [part for message in request.messages if isinstance(message, UserMessage) for part in message.parts]
    inner = [part for outer in parts for part in (outer.parts if isinstance(outer, ToolResult) else (outer,))]
    return any(isinstance(part, Picture) and part.handle is None for part in inner)
