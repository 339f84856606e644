"""Several runs of one experiment put together, unit by unit, as if they had been one."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from longbanana_nb.errors import CallError, DataError, Fault
from longbanana_nb.runs.disk import saving
from longbanana_nb.runs.drift import drift_faults, drifts
from longbanana_nb.runs.journal import Journal
from longbanana_nb.runs.ledger import united_calls
from longbanana_nb.runs.merge_audits import unite_answers, unite_audits
from longbanana_nb.runs.merge_units import candidate_folders, judgment_journals, merged_entries, merged_plan
from longbanana_nb.runs.meta import RunMeta, write_meta
from longbanana_nb.runs.plan import write_rows
from longbanana_nb.runs.run import CASES, CHECKS, RUN_JSON, Run, open_run, relative_to_run
from longbanana_nb.runs.shard import shard_faults
from longbanana_nb.runs.step_answers import PATTERN

LINES = (
    PATTERN,
    "labels/*.jsonl",
    "claims.jsonl",
    "contrasts.jsonl",
    "handles.jsonl",
    "judgments/*/plans.jsonl",
    "audits/*/plans.jsonl",
)
NAMED = ("scenes/*.json", "labels/designs/*.json", "weights/*.json")
LEDGERS = ("judgments/*/calls.jsonl", "audits/*/calls.jsonl")


def merge_runs(out: str | Path, runs: Sequence[Run | str | Path], *, accept_drift: bool = False) -> Run:
    """Unite runs into a new one at `out`; the runs themselves are only read.

    A unit found in several runs must have the same candidate in all of them; of outcomes other than an image,
    `interrupted` and `budget` give way to any other. Answers are united, the same line once, in the order of their
    time; so scores are those of one run over everything. Audits and canaries go along. Of shards all must be
    there, of one count. Derived folders (scores, tables, figures, notebooks, report) are not taken over: `report` makes them.

    Args:
        accept_drift: join answers of a judge whose canary moved further than `MOST_CHANGED`; the run then says so.

    Raises:
        CallError: where `out` exists or fewer than two runs are given.
        DataError: listing every conflict (releases, names, plans, candidates, drift), before anything is written; or where
            the disk refuses, and then nothing stands at `out`.
    """
    target = Path(out).absolute()
    opened = [run if isinstance(run, Run) else open_run(run) for run in runs]
    if len(opened) < 2:
        raise CallError(f"merge: found {len(opened)} runs; expected two or more.")
    if target.exists():
        raise CallError(f"merge: {target} exists. Choose a new folder; runs are only read, never added to.")
    faults: list[Fault] = []
    meta = _merged_meta(opened, target, faults)
    faults += shard_faults([(run.path, run.meta.shard) for run in opened])
    cases, checks = merged_plan(opened, faults)
    folders = candidate_folders(opened, faults)
    moved = drifts(opened)
    faults += [] if accept_drift else drift_faults(moved, opened)
    if faults:
        raise DataError("The runs cannot be merged; nothing was written.", faults)
    building = target.with_name(f".{target.name}.merging")
    with saving(target):
        shutil.rmtree(building, ignore_errors=True)
        try:
            for folder in folders:
                shutil.copytree(folder.source, building / folder.place, ignore=shutil.ignore_patterns("*.part", "*.torn"))
            _unite_judgments(opened, building)
            _unite_calls(opened, building)
            unite_audits(opened, building, [one for one in moved if one.is_too_much])
            _unite_lines(opened, building)
            _unite_scenes(opened, building)
            write_rows(building / CASES, cases)
            write_rows(building / CHECKS, checks)
            write_meta(building / RUN_JSON, meta)
            building.replace(target)
        except BaseException:
            shutil.rmtree(building, ignore_errors=True)
            raise
    return open_run(target)


def _merged_meta(runs: list[Run], target: Path, faults: list[Fault]) -> RunMeta:
    first = runs[0].meta
    for run in runs[1:]:
        faults += [
            Fault(
                f"{run.path / RUN_JSON} {field}",
                field,
                repr(_field(run.meta, field)),
                repr(_field(first, field)),
                "Merge runs of one experiment.",
            )
            for field in ("name", "revision", "manifest_sha256", "analysis", "checks")
            if _field(run.meta, field) != _field(first, field)
        ]
    return msgspec.structs.replace(
        first,
        release=msgspec.structs.replace(first.release, manifest=relative_to_run(runs[0].manifest, target)),
        systems=merged_entries(runs, "systems", faults),
        judges=merged_entries(runs, "judges", faults),
        shard=None,
        created_at=min(run.meta.created_at for run in runs),
    )


def _field(meta: RunMeta, name: str) -> Any:
    return getattr(meta if name in ("analysis", "checks") else meta.release, name)


def _unite_judgments(runs: list[Run], building: Path) -> None:
    for place, sources in judgment_journals(runs).items():
        unite_answers(sources, building / place)


def _unite_calls(runs: list[Run], building: Path) -> None:
    """The ledgers of judges and of their audits: each call once, with what it cost."""
    found = {path.relative_to(run.path) for run in runs for pattern in LEDGERS for path in run.path.glob(pattern)}
    for place in sorted(found):
        Journal(building / place).append_many(united_calls(run.path / place for run in runs))


def _unite_lines(runs: list[Run], building: Path) -> None:
    """Labels, claims and handles: every different line once, in the order of the runs."""
    for pattern in LINES:
        for place in sorted({path.relative_to(run.path) for run in runs for path in run.path.glob(pattern)}):
            lines = [line for run in runs for line in Journal(run.path / place).lines()]
            Journal(building / place).append_many(dict.fromkeys(lines))


def _unite_scenes(runs: list[Run], building: Path) -> None:
    """Scene descriptions and label designs are named by what they hold, weights by the analysis; the first run's stands."""
    for run in runs:
        for path in sorted(path for pattern in NAMED for path in run.path.glob(pattern)):
            copy = building / path.relative_to(run.path)
            if not copy.exists():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
