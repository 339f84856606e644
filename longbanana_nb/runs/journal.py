"""An append-only file of lines: durable when `append` returns, torn last lines set aside and never read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import sync_folder
from longbanana_nb.runs.disk import saving


class Journal:
    """Whole lines in one file. Only the run's owner appends; anybody may read at any time.

    A line counts once `append` or `append_many` has returned: the bytes are then on disk. What follows the last newline
    was cut short by a kill; it is passed over when reading and moved to `<file>.torn` before the next line is added.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_whole = False

    def read(self) -> bytes:
        """All whole lines as one block, empty where there is no file."""
        try:
            block = self.path.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            fault = Fault(str(self.path), "unreadable", error.strerror or str(error), "a readable file", "Check its permissions.")
            raise DataError("A journal cannot be read.", [fault]) from None
        return block[: block.rfind(b"\n") + 1]

    def lines(self) -> list[bytes]:
        """The whole lines, without their newline."""
        return self.read().split(b"\n")[:-1]

    def append(self, line: bytes) -> None:
        """Add one line (without a newline) durably."""
        self.append_many([line])

    def append_many(self, lines: Iterable[bytes]) -> None:
        """Add lines with one write and one flush to disk.

        Raises:
            DataError: where the disk refuses. The file then ends where it ended before.
        """
        block = b"".join(line + b"\n" for line in lines)
        if not block:
            return
        with saving(self.path):
            self._make_whole()
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                self._write(handle, block)
            finally:
                os.close(handle)

    def _write(self, handle: int, block: bytes) -> None:
        before = os.fstat(handle).st_size
        try:
            written = os.write(handle, block)
            while written < len(block):  # a short write comes before the error that explains it
                written += os.write(handle, block[written:])
            os.fsync(handle)
        except OSError:
            os.ftruncate(handle, before)
            raise
        if before == 0:
            sync_folder(self.path.parent)

    def _make_whole(self) -> None:
        """Once per journal: make its folder, and set aside what follows the last newline."""
        if self._is_whole:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        set_aside_torn_line(self.path)
        self._is_whole = True


def set_aside_torn_line(path: Path) -> bool:
    """Move what follows the last newline of `path` to `<path>.torn`; whether there was anything."""
    if not path.exists():
        return False
    block = path.read_bytes()
    end = block.rfind(b"\n") + 1
    if end == len(block):
        return False
    torn = os.open(path.with_name(path.name + ".torn"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(torn, block[end:] + b"\n")
        os.fsync(torn)
    finally:
        os.close(torn)
    with path.open("r+b") as stream:
        stream.truncate(end)
        os.fsync(stream.fileno())
    return True
