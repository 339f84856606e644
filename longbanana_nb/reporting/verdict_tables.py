"""Tables that come from single verdicts: coverage, shares of labels by polarity, and a judge against the truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from longbanana_nb.reporting.facts import RunFacts, SystemFacts, audit_notes, derived_units_note, judge_line, source_line
from longbanana_nb.reporting.numbers import NOTHING, count_cell, number_cell, percent, share_cell
from longbanana_nb.reporting.table import Cell, Column, Row, RowGroup, Table
from longbanana_nb.reporting.tables import grouped, name_cell

if TYPE_CHECKING:
    import pandas as pd

UNIT = ["system", "case_id", "sample", "check_id"]
OUTCOMES = ("image", "blocked", "no_image", "failed", "timeout", "budget", "interrupted")
STATES = ("valid", "invalid", "no_candidate", "not_asked", "stale")


def coverage_table(grid: pd.DataFrame, candidates: Iterable[Mapping[str, Any]], facts: RunFacts) -> Table:
    """What every system left and what every judge answered: outcomes, states of verdicts, calls and cost.

    Args:
        grid: the verdict grid, one row per verdict that should exist.
        candidates: records with `system`, `outcome`, `calls` ({"agent", "image"}) and `cost_usd`.
        facts: the run.
    """
    records = list(candidates)
    seen = {record["outcome"] for record in records}
    outcomes = [name for name in OUTCOMES if name == "image" or name in seen]
    states = [
        name for name in STATES if name in ("valid", "invalid", "no_candidate", "not_asked") or (grid["state"] == name).any()
    ]
    counts = grid.groupby(["judge", "system", "state"]).size().to_dict()

    def row(system: SystemFacts, judge: str) -> tuple[Cell, ...]:
        mine = [record for record in records if record["system"] == system.name]
        stated = {state: int(counts.get((judge, system.name, state), 0)) for state in STATES}
        total = sum(stated.values())
        left = [sum(record["outcome"] == name for record in mine) for name in outcomes]
        cells = [name_cell(system), *(count_cell(count) for count in left)]
        cells += [count_cell(stated[name]) for name in states]
        cells += [share_cell(stated["valid"], total), Cell("provisional" if stated["valid"] < total else "complete")]
        return (*cells, *_spent_cells(mine))

    groups = tuple(
        RowGroup(judge_line(facts, judge.name), tuple(Row(row(system, judge.name), ranked=False) for system in facts.systems))
        for judge in facts.judges
    )
    columns = (
        Column("System", align="left"),
        *(Column(name.replace("_", " "), "Candidates") for name in outcomes),
        *(Column(name.replace("_", " "), "Verdicts") for name in states),
        Column("coverage %", "Verdicts"),
        Column("state", "Verdicts", "left"),
        *(Column(name, "Spent on generation") for name in ("agent calls", "image calls", "USD")),
    )
    notes = (
        f"{source_line(facts)}.",
        "Every verdict that should exist is in one column; a number without all of them is provisional.",
    )
    return Table("coverage", f"Coverage on {facts.release}: candidates, verdicts and calls", columns, groups, notes)


def label_shares_table(grid: pd.DataFrame, facts: RunFacts, judge: str) -> Table:
    """Shares of Pass, Uncertain and Fail among valid verdicts, for positive and for negative checks.

    Negative checks ask that something be absent, so an empty picture passes them: the floors show how many.
    """
    stated = grid.assign(polarity=grid["polarity"].astype(object).where(grid["polarity"].notna(), "unstated"))
    valid = stated[(stated["judge"] == judge) & (stated["state"] == "valid")]
    polarities = [name for name in ("positive", "negative", "unstated") if (stated["polarity"] == name).any()]
    labels = valid["label"].astype("float").round().astype("int")
    counts = valid.assign(label=labels).groupby(["system", "polarity", "label"]).size().to_dict()

    def row(system: SystemFacts) -> tuple[Cell, ...]:
        cells = [name_cell(system)]
        for polarity in polarities:
            each = [int(counts.get((system.name, polarity, label), 0)) for label in (2, 1, 0)]
            cells += [*(share_cell(count, sum(each)) for count in each), count_cell(sum(each))]
        return tuple(cells)

    columns = [Column("System", align="left")]
    for polarity in polarities:
        columns += [Column(name, f"{polarity.capitalize()} checks") for name in ("Pass %", "Uncertain %", "Fail %", "n")]
    notes = (
        f"{source_line(facts)}. {judge_line(facts, judge)}.",
        "Shares of valid verdicts, pooled over cases (scores are not pooled). "
        "A negative check asks that something be absent; an empty picture passes it.",
        *derived_units_note(facts),
    )
    return Table("labels", f"Labels by polarity on {facts.release}", tuple(columns), grouped(facts, row), notes)


def matched_verdicts(grid: pd.DataFrame, judge: str, other: str) -> pd.DataFrame:
    """Units on which both judges gave a valid label: `UNIT`, `category`, `polarity`, `label` and `label_other`.

    Each sample of `judge` is a pair of its own; of `other` the first sample counts.
    """
    valid = grid[grid["state"] == "valid"]
    left = valid[valid["judge"] == judge][[*UNIT, "category", "polarity", "label"]]
    right = valid[(valid["judge"] == other) & (valid["judge_sample"] == 0)][[*UNIT, "label"]]
    pairs = left.merge(right, on=UNIT, suffixes=("", "_other"), validate="many_to_one")
    return pairs.astype({"label": "float", "label_other": "float"})


def truth_table(grid: pd.DataFrame, facts: RunFacts, judge: str) -> Table | None:
    """The judge against the truth, per system; None when the run has no `truth` judge.

    Scores are the card's, over the checks both answered: mean of case scores. `exact` is the share of equal labels,
    `opposite` the share of 0 against 2.
    """
    if facts.truth is None or facts.truth.name == judge:
        return None
    pairs = matched_verdicts(grid, judge, facts.truth.name)

    def row(system: SystemFacts) -> tuple[Cell, ...]:
        return (name_cell(system), *_agreement_cells(pairs[pairs["system"] == system.name]))

    groups = (*grouped(facts, row), RowGroup("All", (Row((Cell("all of the above"), *_agreement_cells(pairs)), ranked=False),)))
    columns = (
        Column("System", align="left"),
        *(Column(name, "Score, 0 to 100") for name in ("Judge", "Truth", "Difference")),
        *(Column(name, "Labels") for name in ("exact %", "opposite %", "n")),
    )
    unmatched = int((grid[grid["judge"] == judge]["state"] == "valid").sum()) - len(pairs)
    notes = (
        f"{source_line(facts)}. {judge_line(facts, judge)}. {judge_line(facts, facts.truth.name).replace('Judge:', 'Truth:')}.",
        f"Over the checks that both answered; {unmatched} valid verdicts of the judge have no counterpart. "
        "Opposite: Fail against Pass. Difference: judge minus truth.",
        *audit_notes(facts, judge),
    )
    return Table("truth", f"Judge against truth on {facts.release}", columns, groups, notes)


def _agreement_cells(pairs: pd.DataFrame) -> tuple[Cell, ...]:
    if pairs.empty:
        return (NOTHING,) * 5 + (count_cell(0),)
    cases = pairs.groupby(["system", "case_id"])[["label", "label_other"]].mean().groupby("system").mean().mean() * 50
    gap = (pairs["label"] - pairs["label_other"]).abs()
    return (
        number_cell(cases["label"]),
        number_cell(cases["label_other"]),
        number_cell(cases["label"] - cases["label_other"], 2),
        Cell(percent(int((gap == 0).sum()), len(pairs)), number=True),
        number_cell(100 * float((gap >= 2).mean()), 2),
        count_cell(len(pairs)),
    )


def _spent_cells(records: list[Mapping[str, Any]]) -> tuple[Cell, Cell, Cell]:
    calls = [record.get("calls") or {} for record in records]
    costs = [record.get("cost_usd") for record in records]
    known = [cost for cost in costs if cost is not None]
    agent, image = (sum(int(call.get(kind) or 0) for call in calls) for kind in ("agent", "image"))
    if not records:
        return (NOTHING, NOTHING, NOTHING)
    return (count_cell(agent), count_cell(image), number_cell(sum(known), 2) if len(known) == len(costs) else NOTHING)
