"""What the sandbox costs a case beyond the program itself: seconds, memory, and what a request through the way out costs.

    python tests/bench/bench_sandbox.py [cases]

The program is a bare Python that leaves a picture. "program alone" starts it as any process; "without" and "sandbox" are the
whole harness `command` on a case of 32 references: room, copies, task, start, pick-up. Targets: at most 0.4 s and 60 MB over it.
"""

from __future__ import annotations

import io
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation import Models
from longbanana_nb.generation.command import command
from longbanana_nb.generation.sandbox import Bubblewrap, Cell, Sandbox, Unconfined, case_room, state
from longbanana_nb.generation.sandbox.mounts import bare_python
from longbanana_nb.release import Case, Reference
from longbanana_nb.runs import SystemSpec, parse_system

PYTHON = str(bare_python())
PROGRAM = "import shutil, sys\nshutil.copyfile(sys.argv[2] + '/01.jpg', sys.argv[1])\n"
STAYS = "import time\ntime.sleep(1.5)\n"
ASKS = """
import socket, sys, time
began = time.perf_counter()
for _ in range(200):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as way:
        way.sendall(b"x" * 1000)
        way.shutdown(socket.SHUT_WR)
        while way.recv(65536):
            pass
print((time.perf_counter() - began) / 200)
"""


def case_of(folder: Path) -> Case:
    """A case with 32 JPEG references of about 200 KB."""
    references = []
    for n in range(32):
        out = io.BytesIO()
        Image.effect_noise((640, 640), 40 + n).convert("RGB").save(out, "JPEG", quality=85)
        file = folder / f"{n:02}.jpg"
        file.write_bytes(out.getvalue())
        references.append(Reference(f"ref_{n:02}", f"public/{file.name}", sha256_bytes(out.getvalue()), file, "reference"))
    return Case("bench", "RGC", "Draw.", tuple(references), None)


def system(folder: Path, sandbox: str) -> SystemSpec:
    """The program as a system."""
    (folder / "draw.py").write_text(PROGRAM, "utf-8")
    argv = [PYTHON, "-I", "-S", "draw.py", "{out}", "{refs}"]
    value = {"name": "bench", "sandbox": sandbox, "harness": {"kind": "command", "argv": argv, "timeout_s": 60}}
    return parse_system(value).written_in(folder)


def seconds(times: int, act: Callable[[], object]) -> float:
    """Median of so many runs, after one that does not count."""
    act()
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        act()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def alone(folder: Path) -> None:
    """The program as any process."""
    argv = [PYTHON, "-I", "-S", str(folder / "draw.py"), str(folder / "out.jpg"), str(folder / "references")]
    subprocess.run(argv, check=True)


def in_a_cell(
    box: Sandbox, code: str, *, gate: bool, arguments: Callable[[int], list[str]] = lambda port: []
) -> tuple[float, str]:
    """Peak memory in MB, and output, of a piece of Python in a cell."""
    with case_room() as room, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(room.gate / "model.sock"))
        listener.listen()
        threading.Thread(target=echo, args=(listener,), daemon=True).start()
        places = box.places(room.workspace, room.home, {})
        argv = (PYTHON, "-I", "-S", "-c", code, *arguments(places.port))
        cell = Cell(argv, {"LANG": "C.UTF-8"}, room.workspace, room.home, gate=room.gate if gate else None, port=places.port)
        done = box.run(cell, lambda: False)
        return done.peak_mb or 0.0, done.stdout.decode()


def echo(listener: socket.socket) -> None:
    """Answer every connection with what it sent."""
    while True:
        try:
            one, _ = listener.accept()
        except OSError:
            return
        with one:
            while block := one.recv(65536):
                one.sendall(block)


def own_memory() -> float:
    """Resident memory of the same Python alone, in MB."""
    code = "print(*[line.split()[1] for line in open('/proc/self/status') if line.startswith('VmRSS')])"
    return int(subprocess.run([PYTHON, "-I", "-S", "-c", code], capture_output=True, check=True).stdout) / 1024


def main() -> None:
    """Print a table."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "references").mkdir()
        case = case_of(folder / "references")
        systems = {"without": system(folder, "none")}
        if state().usable:
            systems["sandbox"] = system(folder, "bubblewrap")
        base = seconds(times, lambda: alone(folder))
        print(f"program alone: {base:.3f} s a case")
        for label, spec in systems.items():
            whole = seconds(times, lambda spec=spec: command(case, spec, Models(), 1))  # type: ignore[misc]
            print(f"{label}: {whole:.3f} s a case, {whole - base:.3f} s over the program (target 0.4)")
    plain = own_memory()
    boxes: list[Sandbox] = [Unconfined(), *([Bubblewrap()] if state().usable else [])]
    for box in boxes:
        memory = in_a_cell(box, STAYS, gate=True)[0]
        _, answer = in_a_cell(box, ASKS, gate=True, arguments=lambda port: [str(port)])
        request = f"{1000 * float(answer):.2f} ms a request to the gate"
        print(f"{box.name}: {memory - plain:.0f} MB over the program (target 60); {request}")
    if not state().usable:
        print(f"no sandbox here: {state().reason}")


if __name__ == "__main__":
    main()
