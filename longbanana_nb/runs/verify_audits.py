"""Are audits and canaries in a run what they say: every line read, every picture re-hashed, every answer in its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import read_json, sha256_file
from longbanana_nb.runs.drift import accepted_drifts
from longbanana_nb.runs.journal import Journal
from longbanana_nb.runs.judgments import JudgmentJournal
from longbanana_nb.runs.ledger import read_calls
from longbanana_nb.runs.run import Run

FIX = "Restore it from a copy, or remove the audit's folder; the audit is then made anew."


class _Shown(msgspec.Struct, frozen=True):
    """What is read of one side of a pair, or of a question of a canary: which picture lies where."""

    picture: str
    file: str


class _Pair(msgspec.Struct, frozen=True):
    before: _Shown
    after: _Shown


def audit_file_faults(run: Run) -> Iterator[Fault]:
    """Every fault of the files below `audits/`; what a kill left of an audit that was being made is none."""
    for folder in sorted(run.path.glob("audits/*/")):
        yield from _readable(folder)
        if (folder / "making.json").is_file():
            yield from _pictures(run, folder / "pairs.jsonl", _Pair)
    yield from _pictures(run, run.path / "audits" / "canary.jsonl", _Shown)
    try:
        accepted_drifts(run.path)
    except DataError as error:
        yield from error.faults


def _readable(folder: Path) -> Iterator[Fault]:
    """Journals, ledger and numbers that cannot be read, and answers of another judge."""
    for name in ("answers.jsonl", "canary.jsonl"):
        try:
            answers = JudgmentJournal(folder / name).read()
        except DataError as error:
            yield from error.faults
            continue
        for number, answer in enumerate(answers, start=1):
            if answer.judge != folder.name:
                where = f"{folder / name} line {number}"
                yield Fault(where, "misplaced", f"an answer of {answer.judge!r}", f"one of {folder.name!r}", FIX)
    try:
        read_calls(folder / "calls.jsonl")
        for name in ("audit.json", "canary.json", "making.json"):
            if (folder / name).is_file():
                read_json(folder / name)
    except DataError as error:
        yield from error.faults


def _pictures(run: Run, path: Path, shape: type[_Pair] | type[_Shown]) -> Iterator[Fault]:
    """Pictures that are named and not there, or have other bytes."""
    try:
        rows = msgspec.json.Decoder(shape).decode_lines(Journal(path).read())
    except (msgspec.DecodeError, ValueError) as error:
        yield Fault(str(path), "audit", str(error), "what `audit` wrote there", FIX)
        return
    named = {side for row in rows for side in ((row.before, row.after) if isinstance(row, _Pair) else (row,))}
    for side in sorted(named, key=lambda one: one.file):
        file = run.path / side.file
        found = f"sha256 {sha256_file(file)}" if file.is_file() else "no file"
        if found != f"sha256 {side.picture}":
            yield Fault(str(file), "sha256", found, f"sha256 {side.picture}, as in {path.parent.name}/{path.name}", FIX)
