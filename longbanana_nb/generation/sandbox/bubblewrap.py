"""The sandbox: bubblewrap with namespaces of its own, no capabilities, no network, and only what a cell lists."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from longbanana_nb.errors import CallError
from longbanana_nb.generation.sandbox import mounts
from longbanana_nb.generation.sandbox.contracts import GATE, PORT, SOCKET, Cell, Finished, Places
from longbanana_nb.generation.sandbox.running import Streams, watch_to_the_end

STARTED_S = 10.0  # until bubblewrap has said which process it made
MOST_THREADS = 4096  # held by the kernel, against a program that forks faster than it is looked at
GONE_S = 10.0  # until everything inside is gone once it is killed
ADVICE = {
    "Unknown option": "bubblewrap 0.8 or newer is needed; install a newer one.",
    "No permissions": "This system forbids user namespaces: docs/sandbox.md names the setting that allows them.",
    "Operation not permitted": "This system or container forbids namespaces: docs/sandbox.md names the setting that allows them.",
    "Permission denied": "This system forbids user namespaces (AppArmor or SELinux): see docs/sandbox.md.",
    "max_user_namespaces": "This system allows no user namespaces: see docs/sandbox.md.",
}


@dataclass(frozen=True, slots=True)
class State:
    """Whether programs can be run in the sandbox here, and if not, why and what to do."""

    usable: bool
    reason: str
    version: str | None


def state() -> State:
    """The sandbox of this machine, found out by running a program in it once a process."""
    return _state(shutil.which("bwrap"))


@cache
def _state(program: str | None) -> State:
    if sys.platform != "linux":
        return State(False, f"The sandbox needs Linux; this is {sys.platform}. Run there, or in a Linux container.", None)
    if program is None:
        return State(False, "bubblewrap (bwrap) is not installed. Install it, for example: apt install bubblewrap.", None)
    version = _version(program)
    try:
        with tempfile.TemporaryDirectory(prefix="longbanana-probe-") as folder:
            work, home = Path(folder, "work"), Path(folder, "home")
            work.mkdir()
            home.mkdir()
            cell = Cell(("/bin/sh", "-c", "exit 7"), {}, work, home, timeout_s=30)
            done = _run(program, cell, lambda: False)
    except (CallError, OSError) as error:
        return State(False, str(error), version)
    if done.returncode == 7:
        return State(True, f"bubblewrap {version}", version)
    said = done.stderr.decode("utf-8", "replace").strip()[-300:]
    return State(
        False, f"bubblewrap {version} did not run a program as it should ({done.ended} {done.returncode}): {said}", version
    )


class Bubblewrap:
    """Programs in namespaces of their own; see docs/sandbox.md for what that protects from."""

    name = "bubblewrap"

    @property
    def version(self) -> str:
        """Of bubblewrap."""
        return state().version or ""

    def places(self, workspace: Path, home: Path, read_only: Mapping[str, Path]) -> Places:
        """Every path is what the cell calls it."""
        return Places({}, PORT)

    def run(self, cell: Cell, stop: Callable[[], bool]) -> Finished:
        """Run the cell; raises CallError where the sandbox cannot be used, or cannot show what the cell lists."""
        found, program = state(), shutil.which("bwrap")
        if not found.usable or program is None:
            raise CallError(found.reason)
        return _run(program, cell, stop)


def _run(program: str, cell: Cell, stop: Callable[[], bool]) -> Finished:
    status_out, status_in = os.pipe()
    with contextlib.ExitStack() as fds:
        fds.callback(os.close, status_in)
        made = {place: fds.enter_context(_filled(text.encode())) for place, text in mounts.MADE.items()}
        options = [*mounts.arguments(cell, made), "--json-status-fd", str(status_in)]
        listed = fds.enter_context(_filled("\0".join(options).encode("utf-8", "surrogateescape") + b"\0"))
        process = subprocess.Popen(
            [program, "--args", str(listed), "--", *_inside(cell)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={},
            cwd="/",
            pass_fds=[status_in, listed, *made.values()],
            start_new_session=True,  # Ctrl-C is for the workbench, which finishes what is begun
        )
    streams = Streams(process, cell.stdin, cell.output_mb << 20)
    status = os.fdopen(status_out, "rb", buffering=0)
    streams.add("status", status)
    with _first_process(process, streams) as first:
        done = watch_to_the_end(cell, process, streams, stop, lambda: _end(process, first))
    if done.ended == "exit" and _said(streams, "exit-code") is None:
        raise CallError(_why(done.stderr))
    return done


def _inside(cell: Cell) -> list[str]:
    """The first program of the cell, its options and the cell's program, as seen inside."""
    way_out = ["--socket", f"{GATE}/{SOCKET}", "--port", str(PORT)] if cell.gate is not None else []
    limits = ["--file-mb", str(cell.disk_mb), "--memory-mb", str(cell.memory_mb or 0), "--threads", str(MOST_THREADS)]
    return [str(mounts.bare_python()), "-I", "-S", mounts.INIT, *way_out, *limits, "--", *cell.argv]


@contextlib.contextmanager
def _filled(data: bytes) -> Iterator[int]:
    """A file in memory that holds the data, at its beginning."""
    fd = os.memfd_create("longbanana")
    try:
        os.write(fd, data)
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def _first_process(process: subprocess.Popen[bytes], streams: Streams) -> Iterator[int | None]:
    """A handle on process 1 of the sandbox, with which everything in it ends; None where it was never made."""
    ends = time.monotonic() + STARTED_S
    while _said(streams, "child-pid") is None and process.poll() is None and time.monotonic() < ends:
        streams.serve(0.05)
    pid = _said(streams, "child-pid")
    handle = None
    if pid is not None:
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(pid)
            if _parent(pid) != process.pid:  # it has ended already, and the number may be another's
                os.close(handle)
                handle = None
    try:
        yield handle
    finally:
        if handle is not None:
            os.close(handle)


def _end(process: subprocess.Popen[bytes], first: int | None) -> None:
    """Kill process 1 of the sandbox and wait until it is gone: the kernel ends all others in it first."""
    if first is not None:
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(first, signal.SIGKILL)
        select.select([first], [], [], GONE_S)
    else:
        process.kill()
    try:
        process.wait(GONE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _parent(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None


def _said(streams: Streams, key: str) -> int | None:
    """A number of bubblewrap's status lines."""
    for line in streams.read("status").splitlines():
        with contextlib.suppress(ValueError):
            told = json.loads(line)
            if key in told:
                return int(told[key])
    return None


def _why(stderr: bytes) -> str:
    """What bubblewrap said when it could not set up a sandbox, and what helps."""
    said = stderr.decode("utf-8", "replace").strip()[-300:] or "bubblewrap ended without a word"
    advice = next((advice for words, advice in ADVICE.items() if words in said), "See docs/sandbox.md.")
    return f"The sandbox cannot be used here: {said}. {advice}"


def _version(program: str) -> str | None:
    try:
        done = subprocess.run([program, "--version"], capture_output=True, timeout=20, stdin=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip().rpartition(" ")[2] or None
