"""What a run's files say now: grid, scores and facts, worked out once and kept while none of those files changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from longbanana_nb.reporting.run_facts import facts_of_run, scores_of_run
from longbanana_nb.runs import verdict_grid

if TYPE_CHECKING:
    import pandas as pd

    from longbanana_nb.reporting.facts import RunFacts
    from longbanana_nb.runs import Run
    from longbanana_nb.scoring import Scores

Fingerprint = tuple[tuple[str, int, int, int], ...]
PLAN = ("run.json", "cases.jsonl", "checks.jsonl", "claims.jsonl")


@dataclass(frozen=True, slots=True)
class Measured:
    """A run's verdict grid, its scores under its own policy, and its facts. Shared: whoever changes a frame copies it first."""

    grid: pd.DataFrame
    scores: Scores
    facts: RunFacts


_LAST: dict[tuple[str, Fingerprint], Measured] = {}


def measure(run: Run) -> Measured:
    """Grid, scores and facts of a run; those of the run measured last are kept, so that a notebook pays for them once."""
    key = (str(run.path), _fingerprint(run.path))
    if key not in _LAST:
        grid = verdict_grid(run)
        measured = Measured(grid, scores_of_run(run, grid), facts_of_run(run))
        _LAST.clear()
        _LAST[key] = measured
    return _LAST[key]


def _fingerprint(folder: Path) -> Fingerprint:
    """Place, size and times of every file that grid, scores and facts are read from.

    The time of the last change of status is among them; nobody can set it back, so a change at the old size and time shows.
    """
    return tuple(
        (str(path), stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size)
        for path in _sources(folder)
        if (stat := path.stat() if path.is_file() else None)
    )


def _sources(folder: Path) -> Iterator[Path]:
    yield from (folder / name for name in PLAN)
    yield from sorted((folder / "weights").glob("*.json"))
    yield from sorted((folder / "audits").glob("*/*.json"))
    yield from sorted((folder / "audits").glob("*/accepted-drift.jsonl"))
    yield from sorted((folder / "judgments").glob("*/*/*.jsonl"))
    yield from sorted((folder / "candidates").glob("*/*/*/record.json"))
    yield from sorted((folder / "candidates").glob("*/*/*/image.*"))
