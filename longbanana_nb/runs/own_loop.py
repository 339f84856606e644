"""A coroutine run to its end from anywhere: a script, a notebook cell whose loop is running, a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

Result = TypeVar("Result")


def in_own_loop(work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """Run `work()` in an event loop of a thread of its own, and give what it returns or raise what it raises.

    The caller's thread waits and keeps receiving signals. A KeyboardInterrupt there cancels the work, waits until it has
    tidied up, and is raised.
    """
    outcome: Future[Result] = Future()
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    async def whole() -> Result:
        task = asyncio.current_task()
        if task is not None:
            running.append((asyncio.get_running_loop(), task))
        return await work()

    def run() -> None:
        try:
            outcome.set_result(asyncio.run(whole()))
        except BaseException as error:  # handed over, whatever it is: the waiting thread raises it
            outcome.set_exception(error)

    thread = threading.Thread(target=run, name="longbanana-loop")
    thread.start()
    try:
        return outcome.result()
    except KeyboardInterrupt:
        for loop, task in running:
            loop.call_soon_threadsafe(task.cancel)
        raise
    finally:
        thread.join()
