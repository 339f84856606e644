"""A judge's audit as reports show it: the line under each table, and the table of what it notices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import read_json
from longbanana_nb.reporting.numbers import count_cell, interval_cell, number_cell, percent
from longbanana_nb.reporting.table import Cell, Column, Row, RowGroup, Table
from longbanana_nb.runs.drift import MOST_CHANGED, Drift, accepted_drifts

if TYPE_CHECKING:
    from longbanana_nb.runs import Run

Audit = Mapping[str, Any]
LEAST_SHOWN = 2
PARTS = (
    ("sensitivity", "Edits that must change the answer"),
    ("false_alarms", "Harmless edits, which must not"),
    ("injection", "Injected sentences, which must not"),
)
FIX = "Remove the folder and run `longbanana-nb audit` again, or restore it from a copy."


def read_audit(run_folder: Path, judge: str) -> Audit | None:
    """What `audit` wrote of a judge (`lb.audit.v1`), None where it was not audited; DataError where it cannot be used."""
    return _told(run_folder / "audits" / judge / "audit.json", "lb.audit.v1")


def _told(path: Path, schema: str) -> Audit | None:
    if not path.is_file():
        return None
    found = read_json(path)
    if not isinstance(found, dict) or found.get("schema") != schema:
        raise DataError("An audit cannot be read.", [Fault(str(path), "audit", "something else", f"an {schema} object", FIX)])
    return found


def is_stale(audit: Audit, judge_sha256: str) -> bool:
    """Whether the audit is of another version of the judge."""
    return bool(audit["judge_sha256"] != judge_sha256)


def audit_lines(run: Run) -> dict[str, str]:
    """The line under tables for each judge of a run; the truth needs none."""
    accepted = accepted_drifts(run.path)
    return {
        name: " ".join(
            [
                audit_line(name, read_audit(run.path, name), entry.sha256),
                *drift_notes(name, read_canary(run.path, name), entry.sha256, [one for one in accepted if one.judge == name]),
            ]
        )
        for name, entry in run.judges.items()
        if entry.judge().protocol != "truth"
    }


def read_canary(run_folder: Path, judge: str) -> Audit | None:
    """What the canary of a judge came to (`lb.canary-drift.v1`), None where there is none; DataError where it cannot be used."""
    return _told(run_folder / "audits" / judge / "canary.json", "lb.canary-drift.v1")


def drift_notes(judge: str, told: Audit | None, judge_sha256: str, accepted: Sequence[Drift] = ()) -> Iterator[str]:
    """What is known of a judge's drift: the round that differs most from the first one, and what was accepted in a merge."""
    rounds = [one for one in told["drift"] if one["compared"]] if told and told["judge_sha256"] == judge_sha256 else []
    if told and rounds:
        worst = max(rounds, key=lambda one: one["changed"] / one["compared"])
        first, later = (str(told["rounds"][n]["from"] or "")[:10] for n in (0, worst["round"]))
        warning = "Warning: " if worst["changed"] > MOST_CHANGED * worst["compared"] else ""
        yield f"{warning}Canary: {worst['changed']} of {worst['compared']} answers of {later} differ from those of {first}."
    yield from (f"Warning: joined although {one.text()}; this was accepted." for one in accepted)


def audit_line(judge: str, audit: Audit | None, judge_sha256: str) -> str:
    """What a judge notices, in one line; a warning where there is no audit of it, or one of another version."""
    if audit is None:
        return f"Warning: {judge} has no audit; what it does not notice is not known."
    day = str(audit["at"] or "")[:10]
    if is_stale(audit, judge_sha256):
        return f"Warning: the audit of {judge} ({day}) is stale: it is of another version of this judge."
    source = "graphs" if audit["source"] == "graph" else "its own answers"
    state = "" if audit["complete"] else f", unfinished: {audit['answered']} of {audit['questions']} questions answered"
    said = "; ".join(_said(audit)) or "no pair has valid answers"
    return f"{judge}: {said}; audit of {day}, {audit['pairs']} pairs from {source}{state}."


def _said(audit: Audit) -> Iterator[str]:
    everything = {part: _row(audit, part, "all", "all") for part, _ in PARTS}
    if (noticed := everything["sensitivity"]) and noticed["answered"]:
        yield f"notices {_share(noticed)} of edits{_least(audit)}"
    if (harmless := everything["false_alarms"]) and harmless["answered"]:
        yield f"changes its answer on {_share(harmless)} of harmless edits"
    if (injected := everything["injection"]) and injected["answered"]:
        yield f"injected sentences move labels by {_shift(injected)}"
    if invalid := sum(row["invalid"] for row in everything.values() if row):
        yield f"{invalid} pairs without a valid answer"


def row_text(row: Mapping[str, Any], part: str) -> str:
    """One group of pairs in words."""
    if not row["answered"]:
        return f"{row['name']}: no valid answers on {row['pairs']} pairs"
    changed = _shift(row) if part == "injection" else _share(row)
    said = {"sensitivity": "noticed", "false_alarms": "changed", "injection": "shift"}[part]
    invalid = f", {row['invalid']} without a valid answer" if row["invalid"] else ""
    return f"{row['name']}: {said} {changed} of {row['answered']} pairs{invalid}"


def _least(audit: Audit) -> str:
    """The kinds noticed least, where not every kind is noticed always."""
    rows = [row for row in audit["sensitivity"] if row["by"] == "kind" and row["answered"] and row["rate"] < 1]
    least = sorted(rows, key=lambda row: row["rate"])[:LEAST_SHOWN]
    named = " and ".join(f"{row['name']} ({_share(row)})" for row in least)
    return f", least of {named}" if named else ""


def _share(row: Mapping[str, Any]) -> str:
    hits = row["flipped"] if "flipped" in row else row["changed"]
    limits = "" if row["low"] is None else f" [{100 * row['low']:.0f}, {100 * row['high']:.0f}]"
    return f"{percent(hits, row['answered'])} %{limits}"


def _shift(row: Mapping[str, Any]) -> str:
    limits = "" if row["shift_low"] is None else f" [{row['shift_low']:+.2f}, {row['shift_high']:+.2f}]"
    return f"{row['mean_shift']:+.2f}{limits}"


def _row(audit: Audit, part: str, by: str, name: str) -> Mapping[str, Any] | None:
    return next((row for row in audit[part] if (row["by"], row["name"]) == (by, name)), None)


def audit_table(audit: Audit, judge_sha256: str | None = None) -> Table:
    """What a judge notices: for each kind, dimension, polarity and direction its pairs, and the share that changed the answer.

    For edits that must change the answer the change counts in the right direction, for harmless ones in any, for injected
    sentences in the direction they push.

    Args:
        judge_sha256: of the judge as it is now, so that an audit of another version says so.
    """
    groups = tuple(
        RowGroup(title, tuple(Row(_cells(row, part), ranked=False) for row in audit[part]))
        for part, title in PARTS
        if audit[part]
    )
    columns = (
        Column("", align="left"),
        Column("Kind of group", align="left"),
        *(Column(name, "Pairs") for name in ("made", "answered", "invalid")),
        Column("%", "Answer changed"),
        Column("95 % interval", "Answer changed", "center"),
        *(Column(name, "Of those right before") for name in ("n", "changed %")),
        Column("mean", "Shift of labels"),
        Column("95 % interval", "Shift of labels", "center"),
    )
    title = f"What {audit['judge']} notices: minimal pairs"
    return Table(f"audit-{audit['judge']}", title, columns, groups, _notes(audit, judge_sha256))


def _cells(row: Mapping[str, Any], part: str) -> tuple[Cell, ...]:
    hits = {"sensitivity": "flipped", "false_alarms": "changed", "injection": "obeyed"}[part]
    right = row.get("right_before")
    of_right = number_cell(100 * row["right_before_rate"]) if right else number_cell(None)
    return (
        Cell(row["name"]),
        Cell(row["by"]),
        *(count_cell(row[name]) for name in ("pairs", "answered", "invalid")),
        Cell(percent(row[hits], row["answered"]), number=True) if row["answered"] else number_cell(None),
        _scaled(row["low"], row["high"]),
        count_cell(right),
        of_right,
        number_cell(row.get("mean_shift"), 2),
        interval_cell(row.get("shift_low"), row.get("shift_high"), 2),
    )


def _scaled(low: float | None, high: float | None) -> Cell:
    return interval_cell(None, None) if low is None or high is None else interval_cell(100 * low, 100 * high)


def _notes(audit: Audit, judge_sha256: str | None) -> tuple[str, ...]:
    source = "drawings made from graphs" if audit["source"] == "graph" else "edits of the run's own candidates"
    lines = [
        f"Release {audit['release']}, revision {audit['revision']}. {audit['pairs']} pairs by {source}, seed {audit['seed']}; "
        f"last answer of {str(audit['at'] or '')[:10]}.",
        "Wilson intervals for shares, Student's t for shifts (label steps, in the direction of the sentence). Pairs of one case "
        "are not quite independent. Invalid answers are no answers: they are in no share.",
    ]
    if left_out := [f"{one['kind']}: {one['reason']} ({one['checks']})" for one in audit["left_out"] if one["checks"]]:
        lines.append(f"Not made, by number of checks: {'; '.join(left_out)}.")
    if unmade := [one["kind"] for one in audit["left_out"] if not one["checks"]]:
        lines.append(f"No pair of: {', '.join(unmade)}.")
    if repeats := audit["repeats"]:
        agreed = percent(repeats["agreed"], repeats["compared"]) if repeats["compared"] else "no"
        lines.append(
            f"Asked {repeats['samples']} times: on {agreed} % of {repeats['compared']} questions all samples say the same."
        )
    if judge_sha256 is not None and is_stale(audit, judge_sha256):
        lines.insert(0, "Stale: this audit is of another version of this judge.")
    return tuple(lines)
