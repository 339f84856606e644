"""Programs of others, run apart: what they may see is listed, everything else is not there."""

from __future__ import annotations

import os

from longbanana_nb.errors import CallError
from longbanana_nb.generation.sandbox.bubblewrap import Bubblewrap, State, state
from longbanana_nb.generation.sandbox.contracts import GATE, HOME, PORT, SOCKET, WORK, Cell, Finished, Places, Sandbox
from longbanana_nb.generation.sandbox.pickup import pick_up, pick_up_steps
from longbanana_nb.generation.sandbox.rooms import Room, case_room
from longbanana_nb.generation.sandbox.unconfined import Unconfined

__all__ = [
    "GATE",
    "HOME",
    "PORT",
    "SOCKET",
    "WORK",
    "Bubblewrap",
    "Cell",
    "Finished",
    "Places",
    "Room",
    "Sandbox",
    "State",
    "Unconfined",
    "case_room",
    "pick_up",
    "pick_up_steps",
    "sandbox_named",
    "state",
]


def sandbox_named(name: str | None, system: str) -> Sandbox:
    """The sandbox a system asks for; "none" is the user's own processes.

    Raises:
        CallError: where it cannot be used on this machine, saying why and what to do. There is no silent way around.
    """
    if os.name != "posix":
        raise CallError(
            f"system {system!r} runs a program of others, which needs Linux, or macOS with `sandbox: none`. Use one of them."
        )
    if name == "none":
        return Unconfined()
    found = state()
    if name == "bubblewrap" and found.usable:
        return Bubblewrap()
    reason = found.reason if name == "bubblewrap" else f"There is no sandbox {name!r}; there are 'bubblewrap' and 'none'."
    raise CallError(
        f"system {system!r} runs a program in a sandbox, and that cannot be done here. {reason} "
        "With `sandbox: none` it runs without one: it can then read everything you can, checks included, and every table says so."
    )
