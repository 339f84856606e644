"""The paper's tables from score frames: systems by category, and by dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from longbanana_nb.reporting.facts import (
    CATEGORY_NOTE,
    INTERVALS,
    SAMPLED,
    RunFacts,
    ScoreFrames,
    SystemFacts,
    audit_notes,
    derived_probes_note,
    derived_units_note,
    judge_line,
    policy_line,
    source_line,
)
from longbanana_nb.reporting.numbers import NOTHING, interval_cell, is_missing, no_data_cell, number_cell, percent, share_cell
from longbanana_nb.reporting.table import Cell, Column, Row, RowGroup, Table, ranked
from longbanana_nb.taxonomy import CATEGORIES, DIMENSIONS, SUITE_OF

if TYPE_CHECKING:
    import pandas as pd

Lookup = dict[tuple[str, str, str], Any]


def score_lookup(frame: pd.DataFrame, judge: str) -> Lookup:
    """One judge's score rows by (system, scope, name)."""
    mine = frame[frame["judge"] == judge].rename(columns={"name": "name_"})
    rows: list[Any] = list(mine.itertuples(index=False))
    return {(row.system, row.scope, row.name_): row for row in rows}


def score_cell(row: Any) -> Cell:
    """The score of a scope to one decimal, flagged when provisional; `no data (n=0/10)` where nothing is scored."""
    if row is None:
        return NOTHING
    if is_missing(row.score):
        return no_data_cell(row.cases_total)
    return number_cell(row.score, flags=("provisional",) if row.provisional else ())


def name_cell(system: SystemFacts) -> Cell:
    """A system's name with its flags."""
    return Cell(system.name, flags=system.flags)


def grouped(facts: RunFacts, row: Any) -> tuple[RowGroup, ...]:
    """Rows for systems, then for floors, which never compete; an empty group is left out."""
    groups = (
        ("Systems", tuple(Row(row(system)) for system in facts.competitors)),
        ("Floors", tuple(Row(row(system), ranked=False) for system in facts.floors)),
    )
    return tuple(RowGroup(label, rows) for label, rows in groups if rows)


def main_table(scores: ScoreFrames, facts: RunFacts, judge: str, *, wide: bool = True) -> Table:
    """Systems and floors by category under suites, with overall score, interval, coverage and pass rate.

    Args:
        scores: frames of `lb.scores.v1`.
        facts: the run; its systems give the rows, in their order, so that one without any score still has its row.
        judge: whose verdicts are shown. When the run has a `truth` judge too, its overall score stands beside.
        wide: also show harness with workflow, and backend, where any system has one.
    """
    found, rates = score_lookup(scores.scores, judge), _rates(scores.pass_rates, judge)
    truth = facts.truth if facts.truth and facts.truth.name != judge else None
    truths = score_lookup(scores.scores, truth.name) if truth else {}
    ways = _ways(facts) if wide else {}
    bounded = any(found[key].provisional for key in found if key[1] == "overall")

    def row(system: SystemFacts) -> tuple[Cell, ...]:
        overall = found.get((system.name, "overall", "overall"))
        cells = [name_cell(system), *(Cell(parts[system.name]) if parts[system.name] else NOTHING for parts in ways.values())]
        cells += [score_cell(found.get((system.name, "category", code))) for code in CATEGORIES]
        cells += [score_cell(overall), interval_cell(overall.ci_low, overall.ci_high) if overall else NOTHING]
        cells += [_bounds_cell(overall)] if bounded else []
        cells += [score_cell(truths.get((system.name, "overall", "overall")))] if truth else []
        cells += [_rate_cell(rates.get(system.name)), _coverage_cell(overall)]
        return tuple(cells)

    table = Table(
        name="main",
        title=f"Systems by category on {facts.release}: score, 0 to 100",
        columns=_main_columns(
            facts, ways=tuple(ways), bounded=bounded, truth=truth is not None, threshold=_threshold(scores.pass_rates)
        ),
        groups=grouped(facts, row),
        notes=footer(scores, facts, judge),
    )
    return ranked(table)


def dimension_table(scores: ScoreFrames, facts: RunFacts, judge: str) -> Table:
    """Systems and floors by check dimension, on 0 to 10 as in the paper.

    A dimension's score is the mean over cases of the scores of that dimension's checks.
    """
    found = score_lookup(scores.scores, judge)

    def row(system: SystemFacts) -> tuple[Cell, ...]:
        return (name_cell(system), *(_tenth(found.get((system.name, "dimension", name))) for name in DIMENSIONS))

    table = Table(
        name="dimensions",
        title=f"Systems by dimension on {facts.release}: score, 0 to 10",
        columns=(Column("System", align="left"), *(Column(name, better="high") for name in DIMENSIONS)),
        groups=grouped(facts, row),
        notes=(*derived_units_note(facts), *footer(scores, facts, judge, intervals=False, categories=False)),
    )
    return ranked(table)


def systems_table(facts: RunFacts) -> Table:
    """How each system makes its candidates: harness, workflow, agent model, backend, privileges, sandbox."""

    def row(system: SystemFacts) -> tuple[Cell, ...]:
        parts = (
            system.harness,
            system.workflow,
            system.agent_model,
            system.backend,
            ", ".join(system.privileges),
            system.sandbox,
        )
        return (name_cell(system), *(Cell(part) if part else NOTHING for part in parts))

    labels = ("System", "Harness", "Workflow", "Agent model", "Backend", "Privileges", "Sandbox")
    columns = tuple(Column(label, align="left") for label in labels)
    return Table("systems", f"Systems on {facts.release}", columns, grouped(facts, row), (f"{source_line(facts)}.",))


def footer(
    scores: ScoreFrames, facts: RunFacts, judge: str, *, intervals: bool = True, categories: bool = True
) -> tuple[str, ...]:
    """The lines under a table: source, judge and coverage, policy, what intervals mean, what a category is, how marks are set."""
    rows = scores.scores[(scores.scores["judge"] == judge) & (scores.scores["scope"] == "overall")]
    valid, total, invalid = (int(rows[name].sum()) for name in ("checks_valid", "checks_total", "invalid"))
    coverage = (
        f"coverage {percent(valid, total)} % ({valid} of {total} verdicts valid, {invalid} invalid)" if total else "no verdicts"
    )
    lines = [f"{source_line(facts)}. {judge_line(facts, judge)}; {coverage}.", f"{policy_line(facts)}."]
    lines += [SAMPLED] if "checks" in facts.policy else []
    lines += [f"{100 * facts.level:g} % intervals. {INTERVALS}"] if intervals else []
    lines += [CATEGORY_NOTE] if categories else []
    lines += [*derived_probes_note(facts, judge), *audit_notes(facts, judge)]
    return (*lines, "Best in bold, second best underlined, compared as shown; floors and provisional numbers are not ranked.")


def _main_columns(facts: RunFacts, *, ways: tuple[str, ...], bounded: bool, truth: bool, threshold: str) -> tuple[Column, ...]:
    columns = [Column("System", align="left")]
    columns += [Column(label, align="left") for label in ways]
    columns += [Column(code, SUITE_OF[code], better="high") for code in CATEGORIES]
    columns += [Column("Score", "Overall", better="high"), Column(f"{100 * facts.level:g} % interval", "Overall", "center")]
    columns += [Column("Bounds", "Overall", "center")] if bounded else []
    columns += [Column("Truth", "Overall")] if truth else []
    return (*columns, Column(f"P@{threshold}", better="high"), Column("Coverage %"))


def _ways(facts: RunFacts) -> dict[str, dict[str, str]]:
    """How systems work, by column and system: harness with its workflow, and backend; a column without any is left out."""
    ways = {
        "Harness": {system.name: " · ".join(filter(None, (system.harness, system.workflow))) for system in facts.systems},
        "Backend": {system.name: system.backend or "" for system in facts.systems},
    }
    return {label: parts for label, parts in ways.items() if any(parts.values())}


def _tenth(row: Any) -> Cell:
    if row is None or is_missing(row.score):
        return score_cell(row)
    return number_cell(row.score / 10, 2, flags=("provisional",) if row.provisional else ())


def _bounds_cell(row: Any) -> Cell:
    return interval_cell(row.score_low, row.score_high) if row is not None and row.provisional else NOTHING


def _coverage_cell(row: Any) -> Cell:
    return share_cell(row.checks_valid, row.checks_total) if row is not None else NOTHING


def _rates(frame: pd.DataFrame, judge: str) -> dict[str, Any]:
    rows: list[Any] = list(frame[frame["judge"] == judge].itertuples(index=False))
    return {row.system: row for row in rows}


def _threshold(frame: pd.DataFrame) -> str:
    return "70" if frame.empty else f"{float(frame['threshold'].iloc[0]):g}"


def _rate_cell(row: Any) -> Cell:
    if row is None:
        return NOTHING
    if is_missing(row.pass_rate):
        return no_data_cell(row.cases_total)
    return number_cell(100 * row.pass_rate, flags=("provisional",) if row.provisional else ())


__all__ = ["dimension_table", "footer", "grouped", "main_table", "name_cell", "score_cell", "score_lookup", "systems_table"]
