"""Real agent command lines for tests: found, or the test is skipped with the reason."""

import pytest

from longbanana_nb.generation.agents.installed import state_of
from longbanana_nb.generation.sandbox import state as sandbox_state


def needed(name):
    """The installation of a command line; the test is skipped where it, or the sandbox, is not there."""
    if not sandbox_state().usable:
        pytest.skip(sandbox_state().reason)
    found = state_of(name)
    if found.installed is None:
        pytest.skip(f"{found.pin.title}: {found.problem}; run `longbanana-nb agents install {name}`")
    return found.installed
