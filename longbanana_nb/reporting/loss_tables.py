"""The loss funnel as a table: failed checks of each system by the stage at which they were lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longbanana_nb.reporting.facts import RunFacts, audit_notes, derived_units_note, judge_line, source_line
from longbanana_nb.reporting.funnel import STAGES, stage_counts
from longbanana_nb.reporting.numbers import count_cell, number_cell
from longbanana_nb.reporting.table import Cell, Column, Table
from longbanana_nb.reporting.tables import grouped, name_cell

if TYPE_CHECKING:
    import pandas as pd

    from longbanana_nb.reporting.facts import SystemFacts


def losses_table(funnel: pd.DataFrame, facts: RunFacts, judge: str) -> Table:
    """One row a system: failed checks by stage, and how many references were sent that no positive check of the case binds."""
    counts = stage_counts(funnel)
    stages = list(next(iter(counts.values()), {}))
    extra = funnel.drop_duplicates(["system", "case_id", "sample"]).groupby("system")["distractors_sent"].mean().to_dict()

    def row(system: SystemFacts) -> tuple[Cell, ...]:
        mine = counts.get(system.name, dict.fromkeys(stages, 0))
        cells = [count_cell(mine[stage]) for stage in stages]
        return (name_cell(system), count_cell(sum(mine.values())), *cells, number_cell(extra.get(system.name)))

    columns = (
        Column("System", align="left"), Column("Failed"), *(Column(stage, "Lost where") for stage in stages),
        Column("Distractors sent a case"),
    )  # fmt: skip
    meanings = "; ".join(f"{name}: {STAGES[name]}" for name in stages)
    notes = (
        f"{source_line(facts)}. {judge_line(facts, judge)}.",
        f"The first stage that applies; counts of single verdicts, pooled over cases. {meanings}.",
        "Distractors: references that no positive check of the case binds, in cases with a failed check.",
        *derived_units_note(facts),
        *audit_notes(facts, judge),
    )
    return Table("losses", f"Where obligations were lost on {facts.release}", columns, grouped(facts, row), notes)
