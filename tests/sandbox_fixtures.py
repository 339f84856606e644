"""Cells of small programs, and the spy: a program that tries whatever it should not be able to do, and tells what it reached."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from longbanana_nb.generation.sandbox import Bubblewrap, Cell, Finished, Places, Sandbox, Unconfined, state
from longbanana_nb.generation.sandbox.mounts import bare_python

NO_SANDBOX = pytest.mark.skipif(not state().usable, reason=f"no sandbox here: {state().reason}")
BOXES = [pytest.param(Bubblewrap, marks=NO_SANDBOX, id="bubblewrap"), pytest.param(Unconfined, id="none")]
PYTHON = str(bare_python())

SPY = r"""
import ctypes, errno, json, os, pathlib, socket, sys

wanted = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
told = {}

def attempt(name):
    def run(function):
        try:
            told[name] = function() or "done"
        except Exception as error:
            told[name] = f"refused: {type(error).__name__}"
    return run

def asked(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), "")

@attempt("read the checks")
def _(): return pathlib.Path(wanted["checks"]).read_text()

@attempt("list another case")
def _(): return sorted(os.listdir(wanted["other_case"]))

@attempt("find a key in some environment")
def _():
    for file in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted["key"].encode() in file.read_bytes():
                return "found"
        except OSError:
            pass
    raise LookupError

@attempt("signal a process of the host")
def _(): os.kill(wanted["pid"], 0)

@attempt("reach another port of the loopback")
def _(): socket.create_connection(("127.0.0.1", wanted["port"]), timeout=2).close()

@attempt("reach an abstract socket")
def _():
    with socket.socket(socket.AF_UNIX) as one:
        one.connect("\0" + wanted["abstract"])

@attempt("find a network interface")
def _():
    names = [name for _, name in socket.if_nameindex() if name != "lo"]
    if not names:
        raise LookupError
    return names

@attempt("write to a reference")
def _():
    with open(wanted["reference"], "r+b") as file:
        file.write(b"X")

@attempt("replace a reference")
def _(): os.replace(wanted["scratch"], wanted["reference"])

@attempt("write beside the workspace")
def _(): pathlib.Path(wanted["beside"]).write_text("here")

@attempt("unmount what covers the references")
def _(): asked(libc.umount2(wanted["references"].encode(), 2))

@attempt("mount the root again, writable")
def _(): asked(libc.mount(b"none", b"/", b"none", 32 | 4096, None))

@attempt("make a user namespace of its own")
def _():
    pid = os.fork()
    if pid == 0:
        os._exit(0 if libc.unshare(0x10000000) == 0 else 1)
    asked(os.waitpid(pid, 0)[1])

@attempt("open a setting of the kernel for writing")
def _(): os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))

@attempt("ask the gateway")
def _():
    with socket.create_connection(("127.0.0.1", wanted["gate_port"]), timeout=5) as way:
        way.sendall(b"hello")
        way.shutdown(socket.SHUT_WR)
        return way.makefile("rb").read().decode()

@attempt("work in its workspace")
def _():
    pathlib.Path("note.txt").write_text("mine")
    return pathlib.Path(wanted["reference"]).read_text()

told["processes"] = len(list(pathlib.Path("/proc").glob("[0-9]*")))
told["first command line"] = pathlib.Path("/proc/1/cmdline").read_bytes().decode("utf-8", "replace")
told["users"] = pathlib.Path("/etc/passwd").read_text()
told["who"] = os.getuid()
json.dump(told, sys.stdout)
"""


def never() -> bool:
    return False


def cell(folder: Path, box: Sandbox, *argv: str, read_only: dict[str, Path] | None = None, **fields: object) -> Cell:
    """A cell whose workspace and home lie in `folder`; its port is held by the box."""
    work, home = folder / "work", folder / "home"
    work.mkdir(parents=True, exist_ok=True)
    home.mkdir(exist_ok=True)
    places = box.places(work, home, read_only or {})
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": places.of("/home/agent")}
    return Cell(argv, env, work, home, read_only or {}, port=places.port, **fields)  # type: ignore[arg-type]


def run_python(folder: Path, box: Sandbox, code: str, *arguments: str, **fields: object) -> Finished:
    """Run a piece of Python in a cell."""
    return box.run(cell(folder, box, PYTHON, "-I", "-c", code, *arguments, **fields), never)


def spied(folder: Path, box: Sandbox, wanted: dict[str, object], read_only: dict[str, Path], gate: Path) -> dict[str, str]:
    """What the spy reached; paths among `wanted` that name a place inside are turned into what the program sees."""
    one = cell(folder, box, PYTHON, "-I", "-c", SPY, read_only=read_only, gate=gate, timeout_s=60)
    roots = {"/work": one.workspace, **read_only} if box.name == "none" else {}
    places = Places({root: str(path) for root, path in roots.items()})
    seen = {name: places.of(value) if isinstance(value, str) else value for name, value in wanted.items()}
    done = box.run(replace(one, stdin=json.dumps({**seen, "gate_port": one.port}).encode()), never)
    assert (done.ended, done.returncode) == ("exit", 0), done
    told: dict[str, str] = json.loads(done.stdout)
    return told


def running(marker: str) -> list[int]:
    """Processes of this machine with the marker among their arguments, this one left aside."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if marker.encode() in line and int(process.name) != os.getpid():
            found.append(int(process.name))
    return found


def none_running(marker: str, within_s: float = 5.0) -> bool:
    """Whether no process with the marker is left, waiting a little for the kernel."""
    ends = time.monotonic() + within_s
    while running(marker) and time.monotonic() < ends:
        time.sleep(0.05)
    return not running(marker)
