"""How much a program uses while it runs: memory and processes of its whole tree, bytes in its folders."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Measures:
    """Resident memory of all processes together (shared pages count in each), and how many processes there are."""

    memory_mb: float
    processes: int


def measure_processes(root_pid: int) -> Measures:
    """Of a process and everything below it; nothing where the kernel shows no /proc."""
    pages, count, waiting = 0, 0, [root_pid]
    while waiting:
        pid = waiting.pop()
        with contextlib.suppress(OSError, ValueError, IndexError):
            pages += int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
            count += 1
            for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208  # names alone, many times a second
                waiting += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text("ascii").split())
    return Measures(pages * os.sysconf("SC_PAGE_SIZE") / MB, count)


@dataclass(frozen=True, slots=True)
class Disk:
    """MB on disk and entries below folders, MB free on the fullest of their disks, and a folder that keeps itself shut."""

    used_mb: float
    free_mb: float
    entries: int
    shut: str | None = None


def measure_folders(folders: Iterable[Path], most_entries: int) -> Disk:
    """What lies below the folders, links not followed; counting ends soon after `most_entries`."""
    used, entries, free, shut = 0, 0, float("inf"), None
    for folder in folders:
        waiting = [os.fspath(folder)]
        while waiting and entries <= most_entries:
            place = waiting.pop()
            try:
                with os.scandir(place) as listed:
                    for entry in listed:
                        entries += 1
                        with contextlib.suppress(FileNotFoundError):
                            used += entry.stat(follow_symlinks=False).st_blocks * 512
                            if entry.is_dir(follow_symlinks=False):
                                waiting.append(entry.path)
            except FileNotFoundError:
                continue
            except OSError as error:  # closed to us, or too deep to be named: what is in it cannot be counted
                shut = f"{os.path.relpath(place, folder)[:200]} ({error.strerror})"
        with contextlib.suppress(OSError):
            state = os.statvfs(folder)
            free = min(free, state.f_bavail * state.f_frsize / MB)
    return Disk(used / MB, free, entries, shut)
