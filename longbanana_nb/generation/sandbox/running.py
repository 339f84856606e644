"""A process watched to its end: what it writes is read up to a limit, its time, disk, memory and number of processes are held."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO

from longbanana_nb.generation.sandbox.contracts import Cell, Ended, Finished
from longbanana_nb.generation.sandbox.measuring import Measures, measure_folders, measure_processes

MB = 1 << 20
BLOCK = 1 << 16
MOST_PROCESSES = 512
MOST_ENTRIES = 200_000  # files and folders in workspace and home
LEAST_FREE_MB = 256  # on the disk of the workspace: below that a case ends, whatever it wrote
LOOK_S = 0.2  # between two looks at limits
SHARE = 0.1  # of the time that looking may take at most
AFTER_S = 5.0  # that reading may go on once everything is ended


@dataclass(slots=True)
class Streams:
    """Standard input, output and error of one process, and other pipes to be read, without waiting on any of them."""

    process: subprocess.Popen[bytes]
    stdin: bytes
    most: int
    chunks: dict[str, list[bytes]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)

    def __post_init__(self) -> None:
        self.add("stdout", self.process.stdout)
        self.add("stderr", self.process.stderr)
        if self.process.stdin is not None:
            os.set_blocking(self.process.stdin.fileno(), False)
            self.selector.register(self.process.stdin, selectors.EVENT_WRITE, "stdin")

    def add(self, name: str, stream: IO[bytes] | None) -> None:
        """Read another pipe under a name."""
        self.chunks[name], self.sizes[name] = [], 0
        if stream is not None:
            os.set_blocking(stream.fileno(), False)
            self.selector.register(stream, selectors.EVENT_READ, name)

    def read(self, name: str) -> bytes:
        """What came so far."""
        return b"".join(self.chunks[name])

    @property
    def is_over(self) -> bool:
        """Whether more was written than is taken."""
        return any(size > self.most for size in self.sizes.values())

    @property
    def is_open(self) -> bool:
        """Whether anything may still come."""
        return any(key.data != "stdin" for key in self.selector.get_map().values())

    def serve(self, most_s: float) -> None:
        """Wait at most so long for something to read or write, and do it."""
        if not self.selector.get_map():
            time.sleep(most_s)
            return
        for key, _ in self.selector.select(most_s):
            if key.data == "stdin":
                self._write(key.fd)
            else:
                self._read(key.fd, key.data)

    def close(self) -> None:
        """Let go of every pipe."""
        for key in list(self.selector.get_map().values()):
            self._drop(key.fd)
        self.selector.close()

    def _read(self, fd: int, name: str) -> None:
        try:
            block = os.read(fd, BLOCK)
        except BlockingIOError:
            return
        if not block:
            self._drop(fd)
            return
        room = self.most - self.sizes[name]
        self.sizes[name] += len(block)
        if room > 0:
            self.chunks[name].append(block[:room])

    def _write(self, fd: int) -> None:
        try:
            done = os.write(fd, self.stdin[:BLOCK]) if self.stdin else 0
        except BlockingIOError:
            return
        except OSError:  # it reads no more
            self.stdin, done = b"", 0
        self.stdin = self.stdin[done:]
        if not self.stdin:
            self._drop(fd)

    def _drop(self, fd: int) -> None:
        stream = self.selector.get_key(fd).fileobj
        self.selector.unregister(fd)
        if not isinstance(stream, int):
            stream.close()  # type: ignore[attr-defined]  # the pipes registered above


@dataclass(slots=True)
class Watch:
    """Looks at the limits of a cell from time to time, seldom if looking is slow."""

    cell: Cell
    root_pid: int
    began: float = field(default_factory=time.monotonic)
    peak_mb: float = 0.0
    next_look: float = 0.0

    def passed(self, streams: Streams, stop: Callable[[], bool]) -> tuple[Ended, str] | None:
        """The limit that is passed, with a sentence; None if none is."""
        now = time.monotonic()
        if stop():
            return "stopped", "a stop was asked for"
        if now - self.began > self.cell.timeout_s:
            return "timeout", f"{self.cell.timeout_s:g} s were allowed for the case"
        if streams.is_over:
            return "too_large", f"it wrote more than {self.cell.output_mb} MB to standard output or error"
        if now < self.next_look:
            return None
        found = self._limits()
        self.next_look = time.monotonic() + max(LOOK_S, (time.monotonic() - now) / SHARE)
        return ("too_large", found) if found else None

    def _limits(self) -> str | None:
        used: Measures = measure_processes(self.root_pid)
        self.peak_mb = max(self.peak_mb, used.memory_mb)
        if self.cell.memory_mb is not None and used.memory_mb > self.cell.memory_mb:
            return f"its processes used {used.memory_mb:.0f} MB of memory; {self.cell.memory_mb} MB were allowed"
        if used.processes > MOST_PROCESSES:
            return f"it had {used.processes} processes at once; {MOST_PROCESSES} were allowed"
        disk = measure_folders((self.cell.workspace, self.cell.home), MOST_ENTRIES)
        if disk.used_mb > self.cell.disk_mb:
            return f"it wrote {disk.used_mb:.0f} MB to its workspace and home; {self.cell.disk_mb} MB were allowed"
        if disk.entries > MOST_ENTRIES:
            return f"it made more than {MOST_ENTRIES:,} files in its workspace and home"
        if disk.shut is not None:
            return f"it made a folder that cannot be looked into: {disk.shut}"
        if disk.free_mb < LEAST_FREE_MB:
            free = f"the disk of its workspace has {disk.free_mb:.0f} MB left; at least {LEAST_FREE_MB} MB must stay free"
            return f"{free} (TMPDIR names the folder in which workspaces are made)"
        return None


def watch_to_the_end(
    cell: Cell, process: subprocess.Popen[bytes], streams: Streams, stop: Callable[[], bool], kill: Callable[[], None]
) -> Finished:
    """Serve the streams and look at the limits until the process has ended by itself or `kill` has ended it.

    `kill` ends everything the program started and returns when it is gone; it is called in any case, also on an exception here.
    """
    watch = Watch(cell, process.pid)
    passed: tuple[Ended, str] | None = None
    try:
        while process.poll() is None and passed is None:
            streams.serve(0.02 if time.monotonic() - watch.began < 1 else 0.1)
            passed = watch.passed(streams, stop)
        seconds = time.monotonic() - watch.began
    finally:
        kill()
        drain(streams)
    if passed is None and streams.is_over:
        passed = "too_large", f"it wrote more than {cell.output_mb} MB to standard output or error"
    ended, detail = passed or ("exit", "")
    code = process.returncode if passed is None else None
    return Finished(code, ended, streams.read("stdout"), streams.read("stderr"), seconds, watch.peak_mb or None, detail)


def drain(streams: Streams) -> None:
    """Read what is left in the pipes, and close them."""
    ends = time.monotonic() + AFTER_S
    while streams.is_open and time.monotonic() < ends:
        streams.serve(0.05)
    streams.close()
