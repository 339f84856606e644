"""Weights of checks from labels: frozen to a file that says which pool, which labels and which formula made them."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import CallError
from longbanana_nb.files import canonical_json, sha256_bytes, write_atomic
from longbanana_nb.names import nearest
from longbanana_nb.runs import verdict_grid
from longbanana_nb.runs.labels import candidate_hashes, read_labels, settled
from longbanana_nb.scoring.weights_file import PoolLabel, Source, frozen

if TYPE_CHECKING:
    from longbanana_nb.runs import Run


def freeze_weights(run: Run, to: Path, *, pool: Collection[str] = (), judge: str | None = None) -> Path:
    """Freeze difficulty weights of every check of the run's plan to a file that does not exist yet.

    Args:
        pool: the systems whose labels count; empty for all that have labels and are no floors.
        judge: take this judge's verdicts in place of human labels; the weights are then called `judge-difficulty-v1`.

    Raises:
        CallError: an existing file, an unknown system or judge. DataError: labels on fewer than two systems.
    """
    if to.exists():
        raise CallError(f"{to} exists already. Frozen weights are not replaced; name another file.")
    _require_known("system", pool, run.systems)
    labels, source, said = _of_judge(run, judge) if judge is not None else _of_people(run)
    wanted = set(pool) or {name for name, entry in run.systems.items() if not entry.system().is_floor}
    chosen = [label for label in labels if label.system in wanted]
    if lost := set(pool) - {label.system for label in chosen}:
        raise CallError(f"{run.path}: no labels on {', '.join(sorted(lost))}, which the pool names. Label or drop them.")
    release = run.meta.release
    value = frozen(
        chosen,
        [(check.case_id, check.check_id) for check in run.checks()],
        source=source,
        release=release.name,
        revision=release.revision,
        labels_sha256=said,
    )
    to.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(to, _lined(value).encode())
    return to


def _lined(value: dict[str, Any]) -> str:
    """JSON with one key a line, and one check a line in the lists of weights."""
    text = json.dumps(value, ensure_ascii=False).replace('], ["', '],\n["')
    for key in ("weights", "left_out"):
        text = text.replace(f', "{key}": ', f',\n"{key}": ')
    return f"{text}\n"


def _of_people(run: Run) -> tuple[list[PoolLabel], Source, str]:
    """Labels after the protocol, on the candidates as they are; simulated raters are called so."""
    kept = sorted(settled(read_labels(run), candidate_hashes(run)).values(), key=lambda label: label.unit)
    given = [label for label in kept if label.label is not None]
    rows = [[*label.unit, label.candidate_sha256, label.label, label.rater] for label in given]
    source: Source = "simulated" if any(label.is_simulated for label in given) else "human"
    labels = [PoolLabel(one.system, one.case_id, one.check_id, int(one.label)) for one in given if one.label is not None]
    return labels, source, sha256_bytes(canonical_json(rows))


def _of_judge(run: Run, judge: str) -> tuple[list[PoolLabel], Source, str]:
    _require_known("judge", [judge], run.judges)
    grid = verdict_grid(run, judges=[judge])
    valid = grid[grid["state"] == "valid"]
    columns = ("system", "case_id", "check_id", "label")
    rows = zip(*(valid[name] for name in columns), strict=True)
    labels = sorted((PoolLabel(str(s), str(c), str(k), int(v)) for s, c, k, v in rows), key=astuple)
    return labels, "judge", sha256_bytes(canonical_json([judge, *(list(astuple(label)) for label in labels)]))


def _require_known(what: str, names: Collection[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            near = nearest(name, known)
            hint = f"Did you mean {near!r}?" if near else f"There are: {', '.join(known) or 'none'}."
            raise CallError(f"{what}: found {name!r}, which the run does not have. {hint}")
