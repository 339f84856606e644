"""What is asked of a sandbox: one program, what it may see, its limits; and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

WORK = "/work"  # the workspace, as the program sees it; its working directory
HOME = "/home/agent"
GATE = "/run/gate"
SOCKET = "model.sock"  # in the gate's folder: where the gateway listens
PORT = 8901  # on 127.0.0.1 inside: what is sent there reaches the gateway
MOST_DISK_MB = 2_000
MOST_OUTPUT_MB = 16

Ended = Literal["exit", "timeout", "stopped", "too_large"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One program to run apart from everything else.

    `env` is the whole environment. `read_only` maps paths as the program sees them to files or folders of the host: prompt,
    references, tools, the program's own folder, Python or Node. Paths under `/work` and `/home/agent` lie inside those folders.
    `hidden` are folders and files of the host that must not be seen; a sandbox that would show one of them refuses.
    `port` is what `Places.port` said.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    workspace: Path  # a folder of the host, seen as /work, writable
    home: Path  # a fresh folder of the host, seen as /home/agent, writable
    read_only: Mapping[str, Path] = field(default_factory=dict)
    hidden: tuple[Path, ...] = ()
    gate: Path | None = None  # a folder of the host with `model.sock`: the only way out
    stdin: bytes = b""
    timeout_s: float = 1800.0
    disk_mb: int = MOST_DISK_MB  # workspace and home together, and /tmp again
    memory_mb: int | None = None
    output_mb: int = MOST_OUTPUT_MB  # standard output and error, each
    port: int = PORT


@dataclass(frozen=True, slots=True)
class Finished:
    """What came of a program. `returncode` is None where it did not end by itself; `detail` says which limit ended it.

    `peak_mb` is the most memory seen in use by all its processes together, sampled while it ran.
    """

    returncode: int | None
    ended: Ended
    stdout: bytes
    stderr: bytes
    seconds: float
    peak_mb: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the program finds things: `of("/work/task.json")` is the path to write into its arguments and configuration.

    In a sandbox that is the path itself; without one it is the host's path. `port` on 127.0.0.1 leads to the gateway.
    """

    roots: Mapping[str, str]  # a path as named in a Cell -> the path the program sees
    port: int = PORT

    def of(self, inside: str) -> str:
        """The path the program sees for a path named as in a Cell; one that is under no root is the same."""
        for root in sorted(self.roots, key=len, reverse=True):
            if inside == root or inside.startswith(f"{root}/"):
                return self.roots[root] + inside[len(root) :]
        return inside


class Sandbox(Protocol):
    """Runs programs. `name` is what a system writes as `sandbox`; `version` goes into the record, not into the hash."""

    @property
    def name(self) -> str:
        """Its name in systems and records."""
        ...

    @property
    def version(self) -> str:
        """Of the program that does it; empty where there is none."""
        ...

    def places(self, workspace: Path, home: Path, read_only: Mapping[str, Path]) -> Places:
        """Where a program of these folders will find things; ask once for each cell, before its configuration is written."""
        ...

    def run(self, cell: Cell, stop: Callable[[], bool]) -> Finished:
        """Run to its end, to a limit, or until `stop()` is true. Nothing of it is left running when this returns.

        Raises:
            CallError: where the program cannot be started here at all.
        """
        ...
