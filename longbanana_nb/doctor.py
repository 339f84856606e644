"""What is installed, which keys are set, and what can run here; nothing secret is ever shown."""

from __future__ import annotations

import datetime as dt
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Literal

from longbanana_nb import paths

State = Literal["ok", "absent", "note"]

KEYS = ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY", "ARK_API_KEY")
PROGRAMS = {
    "chromium": "browser tests of pages and notebooks",
    "pdflatex": "compiling LaTeX tables in tests",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: its group, its name, its state and a sentence about it."""

    group: str
    name: str
    state: State
    detail: str


def diagnose() -> list[Finding]:
    """Everything `doctor` reports, in order: Python, packages, kernel, data, keys, models that end, programs,
    agent command lines, what can run.
    """
    return [*_python(), *_packages(), *_data(), *_keys(), *_models(), *_programs(), *_agents(), *_abilities()]


def is_healthy(findings: list[Finding]) -> bool:
    """True if nothing that the embedded default needs is absent."""
    return not any(f.state == "absent" and f.group in {"python", "package", "data"} for f in findings)


def as_text(findings: list[Finding]) -> str:
    """The findings as lines for a terminal."""
    marks = {"ok": "ok    ", "absent": "ABSENT", "note": "-     "}
    lines, group = [], None
    for finding in findings:
        if finding.group != group:
            group = finding.group
            lines.append(f"{group}:")
        lines.append(f"  {marks[finding.state]}  {finding.name:<26} {finding.detail}")
    return "\n".join(lines)


def _python() -> list[Finding]:
    good = (3, 11) <= sys.version_info[:2] < (3, 14)
    state: State = "ok" if good else "absent"
    return [
        Finding(
            "python", platform.python_version(), state, f"{platform.system()} {platform.machine()}; 3.11 to 3.13 is supported"
        )
    ]


def _packages() -> list[Finding]:
    try:
        declared = requires("longbanana-nb") or []
    except PackageNotFoundError:
        return [Finding("package", "longbanana-nb", "absent", "not installed: run `pip install -e .` in the checkout")]
    found = []
    for line in declared:
        name = re.split(r"[<>=!~;\[ ]", line, maxsplit=1)[0]
        try:
            found.append(Finding("package", name, "ok", version(name)))
        except PackageNotFoundError:
            found.append(Finding("package", name, "absent", f"needed: {line}"))
    return found


def _data() -> list[Finding]:
    wanted = {
        "demo cut-outs": paths.data_folder() / "demo" / "kinds.json",
        "presets": paths.presets_folder() / "experiments" / "demo.yaml",
        "notebooks": paths.notebooks_folder() / "00_start_here.ipynb",
    }
    return [
        Finding("data", name, "ok" if path.is_file() else "absent", "found" if path.is_file() else f"missing: {path}")
        for name, path in wanted.items()
    ]


def _keys() -> list[Finding]:
    return [Finding("key", name, "note", "set" if os.environ.get(name) else "not set (the demo needs none)") for name in KEYS]


def _models() -> list[Finding]:
    from longbanana_nb.providers.paper_models import retired_or_ending

    today = dt.datetime.now(dt.UTC).date()
    return [Finding("models that end", name, "note", told) for name, told in retired_or_ending(today)]


def _programs() -> list[Finding]:
    from longbanana_nb.generation.sandbox import state

    sandbox = state()
    how = f"sandbox for programs of others: {'works, ' if sandbox.usable else 'does not work here. '}{sandbox.reason}"
    found = [Finding("program", "bwrap", "ok" if sandbox.usable else "note", how)]
    for name, purpose in PROGRAMS.items():
        path = shutil.which(name)
        found.append(Finding("program", name, "note", f"{purpose}: {_first_line(path) if path else 'not installed'}"))
    return found


def _agents() -> list[Finding]:
    from longbanana_nb.generation.agents.listing import listed

    return [
        Finding("agent", f"{one.name} {one.version}", "ok" if one.is_installed and not one.is_broken else "note", one.detail)
        for one in listed()
    ]


def _first_line(path: str) -> str:
    try:
        done = subprocess.run(
            [path, "--version"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=20,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"installed, but does not answer ({type(error).__name__})"
    return (done.stdout or done.stderr).strip().split("\n")[0][:80]


def _abilities() -> list[Finding]:
    return [
        Finding("can run", "demo", "ok", "fp-direct, native (minimal), four floors; judges tools and truth; no key"),
        Finding("can run", "imported candidates", "ok", "import-candidates RUN --system NAME FOLDER"),
        Finding("can run", "your own program", "ok", "harness command; in the sandbox where it works, else with sandbox: none"),
        Finding(
            "can run",
            "model providers",
            "note",
            "judges of Anthropic, Google, OpenAI and any OpenAI-compatible address, where their key is set",
        ),
        Finding("can run", "agent command lines", "note", "those installed, in the sandbox, where the key of the model is set"),
    ]
