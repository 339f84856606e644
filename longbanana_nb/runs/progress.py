"""Progress bars for terminals and notebooks, silent elsewhere."""

from __future__ import annotations

import os
import sys
from typing import Any

SWITCH = "LONGBANANA_PROGRESS"  # "off" silences bars, as notebooks run for a report and tests do


def progress_bar(label: str, total: int) -> Any:
    """A tqdm bar over `total` units; it shows in a terminal and in a notebook, and stays silent in pipes and logs."""
    from tqdm.auto import tqdm

    silent = True if os.environ.get(SWITCH, "").lower() == "off" else None if not _in_notebook() else False
    return tqdm(total=total, desc=label, disable=silent, dynamic_ncols=True, leave=True)


def is_progress_watched() -> bool:
    """Whether somebody watches this process's progress: a terminal, and not switched off."""
    return os.environ.get(SWITCH, "").lower() != "off" and sys.stderr.isatty()


def _in_notebook() -> bool:
    """Whether this runs in a Jupyter kernel, whose output is no terminal and yet is watched."""
    if "ipykernel" not in sys.modules:
        return False
    from IPython import get_ipython

    return type(get_ipython()).__name__ == "ZMQInteractiveShell"
