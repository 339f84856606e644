"""Declared contrasts with their tests, and the pass rate at several thresholds, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from longbanana_nb.reporting.facts import INTERVALS, RunFacts, judge_line, policy_line, source_line
from longbanana_nb.reporting.numbers import NOTHING, count_cell, interval_cell, is_missing, no_data_cell, number_cell
from longbanana_nb.reporting.table import Cell, Column, Row, RowGroup, Table
from longbanana_nb.reporting.tables import footer, grouped, name_cell

if TYPE_CHECKING:
    from longbanana_nb.scoring import Scores

THRESHOLDS = (60, 65, 70, 75, 80)
METRICS = {"score": "Score, points", "pass_rate": "Pass rate, percentage points"}


def contrast_table(scores: Scores, facts: RunFacts, judge: str, declared: str) -> Table | None:
    """One row a declared contrast and metric: difference, interval, p as it came out and after Holm; None without contrasts.

    Args:
        declared: when they were declared, in words.
    """
    frame = scores.differences
    mine = frame[(frame["judge"] == judge) & (frame["scope"] == "overall") & frame["test"].notna()]
    if mine.empty:
        return None
    groups = tuple(
        RowGroup(label, tuple(_contrast_row(row, facts, 100 if metric == "pass_rate" else 1) for row in rows))
        for metric, label in METRICS.items()
        if (rows := list(mine[mine["metric"] == metric].itertuples(index=False)))
    )
    columns = (
        *(Column(label, align="left") for label in ("A", "B")),
        Column("A − B"), Column(f"{100 * facts.level:g} % interval", align="center"), Column("Cases"),
        Column("p"), Column("p (Holm)"), Column("Family"), Column("Test", align="left"),
    )  # fmt: skip
    notes = (
        f"{source_line(facts)}. {judge_line(facts, judge)}. {policy_line(facts)}.",
        f"{declared} Each metric's declared contrasts are one family. All else in this report is descriptive, without p.",
        f"Paired over cases that both sides share. {INTERVALS}",
    )
    return Table("contrasts", f"Declared contrasts on {facts.release}", columns, groups, notes)


def _contrast_row(row: Any, facts: RunFacts, scale: int) -> Row:
    named = {system.name: name_cell(system) for system in facts.systems}
    cells = [named.get(row.a, Cell(row.a)), named.get(row.b, Cell(row.b)), number_cell(_times(row.difference, scale))]
    cells += [interval_cell(_times(row.ci_low, scale), _times(row.ci_high, scale)), count_cell(row.cases)]
    return Row((*cells, _p_cell(row.p_raw), _p_cell(row.p_holm), count_cell(row.family_size), Cell(row.test)), ranked=False)


def _times(value: Any, scale: int) -> Any:
    return value if is_missing(value) else value * scale


def _p_cell(p: Any) -> Cell:
    """A p to three decimals; one that would read 0.000 says what it lies below."""
    if is_missing(p):
        return NOTHING
    return Cell("< 0.001" if p < 0.0005 else f"{p:.3f}", number=True)


def pass_rate_table(scores: Scores, facts: RunFacts, judge: str) -> Table:
    """The pass rate of every system at thresholds from 60 to 80, in per cent, and how many checks the weights are worth."""
    curve = scores.curve[scores.curve["judge"] == judge]
    rates = {(row.system, row.threshold): row for row in curve.itertuples(index=False)}
    known = {row.system: row for row in scores.pass_rates[scores.pass_rates["judge"] == judge].itertuples(index=False)}

    def row(system: Any) -> tuple[Cell, ...]:
        found = known.get(system.name)
        if found is None:
            return (name_cell(system), *(NOTHING for _ in range(len(THRESHOLDS) + 2)))
        cells = [_rate_cell(rates[system.name, at]) for at in THRESHOLDS]
        return (name_cell(system), *cells, count_cell(found.undecided), number_cell(found.effective_checks))

    columns = (
        Column("System", align="left"),
        *(Column(f"P@{at}", "Share of cases at or above, %") for at in THRESHOLDS),
        Column("Undecided"),
        Column("Effective checks"),
    )
    notes = (
        *footer(scores, facts, judge, intervals=False, categories=False)[:-1],
        f"Weights: {weights_text(scores)}",
        f"Undecided: cases that what is missing could bring to {scores.policy.threshold:g}. Effective checks: how many equally "
        "weighted checks a case's weights are worth, mean over cases.",
    )
    return Table("pass_rates", f"Pass rates on {facts.release} by threshold", columns, grouped(facts, row), notes)


def weights_text(scores: Scores) -> str:
    """What checks are weighed by, in a sentence."""
    weights = scores.weights
    if weights.sha256 is None:
        return f"{weights.name}, all checks of a case alike; the published P@70 weighs them by a formula that is not public."
    pool = f"frozen from labels on {len(weights.pool)} systems"
    mine = sorted(set(weights.pool) & set(scores.systems["system"]))
    left_out = f"; {', '.join(mine)} without their own labels" if mine else ""
    return f"{weights.name} (sha256 {weights.sha256[:12]}), {pool}{left_out}. Not the published formula, which is not public."


def _rate_cell(row: Any) -> Cell:
    return no_data_cell(row.cases_total) if is_missing(row.pass_rate) else number_cell(100 * row.pass_rate)
