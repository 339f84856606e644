"""One owner a run, and one writer of its results: locks that the system releases when their holder dies."""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
import time
from pathlib import Path

from longbanana_nb.errors import CallError
from longbanana_nb.files import utc_now
from longbanana_nb.runs.disk import saving

WAIT_STEP_S = 0.05
_BUSY = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


class RunLock:
    """Holds a lock file in a run's folder. The file stays; what counts is the system's lock on it, so none is ever stale.

    A `signed` lock says who holds it; results have one that does not, so that making them again changes no byte of the run.
    """

    def __init__(self, folder: Path, name: str = "run.lock", *, signed: bool = True) -> None:
        self.path, self._is_signed = folder / name, signed
        self._handle: int | None = None

    def acquire(self, wait_s: float = 0.0) -> None:
        """Take the lock, at once or within so many seconds.

        Raises:
            CallError: saying which process on which machine holds it, and since when.
            DataError: where the folder cannot be written.
        """
        with saving(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock_within(handle, wait_s)
        except OSError as error:
            os.close(handle)
            if error.errno in _BUSY:
                raise CallError(self._held_by_another()) from None
            with saving(self.path):
                raise
        except BaseException:
            os.close(handle)
            raise
        self._handle = handle
        if self._is_signed:
            self._sign(handle)

    def release(self) -> None:
        """Give the lock back; nothing happens if it is not held."""
        if self._handle is not None:
            _unlock(self._handle)
            os.close(self._handle)
            self._handle = None

    def _sign(self, handle: int) -> None:
        """Write who holds the lock. Byte 0 is a space, which is what Windows locks, so that others can read the rest."""
        holder = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": utc_now()})
        try:
            with saving(self.path):
                os.ftruncate(handle, 0)
                os.lseek(handle, 0, os.SEEK_SET)
                os.write(handle, f" {holder}\n".encode())
        except BaseException:
            self.release()
            raise

    def _held_by_another(self) -> str:
        try:
            holder = json.loads(self.path.read_bytes()[1:])
            who = f"process {holder['pid']} on {holder['host']} since {holder['since']}"
        except (OSError, ValueError, KeyError, TypeError):
            who = "another process"
        return (
            f"{self.path.parent} is in use by {who}; one process at a time works on a run. "
            "Wait for it to end, or stop it, and run the same command again; or choose another run folder."
        )


def _lock_within(handle: int, wait_s: float) -> None:
    ends = time.monotonic() + wait_s
    while True:
        try:
            return _lock(handle)
        except OSError as error:
            if error.errno not in _BUSY or time.monotonic() >= ends:
                raise
        time.sleep(WAIT_STEP_S)


if sys.platform == "win32":  # pragma: no cover - Windows locks one byte and keeps others from reading it
    import msvcrt

    def _lock(handle: int) -> None:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

    def _unlock(handle: int) -> None:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)
