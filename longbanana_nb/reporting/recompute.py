"""Every table cell and every score of a run recomputed from its journals, and what differs from the files named."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import Fault
from longbanana_nb.files import read_json, read_text
from longbanana_nb.reporting.report import SINKS, make_tables, rendered
from longbanana_nb.reporting.run_facts import facts_of_run, scores_of_run

if TYPE_CHECKING:
    from longbanana_nb.reporting.table import Table
    from longbanana_nb.runs import Run

FIX = "The journals are the truth: run `report` to write it anew, or find out who changed it."


def table_faults(run: Run) -> list[Fault]:
    """Compare `tables/` and `scores/scores.json` with what the journals give now; a file that is not there is no fault.

    Each fault names the file and the cell (row and column as the table heads them) or the score.
    """
    from longbanana_nb.runs import verdict_grid

    if not run.judges or not (run.path / "checks.jsonl").is_file():
        return []
    grid = verdict_grid(run)
    scores = scores_of_run(run, grid)
    faults = list(_score_faults(run.path / "scores" / "scores.json", scores.as_json()))
    for table in make_tables(run, scores, grid, facts_of_run(run)).values():
        faults += _file_faults(run.path / "tables", table)
    return faults


def _file_faults(folder: Path, table: Table) -> Iterator[Fault]:
    for suffix in SINKS:
        path = folder / f"{table.name}.{suffix}"
        fresh = rendered(table, suffix)
        if not path.is_file() or path.read_bytes() == fresh:
            continue
        cells = list(_cell_faults(path, fresh.decode("utf-8"))) if suffix == "csv" else []
        yield from cells or [Fault(str(path), "table", "a text the journals do not give", "the table recomputed now", FIX)]


def _cell_faults(path: Path, fresh: str) -> Iterator[Fault]:
    """The cells in which a CSV differs from the recomputed one; none where their shapes differ."""
    found, wanted = (list(csv.reader(io.StringIO(text))) for text in (read_text(path), fresh))
    if [len(row) for row in found] != [len(row) for row in wanted]:
        return
    for number, (old, new) in enumerate(zip(found, wanted, strict=True), start=1):
        for column, (a, b) in enumerate(zip(old, new, strict=True)):
            if a != b:
                yield Fault(f"{path} line {number}, column {wanted[0][column]!r}, row {new[0]!r}", "cell", repr(a), repr(b), FIX)


def _score_faults(path: Path, wanted: dict[str, Any]) -> Iterator[Fault]:
    if not path.is_file():
        return
    found = read_json(path)
    wanted = json.loads(json.dumps(wanted))
    yield from differences(str(path), found, wanted)


def differences(where: str, found: Any, wanted: Any, *, code: str = "score", fix: str = FIX) -> Iterator[Fault]:
    """The leaves in which two JSON values differ."""
    if isinstance(found, dict) and isinstance(wanted, dict) and found.keys() == wanted.keys():
        for key in wanted:
            yield from differences(f"{where} {key}", found[key], wanted[key], code=code, fix=fix)
    elif isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        for place, (a, b) in enumerate(zip(found, wanted, strict=True)):
            yield from differences(f"{where}[{place}]", a, b, code=code, fix=fix)
    elif found != wanted:
        yield Fault(where, code, _short(found), _short(wanted), fix)


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:120]
