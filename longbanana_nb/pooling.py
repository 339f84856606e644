"""Runs on several releases scored together: the same systems and judges by hash, all cases, stratified, and said."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import CallError, DataError, Fault
from longbanana_nb.reporting.measured import measure
from longbanana_nb.reporting.numbers import NOTHING, count_cell, interval_cell, number_cell
from longbanana_nb.reporting.run_facts import level_of_run, policy_of_run
from longbanana_nb.reporting.table import Cell, Column, Row, RowGroup, Table
from longbanana_nb.scoring.pooling import pooled_cases, pooled_differences, pooled_scores
from longbanana_nb.scoring.scores import case_scores

if TYPE_CHECKING:
    import pandas as pd

    from longbanana_nb.runs import Run


@dataclass(frozen=True, slots=True)
class Pooled:
    """Scores over the cases of several runs, each on a release of its own.

    Attributes:
        releases: name, revision and number of cases, in the order given. left_out: systems and judges not in every run.
        scores, differences: see `scoring.pooling`. by_release: overall score of a judge and system on each release alone.
    """

    releases: list[tuple[str, str, int]]
    left_out: list[str]
    level: float
    scores: pd.DataFrame
    differences: pd.DataFrame
    by_release: dict[tuple[str, str, str], float]

    def as_json(self) -> dict[str, Any]:
        """`lb.pooled.v1`: releases, scores and differences, null where undefined."""
        releases = [{"release": name, "revision": revision, "cases": cases} for name, revision, cases in self.releases]
        frames = {"scores": _rows(self.scores), "differences": _rows(self.differences)}
        return {"schema": "lb.pooled.v1", "level": self.level, "releases": releases, "left_out": self.left_out, **frames}

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing in any of the runs."""
        return not bool(self.scores["provisional"].any())

    def table(self) -> Table:
        """Overall scores over all releases, and on each alone, one group of rows a judge."""
        overall = self.scores[self.scores["scope"] == "overall"]
        groups = tuple(
            RowGroup(f"Judge: {judge}", tuple(self._row(row) for row in rows.itertuples(index=False)))
            for judge, rows in overall.groupby("judge", sort=False)
        )
        names = [name for name, _, _ in self.releases]
        interval = f"{100 * self.level:g} % interval"
        columns = (
            Column("System", align="left"),
            Column("Score", "All releases"),
            Column(interval, "All releases", "center"),
            Column("Cases", "All releases"),
            *(Column(name, "Each alone") for name in names),
        )
        said = "; ".join(f"{name} at {revision}, {cases} cases" for name, revision, cases in self.releases)
        notes = (
            f"Pooled over {said}: the mean over all cases, so that a release counts by its cases.",
            "Intervals are stratified by release and category and hold the sampling of cases only; judge error is not included.",
            *([f"Not in every run, and left out: {', '.join(self.left_out)}."] if self.left_out else []),
        )
        return Table("pooled", f"Scores over {' and '.join(names)}", columns, groups, notes)

    def _row(self, row: Any) -> Row:
        flags = ("provisional",) if row.provisional else ()
        cells = [Cell(row.system), number_cell(row.score, flags=flags), interval_cell(row.ci_low, row.ci_high)]
        cells += [count_cell(row.cases_scored)]
        alone = [self.by_release.get((name, row.judge, row.system), math.nan) for name, _, _ in self.releases]
        return Row((*cells, *(number_cell(value) if value == value else NOTHING for value in alone)), ranked=False)


def pool_runs(runs: Sequence[Run]) -> Pooled:
    """Score runs on different releases together.

    Raises:
        CallError: runs on the same release (`merge` joins those), or different scoring policies.
        DataError: where a system's or judge's name stands for different things in two runs.
    """
    names = [run.meta.release.name for run in runs]
    if len(set(names)) != len(names):
        raise CallError(
            f"pooling: found {', '.join(names)}; expected runs on different releases. `merge` joins runs on the same."
        )
    policies = {str(policy_of_run(run)) for run in runs} | {str(level_of_run(run)) for run in runs}
    if len(policies) > 2:
        raise CallError("pooling: the runs are scored under different policies. Give their experiments the same `analysis`.")
    _require_the_same(runs)
    parts = {name: case_scores(measure(run).grid, policy=policy_of_run(run)) for name, run in zip(names, runs, strict=True)}
    cases, level = pooled_cases(parts), level_of_run(runs[0])
    counts = {name: int(frame["case_id"].nunique()) for name, frame in parts.items()}
    kept: dict[Any, float] = cases.groupby(["release", "judge", "system"])["score"].mean().to_dict()
    return Pooled(
        [(run.meta.release.name, run.meta.release.revision, counts[run.meta.release.name]) for run in runs],
        _left_out(runs),
        level,
        pooled_scores(cases, level),
        pooled_differences(cases, level),
        {(str(key[0]), str(key[1]), str(key[2])): float(score) for key, score in kept.items()},
    )


def _require_the_same(runs: Sequence[Run]) -> None:
    """A name stands for one hash in all runs."""
    faults = []
    for what in ("systems", "judges"):
        known: dict[str, tuple[str, Run]] = {}
        for run in runs:
            for name, entry in getattr(run, what).items():
                sha256, first = known.setdefault(name, (entry.sha256, run))
                if sha256 != entry.sha256:
                    fix = "Only the same system under the same judge can be pooled: rename one."
                    where = f"{run.path} {what} {name}"
                    faults.append(Fault(where, "changed", entry.sha256[:12], f"{sha256[:12]}, as in {first.path}", fix))
    if faults:
        raise DataError("The runs cannot be pooled.", faults)


def _left_out(runs: Sequence[Run]) -> list[str]:
    found: list[str] = []
    for what in ("systems", "judges"):
        each = [set(getattr(run, what)) for run in runs]
        found += sorted(set.union(*each) - set.intersection(*each))
    return found


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = frame.astype(object).to_dict("records")  # type: ignore[assignment]
    return [
        {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in row.items()}
        for row in rows
    ]
