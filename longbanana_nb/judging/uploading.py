"""Pictures laid down with a provider once, and named by handle in every request after that."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from longbanana_nb.files import utc_now
from longbanana_nb.judging.handles import HandleLine, Handles, encoded, is_fresh
from longbanana_nb.providers.contracts import Adapter, Picture
from longbanana_nb.providers.retry import Retry, tried

if TYPE_CHECKING:
    from longbanana_nb.judging.desk import Flight
    from longbanana_nb.runs.commits import Commits

SPARE_S = 900.0  # a handle that expires sooner than this after it is last needed is not used


@dataclass(slots=True)
class Uploads:
    """The pictures that lie with the provider: each once for its bytes, whatever checks, systems and runs ask for it.

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

    async def forget_what_is_gone(self) -> None:
        """Ask the provider what lies there, and forget handles it does not know. Nothing is asked where nothing is known."""
        if not self.handles.uploads:
            return
        there = {upload.handle for upload in await tried(self.adapter.uploads, self.retry)}
        kept = {sha256: line for sha256, line in self.handles.uploads.items() if line.handle in there}
        self.handles.uploads.clear()
        self.handles.uploads.update(kept)

    async def laid_down(self, picture: Picture) -> Picture:
        """The picture by its handle; laid down first if it does not lie there, by one request however many ask."""
        if picture.data is None:
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
        name = f"{picture.sha256[:32]}.{picture.mime.rpartition('/')[2]}"
        async with self.flight.room(len(picture.data or b"")):
            upload = await tried(lambda: self.adapter.upload(picture, name), self.retry)
        line = HandleLine(
            kind="upload",
            event="handed_in",
            at=utc_now(),
            account=self.handles.account,
            handle=upload.handle,
            sha256=picture.sha256,
            expires_at=upload.expires_at,
        )
        await self.commits.durable(self.handles.journal, encoded(line))
        self.handles.uploads[picture.sha256] = line
        self.made += 1
        del self._jobs[picture.sha256]
        return upload.handle

    async def close(self) -> None:
        """Wait for what is being laid down."""
        await asyncio.gather(*self._jobs.values(), return_exceptions=True)
