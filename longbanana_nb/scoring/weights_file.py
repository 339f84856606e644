"""Weights frozen to a file (`lb.weights.v1`): read strictly, and made from labels on a fixed pool of systems."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import read_json, sha256_file
from longbanana_nb.names import nearest
from longbanana_nb.scoring.weights import UNIFORM, CheckWeights, Weights

SCHEMA = "lb.weights.v1"
KEYS = ("schema", "name", "release", "revision", "formula", "pool", "labels_sha256", "weights")
OPTIONAL = ("left_out",)
NAME = re.compile(r"[a-z0-9][a-z0-9._+-]{0,47}")
PRIOR = Fraction(1, 2)
LEAST = Fraction(1, 20)
DIGITS = 6
SMALLEST, LARGEST = Decimal("1e-9"), Decimal("1e9")
FORMULA = (
    "m = (0.5 + sum of label/2 over the pool) / (1 + number of labels); w = max(0.05, 1 - m), scaled to a mean of 1 in each "
    "case, 6 decimals"
)
Source = Literal["human", "judge", "simulated"]
NAMES: dict[Source, str] = {
    "human": "human-difficulty-v1",
    "judge": "judge-difficulty-v1",
    "simulated": "simulated-difficulty-v1",
}
"""What weights are called by who gave the labels; weights from a judge or a simulated rater are never called human."""


@dataclass(frozen=True, slots=True)
class PoolLabel:
    """One label on a system of the pool: 0, 1 or 2."""

    system: str
    case_id: str
    check_id: str
    label: int


def difficulty(labels: Iterable[PoolLabel], checks: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Fraction]:
    """The weight of every check: the rarer the pool passes it, the more it weighs.

    A check without a label weighs as one that is passed half of the time. Weights of a case have a mean of 1, to six decimals.

    Source: facts of the published protocol give no formula; this one is named `*-difficulty-v1` and stands in each file.
    """
    passed: Counter[tuple[str, str]] = Counter()
    given: Counter[tuple[str, str]] = Counter()
    for label in labels:
        passed[label.case_id, label.check_id] += label.label
        given[label.case_id, label.check_id] += 1
    by_case: dict[str, dict[str, Fraction]] = {}
    for case_id, check_id in checks:
        pair = case_id, check_id
        mean = (PRIOR + Fraction(passed[pair], 2)) / (2 * PRIOR + given[pair])
        by_case.setdefault(case_id, {})[check_id] = max(LEAST, 1 - mean)
    return {(case_id, check_id): weight for case_id, raw in by_case.items() for check_id, weight in _scaled(case_id, raw)}


def _scaled(case_id: str, raw: Mapping[str, Fraction]) -> Iterable[tuple[str, Fraction]]:
    mean = sum(raw.values(), Fraction(0)) / len(raw)
    return ((check_id, Fraction(round(weight / mean, DIGITS))) for check_id, weight in raw.items())


def frozen(
    labels: Iterable[PoolLabel],
    checks: Iterable[tuple[str, str]],
    *,
    source: Source,
    release: str,
    revision: str,
    labels_sha256: str,
) -> dict[str, Any]:
    """The object of a weights file: weights of the whole pool, and for each of its systems those without its own labels.

    Raises:
        DataError: where there is no label, or the pool has a single system, so that nothing is left without it.
    """
    known, wanted = list(labels), list(checks)
    pool = sorted({label.system for label in known})
    if len(pool) < 2:
        found = f"labels on {len(pool)} systems"
        fault = Fault("labels", "pool", found, "labels on at least two systems", "Label units of more systems.")
        raise DataError("No weights can be frozen.", [fault])
    without = {system: difficulty([one for one in known if one.system != system], wanted) for system in pool}
    return {
        "schema": SCHEMA,
        "name": NAMES[source],
        "release": release,
        "revision": revision,
        "formula": FORMULA,
        "pool": pool,
        "labels_sha256": labels_sha256,
        "weights": _rows(difficulty(known, wanted)),
        "left_out": {system: _rows(weights) for system, weights in without.items()},
    }


def _rows(weights: CheckWeights) -> list[list[Any]]:
    return [[case_id, check_id, round(float(weight), DIGITS)] for (case_id, check_id), weight in weights.items()]


def read_weights(path: Path) -> Weights:
    """Read a weights file; numbers keep the decimal value that was written.

    Raises:
        DataError: with every fault: unknown or missing keys, weights that are not positive numbers, checks named twice.
    """
    value = read_json(path)
    faults = _key_faults(path, value)
    if faults:
        raise DataError(f"{path} is no file of weights.", faults)
    exact = json.loads(path.read_text("utf-8"), parse_float=Decimal, parse_int=Decimal)
    by_check = _read_rows(path, "weights", exact["weights"], faults)
    left_out = {
        system: _read_rows(path, f"left_out {system}", rows, faults) for system, rows in exact.get("left_out", {}).items()
    }
    if faults:
        raise DataError(f"{path} cannot be used as weights.", faults)
    return Weights(
        value["name"], by_check, tuple(value["pool"]), left_out, value["release"], value["revision"], sha256_file(path)
    )


def _key_faults(path: Path, value: Any) -> list[Fault]:
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        found = repr(value.get("schema")) if isinstance(value, dict) else type(value).__name__
        return [Fault(str(path), "schema", found, f"an object with schema {SCHEMA!r}", "Name a file of frozen weights.")]
    faults = [
        Fault(str(path), "missing_key", f"no {key!r}", ", ".join(KEYS), "Freeze the weights again.")
        for key in KEYS
        if key not in value
    ]
    for key in value.keys() - {*KEYS, *OPTIONAL}:
        near = nearest(key, (*KEYS, *OPTIONAL))
        faults.append(
            Fault(str(path), "unknown_key", repr(key), ", ".join(KEYS), f"Did you mean {near!r}?" if near else "Remove it.")
        )
    texts = {key: value.get(key) for key in ("name", "release", "revision", "formula", "labels_sha256")}
    faults += [
        Fault(f"{path} {key}", "not_text", repr(found), "a text", "Put it in quotes.")
        for key, found in texts.items()
        if key in value and not isinstance(found, str)
    ]
    if value.get("name") == UNIFORM:
        fix = "Give the weights a name of their own."
        faults.append(Fault(f"{path} name", "reserved", repr(UNIFORM), "another name: this one means equal weights", fix))
    elif isinstance(value.get("name"), str) and not NAME.fullmatch(value["name"]):
        expected = "a name of letters, digits, dots, dashes"
        faults.append(Fault(f"{path} name", "name", repr(value["name"])[:80], expected, "Rename the weights."))
    shapes = {"pool": list, "weights": list, "left_out": dict}
    if isinstance(value.get("pool"), list) and isinstance(value.get("left_out", {}), dict):
        members = {name for name in value["pool"] if isinstance(name, str)}
        strange = [
            name for name in [*value["pool"], *value.get("left_out", {})] if not isinstance(name, str) or name not in members
        ]
        faults += [Fault(f"{path} pool", "system", repr(name), "names of systems of the pool", "Correct it.") for name in strange]
    faults += [
        Fault(f"{path} {key}", "shape", type(value[key]).__name__, shape.__name__, "Freeze the weights again.")
        for key, shape in shapes.items()
        if key in value and not isinstance(value[key], shape)
    ]
    return faults


def _read_rows(path: Path, where: str, rows: Any, faults: list[Fault]) -> dict[tuple[str, str], Fraction]:
    found: dict[tuple[str, str], Fraction] = {}
    for number, row in enumerate(rows if isinstance(rows, list) else [rows], start=1):
        place = f"{path} {where}[{number}]"
        weight = _weight(row)
        if weight is None:
            expected = "[case_id, check_id, a positive number from 1e-9 to 1e9]"
            faults.append(Fault(place, "weight", json.dumps(row, default=str)[:80], expected, "Write the row like that."))
        elif (row[0], row[1]) in found:
            faults.append(Fault(place, "duplicate", f"{row[0]}/{row[1]} again", "each check once", "Remove one.", row[0], row[1]))
        else:
            found[row[0], row[1]] = weight
    return found


def _weight(row: Any) -> Fraction | None:
    if not isinstance(row, list) or len(row) != 3 or not all(isinstance(one, str) for one in row[:2]):
        return None
    value = row[2]
    return Fraction(value) if isinstance(value, Decimal) and SMALLEST <= value <= LARGEST else None
