"""Judgment journals as tables: of all the answers a unit ever got, the one that counts."""

from __future__ import annotations

import pandas as pd

from longbanana_nb.errors import Fault
from longbanana_nb.scoring.grids import KEY, refuse_faults

MARKS = ("attempt", "judge_sha256")
"""Columns by which a table is known to be a journal, where a unit may stand several times."""
HASHES = {
    "judge_sha256": ["judge"],
    "check_sha256": ["case_id", "check_id"],
    "candidate_sha256": ["system", "case_id", "sample"],
}


def is_journal(columns: pd.Index) -> bool:
    """Whether the columns are those of judgment lines."""
    return all(mark in columns for mark in MARKS)


def counting_answers(rows: pd.DataFrame, names: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """Keep one row a unit: the newest valid answer with the current hashes, else the newest of any.

    Newest is by `at`, then `attempt`, then place in the file. Current is what the newest line says about its judge, its check
    and its candidate; a unit answered only under other hashes is `stale` and has no label.

    Args:
        rows: judgment lines as text, with `state` "valid" or "invalid", indexed from 0. names: where each stands.

    Raises:
        DataError: an `at` that is no time, or an `attempt` that is no number.
    """
    aged = rows.assign(turn=pd.to_numeric(rows["attempt"], errors="coerce"), moment=0)
    faults = [Fault(names[i], "attempt", f"{rows['attempt'].iat[i]!r}", "a number", "Restore it.") for i in _bad(aged["turn"])]
    if "at" in rows.columns:
        aged["moment"] = pd.to_datetime(rows["at"], format="ISO8601", utc=True, errors="coerce")
        faults += [
            Fault(names[i], "at", f"{rows['at'].iat[i]!r}", "an ISO 8601 time", "Restore it.") for i in _bad(aged["moment"])
        ]
    refuse_faults("A judgment journal cannot be read.", faults)
    aged = aged.sort_values(["moment", "turn"], kind="stable")
    is_current = pd.Series(True, index=aged.index)
    for column, owner in HASHES.items():
        if column in aged.columns:
            is_current &= aged[column] == aged.groupby(owner, sort=False)[column].transform("last")
    aged["state"] = aged["state"].where(is_current, "stale")
    aged.loc[~is_current, "label"] = ""
    # Valid answers sort last within a unit, then invalid, then stale, so that `last` takes the one that counts.
    aged["worth"] = aged["state"].map({"stale": 0, "invalid": 1, "valid": 2})
    kept = aged.sort_values("worth", kind="stable").drop_duplicates(KEY, keep="last").sort_index()
    places = [int(place) for place in kept.index.tolist()]
    return kept.drop(columns=["moment", "turn", "worth"]).reset_index(drop=True), [names[place] for place in places]


def _bad(column: pd.Series) -> list[int]:
    return [int(place) for place in column.index[column.isna()].tolist()]
