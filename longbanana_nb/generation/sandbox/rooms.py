"""The folders of one case: workspace, home and what is shown of it; gone afterwards, also after a kill, at the next start."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

from longbanana_nb.errors import CallError

LOCK = "lock"


@dataclass(frozen=True, slots=True)
class Room:
    """Fresh folders of one case; `workspace` and `home` are the program's, `shown` holds what it may only read."""

    workspace: Path
    home: Path
    shown: Path
    gate: Path  # for the gateway's socket of this case


@contextlib.contextmanager
def case_room() -> Iterator[Room]:
    """Folders for one case below the system's temporary folder, removed at the end.

    Whoever holds the lock in a room is using it; rooms that a killed workbench left behind are removed by the next one.
    """
    root = _root()
    with contextlib.ExitStack() as held:
        with _alone_in(root):  # so that nobody takes the room for one that was left behind before its lock is held
            folder = Path(tempfile.mkdtemp(prefix="case-", dir=root))
            lock = held.enter_context((folder / LOCK).open("w"))
            _take(lock)
        room = Room(folder / "work", folder / "home", folder / "shown", folder / "gate")
        for part in (room.workspace, room.home, room.shown, room.gate):
            part.mkdir(mode=0o700)
        try:
            yield room
        finally:
            remove(folder)


@cache
def _root() -> Path:
    """A folder that is this user's alone; what dead processes left in it is removed."""
    root = Path(tempfile.gettempdir()).resolve() / f"longbanana-cases-{os.getuid()}"
    root.mkdir(mode=0o700, exist_ok=True)
    facts = root.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid() or facts.st_mode & 0o077:
        raise CallError(f"{root} is not a folder of yours alone. Remove it, or set TMPDIR to a folder of your own.")
    with _alone_in(root):
        for folder in root.glob("case-*"):
            _remove_if_left(folder)
    return root


@contextlib.contextmanager
def _alone_in(root: Path) -> Iterator[None]:
    """Within this, no other thread or process makes or removes rooms."""
    with (root / LOCK).open("a") as lock:
        _take(lock)
        yield


def _take(lock: IO[str], *, wait: bool = True) -> None:
    """Hold a lock until the file is closed, also by the end of this process; OSError where another has it and `wait` is false."""
    import fcntl  # not everywhere, and this module is imported everywhere

    fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _remove_if_left(folder: Path) -> None:
    try:
        with (folder / LOCK).open("r+") as lock:
            _take(lock, wait=False)
            remove(folder)
    except FileNotFoundError:  # its maker died before there was a lock
        remove(folder)
    except OSError:  # in use
        return


def remove(folder: Path) -> None:
    """Remove a tree that a stranger made: folders it closed are opened first, links are removed and not followed."""
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        for place, folders, _ in os.walk(folder):
            for name in folders:
                inner = Path(place, name)
                if not inner.is_symlink():
                    inner.chmod(0o700)
        with contextlib.suppress(RecursionError):
            shutil.rmtree(folder, ignore_errors=True)
