"""What a run's files say now: grid, scores and facts, worked out once and kept while none of those files changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from longbanana_nb.reporting.run_facts import facts_of_run, scores_of_run
from longbanana_nb.runs import verdict_grid
from longbanana_nb.runs.labels import candidate_hashes

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


@dataclass(slots=True)
class _Still:
    """What is known of a run that stands still."""

    measured: Measured
    hashes: Mapping[tuple[str, str, int], str] | None = None


_STILL: dict[str, _Still] = {}
_LAST: dict[tuple[str, Fingerprint], Measured] = {}


@contextmanager
def standing_still(run: Run) -> Iterator[None]:
    """Within, the run is taken to stand still: whoever measures it, or hashes its pictures, looks at its files once in all."""
    name = str(run.path)
    if name in _STILL:
        yield
        return
    _STILL[name] = _Still(measure(run))
    try:
        yield
    finally:
        del _STILL[name]


def hashes_of(run: Run) -> Mapping[tuple[str, str, int], str]:
    """`candidate_hashes`, once while the run stands still."""
    still = _STILL.get(str(run.path))
    if still is None:
        return candidate_hashes(run)
    if still.hashes is None:
        still.hashes = candidate_hashes(run)
    return still.hashes


def measure(run: Run) -> Measured:
    """Grid, scores and facts of a run; those of the run measured last are kept, so that a notebook pays for them once."""
    if str(run.path) in _STILL:
        return _STILL[str(run.path)].measured
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
