"""Ctrl-C and termination as a request: no new work, what is begun is finished and saved."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from longbanana_nb.errors import Incomplete


class Stop:
    """Whether a stop was asked for; calling it asks, so it can be handed to `each`."""

    def __init__(self) -> None:
        self.signal_name: str | None = None

    def __call__(self) -> bool:
        """Whether a stop was asked for."""
        return self.signal_name is not None

    def require_complete(self, done: int, total: int, what: str) -> None:
        """Raise Incomplete (exit 3) if a stop was asked for and something is missing."""
        if self() and done < total:
            raise Incomplete(
                f"Stopped by {self.signal_name}: {done} of {total} {what} are done and kept. "
                "Run the same command again to go on from there."
            )


def _say(text: str) -> None:
    """Write to standard error from within a signal handler, past buffers that the interrupted code may be holding."""
    with contextlib.suppress(OSError):
        os.write(2, f"\n{text}\n".encode("ascii"))


@contextlib.contextmanager
def graceful_stop() -> Iterator[Stop]:
    """Within this, the first SIGINT or SIGTERM asks for a stop; a second SIGINT raises KeyboardInterrupt.

    Signals reach only the main thread; in another one nothing is changed and the stop is never asked for.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def ask(number: int, _: FrameType | None) -> None:
        if stop() and number == signal.SIGINT:
            raise KeyboardInterrupt
        if not stop():
            _say(f"Stopping ({signal.Signals(number).name}): what is begun is finished and kept. Ctrl-C ends it at once.")
        stop.signal_name = signal.Signals(number).name

    earlier = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
