"""The first program of a cell: sets limits, leads a port of 127.0.0.1 to the gateway, and starts the program.

Run by its path with a bare Python (`-I -S`), standard library alone. In a sandbox it dies with everything else in it. Without one
(`--control`) it adopts what the program leaves behind, and ends all of it when the program or the workbench ends.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
BLOCK = 1 << 16
NOT_STARTED = 127
MB = 1 << 20


def main() -> int:
    """Run the program; its exit code, or 128 and the signal that ended it."""
    options, argv = arguments()
    set_limits(options.file_mb, options.memory_mb, options.threads)
    if options.socket:
        listener = socket.socket(fileno=options.listener) if options.listener is not None else listening(options.port)
        threading.Thread(target=forward, args=(listener, options.socket), daemon=True).start()
    if options.control is None:
        return ended(started(argv))
    return supervised(argv, options.control)


def arguments() -> tuple[argparse.Namespace, list[str]]:
    """The options, and the program with its arguments after `--`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--listener", type=int)
    parser.add_argument("--control", type=int)
    parser.add_argument("--file-mb", type=int, default=0)
    parser.add_argument("--memory-mb", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0)
    split = sys.argv.index("--")
    return parser.parse_args(sys.argv[1:split]), sys.argv[split + 1 :]


def set_limits(file_mb: int, memory_mb: int, threads: int) -> None:
    """No core files, no file larger than the disk limit, no process with more private memory than twice its limit.

    The kernel counts threads of a user in its own namespace, and not those of root.
    """
    import resource  # not everywhere, and this module is imported everywhere

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if file_mb:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_mb * MB, file_mb * MB))
    if memory_mb:
        resource.setrlimit(resource.RLIMIT_DATA, (2 * memory_mb * MB, 2 * memory_mb * MB))
    if threads:
        hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
        most = threads if hard == resource.RLIM_INFINITY else min(threads, hard)
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))


def listening(port: int) -> socket.socket:
    """A listening socket on 127.0.0.1."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(64)
    return listener


def forward(listener: socket.socket, path: str) -> None:
    """Lead every connection to the socket at `path`."""
    while True:
        client, _ = listener.accept()
        threading.Thread(target=join, args=(client, path), daemon=True).start()


def join(client: socket.socket, path: str) -> None:
    """One connection, both ways, until both sides have ended."""
    gate = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        gate.connect(path)
    except OSError:
        client.close()
        gate.close()
        return
    answers = threading.Thread(target=pump, args=(gate, client), daemon=True)
    answers.start()
    pump(client, gate)
    answers.join()
    client.close()
    gate.close()


def pump(source: socket.socket, sink: socket.socket) -> None:
    """Copy one way until the source ends, and say so to the sink."""
    with contextlib.suppress(OSError):
        while block := source.recv(BLOCK):
            sink.sendall(block)
    for end, how in ((sink, socket.SHUT_WR), (source, socket.SHUT_RD)):
        with contextlib.suppress(OSError):
            end.shutdown(how)


def started(argv: list[str], *, own_session: bool = False) -> subprocess.Popen[bytes] | None:
    """The program, or None with a sentence on standard error."""
    try:
        return subprocess.Popen(argv, start_new_session=own_session)
    except (OSError, ValueError) as error:
        print(f"{argv[0]}: {error.strerror if isinstance(error, OSError) else error}", file=sys.stderr)
        return None


def ended(program: subprocess.Popen[bytes] | None) -> int:
    """Wait for the program; its exit code as a shell gives it."""
    if program is None:
        return NOT_STARTED
    code = program.wait()
    return code if code >= 0 else 128 - code


def supervised(argv: list[str], control: int) -> int:
    """Run the program until it ends or `control` closes, as it does when the workbench dies; then end all it left behind."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # a handler, for what is ignored stays ignored in the program
    adopts = adopt_orphans()
    program = started(argv, own_session=True)
    code: int | None = NOT_STARTED if program is None else None
    while code is None and not select.select([control], [], [], 0.02)[0]:
        if program is not None and program.poll() is not None:
            code = ended(program)
    if program is not None:
        with contextlib.suppress(OSError):
            os.killpg(program.pid, signal.SIGKILL)
    if adopts:
        end_children()
    return 128 + signal.SIGKILL if code is None else code


def adopt_orphans() -> bool:
    """Ask the kernel that what the program leaves behind becomes ours; only Linux can."""
    if sys.platform != "linux":
        return False
    return bool(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def end_children(most_s: float = 10.0) -> None:
    """Kill every child until there is none; the children of a killed one become ours."""
    ends = time.monotonic() + most_s
    while time.monotonic() < ends:
        for pid in children():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.005)


def children() -> list[int]:
    """Pids whose parent is this process."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            parent = int((process / "stat").read_text("ascii", "replace").rpartition(")")[2].split()[1])
            if parent == os.getpid():
                found.append(int(process.name))
    return found


if __name__ == "__main__":
    sys.exit(main())
