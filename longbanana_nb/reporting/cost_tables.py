"""What model judges were expected to take, beside what they took, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longbanana_nb.reporting.facts import judge_line, source_line
from longbanana_nb.reporting.numbers import NOTHING, count_cell, number_cell
from longbanana_nb.reporting.table import Cell, Column, Row, RowGroup, Table
from longbanana_nb.runs.judging_plans import JudgingPlan, Taken, plan_folders, planned_and_taken

if TYPE_CHECKING:
    from longbanana_nb.reporting.facts import RunFacts
    from longbanana_nb.runs import Run

NUMBERS = ("calls", "pictures", "tokens in", "tokens out", "USD")


def judging_cost_table(run: Run, facts: RunFacts) -> Table | None:
    """A row each time a model judge began to ask: the plan made before, and what was spent until the next; None without any."""
    groups: dict[str, list[Row]] = {}
    for judge, what, folder in plan_folders(run):
        rows = [Row(_cells(what, plan, taken), ranked=False) for plan, taken in planned_and_taken(folder)]
        groups.setdefault(judge_line(facts, judge), []).extend(rows)
    if not groups:
        return None
    columns = (
        Column("For", align="left"),
        Column("Planned at", align="left"),
        Column("checks open", "Planned"),
        *(Column(name, "Planned") for name in NUMBERS),
        *(Column(name, "Spent") for name in NUMBERS),
        Column("perhaps more, USD", "Spent"),
    )
    notes = (
        f"{source_line(facts)}.",
        "A plan is made when asking begins, from what is open then and by the formulas of `plan`, as the profile sends; what is "
        "asked again is not in it. An interrupted judge has a second plan for what was left. A batch is one call.",
        "Perhaps more: the most that calls without an end, and attempts without a reply, may have cost. Times are UTC.",
    )
    rows_of = tuple(RowGroup(name, tuple(rows)) for name, rows in groups.items() if rows)
    return Table("judging_cost", f"What judging takes on {facts.release}: planned before, and spent", columns, rows_of, notes)


def _cells(what: str, plan: JudgingPlan | None, taken: Taken) -> tuple[Cell, ...]:
    spent = (
        count_cell(taken.calls),
        count_cell(taken.pictures) if taken.pictures or not taken.calls else NOTHING,
        count_cell(taken.tokens_in),
        count_cell(taken.tokens_out),
        number_cell(taken.usd, 4) if taken.usd or not taken.tokens_out else NOTHING,  # tokens at no cost: the price is unknown
        number_cell(taken.open_usd, 4),
    )
    if plan is None:
        return (Cell(what), *(NOTHING,) * 7, *spent)
    most = f"{plan.calls} to {plan.most_calls}" if plan.most_calls > plan.calls else None
    planned = (
        Cell(plan.at[:16].replace("T", " ")),
        count_cell(plan.open),
        Cell(most) if most else count_cell(plan.calls),
        count_cell(plan.pictures),
        count_cell(plan.tokens_in),
        count_cell(plan.tokens_out),
        number_cell(plan.usd, 4),
    )
    return (Cell(what), *planned, *spent)
