"""Installing agent command lines: from the ordinary registries, by the shipped locks, without running any package's scripts.

An installation is made in a folder beside its place and renamed when it is whole and has started once; an interrupted one leaves
nothing that counts, and the next attempt begins with what the registry's own client kept of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from longbanana_nb.errors import CallError, DataError
from longbanana_nb.files import utc_now, write_atomic
from longbanana_nb.generation.agents.installed import NOTE, Installed, platform_problem, start_problem, state_of
from longbanana_nb.generation.agents.pins import PINS, Pin, pin_of
from longbanana_nb.paths import agents_folder

Say = Callable[[str], None]
_LIMIT_S = 1800.0
_SPARE_MB = 500  # free disk beyond what the installation takes
_NPM = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


def install(name: str, say: Say) -> list[Installed]:
    """Install one agent by its name, or `all`; what is there already, whole and pinned, is left alone.

    Raises:
        CallError: an unknown name, a platform the pinned programs do not run on, no npm. DataError: too little disk, a registry
            that does not answer or gives other bytes than the lock says, a program that does not start.
    """
    pins = list(PINS.values()) if name == "all" else [pin_of(name)]
    if problem := platform_problem():
        raise CallError(f"{', '.join(pin.title for pin in pins)} cannot be installed: {problem}. Use another machine.")
    return [_present(pin, say) for pin in pins]


def _present(pin: Pin, say: Say) -> Installed:
    home = agents_folder()
    home.mkdir(parents=True, exist_ok=True)
    with _alone(home / f".{pin.name}.lock", pin):
        found = state_of(pin.name).installed
        if found is not None and not start_problem(found):
            say(f"{pin.title} {pin.version} is installed in {found.folder}.")
            return found
        return _installed_anew(pin, home, say)


def _installed_anew(pin: Pin, home: Path, say: Say) -> Installed:
    _require_room(pin, home)
    say(f"{pin.title} {pin.version}: about {pin.disk_mb} MB in {home}, about {pin.seconds} s. Licence: {pin.licence}.")
    if pin.notice:
        say(pin.notice)
    beside, place = home / f".new-{pin.folder_name}", home / pin.folder_name
    started = time.monotonic()
    for rest in (beside, place):
        shutil.rmtree(rest, ignore_errors=True)
    beside.mkdir()
    (_by_npm if pin.source == "npm" else _by_pip)(pin, beside)
    _note(pin, beside, time.monotonic() - started)
    beside.rename(place)
    made = state_of(pin.name)
    problem = made.problem if made.installed is None else start_problem(made.installed)
    if made.installed is None or problem:
        shutil.rmtree(place, ignore_errors=True)
        raise DataError(f"{pin.title} {pin.version} was installed and cannot be used: {problem}. It was removed again.")
    say(f"{pin.title} {pin.version} is installed and starts ({time.monotonic() - started:.0f} s).")
    return made.installed


def _by_npm(pin: Pin, folder: Path) -> None:
    """`npm ci` takes exactly what the lock names and refuses bytes whose hash differs."""
    if shutil.which("npm") is None:
        raise CallError(f"{pin.title} is installed with npm, which is not here. Install Node.js with npm, 18 or later.")
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(pin.lock.parent / name, folder / name)
    _run([*_NPM], folder, pin)


def _by_pip(pin: Pin, folder: Path) -> None:
    """A virtual environment of its own; pip refuses what the lock does not name and bytes whose hash differs."""
    venv = folder / "venv"
    _run([sys.executable, "-m", "venv", str(venv)], folder, pin)
    pip = [
        str(venv / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--quiet",
        "--only-binary",
        ":all:",
    ]
    _run([*pip, "--require-hashes", "-r", str(pin.lock)], folder, pin)


def _run(command: list[str], folder: Path, pin: Pin) -> None:
    """Run one step; DataError with the end of what it said where it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_TOKEN"))}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DataError(f"{pin.title}: `{command[0]}` did not end within {_LIMIT_S:g} s. Run the same command again.") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-1500:]
        raise DataError(f"{pin.title}: `{' '.join(command[:3])}` ended with {done.returncode}. Nothing was installed.\n{said}")


def _note(pin: Pin, folder: Path, seconds: float) -> None:
    """Say in the folder what it holds; without this it counts as nothing."""
    written = {
        "name": pin.name,
        "version": pin.version,
        "lock_sha256": pin.lock_sha256,
        "platform": platform.platform(),
        "python": platform.python_version() if pin.source == "pip" else None,
        "installed_at": utc_now(),
        "seconds": round(seconds, 1),
    }
    write_atomic(folder / NOTE, json.dumps(written, indent=1).encode() + b"\n")


def _require_room(pin: Pin, home: Path) -> None:
    free_mb = shutil.disk_usage(home).free // 1_000_000
    if free_mb < pin.disk_mb + _SPARE_MB:
        raise DataError(
            f"{pin.title} takes about {pin.disk_mb} MB and {_SPARE_MB} MB to spare; {home} has {free_mb} MB free. "
            "Free some space, or name another folder in LONGBANANA_AGENTS."
        )


@contextlib.contextmanager
def _alone(lock: Path, pin: Pin) -> Iterator[None]:
    """One installation of an agent at a time, whoever makes it."""
    import fcntl

    with lock.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CallError(f"{pin.title} is being installed by another process. Wait for it, then run this again.") from None
        yield
