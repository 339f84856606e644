"""Small verdict grids and tables, written as a person would write them on paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

Labels = Sequence[int | None]


def grid_of(cases: Mapping[str, Mapping[str, Labels]], *, system: str = "s", judge: str = "j", **extra: str) -> pd.DataFrame:
    """A grid from {category: {case: labels}}; None is an invalid answer."""
    rows = [
        {
            "judge": judge,
            "system": system,
            "case_id": case_id,
            "category": category,
            "check_id": f"k{number}",
            "state": "invalid" if label is None else "valid",
            "label": label,
            **extra,
        }
        for category, members in cases.items()
        for case_id, labels in members.items()
        for number, label in enumerate(labels)
    ]
    return pd.DataFrame(rows)


def row_of(frame: pd.DataFrame, **wanted: object) -> pd.Series:
    """The one row with these values."""
    for column, value in wanted.items():
        frame = frame.loc[frame[column] == value]
    assert len(frame) == 1, f"{len(frame)} rows with {wanted}"
    return frame.iloc[0]


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode("utf-8"))
    return path
