"""How numbers become cells: rounding, missing values, coverage that never rounds up to complete."""

from __future__ import annotations

import math
from typing import Any

from longbanana_nb.reporting.table import Cell

NOTHING = Cell("—", missing=True)


def is_missing(value: Any) -> bool:
    """True for None, NaN and <NA>."""
    if value is None:
        return True
    try:
        return bool(value != value) or math.isnan(value)
    except TypeError:  # <NA> has no truth value
        return True


def number_cell(value: Any, decimals: int = 1, *, flags: tuple[str, ...] = ()) -> Cell:
    """A rounded number, or a dash where there is none. Minus zero is shown as zero."""
    if is_missing(value):
        return NOTHING
    text = f"{float(value):.{decimals}f}"
    return Cell(text.removeprefix("-") if float(text) == 0 else text, number=True, flags=flags)


def count_cell(value: Any) -> Cell:
    """A whole number."""
    return NOTHING if is_missing(value) else Cell(str(int(value)), number=True)


def interval_cell(low: Any, high: Any, decimals: int = 1) -> Cell:
    """`[61.0, 70.2]`, or a dash where no interval exists (fewer than three cases)."""
    if is_missing(low) or is_missing(high):
        return NOTHING
    return Cell(f"[{float(low):.{decimals}f}, {float(high):.{decimals}f}]")


def share_cell(part: float, whole: float) -> Cell:
    """A percentage with one decimal; 100 stands only for all and 0 only for none."""
    if not whole:
        return NOTHING
    return Cell(percent(part, whole), number=True)


def percent(part: float, whole: float) -> str:
    """100 x part / whole with one decimal; what is not all never reads 100.0, what is not none never reads 0.0."""
    if part == whole:
        return "100.0"
    if part == 0:
        return "0.0"
    return f"{min(max(100 * part / whole, 0.1), 99.9):.1f}"


def no_data_cell(cases_total: Any) -> Cell:
    """A scope without a score: `no data (n=0/10)`."""
    total = "?" if is_missing(cases_total) else str(int(cases_total))
    return Cell(f"no data (n=0/{total})", missing=True)
