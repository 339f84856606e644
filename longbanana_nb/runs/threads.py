"""Jobs that wait for a network: threads of this process, so that only the owner of the run writes its ledgers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from longbanana_nb.runs.pool import WAKE_S
from longbanana_nb.runs.progress import progress_bar
from longbanana_nb.runs.worker import Failure, attempt

Job = TypeVar("Job")
Result = TypeVar("Result")


def each_waiting(
    function: Callable[[Job], Result],
    jobs: Iterable[Job],
    *,
    workers: int,
    label: str,
    stop: Callable[[], bool],
    cut: Callable[[], None] | None = None,
) -> Generator[tuple[Job, Result | Failure]]:
    """Run `function` on every job in up to `workers` threads and yield (job, result) in the order they finish.

    Once `stop` is true no job is begun any more, and those begun are finished and yielded. A job that raises yields a Failure.
    If this is left early (an exception, a second Ctrl-C), `cut` is called: it asks jobs that have begun to end soon.
    """
    waiting = deque(jobs)
    running: dict[Future[Any], Job] = {}
    with ThreadPoolExecutor(workers) as pool, progress_bar(label, len(waiting)) as bar:
        try:
            while running or (waiting and not stop()):
                while waiting and len(running) < workers and not stop():
                    job = waiting.popleft()
                    running[pool.submit(attempt, function, job)] = job
                done, _ = wait(running, timeout=WAKE_S, return_when=FIRST_COMPLETED)
                for future in done:
                    job = running.pop(future)
                    bar.update(1)
                    yield job, future.result()
        except BaseException:
            if cut is not None:
                cut()
            raise
