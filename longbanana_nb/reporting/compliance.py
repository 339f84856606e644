"""Treatment fidelity: of the candidates of a system, in how many its agent did what its workflow asks, counted from records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from longbanana_nb.reporting.facts import RunFacts, SystemFacts, source_line
from longbanana_nb.reporting.numbers import NOTHING, number_cell, percent
from longbanana_nb.reporting.table import Cell, Column, Row, RowGroup, Table

if TYPE_CHECKING:
    from longbanana_nb.runs import Record, Run

LEAST = 0.8
"""Share of candidates below which a row is flagged: what was run is then hardly the workflow that its name says."""

WORDS: Mapping[str, tuple[str, str]] = {
    "evidence": ("Evidence before drawing", "names only what was opened"),
    "plan": ("Plan before drawing", "drawn as planned"),
    "review": ("Review after looking", "repaired what it found"),
    "choice": ("Choice after looking", "is the candidate"),
}


@dataclass(frozen=True, slots=True)
class PartCount:
    """One artefact over the candidates of a system: `timely` counts those present, valid and made at the right time.

    `followed` of `followable` were acted upon; the latter leaves out those in which there was nothing to follow.
    """

    candidates: int
    present: int
    valid: int
    timely: int
    followed: int
    followable: int

    @property
    def share(self) -> float:
        """Share of candidates in which it was left validly and in time, 0 to 1."""
        return self.timely / self.candidates if self.candidates else 0.0


@dataclass(frozen=True, slots=True)
class Compliance:
    """One system: its parts in order, and the mean number of reviews a candidate."""

    parts: Mapping[str, PartCount]
    rounds: float

    @property
    def least(self) -> float | None:
        """The share of its least followed part; None for a workflow without parts."""
        return min((part.share for part in self.parts.values()), default=None)

    @property
    def is_flagged(self) -> bool:
        """Whether its least followed part was left in under 80 % of candidates."""
        return self.least is not None and self.least < LEAST


def compliance_of(run: Run) -> dict[str, Compliance]:
    """By system, for those with a finished candidate; an interrupted candidate does not count, it will be made again."""
    records: dict[str, list[Record]] = {}
    for record in run.records():
        if record.outcome != "interrupted":
            records.setdefault(record.system, []).append(record)
    return {system: _counted(mine) for system, mine in records.items()}


def _counted(records: Iterable[Record]) -> Compliance:
    all_ = list(records)
    parts = {}
    for name in WORDS:
        facts = [record.workflow.parts()[name] for record in all_ if name in record.workflow.parts()]
        if facts:
            parts[name] = PartCount(
                len(facts),
                sum(one.present for one in facts),
                sum(one.valid for one in facts),
                sum(one.present and one.valid and one.timely for one in facts),
                sum(one.followed is True for one in facts),
                sum(one.followed is not None for one in facts),
            )
    return Compliance(parts, sum(record.workflow.rounds for record in all_) / len(all_) if all_ else 0.0)


def compliance_table(run: Run, facts: RunFacts) -> Table | None:
    """Of so many candidates, artefacts in so many; None where no system has a workflow that leaves any."""
    counted = compliance_of(run)
    rows = [(system, counted[system.name]) for system in facts.systems if system.name in counted]
    rows = [(system, found) for system, found in rows if found.parts]
    if not rows:
        return None
    names = [name for name in WORDS if any(name in found.parts for _, found in rows)]
    columns = [Column("System", align="left"), Column("Workflow", align="left"), Column("Candidates")]
    for name in names:
        columns += [Column("in time", WORDS[name][0]), Column(WORDS[name][1], WORDS[name][0])]
    columns.append(Column("Reviews a candidate"))
    notes = (
        f"{source_line(facts)}.",
        "In time: left, readable as its form asks, and at the right moment; evidence after a reference was opened and before the "
        "first image call, a plan before the first image call, a review after the picture was looked at. Counted from what "
        "happened, never from what an agent says.",
    )
    body = tuple(Row(_row(system, found, names), ranked=False) for system, found in rows)
    return Table(
        "compliance", f"What workflows asked and agents did on {facts.release}", tuple(columns), (RowGroup("", body),), notes
    )


def _row(system: SystemFacts, found: Compliance, names: list[str]) -> tuple[Cell, ...]:
    flags = (*system.flags, *(["noncompliant"] if found.is_flagged else []))
    total = max(part.candidates for part in found.parts.values())
    cells = [Cell(system.name, flags=flags), Cell(system.workflow or ""), number_cell(total, 0)]
    for name in names:
        part = found.parts.get(name)
        cells += [NOTHING, NOTHING] if part is None else [Cell(f"{part.timely} of {part.candidates}"), _followed(part)]
    return (*cells, number_cell(found.rounds) if "review" in found.parts else NOTHING)


def _followed(part: PartCount) -> Cell:
    return Cell(f"{part.followed} of {part.followable}") if part.followable else NOTHING


def share_text(found: Compliance | None) -> str:
    """The least followed part in per cent, for a column of another table; empty for a workflow without parts."""
    if found is None or found.least is None:
        return ""
    worst = min(found.parts.values(), key=lambda part: part.share)
    return percent(worst.timely, worst.candidates)
