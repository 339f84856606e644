"""Pictures laid down with a provider once, and named by handle in every request after that."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from longbanana_nb.files import utc_now
from longbanana_nb.judging.handles import HandleLine, Handles, Made, encoded, is_fresh
from longbanana_nb.judging.sent_pictures import CACHE
from longbanana_nb.judging.transcodes import MADE_BY, Transcoded
from longbanana_nb.providers.contracts import Adapter, Picture, Upload
from longbanana_nb.providers.retry import Retry, tried

if TYPE_CHECKING:
    from longbanana_nb.judging.desk import Flight
    from longbanana_nb.runs.commits import Commits

SPARE_S = 900.0  # a handle that expires sooner than this after it is last needed is not used


@dataclass(slots=True)
class Uploads:
    """The pictures that lie with the provider: each once for its bytes, whatever checks, systems and runs ask for it.

    Each is written down before it travels and after: one whose answer was lost is looked for by its name before it is sent again.

    Args:
        needed_s: how long after now a handle may still be read: a request's timeout, or the life of a batch.
    """

    adapter: Adapter
    handles: Handles
    retry: Retry
    commits: Commits
    flight: Flight
    needed_s: float
    made: int = 0
    _jobs: dict[str, asyncio.Task[str]] = field(default_factory=dict)

    async def take_stock(self) -> None:
        """Ask the provider what lies there: handles it does not know are forgotten, uploads that a kill cut off are ended.

        What it has is known from then on without opening the pictures. Nothing is asked where nothing was ever laid down.
        """
        handles = self.handles
        if not handles.uploads and not handles.begun:
            return
        there = await tried(self.adapter.uploads, self.retry)
        present = {upload.handle for upload in there}
        kept = {sha256: line for sha256, line in handles.uploads.items() if line.handle in present}
        handles.uploads.clear()
        handles.uploads.update(kept)
        for begun in list(handles.begun.values()):
            await self._end(begun, self._found(there, begun))
        _learn(handles.uploads.values())

    async def laid_down(self, picture: Picture) -> Picture:
        """The picture by its handle; laid down first if it does not lie there, by one request however many ask."""
        if picture.handle is not None:
            return picture
        known = self.handles.uploads.get(picture.sha256)
        if known is None or not is_fresh(known.expires_at, self.needed_s + SPARE_S):
            return replace(picture, data=None, handle=await self._uploaded(picture))
        return replace(picture, data=None, handle=known.handle)

    async def _uploaded(self, picture: Picture) -> str:
        job = self._jobs.get(picture.sha256)
        if job is None or (job.done() and (job.cancelled() or job.exception() is not None)):
            job = self._jobs[picture.sha256] = asyncio.create_task(self._upload(picture))
        return await asyncio.shield(job)

    async def _upload(self, picture: Picture) -> str:
        data = picture.data if picture.data is not None else await asyncio.to_thread(CACHE.data_of, picture.sha256)
        begun = HandleLine(
            kind="upload",
            event="intent",
            at=utc_now(),
            account=self.handles.account,
            sha256=picture.sha256,
            label=f"{picture.sha256[:32]}.{picture.mime.rpartition('/')[2]}",
            bytes=len(data),
        )
        async with self.flight.room(len(data)):
            await self._write(begun)
            upload = await self._sent(replace(picture, data=data), begun)
        await self._end(begun, upload)
        CACHE.let_go(picture.sha256)
        self.made += 1
        del self._jobs[picture.sha256]
        return upload.handle

    async def _sent(self, picture: Picture, begun: HandleLine) -> Upload:
        """Send a picture. After an attempt that failed it may lie there all the same, so it is looked for first."""
        attempts = 0

        async def attempt() -> Upload:
            nonlocal attempts
            attempts += 1
            found = self._found(await self.adapter.uploads(), begun) if attempts > 1 else None
            return found if found is not None else await self.adapter.upload(picture, begun.label)

        return await tried(attempt, self.retry)

    def _found(self, there: Iterable[Upload], begun: HandleLine) -> Upload | None:
        """What lies there under an upload's name, whole and for long enough; of several the one that stays longest."""
        mine = [
            one
            for one in there
            if one.name == begun.label and one.size in (None, begun.bytes) and is_fresh(one.expires_at, self.needed_s + SPARE_S)
        ]
        return max(mine, key=lambda one: one.expires_at or "9", default=None)

    async def _end(self, begun: HandleLine, upload: Upload | None) -> None:
        """Write down how an upload ended: where it lies now, or that it never came."""
        event = msgspec.structs.replace(begun, event="lost", at=utc_now())
        if upload is not None:
            event = msgspec.structs.replace(
                event, event="handed_in", handle=upload.handle, expires_at=upload.expires_at, made=_made(begun.sha256)
            )
        await self._write(event)

    async def _write(self, line: HandleLine) -> None:
        await self.commits.durable(self.handles.journal, encoded(line))
        self.handles.take(line)

    async def close(self) -> None:
        """Wait for what is being laid down."""
        await asyncio.gather(*self._jobs.values(), return_exceptions=True)


def _made(sha256: str) -> Made | None:
    """What the bytes of a whole picture were made from; None for a part of one, or where that is not known here."""
    origin = CACHE.origin(sha256)
    if origin is None or origin[0][2] is not None:
        return None
    (source, transcode, _), known = origin
    return Made(
        source_sha256=source,
        transcode=transcode,
        by=MADE_BY,
        mime=known.mime,
        width=known.width,
        height=known.height,
        done=known.done,
    )


def _learn(lines: Iterable[HandleLine]) -> None:
    """Take over what other processes made with the same decoder and encoder, so that no picture that lies there is opened."""
    for line in lines:
        if (made := line.made) is not None and made.by == MADE_BY:
            known = Transcoded(None, made.mime, made.width, made.height, line.sha256, made.done, line.bytes)
            CACHE.learn(made.source_sha256, made.transcode, known)
