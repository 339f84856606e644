"""Lines of several journals put on disk together: one write and one flush a file for all that came while the disk was busy."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from longbanana_nb.errors import DataError
from longbanana_nb.runs.journal import Journal


@dataclass(slots=True)
class _Block:
    """Lines that go to disk together, and the promise that they are there."""

    done: asyncio.Future[None]
    lines: list[tuple[Journal, bytes]] = field(default_factory=list)


@dataclass(slots=True)
class Commits:
    """Takes lines from one event loop and writes them in a thread, in order; `durable` returns when they are on disk.

    Within one writing, journals are written in the order in which their first lines came.
    """

    _next: _Block | None = None
    _writer: asyncio.Task[None] | None = None
    _error: BaseException | None = None

    def add(self, journal: Journal, *lines: bytes) -> asyncio.Future[None]:
        """Take lines, to be written soon; await what is given back to know that they are on disk.

        Raises:
            DataError: what the disk said to earlier lines; nothing is written after that.
        """
        if self._error is not None:
            raise self._error
        if self._next is None:
            self._next = _Block(asyncio.get_running_loop().create_future())
        self._next.lines += [(journal, line) for line in lines]
        if self._writer is None:
            self._writer = asyncio.create_task(self._write())
        return self._next.done

    async def durable(self, journal: Journal, *lines: bytes) -> None:
        """Take lines and return when they are on disk. DataError where the disk refuses."""
        await asyncio.shield(self.add(journal, *lines))

    async def finish(self) -> None:
        """Return when everything taken so far is on disk. DataError where the disk refused anything."""
        while self._writer is not None:
            await asyncio.shield(self._writer)
        if self._error is not None:
            raise self._error

    async def _write(self) -> None:
        while (block := self._next) is not None:
            self._next = None
            if self._error is None:
                self._error = await asyncio.to_thread(_append, block.lines)
            if self._error is None:
                block.done.set_result(None)
            else:
                block.done.set_exception(self._error)
                block.done.exception()  # whoever added lines without waiting learns of it at the next call
        self._writer = None


def _append(lines: list[tuple[Journal, bytes]]) -> BaseException | None:
    """Write the lines; what went wrong is given back, for everybody who waits for them."""
    by_journal: dict[int, tuple[Journal, list[bytes]]] = {}
    for journal, line in lines:
        by_journal.setdefault(id(journal), (journal, []))[1].append(line)
    try:
        for journal, block in by_journal.values():
            journal.append_many(block)
    except DataError as error:
        return error
    return None


@contextlib.asynccontextmanager
async def committing() -> AsyncIterator[Commits]:
    """Commits whose last lines are on disk when this is left, also by an error."""
    commits = Commits()
    try:
        yield commits
    finally:
        await commits.finish()
