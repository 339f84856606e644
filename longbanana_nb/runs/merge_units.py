"""The units of several runs side by side: entries, plan, candidates and journals, and where they disagree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from longbanana_nb.errors import Fault
from longbanana_nb.runs.meta import Entry
from longbanana_nb.runs.plan import PlannedCase, PlannedCheck
from longbanana_nb.runs.records import Record
from longbanana_nb.runs.run import Run
from longbanana_nb.runs.slots import CandidateSlot

GIVE_WAY = ("interrupted", "budget")  # outcomes that say only that the work was not done


@dataclass(frozen=True, slots=True)
class CandidateFolder:
    """The folder a unit is taken from, and its place inside a run."""

    source: Path
    place: PurePosixPath


def merged_entries(runs: Iterable[Run], kind: Literal["systems", "judges"], faults: list[Fault]) -> dict[str, Entry]:
    """Systems or judges of all runs; one name with two hashes is a fault. Of different `samples` the larger holds."""
    merged: dict[str, Entry] = {}
    for run in runs:
        entries: dict[str, Entry] = getattr(run.meta, kind)
        for name, entry in entries.items():
            held = merged.setdefault(name, entry)
            if held.sha256 != entry.sha256:
                fix = "Names that stand for different things cannot be merged."
                faults.append(Fault(f"{run.path / 'run.json'} {kind} {name!r}", "changed", entry.sha256, held.sha256, fix))
            elif entry.spec["samples"] > held.spec["samples"]:
                merged[name] = msgspec.structs.replace(entry, simulated=entry.simulated or held.simulated)
    return merged


def merged_plan(runs: Iterable[Run], faults: list[Fault]) -> tuple[list[PlannedCase], list[PlannedCheck]]:
    """All planned cases in the release's order, and their checks; one check with two texts or two probes is a fault."""
    cases: dict[str, PlannedCase] = {}
    checks: dict[str, dict[str, PlannedCheck]] = {}
    for run in runs:
        cases.update({case.case_id: cases.get(case.case_id, case) for case in run.cases()})
        for check in run.checks():
            held = checks.setdefault(check.case_id, {}).setdefault(check.check_id, check)
            where, fix = str(run.path / "checks.jsonl"), "Merge runs of one release, judged with the same probes."
            for code, found, expected in (
                ("check", check.check_sha256, held.check_sha256),
                ("probe", check.probe_sha256 or "no probe", held.probe_sha256 or "no probe"),
            ):
                if found != expected:
                    faults.append(Fault(where, code, found, expected, fix, check.case_id, check.check_id))
    ordered = sorted(cases.values(), key=lambda case: case.n)
    return ordered, [check for case in ordered for check in checks.get(case.case_id, {}).values()]


def candidate_folders(runs: Iterable[Run], faults: list[Fault]) -> list[CandidateFolder]:
    """For each unit the folder that holds it; two different candidates for one unit are a fault."""
    chosen: dict[PurePosixPath, tuple[Path, Record]] = {}
    for run in runs:
        for folder in sorted(run.path.glob("candidates/*/*/s*")):
            record = CandidateSlot(folder).record()
            if record is None:
                continue
            place = PurePosixPath(folder.relative_to(run.path).as_posix())
            held = chosen.setdefault(place, (folder, record))
            if held[1].outcome in GIVE_WAY and record.outcome not in GIVE_WAY:
                chosen[place] = (folder, record)
            elif record.outcome not in GIVE_WAY and _result(held[1]) != _result(record):
                fix = "Keep one of them: leave one run out, or remove the candidate there."
                faults.append(
                    Fault(str(folder), "conflict", _result(record), f"{_result(held[1])}, as in {held[0]}", fix, record.case_id)
                )
    return [CandidateFolder(source, place) for place, (source, _) in sorted(chosen.items())]


def judgment_journals(runs: Iterable[Run]) -> dict[PurePosixPath, list[Path]]:
    """Each journal's place with the files that hold a part of it, in the order of the runs."""
    journals: dict[PurePosixPath, list[Path]] = {}
    for run in runs:
        for path in sorted(run.path.glob("judgments/*/*/*.jsonl")):
            journals.setdefault(PurePosixPath(path.relative_to(run.path).as_posix()), []).append(path)
    return journals


def _result(record: Record) -> str:
    return f"image {record.image.sha256}" if record.image is not None else f"outcome {record.outcome}"
