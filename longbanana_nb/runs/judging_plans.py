"""What a model judge was expected to take, written down before its first call, and what it then took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.runs.journal import Journal
from longbanana_nb.runs.ledger import CallLine, read_calls

if TYPE_CHECKING:
    from longbanana_nb.runs.run import Run

PLANS = "plans.jsonl"


class JudgingPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One line of plans.jsonl: what was open when asking began, and what it would take as the profile sends.

    `most_*` bound a judge that takes turns. Tokens and dollars are None where they are not known; `tokens_in` holds what is read
    from a cache and written to it too. `uncounted` checks cannot be put to the model, or their pictures not be looked at;
    they are in none of the numbers.
    """

    at: str
    judge_sha256: str
    open: int
    uncounted: int
    calls: int
    most_calls: int
    pictures: int
    tokens_in: int | None
    tokens_out: int | None
    usd: float | None
    most_usd: float | None

    def text(self) -> str:
        """In words, without a full stop."""
        turns = f" to {self.most_calls}" if self.most_calls > self.calls else ""
        known = self.tokens_in is not None and self.tokens_out is not None
        tokens = f"{self.tokens_in:,} tokens in, {self.tokens_out:,} out" if known else "tokens unknown"
        dollars = "cost unknown" if self.usd is None else f"about ${self.usd:.4f}"
        most = f", at most ${self.most_usd:.4f}" if turns and self.most_usd is not None else ""
        return f"{self.calls}{turns} calls, {self.pictures} pictures, {tokens}; {dollars}{most}"


@dataclass(frozen=True, slots=True)
class Taken:
    """What calls took: closed ones, and the most that unclosed ones, and attempts without a reply, may have cost."""

    calls: int
    pictures: int
    tokens_in: int
    tokens_out: int
    usd: float
    open_usd: float


def read_plans(path: Path) -> list[JudgingPlan]:
    """The lines of a plans.jsonl by time, none where there is no file; DataError where one is broken."""
    try:
        found = msgspec.json.Decoder(JudgingPlan).decode_lines(Journal(path).read())
    except (msgspec.DecodeError, ValueError) as error:
        fault = Fault(str(path), "plan", str(error), "one plan a line", "Restore the file from a copy, or remove it.")
        raise DataError("The plans of a judge cannot be read.", [fault]) from None
    return sorted(found, key=lambda plan: plan.at)


def plan_folders(run: Run) -> Iterator[tuple[str, str, Path]]:
    """(judge, "verdicts" or "audit", folder) of everything that paid calls of judges are written down for."""
    for name in run.judges:
        for what, folder in (("verdicts", run.path / "judgments" / name), ("audit", run.path / "audits" / name)):
            if (folder / "calls.jsonl").is_file() or (folder / PLANS).is_file():
                yield name, what, folder


def planned_and_taken(folder: Path) -> list[tuple[JudgingPlan | None, Taken]]:
    """Each plan with what was taken until the next one; first, under None, what was taken before any plan, if anything was."""
    plans, calls = read_plans(folder / PLANS), read_calls(folder / "calls.jsonl")
    closed = {line.id: line for line in calls if line.event == "closed"}
    opened = [(line, closed.get(line.id)) for line in calls if line.event == "opened"]
    starts = [plan.at for plan in plans]
    before = [pair for pair in opened if not starts or pair[0].at < starts[0]]
    found: list[tuple[JudgingPlan | None, Taken]] = [(None, _taken(before))] if before else []
    for plan, end in zip(plans, [*starts[1:], "~"], strict=True):
        found.append((plan, _taken([pair for pair in opened if plan.at <= pair[0].at < end])))
    return found


def _taken(pairs: Sequence[tuple[CallLine, CallLine | None]]) -> Taken:
    ends = [end for _, end in pairs if end is not None]

    def total(*names: str) -> int:
        return sum(int(end.usage.get(name) or 0) for end in ends for name in names)

    maybe = sum(end.maybe_usd for end in ends) + sum(start.max_usd for start, end in pairs if end is None)
    return Taken(
        len(ends), total("pictures"), total("in", "cached", "cache_write"), total("out"), sum(end.cost_usd for end in ends), maybe
    )
