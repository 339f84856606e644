"""Audits and canaries worked out anew from what was answered: after runs are joined, and when a run is verified."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import DataError
from longbanana_nb.files import read_json
from longbanana_nb.runs import Run, merge_runs

if TYPE_CHECKING:
    from longbanana_nb.errors import Fault

FIX = "Run `longbanana-nb audit` again: it writes the numbers of what was answered, and asks what is missing."


def merged(out: str | Path, runs: Sequence[Run | str | Path], *, accept_drift: bool = False) -> Run:
    """Join runs, and work out the numbers of their audits and canaries from all their answers.

    Raises:
        CallError, DataError: as `merge_runs`.
    """
    from longbanana_nb.judging.audit.store import write_json

    run = merge_runs(out, runs, accept_drift=accept_drift)
    for path, told in _retold(run):
        write_json(path, told)
    return run


def audit_faults(run: Run) -> list[Fault]:
    """Compare the numbers of audits and canaries with what their answers give now; each fault names the number.

    Numbers of another version of a judge, or of one that the run does not hold, are history. Without the release at hand there
    is nothing to compare with.
    """
    from longbanana_nb.reporting.recompute import differences

    return [
        fault
        for path, told in _retold(run)
        if path.is_file()
        for fault in differences(str(path), read_json(path), json.loads(json.dumps(told)), code="audit", fix=FIX)
    ]


def _retold(run: Run) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The files of numbers with what belongs into them now."""
    from longbanana_nb.auditing import bench_of
    from longbanana_nb.judging.audit import canary, running

    names = [name for name in run.judges if (run.path / "audits" / name).is_dir()]
    if not names or not run.manifest.is_file():
        return
    for name in names:
        bench = bench_of(run, run.judges[name].judge())
        if bench.judge_sha256 != run.judges[name].sha256:
            continue
        folder = bench.folder
        if (folder.path / "making.json").is_file() and not _is_of_another(folder.numbers, bench.judge_sha256):
            yield folder.numbers, running.retold(bench)
        if folder.canary_answers.path.is_file() and not _is_of_another(folder.canary_numbers, bench.judge_sha256):
            yield folder.canary_numbers, canary.retold(bench)


def _is_of_another(path: Path, judge_sha256: str) -> bool:
    """Whether the numbers there are of another version of the judge, or cannot be told to be of this one."""
    try:
        told = read_json(path) if path.is_file() else None
    except DataError:
        return False
    return isinstance(told, dict) and told.get("judge_sha256") != judge_sha256
