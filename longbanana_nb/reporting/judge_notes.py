"""What stands under every table that shows a judge's answers: what its audit says of it, and how far its repeats agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from longbanana_nb.reporting.facts import audit_notes, judge_line
from longbanana_nb.reporting.numbers import percent

if TYPE_CHECKING:
    import pandas as pd

    from longbanana_nb.reporting.facts import RunFacts
    from longbanana_nb.reporting.table import Table

QUESTION = ["judge", "system", "case_id", "sample", "check_id"]


def with_judge_notes(table: Table, facts: RunFacts, repeats: Mapping[str, str] | None = None) -> Table:
    """The table with the lines of each judge that its notes or rows name; lines that are there already stay where they are.

    Args:
        repeats: what is known of how far each judge's repeats agree, by judge (see `repeat_lines`).
    """
    said = "\n".join([*table.notes, *(group.label for group in table.groups)])
    named = [judge.name for judge in facts.judges if judge_line(facts, judge.name).removeprefix("Judge: ") in said]
    lines = [line for name in named for line in (*audit_notes(facts, name), *filter(None, [(repeats or {}).get(name)]))]
    return replace(table, notes=(*table.notes, *(line for line in dict.fromkeys(lines) if line not in table.notes)))


def repeat_lines(grid: pd.DataFrame) -> dict[str, str]:
    """How far the answers of each judge that was asked more than once agree, in one line a judge.

    Compared are checks on which at least two answers are valid; `differ` is the mean range of a check's labels (0 to 2).
    """
    lines = {}
    for judge, mine in grid.groupby("judge", sort=False):
        samples = int(mine["judge_sample"].max()) + 1 if "judge_sample" in mine and len(mine) else 1
        if samples < 2:
            continue
        valid = mine[mine["state"] == "valid"]
        labels = valid.assign(label=valid["label"].astype("float")).groupby(QUESTION)["label"]
        spread = (labels.max() - labels.min())[labels.count() > 1]
        if spread.empty:
            lines[str(judge)] = f"{judge} is asked {samples} times; no check has two valid answers yet."
            continue
        lines[str(judge)] = (
            f"{judge} is asked {samples} times: on {percent(int((spread == 0).sum()), len(spread))} % of {len(spread)} checks "
            f"its answers agree; they differ by {spread.mean():.2f} of 2 on average."
        )
    return lines
