"""No sandbox (`sandbox: none`): the same face. What a program starts is still ended with it; what it may see is everything."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from longbanana_nb.errors import CallError
from longbanana_nb.generation.sandbox.cell_init import listening
from longbanana_nb.generation.sandbox.contracts import HOME, SOCKET, WORK, Cell, Finished, Places
from longbanana_nb.generation.sandbox.mounts import bare_python
from longbanana_nb.generation.sandbox.running import Streams, watch_to_the_end

GONE_S = 15.0
INIT = Path(__file__).with_name("cell_init.py")


class Unconfined:
    """Programs as the user's own processes. Whether that is wanted, a system says, and every record and table shows it."""

    name = "none"
    version = ""

    def __init__(self) -> None:
        self._listeners: dict[int, socket.socket] = {}
        self._guard = threading.Lock()

    def places(self, workspace: Path, home: Path, read_only: Mapping[str, Path]) -> Places:
        """Host paths, and a free port of this machine, held until the cell is run."""
        roots = {WORK: str(workspace), HOME: str(home), **{place: str(path) for place, path in read_only.items()}}
        listener = listening(0)
        port = int(listener.getsockname()[1])
        with self._guard:
            self._listeners[port] = listener
        return Places(roots, port)

    def run(self, cell: Cell, stop: Callable[[], bool]) -> Finished:
        """Run the cell; raises CallError where `places` was not asked for this cell and it has a gate."""
        with self._guard:
            listener = self._listeners.pop(cell.port, None)
        if cell.gate is not None and listener is None:
            raise CallError(f"No port was kept for this program ({cell.port}); ask `places` before each run.")
        with contextlib.ExitStack() as held:
            if listener is not None:
                held.enter_context(listener)
            control_out, control_in = os.pipe()
            _link_listed(cell)
            try:
                process = self._started(cell, listener, control_out)
            except BaseException:
                os.close(control_in)
                raise
            finally:
                os.close(control_out)
        streams = Streams(process, cell.stdin, cell.output_mb << 20)
        return watch_to_the_end(cell, process, streams, stop, lambda: _end(process, control_in))

    def _started(self, cell: Cell, listener: socket.socket | None, control: int) -> subprocess.Popen[bytes]:
        options, passed = ["--control", str(control)], [control]
        if cell.gate is not None and listener is not None:
            options += ["--socket", str(cell.gate / SOCKET), "--listener", str(listener.fileno())]
            passed.append(listener.fileno())
        options += ["--file-mb", str(cell.disk_mb), "--memory-mb", str(cell.memory_mb or 0)]
        return subprocess.Popen(
            [str(bare_python()), "-I", "-S", str(INIT), *options, "--", *cell.argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(cell.env),
            cwd=cell.workspace,
            pass_fds=passed,
            start_new_session=True,
        )


def _link_listed(cell: Cell) -> None:
    """Links in workspace and home to what the cell lists there, so that relative paths lead as they do in a sandbox."""
    for root, folder in ((WORK, cell.workspace), (HOME, cell.home)):
        for place, path in cell.read_only.items():
            if place.startswith(f"{root}/") and place != str(path):
                link = folder / place.removeprefix(f"{root}/")
                link.parent.mkdir(parents=True, exist_ok=True)
                if not link.exists():
                    link.symlink_to(path)


def _end(process: subprocess.Popen[bytes], control: int) -> None:
    """Close the control pipe: the first program then kills all it knows of, and ends."""
    os.close(control)
    try:
        process.wait(GONE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
