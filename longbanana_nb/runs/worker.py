"""What runs inside a worker process: one job at a time, its failure turned into words, its life tied to its parent."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PARENT_POLL_S = 0.5
SINGLE_THREADED = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OPENCV_FOR_THREADS_NUM"), "1")


@dataclass(frozen=True, slots=True)
class Failure:
    """A job that gave no result. `reason` is one line for people, `traceback` is for a log ("" where the process died)."""

    reason: str
    kind: str  # the exception's type, "WorkerDied", or "NotRun"
    traceback: str = ""


def start_worker(parent: int) -> None:
    """Prepare a worker: leave Ctrl-C to the parent, and end when the parent is gone, however it went."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), name="parent-watch", daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_POLL_S)
    os._exit(1)


def attempt(function: Callable[[Any], Any], job: Any) -> Any:
    """The function's result, or a Failure that says why there is none."""
    try:
        return function(job)
    except (Exception, SystemExit) as error:
        words = " ".join(str(error).split("\n")[0].split()) or "no message"
        return Failure(f"{type(error).__name__}: {words}", type(error).__name__, traceback.format_exc())
