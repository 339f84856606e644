"""The verdict grid made fit for counting: columns filled in, contradictions refused, the missing policy applied."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longbanana_nb.errors import CallError, DataError, Fault
from longbanana_nb.names import nearest
from longbanana_nb.scoring.policy import ZERO_OUTCOMES, Policy
from longbanana_nb.taxonomy import CATEGORIES, DIMENSIONS

STATES = ("valid", "invalid", "not_asked", "no_candidate", "stale")
REQUIRED = ("system", "case_id", "check_id", "state", "label")
KEY = ["judge", "system", "case_id", "sample", "judge_sample", "check_id"]
OPTIONAL = {"judge": "", "category": "", "sample": "0", "judge_sample": "0", "dimension": "", "polarity": "", "outcome": ""}
SHOWN = 100
"""Faults a message shows; the rest are counted."""


def checked_grid(grid: pd.DataFrame) -> pd.DataFrame:
    """Return the grid with every column filled in as text, labels as numbers, and `zeroed` all False.

    Args:
        grid: one row per (judge, system, case_id, sample, judge_sample, check_id) that should exist; columns `system`,
            `case_id`, `check_id`, `state`, `label` (0, 1, 2 where the state is "valid", else missing), optionally `judge`,
            `category`, `sample`, `judge_sample`, `dimension`, `polarity`, `outcome`.

    Raises:
        CallError: a required column is missing. DataError: duplicates, contradictions or unknown words, all named.
    """
    require_columns(grid.columns, REQUIRED, "verdict grid")
    filled = pd.DataFrame({name: as_text(grid[name]) for name in ("system", "case_id", "check_id", "state")})
    for name, default in OPTIONAL.items():
        filled[name] = as_text(grid[name]).replace("", default) if name in grid.columns else default
    filled["label"] = pd.to_numeric(grid["label"], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    stated = grid["label"].notna().to_numpy()
    names = [f"verdict grid row {number}" for number in range(1, len(filled) + 1)]
    faults = [*_label_faults(filled, stated, names), *fact_faults(filled, names), *duplicate_faults(filled, names)]
    refuse_faults("The verdict grid is not fit for scoring.", faults)
    return filled.assign(zeroed=False)


def with_missing(checked: pd.DataFrame, policy: Policy) -> pd.DataFrame:
    """Apply the missing policy to a checked grid.

    Under "zero", rows without a valid label whose outcome is no_image, failed or timeout become a valid 0, marked in `zeroed`;
    under "delivered" nothing changes.
    """
    if policy.missing != "zero":
        return checked
    is_zeroed = (checked["outcome"].isin(ZERO_OUTCOMES) & (checked["state"] != "valid")).to_numpy()
    state, label = checked["state"].where(~is_zeroed, "valid"), checked["label"].where(~is_zeroed, 0.0)
    return checked.assign(state=state, label=label, zeroed=is_zeroed)


def as_text(column: pd.Series) -> pd.Series:
    """A column as plain text objects: what is missing as the empty text, whole numbers without a decimal point."""
    codes, values = pd.factorize(column)
    texts = [str(int(v)) if isinstance(v, float) and v.is_integer() else str(v) for v in values]
    return pd.Series(np.array([*texts, ""], dtype=object)[codes], dtype=object)


def require_columns(found: Iterable[object], required: Iterable[str], where: str) -> None:
    """Raise CallError naming every required column that is missing, with the nearest found."""
    present = [str(column) for column in found]
    lost = [name for name in required if name not in present]
    if lost:
        hints = [f"{name!r}" + (f" (found {near!r})" if (near := nearest(name, present)) else "") for name in lost]
        raise CallError(f"{where}: found columns {', '.join(present) or 'none'}; expected also {', '.join(hints)}.")


def fact_faults(rows: pd.DataFrame, names: list[str]) -> list[Fault]:
    """Faults of what rows say about their case and check: unknown words, and one thing said two ways.

    Args:
        rows: `case_id`, `check_id`, `category`, `dimension`, `polarity` as text, indexed from 0. names: where each
            row stands.
    """
    faults = []
    for fact, known in (("category", CATEGORIES), ("dimension", DIMENSIONS)):
        for place in np.flatnonzero(~rows[fact].isin(["", *known])).tolist():
            word = str(rows[fact].iat[place])
            near = nearest(word.upper() if fact == "category" else word.title(), known)
            expected = f"one of {', '.join(known)}" + (f" (nearest {near!r})" if near else "")
            faults.append(_fault(rows, names, place, (fact, f"{fact} {word!r}", expected, "Correct the word.")))
    said = rows[["case_id", "check_id", "category", "dimension", "polarity"]].drop_duplicates()
    for fact, owner in (("category", ["case_id"]), ("dimension", ["case_id", "check_id"]), ("polarity", ["case_id", "check_id"])):
        faults += _contradictions(said, names, fact, owner)
    return faults


def duplicate_faults(rows: pd.DataFrame, names: list[str]) -> list[Fault]:
    """One fault for each unit (`KEY`) that stands in several rows, naming them all."""
    expected = "one verdict per judge, system, case, sample and check"
    faults = []
    for places in _places(rows, KEY):
        found = f"{len(places)} verdicts on one unit: " + ", ".join(names[place] for place in places)
        faults.append(_fault(rows, names, places[0], ("duplicate", found, expected, "Remove all but the right one.")))
    return faults


def outside_faults(rows: pd.DataFrame, names: list[str], checks: pd.DataFrame) -> list[Fault]:
    """Faults of rows on checks that are not among `checks`, or that give their case another category."""
    known = dict(zip(zip(checks["case_id"], checks["check_id"], strict=True), checks["category"], strict=True))
    said = rows[["case_id", "check_id", "category"]].drop_duplicates()
    faults = []
    for place, *key, category in zip(said.index.tolist(), said["case_id"], said["check_id"], said["category"], strict=True):
        listed = known.get((key[0], key[1]))
        if listed is None:
            found, expected = "a check the release does not hold", "a check of the release"
        elif category not in ("", listed):
            found, expected = f"category {category!r}", f"{listed!r}, as in the release"
        else:
            continue
        faults.append(Fault(names[place], "totals", found, expected, "Score with the release they come from.", *key))
    return faults


def refuse_faults(message: str, faults: list[Fault]) -> None:
    """Raise DataError with the faults, if there are any; beyond a hundred the rest are counted, not shown."""
    if faults:
        more = f" {len(faults)} faults; the first {SHOWN} are shown." if len(faults) > SHOWN else ""
        raise DataError(message + more, faults[:SHOWN])


def _label_faults(rows: pd.DataFrame, stated: NDArray[np.bool_], names: list[str]) -> list[Fault]:
    is_valid = (rows["state"] == "valid").to_numpy()
    tests = (
        (~rows["state"].isin(STATES).to_numpy(), "state", f"one of {', '.join(STATES)}"),
        (is_valid & ~rows["label"].isin([0, 1, 2]).to_numpy(), "label", "0, 1 or 2 where the state is valid"),
        (~is_valid & stated, "label", "no label where the state is not valid"),
        ((rows["system"] == "").to_numpy(), "system", "a name"),
        ((rows["case_id"] == "").to_numpy(), "case_id", "an id"),
        ((rows["check_id"] == "").to_numpy(), "check_id", "an id"),
    )
    return [
        _fault(rows, names, place, (column, f"{column} {rows[column].iat[place]!r}", expected, "Correct the row."))
        for mask, column, expected in tests
        for place in np.flatnonzero(mask).tolist()
    ]


def _contradictions(said: pd.DataFrame, names: list[str], fact: str, owner: list[str]) -> list[Fault]:
    known = said.loc[said[fact] != ""].drop_duplicates([*owner, fact])
    subject = "case" if owner == ["case_id"] else "check"
    faults = []
    for places in _places(known, owner):
        words = " and ".join(f"{known.loc[place, fact]!r} ({names[place]})" for place in places)
        first = known.loc[places[0]]
        text = (fact, words, f"one {fact} a {subject}", "Keep the right one.")
        faults.append(Fault(names[places[0]], *text, str(first["case_id"]), str(first["check_id"])))
    return faults


def _places(rows: pd.DataFrame, owner: list[str]) -> list[list[int]]:
    """Row places that share what should be unique, group by group."""
    twice = rows.loc[rows.duplicated(owner, keep=False)]
    groups: dict[tuple[str, ...], list[int]] = {}
    for place, *key in zip(twice.index.tolist(), *(twice[name].tolist() for name in owner), strict=True):
        groups.setdefault(tuple(key), []).append(int(place))
    return list(groups.values())


def _fault(rows: pd.DataFrame, names: list[str], place: int, text: tuple[str, str, str, str]) -> Fault:
    return Fault(names[place], *text, str(rows["case_id"].iat[place]), str(rows["check_id"].iat[place]))
