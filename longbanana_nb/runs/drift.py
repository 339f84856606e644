"""How far a judge's answers to its canary sets moved, within a run and between runs, and the limit for joining them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.runs.journal import Journal
from longbanana_nb.runs.judgments import Judgment, JudgmentJournal
from longbanana_nb.runs.run import Run

MOST_CHANGED = 0.10
"""The share of canary answers that may differ from the first ones before runs are not joined without a word."""
ACCEPTED = "accepted-drift.jsonl"
Unit = tuple[str, str, str, str]


class Drift(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One round of a canary against the first answers to the same questions, wherever those were given.

    `run` is the name of the folder of the run that holds the round, `first` and `at` are when answering began then and now.
    """

    judge: str
    run: str
    round: int
    first: str
    at: str
    compared: int
    changed: int

    @property
    def is_too_much(self) -> bool:
        """Whether more changed than `MOST_CHANGED`."""
        return self.changed > MOST_CHANGED * self.compared

    def text(self) -> str:
        """For a person."""
        share = 100 * self.changed / self.compared
        return (
            f"{self.changed} of {self.compared} canary answers of {self.judge} ({share:.0f} %) given on {self.at[:10]} differ "
            f"from the first ones, of {self.first[:10]}"
        )


@dataclass(frozen=True, slots=True)
class _Round:
    run: str
    number: int
    answers: tuple[Judgment, ...]


def canary_journal(run: Path, judge: str) -> Path:
    """Where a judge's answers to the canary set of a run are kept."""
    return run / "audits" / judge / "canary.jsonl"


def drifts(runs: Sequence[Run]) -> list[Drift]:
    """Every later round of every judge's canaries in these runs, in the order of their times; valid answers alone are compared.

    A question is known by judge, case, check and picture, so the same one in two runs is compared between them too.
    """
    judges = sorted({path.parent.name for run in runs for path in run.path.glob("audits/*/canary.jsonl")})
    return [one for judge in judges for one in _of_judge(judge, runs)]


def _of_judge(judge: str, runs: Sequence[Run]) -> Iterable[Drift]:
    first: dict[Unit, Judgment] = {}
    for one in sorted(_rounds(judge, runs), key=lambda found: found.answers[0].at):
        pairs = [(first.setdefault(_unit(answer), answer), answer) for answer in one.answers]
        later = [(before, after) for before, after in pairs if before is not after]
        if later:
            changed = sum(before.label != after.label for before, after in later)
            began = min(before.at for before, _ in later)
            yield Drift(judge, one.run, one.number, began, one.answers[0].at, len(later), changed)


def _rounds(judge: str, runs: Sequence[Run]) -> Iterable[_Round]:
    for run in runs:
        by_round: dict[int, dict[Unit, Judgment]] = defaultdict(dict)
        for line in JudgmentJournal(canary_journal(run.path, judge)).read():
            if line.label is not None:
                by_round[line.judge_sample].setdefault(_unit(line), line)
        for number, answers in by_round.items():
            yield _Round(run.path.name, number, tuple(sorted(answers.values(), key=lambda line: line.at)))


def _unit(line: Judgment) -> Unit:
    return line.judge_sha256, line.case_id, line.check_sha256, line.candidate_sha256


def drift_faults(found: Iterable[Drift], runs: Sequence[Run]) -> list[Fault]:
    """What keeps runs from being joined without a word: a judge that was another one on another day, not accepted before."""
    fix = "Judge the later part anew, or accept the difference with --accept-drift; it is then said under every table."
    expected = f"at most {100 * MOST_CHANGED:.0f} % changed"
    before = {(one.judge, one.first, one.at) for run in runs for one in accepted_drifts(run.path)}
    return [
        Fault(f"{one.run}/audits/{one.judge}/canary.jsonl", "drift", one.text(), expected, fix)
        for one in found
        if one.is_too_much and (one.judge, one.first, one.at) not in before
    ]


def accepted_drifts(run: Path) -> list[Drift]:
    """Drifts that were accepted when runs were joined into this one; DataError where a line is broken."""
    decoder, found = msgspec.json.Decoder(Drift), []
    for path in sorted(run.glob(f"audits/*/{ACCEPTED}")):
        try:
            found += decoder.decode_lines(Journal(path).read())
        except (msgspec.DecodeError, ValueError) as error:
            fault = Fault(str(path), "drift", str(error), "one accepted drift a line", "Restore the file from a copy.")
            raise DataError("What was accepted cannot be read.", [fault]) from None
    return list(dict.fromkeys(found))
