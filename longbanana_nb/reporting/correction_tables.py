"""Scores corrected with human labels, and what more labels would buy, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from longbanana_nb.reporting.facts import RunFacts, judge_line, source_line
from longbanana_nb.reporting.numbers import NOTHING, count_cell, interval_cell, number_cell
from longbanana_nb.reporting.table import Cell, Column, Row, RowGroup, Table
from longbanana_nb.reporting.tables import name_cell
from longbanana_nb.scoring.correction import FEWEST_LABELS

if TYPE_CHECKING:
    import pandas as pd

    from longbanana_nb.reporting.corrected import CorrectedRun
    from longbanana_nb.reporting.facts import SystemFacts
    from longbanana_nb.scoring.label_plan import Spread

CARRIED = "‡"


def correction_table(done: CorrectedRun, facts: RunFacts, truths: dict[str, float] | None = None) -> Table:
    """One row a system: the judge's score, the corrected one, labels alone, the judge's bias, each with its interval.

    Args:
        truths: scores of the truth by system, where a simulation knows it.
    """
    known = {row.system: row for row in done.found.scores.itertuples(index=False)}

    def row(system: SystemFacts) -> Row:
        found: Any = known[system.name]
        name = Cell(f"{system.name}{CARRIED}", flags=system.flags) if found.assumed else name_cell(system)
        cells = [name, count_cell(found.labels), count_cell(found.cases), number_cell(found.judge_score)]
        cells += [number_cell(found.corrected), interval_cell(found.ci_low, found.ci_high)]
        cells += [number_cell(found.people_alone), interval_cell(found.people_low, found.people_high)]
        cells += [number_cell(found.bias), interval_cell(found.bias_low, found.bias_high)]
        cells += [number_cell(truths[system.name]) if system.name in truths else NOTHING] if truths else []
        return Row(tuple(cells), ranked=False)

    interval = f"{100 * facts.level:g} % interval"
    columns = (
        Column("System", align="left"), Column("Labels"), Column("Cases"), Column("Judge"),
        Column("Score", "Corrected"), Column(interval, "Corrected", "center"),
        Column("Score", "Labels alone"), Column(interval, "Labels alone", "center"),
        Column("Judge − people", "Bias"), Column(interval, "Bias", "center"),
        *([Column("Truth")] if truths else []),
    )  # fmt: skip
    rows = tuple(row(system) for system in facts.systems if system.name in known)
    return Table(
        "corrected", f"Scores corrected with labels on {facts.release}", columns, (RowGroup("", rows),), _notes(done, facts)
    )


def _notes(done: CorrectedRun, facts: RunFacts) -> tuple[str, ...]:
    said = "simulated raters" if done.simulated else "people"
    notes = [f"{source_line(facts)}. {judge_line(facts, done.judge)}."]
    notes += [
        f"Labels by {said}: {done.labelled} of {done.drawn} drawn units (design {done.design}). Corrected intervals hold the "
        "sampling of cases and of labels, and the judge's error."
    ]
    notes += [
        "Only cases with a picture take part: nobody can label what is not there, and no missing policy applies. Below "
        f"{FEWEST_LABELS} labels a system there is no interval."
    ]
    if done.unclear:
        notes.append(f"{done.unclear} labels say that nobody can tell; they stand as Uncertain.")
    if done.replaced:
        notes.append(f"{done.replaced} units without a valid answer of the judge stand as Uncertain on both sides.")
    lost = [system.name for system in facts.systems if system.name not in set(done.found.scores["system"])]
    if lost:
        notes.append(f"Without labels and left out: {', '.join(lost)}. A judge's bias on one system says nothing about another.")
    if done.found.scores["assumed"].any():
        notes.append(f"{CARRIED} corrected by the mean bias on the others, as asked for. Nothing here shows that it holds.")
    return tuple(notes)


def label_plan_table(plan: pd.DataFrame, spread: Spread, facts: RunFacts) -> Table:
    """One row a number of labels on each system: the intervals it would leave and the hours it would take."""
    rows = tuple(
        Row(
            (
                count_cell(row.labels), number_cell(row.half_width), number_cell(row.half_width_people),
                number_cell(row.half_width_difference), number_cell(row.detectable), number_cell(row.hours),
            ),
            ranked=False,
        )
        for row in plan.itertuples(index=False)
    )  # fmt: skip
    columns = (
        Column("Labels a system"), Column("± corrected score"), Column("± labels alone"), Column("± corrected difference"),
        Column("Difference found in 80 %"), Column("Hours for two systems"),
    )  # fmt: skip
    notes = (
        f"Points on 0 to 100; half-widths of {100 * facts.level:g} % intervals. From the spread {spread.source}.",
        f"{spread.cases} cases of {spread.units:.0f} checks; 20 s a label. Labels do not remove the spread of cases.",
    )
    return Table("label_plan", "What more labels would buy", columns, (RowGroup("", rows),), notes)
