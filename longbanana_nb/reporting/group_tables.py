"""Systems by what they are made of (harness and workflow, image model), and what a run asks of them: three tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from longbanana_nb.reporting.facts import RunFacts, derived_units_note, source_line
from longbanana_nb.reporting.numbers import NOTHING, count_cell, interval_cell, is_missing, number_cell
from longbanana_nb.reporting.table import Cell, Column, Row, RowGroup, Table
from longbanana_nb.reporting.tables import footer, score_lookup
from longbanana_nb.taxonomy import CATEGORIES, CATEGORY_NAMES, DIMENSIONS, SUITES

if TYPE_CHECKING:
    from longbanana_nb.runs.plan import PlannedCase, PlannedCheck
    from longbanana_nb.scoring import Scores

WORKFLOWS = ("minimal", "react", "plan-exec", "reflect", "rpr")
NO_WORKFLOW = "none"
CONFOUNDED = (
    "Means over systems that share a value, each system once: whatever else differs between them is in the difference too."
)


def harness_workflow_table(scores: Scores, facts: RunFacts, judge: str) -> Table:
    """Mean overall score of the systems of each harness (rows) under each workflow (columns), and how many there are."""
    found = score_lookup(scores.scores, judge)
    cells: dict[tuple[str, str], list[float]] = {}
    for system in facts.competitors:
        row = found.get((system.name, "overall", "overall"))
        if row is not None and not is_missing(row.score):
            cells.setdefault((system.harness, system.workflow or NO_WORKFLOW), []).append(float(row.score))
    known = {workflow for _, workflow in cells}
    workflows = [name for name in (NO_WORKFLOW, *WORKFLOWS) if name in known]

    def row_of(harness: str) -> Row:
        means = [cells.get((harness, workflow)) for workflow in workflows]
        shown = [Cell(f"{sum(mean) / len(mean):.1f} ({len(mean)})") if mean else NOTHING for mean in means]
        return Row((Cell(harness), *shown), ranked=False)

    harnesses = dict.fromkeys(system.harness for system in facts.competitors)
    columns = (Column("Harness", align="left"), *(Column(name, "Workflow", "center") for name in workflows))
    notes = (*footer(scores, facts, judge, intervals=False, categories=False)[:-1], "In brackets: systems. " + CONFOUNDED)
    rows = tuple(row_of(harness) for harness in harnesses)
    return Table(
        "harness_workflow", f"Overall score by harness and workflow on {facts.release}", columns, (RowGroup("", rows),), notes
    )


def backends_table(scores: Scores, facts: RunFacts, judge: str) -> Table:
    """Overall and suite scores of each image model, agent model and harness: means over the systems that use it."""
    frame = scores.groups[(scores.groups["judge"] == judge) & scores.groups["scope"].isin(["overall", "suite"])]
    kept: list[Any] = list(frame.rename(columns={"name": "name_"}).itertuples(index=False))
    found = {(row.factor, row.value, row.name_): row for row in kept}
    factors = {"backend": "Image model", "agent_model": "Agent model", "harness": "Harness", "workflow": "Workflow"}

    def rows(factor: str) -> tuple[Row, ...]:
        floors = {system.harness for system in facts.floors} if factor == "harness" else set()
        values = dict.fromkeys(str(value) for value in frame.loc[frame["factor"] == factor, "value"])
        return tuple(_group_row(factor, value, found) for value in values if value not in floors)

    groups = tuple(RowGroup(label, made) for factor, label in factors.items() if (made := rows(factor)))
    columns = (
        Column("Value", align="left"), Column("Systems"), Column("Score", "Overall"),
        Column(f"{100 * facts.level:g} % interval", "Overall", "center"), *(Column(suite, "Suite") for suite in SUITES),
    )  # fmt: skip
    notes = (*footer(scores, facts, judge, categories=False)[:-1], CONFOUNDED)
    return Table("backends", f"Image models, agent models, harnesses and workflows on {facts.release}", columns, groups, notes)


def _group_row(factor: str, value: str, found: dict[tuple[str, str, str], Any]) -> Row:
    overall = found.get((factor, value, "overall"))
    suites = [found.get((factor, value, suite)) for suite in SUITES]
    cells = [Cell(value), count_cell(overall.systems if overall else None), number_cell(overall.score if overall else None)]
    cells += [interval_cell(overall.ci_low, overall.ci_high) if overall else NOTHING]
    return Row((*cells, *(number_cell(row.score) if row else NOTHING for row in suites)), ranked=False)


def dataset_table(cases: Sequence[PlannedCase], checks: Sequence[PlannedCheck], facts: RunFacts) -> Table:
    """What the run asks, by category: cases, references and checks a case, checks by dimension and polarity."""
    by_category = {code: [case for case in cases if case.category == code] for code in CATEGORIES}
    asked = {code: [check for check in checks if check.category == code] for code in CATEGORIES}

    def row(label: str, mine: Sequence[PlannedCase], its: Sequence[PlannedCheck]) -> Row:
        dimensions, polarities = Counter(check.dimension for check in its), Counter(check.polarity for check in its)
        cells = [Cell(label), count_cell(len(mine)), _mean_cell([len(case.references) for case in mine])]
        cells += [count_cell(sum(case.background is not None for case in mine)), count_cell(len(its))]
        cells += [number_cell(len(its) / len(mine)) if mine else NOTHING, *(count_cell(dimensions[name]) for name in DIMENSIONS)]
        return Row((*cells, count_cell(polarities["positive"]), count_cell(polarities["negative"])), ranked=False)

    groups = [
        RowGroup(suite, tuple(row(f"{code}: {CATEGORY_NAMES[code]}", by_category[code], asked[code]) for code in codes))
        for suite, codes in SUITES.items()
        if any(by_category[code] for code in codes)
    ]
    groups.append(RowGroup("All", (row("All cases", cases, checks),)))
    columns = (
        Column("Category", align="left"), Column("Cases"), Column("References a case"), Column("Backgrounds"), Column("Checks"),
        Column("Checks a case"), *(Column(name, "Checks by dimension") for name in DIMENSIONS),
        Column("positive", "By polarity"), Column("negative", "By polarity"),
    )  # fmt: skip
    notes = (f"{source_line(facts)}.", "The plan of the run: every denominator comes from it.", *derived_units_note(facts))
    return Table("dataset", f"What {facts.release} asks in this run", columns, tuple(groups), notes)


def _mean_cell(counts: Sequence[int]) -> Cell:
    """A whole number where all are alike, else the mean."""
    if not counts:
        return NOTHING
    return count_cell(counts[0]) if len(set(counts)) == 1 else number_cell(sum(counts) / len(counts))
