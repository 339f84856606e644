"""Jobs on this machine's processors: results as they finish, failures as values, no process left behind."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from longbanana_nb.errors import CallError
from longbanana_nb.runs.progress import progress_bar
from longbanana_nb.runs.worker import SINGLE_THREADED, Failure, attempt, start_worker

Job = TypeVar("Job")
Result = TypeVar("Result")

FRESH_POOLS = 5  # how often workers may die before the rest is given up
WAKE_S = 0.2  # how long a stop request may wait to be seen


def each(
    function: Callable[[Job], Result],
    jobs: Iterable[Job],
    *,
    workers: int,
    label: str,
    stop: Callable[[], bool] | None = None,
) -> Iterator[tuple[Job, Result | Failure]]:
    """Run `function` on every job and yield (job, result) in the order they finish.

    Jobs and results travel to loky processes that use one thread each, ignore Ctrl-C, and end with this process, however it ends;
    so does a job that is alone, for it may be the one that kills its process. Only with one worker everything runs in this
    process, and such a job ends it.

    Args:
        function: an importable callable (in a notebook: any callable; it is sent by value).
        workers: processes at most, from 1.
        label: the words beside the progress bar.
        stop: asked between jobs; once true no job is begun any more, and those begun are finished and yielded.

    Yields:
        Each job once. One that raises, cannot be sent, or whose process dies yields a Failure; the others go on, in fresh
        processes at most five times.
    """
    waiting = deque(jobs)
    if workers < 1:
        raise CallError(f"workers: found {workers}; expected at least 1.")
    stopped = stop or (lambda: False)
    with progress_bar(label, len(waiting)) as bar:
        run = _here(function, waiting, stopped) if workers == 1 else _Pool(function, waiting, workers, stopped).run()
        for job, result in run:
            bar.update(1)
            yield job, result


def usual_workers() -> int:
    """One process for each processor this one may use, and at least two, so that no job runs in the process that owns a run."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(2, usable)


def _here(function: Callable[[Job], Any], waiting: deque[Job], stopped: Callable[[], bool]) -> Iterator[tuple[Job, Any]]:
    while waiting and not stopped():
        job = waiting.popleft()
        yield job, attempt(function, job)


class _Pool:
    """Runs the waiting jobs in processes, and finds out which job it is that kills its process."""

    def __init__(self, function: Callable[[Any], Any], waiting: deque[Any], workers: int, stopped: Callable[[], bool]) -> None:
        self.function, self.waiting, self.workers, self.stopped = function, waiting, workers, stopped
        self.deaths = 0

    def run(self) -> Iterator[tuple[Any, Any]]:
        """All jobs, in fresh processes after each death."""
        while self.waiting and not self.stopped():
            if self.deaths >= FRESH_POOLS:
                yield from self._give_up()
                return
            suspects: list[Any] = []
            yield from self._together(min(self.workers, len(self.waiting)), suspects)
            while suspects:  # one of these killed its process: one at a time shows which
                yield from self._one_at_a_time(suspects)

    def _together(self, workers: int, suspects: list[Any]) -> Iterator[tuple[Any, Any]]:
        """Run waiting jobs until none is left or a process dies; then the jobs that were running go to `suspects`."""
        executor = _executor(workers)
        running: dict[Future[Any], Any] = {}
        try:
            while running or (self.waiting and not self.stopped()):
                while self.waiting and len(running) < workers + 1 and not self.stopped():
                    job = self.waiting.popleft()
                    try:
                        running[executor.submit(attempt, self.function, job)] = job
                    except BrokenProcessPool:
                        self.waiting.appendleft(job)
                        break
                done, _ = wait(running, timeout=WAKE_S, return_when=FIRST_COMPLETED)
                for future in done:
                    job = running.pop(future)
                    if isinstance(future.exception(), BrokenProcessPool):
                        suspects.append(job)
                    else:
                        yield job, _result(future)
                if suspects:
                    self.deaths += 1
                    suspects.extend(running.values())
                    running.clear()
                    return
        finally:
            executor.shutdown(wait=True, kill_workers=bool(running) or bool(suspects))

    def _one_at_a_time(self, suspects: list[Any]) -> Iterator[tuple[Any, Any]]:
        """Run suspects in one process, one after another, until none is left or one kills the process."""
        executor = _executor(1)
        finished = False
        try:
            while suspects:
                job = suspects.pop(0)
                future = executor.submit(attempt, self.function, job)
                while not wait([future], timeout=WAKE_S).done:
                    pass
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    self.deaths += 1
                    yield job, Failure(f"the worker process died ({_last_words(error)})", "WorkerDied")
                    return
                yield job, _result(future)
            finished = True
        finally:
            executor.shutdown(wait=True, kill_workers=not finished)

    def _give_up(self) -> Iterator[tuple[Any, Any]]:
        reason = f"not run: worker processes died {self.deaths} times; look at memory, and take fewer workers"
        while self.waiting:
            yield self.waiting.popleft(), Failure(reason, "NotRun")


def _executor(workers: int) -> Any:
    from loky import ProcessPoolExecutor

    return ProcessPoolExecutor(workers, initializer=start_worker, initargs=(os.getpid(),), env=SINGLE_THREADED)


def _result(future: Future[Any]) -> Any:
    """What the job gave; a job or result that could not travel between processes is a Failure too."""
    error = future.exception()
    if error is None:
        return future.result()
    words = " ".join(str(error).split("\n")[0].split())
    return Failure(f"{type(error).__name__}: {words}", type(error).__name__, str(error.__cause__ or error))


def _last_words(error: BaseException) -> str:
    """The exit codes loky reports, as one line."""
    lines = [line.strip() for line in str(error).splitlines() if "exit codes" in line]
    return lines[0] if lines else "no exit code known"
