"""What a program left in its workspace, taken as from a stranger: no links followed, plain fresh files of bounded size."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path, PurePosixPath

from longbanana_nb.generation.contracts import Reason
from longbanana_nb.generation.images import NotAPictureError, examine

MOST_BYTES = 64 << 20
MOST_STEPS = 50
CLOCK_S = 0.1  # how far a file system's times may lag behind the clock
NOT_LEFT = "no_picture_left"
_PICTURE = re.compile(r"(?i)[^/]+\.(?:png|jpe?g|webp|gif|bmp|tiff?|avif)")
_POSIX = {name: getattr(os, name, 0) for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC")}
_FOLDER = _POSIX["O_DIRECTORY"] | _POSIX["O_NOFOLLOW"] | _POSIX["O_CLOEXEC"]
_FILE = _POSIX["O_NOFOLLOW"] | _POSIX["O_NONBLOCK"] | _POSIX["O_CLOEXEC"]  # a pipe is opened without waiting for its writer


class _RefusedError(Exception):
    def __init__(self, code: str, found: str) -> None:
        self.code, self.found = code, found
        super().__init__(found)


def pick_up(folder: Path, name: str, started_at: float) -> bytes | Reason:
    """The bytes of the picture `name` (posix, relative) in a workspace, or why they cannot be a candidate.

    Args:
        started_at: seconds since the epoch, taken before the program began; a file not changed since is not its work.

    Returns:
        The untouched bytes, which decode fully; or a Reason with code `no_picture_left`, `linked_picture`, `not_a_file`,
        `stale_picture`, `unreadable_picture`, `too_many_bytes`, or one of `images.examine`.
    """
    try:
        data = _read(folder, name, started_at)
        examine(data)
    except _RefusedError as refused:
        return Reason(refused.code, name, refused.found)
    except NotAPictureError as error:
        return Reason(error.code, name, error.found)
    return data


def read_plain(folder: Path, name: str, started_at: float, most_bytes: int = MOST_BYTES) -> bytes | Reason:
    """Any file the program left, under the same rules, not decoded."""
    try:
        return _read(folder, name, started_at, most_bytes)
    except _RefusedError as refused:
        return Reason(refused.code, name, refused.found)


def pick_up_steps(folder: Path, subfolder: str, started_at: float) -> tuple[list[tuple[str, bytes]], list[Reason]]:
    """Pictures of a subfolder by name, numbers in names counted as numbers, and what was refused; at most 50 are taken."""
    try:
        fd = _opened_folder(folder, PurePosixPath(subfolder).parts)
    except _RefusedError as refused:
        return [], [] if refused.code == NOT_LEFT else [Reason(refused.code, subfolder, refused.found)]
    try:
        names = sorted(filter(_PICTURE.fullmatch, os.listdir(fd)), key=_natural)  # noqa: PTH208  # by the opened folder
    finally:
        os.close(fd)
    taken, refusals = [], []
    if len(names) > MOST_STEPS:
        refusals.append(Reason("too_many_steps", subfolder, f"{len(names)} pictures; the first {MOST_STEPS} are kept"))
    for name in names[:MOST_STEPS]:
        found = pick_up(folder, f"{subfolder}/{name}", started_at)
        if isinstance(found, Reason):
            refusals.append(found)
        else:
            taken.append((name, found))
    return taken, refusals


def _natural(name: str) -> list[tuple[int, int | str]]:
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in re.split(r"(\d{1,18})", name) if part]


def _read(folder: Path, name: str, started_at: float, most_bytes: int = MOST_BYTES) -> bytes:
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or name.startswith("/"):
        raise _RefusedError("not_a_file", f"{name!r} is no name in the workspace")
    parent = _opened_folder(folder, parts[:-1])
    try:
        fd = _opened(parts[-1], _FILE, parent)
    finally:
        os.close(parent)
    try:
        return _contents(fd, started_at, most_bytes)
    finally:
        os.close(fd)


def _opened_folder(folder: Path, parts: tuple[str, ...]) -> int:
    fd = os.open(folder, _FOLDER)
    for part in parts:
        try:
            inner = _opened(part, _FOLDER, fd)
        finally:
            os.close(fd)
        fd = inner
    return fd


def _opened(name: str, flags: int, parent: int) -> int:
    try:
        return os.open(name, flags, dir_fd=parent)
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise _RefusedError(NOT_LEFT, f"no {name!r} is in the workspace") from None
        is_link = error.errno == errno.ELOOP or _is_link(name, parent)
        code = (
            "linked_picture" if is_link else "not_a_file" if error.errno in (errno.ENOTDIR, errno.ENXIO) else "unreadable_picture"
        )
        raise _RefusedError(code, "a link, which is not followed" if is_link else error.strerror or str(error)) from None


def _is_link(name: str, parent: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _contents(fd: int, started_at: float, most_bytes: int) -> bytes:
    facts = os.fstat(fd)
    if not stat.S_ISREG(facts.st_mode):
        raise _RefusedError("not_a_file", f"a {_kind(facts.st_mode)}, not a plain file")
    if max(facts.st_ctime, facts.st_mtime) < started_at - CLOCK_S:
        raise _RefusedError("stale_picture", "it was there before the program began and was not changed")
    if facts.st_size > most_bytes:
        raise _RefusedError("too_many_bytes", f"{facts.st_size} bytes; at most {most_bytes} are taken")
    with os.fdopen(os.dup(fd), "rb") as stream:
        data = stream.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise _RefusedError("too_many_bytes", f"it grew over {most_bytes} bytes")
    return data


def _kind(mode: int) -> str:
    kinds = {
        stat.S_ISDIR: "folder",
        stat.S_ISFIFO: "pipe",
        stat.S_ISSOCK: "socket",
        stat.S_ISCHR: "device",
        stat.S_ISBLK: "device",
    }
    return next((name for is_kind, name in kinds.items() if is_kind(mode)), "special file")
