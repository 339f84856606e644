"""What is made from a run by whoever looks (scores, tables, figures), and what a killed process left half-written."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from longbanana_nb.runs.disk import saving
from longbanana_nb.runs.lock import RunLock

RESULTS = ("scores", "tables", "figures")  # folders written by whoever looks, also while another process owns the run
RESULTS_WAIT_S = 60.0


def is_part(name: str) -> bool:
    """Whether this is the name of a file that was being written when its process ended."""
    return name.startswith(".") and name.endswith(".part")


@contextlib.contextmanager
def writing_results(folder: Path) -> Iterator[None]:
    """Hold the results of a run (scores, tables, figures) for writing, for as long as a few files take; not to be nested.

    Results are made from what the run holds, so a notebook may write them while `judge` owns the run; other writers of results
    wait. What a killed one left half-written there is removed on entry.

    Raises:
        CallError: where another process has been writing results for a minute.
    """
    lock = RunLock(folder, "results.lock", signed=False)
    lock.acquire(RESULTS_WAIT_S)
    try:
        with saving(folder):
            for name in RESULTS:
                remove_parts(folder / name)
        yield
    finally:
        lock.release()


def remove_parts(folder: Path) -> None:
    """Remove half-written hidden files below a folder whose lock is held; the results of a run have a lock of their own."""
    for parent, folders, names in os.walk(folder):
        if Path(parent) == folder:
            folders[:] = [name for name in folders if name not in RESULTS]
        for name in names:
            if is_part(name):
                Path(parent, name).unlink(missing_ok=True)
