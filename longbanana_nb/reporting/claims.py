"""Claims as people read them: a table of verdicts with the cheapest next step, and a figure of the grid of choices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from longbanana_nb.reporting.facts import INTERVALS, RunFacts, audit_notes, judge_line, policy_line, source_line
from longbanana_nb.reporting.numbers import interval_cell, number_cell
from longbanana_nb.reporting.style import DOUBLE, FAIL, FAINT, PASS, QUIET, new_figure, paper_style, plain_labels, wrapped
from longbanana_nb.reporting.table import Cell, Column, Row, RowGroup, Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from longbanana_nb.scoring.claims import Claim, ClaimVerdicts

COLOURS = {"holds": PASS, "open": QUIET, "against": FAIL}
UNEQUAL = 1.1
"""By which factor the image calls a case of two systems may differ before a comparison is flagged."""


def claims_table(
    found: ClaimVerdicts, claims: Mapping[str, Claim], steps: Mapping[str, str], budgets: Mapping[str, str], facts: RunFacts,
    judge: str, declared: str,
) -> Table:  # fmt: skip
    """One row a claim: what it says, estimate with its interval, verdict, in how many choices it holds; below it what is next.

    Args:
        steps, budgets: words by claim. declared: when the claims were declared, in words.
    """

    def row(one: Any) -> Row:
        claim = claims[one.claim]
        against = claim.b if claim.b is not None else f"{claim.line:g}"
        verdict = one.verdict + (f" {one.depends_on}" if one.depends_on else "")
        cells = [Cell(one.claim), Cell(f"{claim.a} > {against}"), Cell(f"{claim.metric.replace('_', ' ')}, {claim.scope}")]
        cells += [number_cell(one.estimate), interval_cell(one.low, one.high), Cell(verdict)]
        cells += [Cell(f"{one.cells_holding} of {one.cells}")]
        return Row(tuple(cells), ranked=False)

    labels = ("Claim", "Says", "On", "Estimate", "Interval", "Verdict", "Holds in")
    columns = tuple(Column(label, align="right" if label == "Estimate" else "left") for label in labels)
    rows: list[Any] = list(found.verdicts.itertuples(index=False))
    level = float(found.verdicts["level"].iloc[0])
    notes = (
        f"{source_line(facts)}. {judge_line(facts, judge)}. {policy_line(facts)}.",
        f"{declared} Intervals hold together for the family of {len(rows)} (Bonferroni: {100 * level:.4g} % each). {INTERVALS}",
        "Points, 0 to 100. Choices: judge, missing policy, Uncertain as Fail or Pass, weights, threshold 60-80, a category out.",
        *audit_notes(facts, judge),
        *(f"Budget of {name}: {words}." for name, words in budgets.items() if claims[name].b is not None),
        *(f"Cheapest next step for {one.claim}: {steps[one.claim]}." for one in rows),
    )
    return Table("claims", f"Claims on {facts.release}", columns, (RowGroup("Claims", tuple(row(one) for one in rows)),), notes)


def budget_text(claim: Claim, calls: Mapping[str, float]) -> str:
    """Whether two compared systems had like image calls a case; "one system" where there is no comparison."""
    if claim.b is None:
        return "one system"
    a, b = calls.get(claim.a, math.nan), calls.get(claim.b, math.nan)
    if math.isnan(a) or math.isnan(b):
        return "unknown"
    equal = max(a, b) <= UNEQUAL * min(a, b)
    return f"{'equal' if equal else 'unequal'}: {a:.1f} and {b:.1f} image calls a case"


def next_step(row: Any, claim: Claim, uncertain: int, differing: int) -> str:
    """What would decide a claim most cheaply, from the spread that was seen.

    Args:
        row: of `ClaimVerdicts.verdicts`. uncertain: verdicts of Uncertain on its systems. differing: units where judges differ.
    """
    if row.verdict == "depends on":
        if "judge" in row.depends_on:
            return f"label units on which the judges differ ({differing})"
        if "uncertain" in row.depends_on:
            return f"label the {uncertain} verdicts of Uncertain"
        if "missing" in row.depends_on:
            return "make and judge what is missing"
        if "leave out" in row.depends_on:
            return "more cases of the category it depends on"
    gap, half = abs(row.estimate - claim.line), (row.high - row.low) / 2
    if row.verdict in ("supported", "contradicted"):
        return "labels on both systems, for the judge's own error"
    if not gap or math.isnan(half):
        return "more cases; the spread seen gives no number"
    needed = math.ceil(row.cases * (half / gap) ** 2)
    return f"about {max(needed - row.cases, 1)} more cases, if the difference is as seen"


def claims_figure(found: ClaimVerdicts) -> Figure:
    """One row a claim: a dot for each choice of the grid at its distance from the claim's line; the declared one with interval.

    Right of the line means above it. Blue: holds; grey: open; orange: against.
    """
    verdicts: list[Any] = list(found.verdicts.itertuples(index=False))
    labels = plain_labels(row.claim for row in verdicts)
    with paper_style():
        figure = new_figure(DOUBLE, 0.62 * len(verdicts) + 0.9)
        axes: Any = figure.subplots()
        axes.axvline(0, color="#555555", linewidth=0.8, zorder=1)
        for y, row in enumerate(verdicts):
            cells = found.cells[(found.cells["claim"] == row.claim) & (found.cells["state"] != "no data")]
            _strip(axes, cells, y, row.line)
        names = [f"{wrapped(labels[row.claim], 26)}\n{wrapped(_said(row), 30)}" for row in verdicts]
        axes.set_yticks(range(len(verdicts)), names, linespacing=1.0)
        axes.set_ylim(len(verdicts) - 0.4, -0.6)
        axes.set_xlabel("points above the line of the claim (each dot: one combination of choices)")
        axes.grid(axis="x", color=FAINT, linewidth=0.6)
        axes.set_axisbelow(True)
        for state, colour in COLOURS.items():
            axes.plot(
                [], [], "o", color=colour, markersize=4, label={"holds": "holds", "open": "open", "against": "against"}[state]
            )
        axes.plot([], [], "D", color="white", markeredgecolor="black", markersize=5, label="as declared, with its interval")
        figure.legend(loc="outside lower center", ncols=4)
    return figure


def claims_figure_alt(found: ClaimVerdicts) -> str:
    """The figure in words."""
    rows: list[Any] = list(found.verdicts.itertuples(index=False))
    return "Claims: " + "; ".join(
        f"{row.claim} {_said(row)}, holds in {row.cells_holding} of {row.cells} choices" for row in rows
    )


def _strip(axes: Any, cells: pd.DataFrame, y: float, line: float) -> None:
    for state, colour in COLOURS.items():
        values = cells.loc[cells["state"] == state, "estimate"].sort_values().to_numpy() - line
        heights = [y + 0.11 + 0.034 * (place % 6) for place in range(len(values))]
        axes.plot(values, heights, ".", color=colour, markersize=4, alpha=0.55, markeredgewidth=0, zorder=2)
    base = cells[cells["is_declared"]].iloc[0]
    axes.plot(
        [base["low"] - line, base["high"] - line], [y - 0.12, y - 0.12], color=COLOURS[base["state"]], linewidth=2, zorder=3
    )
    axes.plot(base["estimate"] - line, y - 0.12, "D", color="white", markeredgecolor="black", markersize=5, zorder=4)


def _said(row: Any) -> str:
    return f"{row.verdict} {row.depends_on}".strip()
