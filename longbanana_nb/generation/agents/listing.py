"""How it stands with every agent command line, for `agents list` and `doctor`."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from longbanana_nb.generation.agents.installed import State, start_problem, states


@dataclass(frozen=True, slots=True)
class Listed:
    """One agent: its pinned version, whether it is installed and starts, and a sentence about it."""

    name: str
    version: str
    is_installed: bool
    is_broken: bool  # installed as pinned, and it does not start
    detail: str


def listed() -> list[Listed]:
    """Every agent; those that are installed are started once with `--version`."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(_listed, states()))


def as_text(agents: Sequence[Listed]) -> str:
    """Lines for a terminal."""
    return "\n".join(f"{one.name:<12} {one.version:<10} {one.detail}" for one in agents)


def _listed(state: State) -> Listed:
    pin = state.pin
    others = f"; other versions lie there: {', '.join(state.others)}" if state.others else ""
    if state.installed is None:
        detail = f"not usable: {state.problem}; about {pin.disk_mb} MB, {pin.seconds} s, licence {pin.licence}{others}"
        return Listed(pin.name, pin.version, False, False, detail)
    problem = start_problem(state.installed)
    detail = problem or f"installed and starts, {state.installed.folder}, licence {pin.licence}"
    return Listed(pin.name, pin.version, True, bool(problem), f"{detail}{others}")
