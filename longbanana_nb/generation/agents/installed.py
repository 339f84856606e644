"""What is installed of the agent command lines: where it lies, whether it is the pinned one, and whether it starts here."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from longbanana_nb.errors import CallError
from longbanana_nb.generation.agents.pins import PINS, PLATFORM, Pin, pin_of
from longbanana_nb.generation.sandbox.mounts import bare_python
from longbanana_nb.paths import agents_folder

NOTE = "installed.json"  # written last: a folder without it is no installation
_START_S = 60.0


@dataclass(frozen=True, slots=True)
class Installed:
    """An installation by the pinned version's lock: its folder, and the arguments that start its program."""

    pin: Pin
    folder: Path
    argv: tuple[str, ...]

    def argv_in(self, folder: str) -> tuple[str, ...]:
        """The arguments that start it where its folder is seen under another path."""
        return tuple(f"{folder}/{part}" if (self.folder / part).exists() else part for part in self.pin.program)

    @property
    def identity(self) -> str:
        """What enters the hash of a system: name, version, and the hash of everything installed."""
        return f"{self.pin.name}/{self.pin.version}+{self.pin.lock_sha256[:16]}"


@dataclass(frozen=True, slots=True)
class State:
    """How it stands with one agent: the installation, or why there is none; other versions that lie there."""

    pin: Pin
    installed: Installed | None
    problem: str
    others: tuple[str, ...] = ()


def platform_problem() -> str:
    """Why no agent can be installed on this machine; empty where they can."""
    found = (platform.system(), platform.machine())
    if found != PLATFORM:
        return f"the pinned programs are for {' '.join(PLATFORM)}; this is {' '.join(found)}"
    if platform.libc_ver()[0] != "glibc":
        return "the pinned programs need glibc; this system has another C library"
    return ""


def state_of(name: str) -> State:
    """How it stands with one agent, by its files alone; nothing is started."""
    pin = pin_of(name)
    folder = agents_folder() / pin.folder_name
    others = tuple(sorted(path.name for path in agents_folder().glob(f"{name}-*") if path != folder and (path / NOTE).is_file()))
    problem = platform_problem() or _problem_of(pin, folder)
    return State(pin, None if problem else _installed(pin, folder), problem, others)


def states() -> list[State]:
    """How it stands with every agent."""
    return [state_of(name) for name in PINS]


def require_installed(name: str) -> Installed:
    """The installation of an agent.

    Raises:
        CallError: where there is none, saying why and what to do.
    """
    state = state_of(name)
    if state.installed is None:
        advice = "" if platform_problem() else f" Run `longbanana-nb agents install {name}`."
        raise CallError(f"{state.pin.title} {state.pin.version} cannot be used: {state.problem}.{advice}")
    return state.installed


def start_problem(installed: Installed) -> str:
    """Start the program with `--version` in an empty home; empty if it answers as pinned, else what went wrong."""
    with tempfile.TemporaryDirectory(prefix="lb-agent-") as home:
        environment = {"HOME": home, "TMPDIR": home, "PATH": "/usr/local/bin:/usr/bin:/bin", "TERM": "dumb", "LANG": "C.UTF-8"}
        try:
            done = subprocess.run(
                [*installed.argv, "--version"],
                env=environment,
                cwd=home,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=_START_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"it does not start ({type(error).__name__}: {error})"
    said = (done.stdout or done.stderr).strip()
    if done.returncode != 0 or installed.pin.says not in said:
        return f"it started and answered {said[:120]!r} (exit {done.returncode}); expected {installed.pin.says!r} in its answer"
    return ""


def _problem_of(pin: Pin, folder: Path) -> str:
    if not folder.is_dir():
        return "it is not installed"
    try:
        note = json.loads((folder / NOTE).read_text("utf-8"))
    except (OSError, ValueError):
        return f"its installation in {folder} is not whole"
    if not isinstance(note, dict) or note.get("lock_sha256") != pin.lock_sha256:
        return f"what lies in {folder} was installed by another lock than this package's"
    program = folder / pin.program[0]
    if pin.source == "pip" and program.resolve() != bare_python():
        return f"it stands on {program.resolve()}, and the workbench now runs on {bare_python()}"
    if not os.access(program, os.X_OK):
        return f"its program {program} is not there or cannot be started"
    return ""


def _installed(pin: Pin, folder: Path) -> Installed:
    """Arguments with paths of this installation; what is no path in it (an option, a module) stays."""
    return Installed(pin, folder, tuple(str(folder / part) if (folder / part).exists() else part for part in pin.program))
