"""Workflows beside each other: systems that share harness and image model, each held against the minimal one, paired by case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longbanana_nb.reporting.compliance import Compliance, compliance_of, share_text
from longbanana_nb.reporting.facts import INTERVALS, RunFacts, SystemFacts, judge_line, policy_line, source_line
from longbanana_nb.reporting.numbers import NOTHING, interval_cell, is_missing, number_cell
from longbanana_nb.reporting.table import Cell, Column, Row, RowGroup, Table
from longbanana_nb.reporting.tables import score_cell, score_lookup

if TYPE_CHECKING:
    from longbanana_nb.runs import Run
    from longbanana_nb.scoring import Scores

JUDGES_EYE = "planner-judges-eye"
LESSON = (
    f"Agent model {JUDGES_EYE} reviews with the instrument of the judge tools: a lesson, not a system to compare. What it gains "
    "by that judge and not by the truth is measurement, and no better picture."
)


@dataclass(frozen=True, slots=True)
class Spent:
    """What a system's candidates took, in the mean."""

    image_calls: float
    turns: float


@dataclass(frozen=True, slots=True)
class Line:
    """One system of a comparison: its label, and whether it is the minimal one that the others are held against."""

    system: SystemFacts
    label: str
    is_base: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Systems that share harness and image model; at least two workflows, one of them minimal, which is `base`."""

    title: str
    base: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """A system less the minimal one, in points, over the cases that both have."""

    points: float
    low: float | None
    high: float | None


def comparisons(facts: RunFacts) -> list[Comparison]:
    """The comparisons of a run, in its order; a system whose workflow differs only in its agent model is told by that."""
    kinds: dict[tuple[str, str], list[SystemFacts]] = {}
    for system in facts.competitors:
        if system.workflow and system.backend:
            kinds.setdefault((system.harness, system.backend), []).append(system)
    found = []
    for (harness, backend), systems in kinds.items():
        base = next((one for one in systems if one.workflow == "minimal"), None)
        if base is None or len({one.workflow for one in systems}) < 2:
            continue
        lines = tuple(Line(one, _label(one, base), one is base) for one in systems)
        found.append(Comparison(f"{harness}, {base.agent_model or 'no agent model'}, {backend}", base.name, lines))
    return found


def difference(scores: Scores, judge: str, a: str, b: str) -> Difference | None:
    """System `a` less system `b` on the overall score, whichever way round the frame holds them; None where it does not."""
    frame = scores.differences
    mine = frame[(frame["judge"] == judge) & (frame["metric"] == "score") & (frame["scope"] == "overall")]
    rows: list[Any] = list(mine.itertuples(index=False))
    for row in rows:
        if is_missing(row.difference):
            continue
        if (row.a, row.b) == (a, b):
            return Difference(float(row.difference), _or_none(row.ci_low), _or_none(row.ci_high))
        if (row.a, row.b) == (b, a):
            low, high = _or_none(row.ci_low), _or_none(row.ci_high)
            return Difference(-float(row.difference), None if high is None else -high, None if low is None else -low)
    return None


def ablation_table(run: Run, scores: Scores, facts: RunFacts, judge: str) -> Table | None:
    """By workflow: score, difference to minimal with its interval, the same by the truth where there is one, and what it took.

    None where no two workflows share a harness and an image model.
    """
    found = comparisons(facts)
    if not found:
        return None
    judges = [judge, *([facts.truth.name] if facts.truth is not None and facts.truth.name != judge else [])]
    complied, spent = compliance_of(run), _spent(run)
    columns = [Column("Workflow", align="left")]
    for name in judges:
        columns += [
            Column("Score", name),
            Column("Over minimal", name),
            Column(f"{100 * facts.level:g} % interval", name, "center"),
        ]
    columns += [Column("Image calls", "Mean a candidate"), Column("Turns", "Mean a candidate"), Column("In time %")]
    groups = tuple(
        RowGroup(one.title, tuple(_row(line, one, scores, judges, complied, spent) for line in one.lines)) for one in found
    )
    notes = [
        f"{source_line(facts)}. {judge_line(facts, judge)}. {policy_line(facts)}.",
        f"Over minimal: in points, paired over the cases that both have. {INTERVALS}",
        "In time: share of candidates in which the least followed part of the workflow was left validly and in time; see the "
        "table of compliance.",
    ]
    if any(line.system.agent_model and JUDGES_EYE in line.system.agent_model for one in found for line in one.lines):
        notes.append(LESSON)
    return Table("ablation", f"Workflows on {facts.release}: score, 0 to 100", tuple(columns), groups, tuple(notes))


def _row(
    line: Line, of: Comparison, scores: Scores, judges: list[str], complied: dict[str, Compliance], spent: dict[str, Spent]
) -> Row:
    name, known = line.system.name, complied.get(line.system.name)
    flags = (*line.system.flags, *(["noncompliant"] if known is not None and known.is_flagged else []))
    cells = [Cell(line.label, flags=flags)]
    for judge in judges:
        cells.append(score_cell(score_lookup(scores.scores, judge).get((name, "overall", "overall"))))
        gain = None if line.is_base else difference(scores, judge, name, of.base)
        cells += [NOTHING, NOTHING] if gain is None else [number_cell(gain.points), interval_cell(gain.low, gain.high)]
    took, share = spent.get(name), share_text(known)
    cells += [NOTHING, NOTHING] if took is None else [number_cell(took.image_calls), number_cell(took.turns)]
    return Row((*cells, Cell(share, number=True) if share else NOTHING), ranked=False)


def _label(system: SystemFacts, base: SystemFacts) -> str:
    workflow = str(system.workflow)
    return workflow if system.agent_model == base.agent_model else f"{workflow} ({system.agent_model})"


def _spent(run: Run) -> dict[str, Spent]:
    calls: dict[str, list[tuple[int, int]]] = {}
    for record in run.records():
        if record.outcome != "interrupted":
            calls.setdefault(record.system, []).append((record.calls.image, record.calls.agent))
    return {name: Spent(*(sum(column) / len(rows) for column in zip(*rows, strict=True))) for name, rows in calls.items()}


def _or_none(value: Any) -> float | None:
    return None if is_missing(value) else float(value)
