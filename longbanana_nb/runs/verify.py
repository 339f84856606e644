"""Is a run what it says: every file re-hashed, every journal read, nothing torn, no key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import sha256_file
from longbanana_nb.names import case_of_folder
from longbanana_nb.runs.judging_plans import PLANS, read_plans
from longbanana_nb.runs.judgments import JudgmentJournal
from longbanana_nb.runs.kept_weights import weights_faults
from longbanana_nb.runs.keyscan import key_faults
from longbanana_nb.runs.ledger import read_calls
from longbanana_nb.runs.records import Record, named_files, read_record
from longbanana_nb.runs.results import is_part
from longbanana_nb.runs.run import Run
from longbanana_nb.runs.slots import CALLS, RECORD, TRACE, CandidateSlot
from longbanana_nb.runs.verify_audits import audit_file_faults
from longbanana_nb.runs.verify_labels import said_faults


def verify_run(run: Run) -> list[Fault]:
    """Compare everything in a run folder with what its records say. Paths in the faults are relative to the run.

    Checked: candidates and steps against the hashes in their records, records against their place and their system's hash,
    files no record names, judgments against the plan and the candidates they name, journals' lines, pictures and answers of
    audits, labels, designs and claims, torn and half-written files, and anything like a key. An empty list means that all of
    this holds. What a kill cut short and was set aside (`*.torn`) is no fault, for it never counted; `leftovers` lists it.
    """
    faults = [*_candidates(run), *_judgments(run), *_judges_calls(run), *_audits(run), *said_faults(run), *_remnants(run)]
    return [*faults, *weights_faults(run), *key_faults(run.path)]


def _candidates(run: Run) -> Iterator[Fault]:
    for folder in sorted(run.path.glob("candidates/*/*/*")):
        if folder.is_dir():
            yield from _one_candidate(run, folder)


def _one_candidate(run: Run, folder: Path) -> Iterator[Fault]:
    where = folder.relative_to(run.path).as_posix()
    slot = CandidateSlot(folder)
    try:
        record = slot.record()
        read_calls(slot.calls)
    except DataError as error:
        yield from _within(run, error)
        return
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file() and not is_part(path.name)}
    if record is None:
        if present - {CALLS}:
            yield Fault(
                where, "unfinished", "files without a record", "a record.json", "Run `generate` again; it begins this anew."
            )
        return
    yield from _placed_wrongly(run, folder, record)
    named = named_files(record)
    for name, sha256 in sorted(named.items()):
        fix = "Restore the file, or remove the record to have the candidate made again."
        if name not in present:
            yield Fault(f"{where}/{name}", "missing_file", "no file", f"sha256 {sha256}", fix)
        elif (found := sha256_file(folder / name)) != sha256:
            yield Fault(f"{where}/{name}", "sha256", f"sha256 {found}", f"sha256 {sha256}", fix)
    for name in sorted(present - set(named) - {RECORD, TRACE, CALLS}):
        if not name.startswith("record.attempt-"):
            yield Fault(f"{where}/{name}", "unknown_file", "a file the record does not name", "none", "Move it elsewhere.")


def _placed_wrongly(run: Run, folder: Path, record: Record) -> Iterator[Fault]:
    where = f"{folder.relative_to(run.path).as_posix()}/{RECORD}"
    place = (folder.parent.parent.name, case_of_folder(folder.parent.name), folder.name)
    says = (record.system, record.case_id, f"s{record.sample}")
    if place != says:
        yield Fault(where, "misplaced", f"a record of {says}", f"one of {place}", "Move the folder to where it belongs.")
    entry = run.systems.get(record.system)
    if entry is None:
        yield Fault(
            where, "unknown_system", repr(record.system), "a system of run.json", "Remove the folder, or restore run.json."
        )
    elif entry.sha256 != record.system_sha256:
        fix = "Remove the record to have the candidate made again."
        yield Fault(where, "system_sha256", record.system_sha256, f"{entry.sha256}, as in run.json", fix)


def _judgments(run: Run) -> Iterator[Fault]:
    try:
        checks = {(check.case_id, check.check_id): check.check_sha256 for check in run.checks()}
    except DataError as error:
        if any(run.path.glob("judgments/*/*/*.jsonl")):
            yield from _within(run, error)
        return
    for path in sorted(run.path.glob("judgments/*/*/*.jsonl")):
        try:
            yield from _one_journal(run, path, checks)
        except DataError as error:
            yield from _within(run, error)


def _judges_calls(run: Run) -> Iterator[Fault]:
    for path in sorted(run.path.glob("judgments/*/calls.jsonl")):
        try:
            read_calls(path)
            read_plans(path.with_name(PLANS))
        except DataError as error:
            yield from _within(run, error)


def _audits(run: Run) -> list[Fault]:
    faults = list(audit_file_faults(run))
    return _within(run, DataError("Audits are not what they say.", faults)) if faults else []


def _one_journal(run: Run, path: Path, checks: dict[tuple[str, str], str]) -> Iterator[Fault]:
    """Answers whose place, judge, check or candidate is not known to the run. Stale answers are history, not faults."""
    place = (path.parent.parent.name, path.parent.name, case_of_folder(path.stem))
    entry = run.judges.get(place[0])
    kept = _known_images(run, place[1], place[2])
    for number, answer in enumerate(JudgmentJournal(path).read(), start=1):
        where = f"{path.relative_to(run.path).as_posix()} line {number}"
        says, fix = (answer.judge, answer.system, answer.case_id), "Restore the journal from a copy, or remove the line."
        if says != place:
            yield Fault(where, "misplaced", f"an answer of {says}", f"one of {place}", fix)
        if entry is None or entry.sha256 != answer.judge_sha256:
            expected = entry.sha256 if entry is not None else "a judge of run.json"
            yield Fault(where, "judge_sha256", answer.judge_sha256, expected, fix)
        if (answer.case_id, answer.check_id) not in checks:
            yield Fault(where, "unknown_check", repr(answer.check_id), "a planned check", fix, answer.case_id, answer.check_id)
        if kept is not None and answer.candidate_sha256 not in kept.get(answer.sample, ()):
            yield Fault(where, "candidate_sha256", answer.candidate_sha256, "the hash of a candidate kept here", fix)


def _known_images(run: Run, system: str, case_id: str) -> dict[int, set[str]] | None:
    """By sample, the hashes of a candidate's image now and in earlier attempts; None where a record cannot be read."""
    known: dict[int, set[str]] = {}
    for path in (run.candidate(system, case_id).folder.parent).glob("s*/record*.json"):
        try:
            record = read_record(path)
        except DataError:
            return None  # reported with its candidate, once
        known.setdefault(record.sample, set()).update([record.image.sha256] if record.image is not None else [])
    return known


def _remnants(run: Run) -> Iterator[Fault]:
    for path in sorted(run.path.rglob("*")):
        where = path.relative_to(run.path).as_posix()
        if is_part(path.name):
            yield Fault(
                where,
                "half_written",
                "a file whose writing was cut short",
                "none",
                "Run the last command again, or remove the file.",
            )
        elif path.suffix == ".jsonl" and path.is_file() and not path.read_bytes().endswith(b"\n") and path.stat().st_size:
            yield Fault(
                where, "torn", "a last line without its end", "whole lines", "Run the last command again; it sets the line aside."
            )


def _within(run: Run, error: DataError) -> list[Fault]:
    """The error's faults, their places relative to the run."""
    return [
        Fault(
            fault.where.removeprefix(f"{run.path}/"), fault.code, fault.found, fault.expected, fault.fix, fault.case_id, fault.id
        )
        for fault in error.faults
    ]
