"""Jobs in worker processes: grouped so that a local model looks at a case once, and apart again when a group fails."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import cast

from longbanana_nb.generation.jobs import Job, Made, Refused, carry_out_all
from longbanana_nb.generation.prepare import Prepared
from longbanana_nb.runs import Failure, each

Group = tuple[Job, ...]
Result = Made | Refused | Failure


def grouped(jobs: Sequence[Job], systems: Mapping[str, Prepared]) -> list[Group]:
    """Jobs of one case on one simulated provider go together, whatever the harness; all others stand alone.

    A simulated model works on this processor and remembers what it saw of a case's references; a real one waits for a network,
    and grouping it would only make it slower.
    """
    groups: dict[tuple[str, ...], list[Job]] = {}
    for number, job in enumerate(jobs):
        spec = job.spec
        if systems[spec.name].simulated and spec.backend is not None:
            key: tuple[str, ...] = (job.case.case_id, spec.backend.provider)
        else:
            key = (str(number),)
        groups.setdefault(key, []).append(job)
    return [tuple(group) for group in groups.values()]


def work_off(groups: Sequence[Group], workers: int, stop: Callable[[], bool]) -> Generator[tuple[Job, Result]]:
    """Yield each job with its result, in the order groups finish.

    A group that left nothing (its process died, or harness code raised) is done again one by one, so that one job never costs its
    neighbours theirs. Once `stop` is true no group is begun any more.
    """
    apart: list[Group] = []
    results = cast(
        "Generator[tuple[Group, list[Made | Refused] | Failure]]",
        each(carry_out_all, groups, workers=workers, label="generate", stop=stop),
    )
    try:
        for group, result in results:
            if not isinstance(result, Failure):
                yield from zip(group, result, strict=True)
            elif len(group) == 1:
                yield group[0], result
            else:
                apart += [(job,) for job in group]
    finally:
        results.close()
    if apart and not stop():
        yield from work_off(apart, workers, stop)
