"""Audits and canaries of several runs put together: all answers and calls, the fullest set of pairs, every canary question."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from longbanana_nb.files import read_json
from longbanana_nb.runs.drift import ACCEPTED, Drift
from longbanana_nb.runs.journal import Journal
from longbanana_nb.runs.judgments import JudgmentJournal
from longbanana_nb.runs.run import Run

ANSWERS = ("answers.jsonl", "canary.jsonl")
OF_PAIRS = ("making.json", "pairs.jsonl", "audit.json")


def unite_audits(runs: Sequence[Run], building: Path, accepted: Iterable[Drift]) -> None:
    """Put the audits of all runs below `building`; ledgers are united where those of judges are.

    Of a judge audited in several runs the pairs of the fullest audit stand (of equal ones the newest), and all answers are kept:
    an audit of the joined run asks none of them again. Canary sets are united question by question.
    """
    for judge in sorted({path.name for run in runs for path in run.path.glob("audits/*") if path.is_dir()}):
        place = PurePosixPath("audits", judge)
        for name in ANSWERS:
            unite_answers([run.path / place / name for run in runs], building / place / name)
        held = [run for run in runs if (run.path / place / "making.json").is_file()]
        if held:
            _take_pairs(max(held, key=lambda run: _fullness(run.path / place / "audit.json")), place, building)
        was_accepted = [line for run in runs for line in Journal(run.path / place / ACCEPTED).lines()]
        now = [msgspec.json.encode(one) for one in accepted if one.judge == judge]
        Journal(building / place / ACCEPTED).append_many(dict.fromkeys([*was_accepted, *now]))
    frozen = [line for run in runs for line in Journal(run.path / "audits" / "canary.jsonl").lines()]
    Journal(building / "audits" / "canary.jsonl").append_many(dict.fromkeys(frozen))


def unite_answers(sources: Iterable[Path], target: Path) -> None:
    """Answers of several journals in one: each once, in the order of their time."""
    answers = [answer for source in sources for answer in JudgmentJournal(source).read()]
    unique = {msgspec.json.encode(answer): answer for answer in answers}
    JudgmentJournal(target).append_many(sorted(unique.values(), key=lambda answer: answer.at))


def _take_pairs(run: Run, place: PurePosixPath, building: Path) -> None:
    for name in OF_PAIRS:
        if (source := run.path / place / name).is_file():
            (building / place).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, building / place / name)
    if (pictures := run.path / place / "pictures").is_dir():
        shutil.copytree(pictures, building / place / "pictures", ignore=shutil.ignore_patterns("*.part"))


def _fullness(path: Path) -> tuple[int, str]:
    """How many questions an audit has answers to, and when the last of them was given."""
    told = read_json(path) if path.is_file() else {}
    known = told if isinstance(told, dict) else {}
    return int(known.get("answered") or 0), str(known.get("at") or "")
