"""Paid calls: a line before and a line after each, and a budget that counts calls in flight."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from longbanana_nb.errors import DataError, Fault, Incomplete
from longbanana_nb.files import utc_now
from longbanana_nb.runs.journal import Journal

if TYPE_CHECKING:
    from longbanana_nb.runs.run import Run

LEDGERS = ("candidates/*/*/*/calls.jsonl", "judgments/*/calls.jsonl", "audits/*/calls.jsonl")


class CallLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """One line of calls.jsonl. `opened` stands before the call with the most it may cost, `closed` after it with what it did.

    `maybe_usd` is the most that attempts without a reply may have cost besides. A cost of nothing where `usage` has tokens, and
    an opening without `max_usd`, are of a model whose price is unknown.
    """

    id: int
    event: Literal["opened", "closed"]
    at: str
    role: str = ""
    model: str = ""
    max_usd: float = 0.0
    cost_usd: float = 0.0
    outcome: str = ""
    usage: dict[str, Any] = {}
    attempts: int = 0
    maybe_usd: float = 0.0


class Ledger:
    """The calls of one candidate, or of one judge. One without its `closed` line may have been paid: it counts with its most."""

    def __init__(self, path: Path) -> None:
        self.journal = Journal(path)
        self._guard = threading.Lock()  # an agent's model and its image tool may be called at once
        self._next = 1 + max((line.id for line in read_calls(path)), default=0)

    def open_call(self, role: str, model: str, max_usd: float) -> int:
        """Write down, durably, that a call is about to be made; returns its number."""
        with self._guard:
            number, line = self.opening(role, model, max_usd)
            self.journal.append(line)
        return number

    def close_call(
        self, number: int, cost_usd: float, outcome: str, usage: dict[str, Any] | None = None, *, maybe_usd: float = 0.0
    ) -> None:
        """Write down what the call cost, what tries without a reply may have cost besides, and how it ended."""
        with self._guard:
            self.journal.append(self.closing(number, cost_usd, outcome, usage, maybe_usd=maybe_usd))

    def opening(self, role: str, model: str, max_usd: float) -> tuple[int, bytes]:
        """The number and the line of a call about to be made, for whoever writes lines together."""
        number, self._next = self._next, self._next + 1
        line = CallLine(id=number, event="opened", at=utc_now(), role=role, model=model, max_usd=max_usd)
        return number, msgspec.json.encode(line)

    def closing(
        self,
        number: int,
        cost_usd: float,
        outcome: str,
        usage: dict[str, Any] | None = None,
        *,
        attempts: int = 0,
        maybe_usd: float = 0.0,
    ) -> bytes:
        """The line of a call that ended."""
        line = CallLine(
            id=number, event="closed", at=utc_now(), cost_usd=cost_usd, outcome=outcome, usage=usage or {},
            attempts=attempts, maybe_usd=maybe_usd,
        )  # fmt: skip
        return msgspec.json.encode(line)


@dataclass(frozen=True, slots=True)
class Spent:
    """What was spent: closed calls, and the most that calls without an end, and attempts without a reply, may have cost."""

    usd: float
    calls: int
    open_usd: float = 0.0
    open_calls: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.usd + other.usd, self.calls + other.calls, self.open_usd + other.open_usd, self.open_calls + other.open_calls
        )


def read_calls(path: Path) -> list[CallLine]:
    """The lines of a calls.jsonl, none where there is no file; DataError where one is broken."""
    try:
        return msgspec.json.Decoder(CallLine).decode_lines(Journal(path).read())
    except (msgspec.DecodeError, ValueError) as error:
        fault = Fault(str(path), "call", str(error), "one call event a line", "Restore the file from a copy.")
        raise DataError("A ledger cannot be read.", [fault]) from None


def united_calls(paths: Iterable[Path]) -> list[bytes]:
    """The calls of several ledgers as the lines of one, numbered anew; a call that stands in several counts once."""
    lines: list[bytes] = []
    known: set[tuple[str, str, str, float]] = set()
    for path in paths:
        closed = {line.id: line for line in read_calls(path) if line.event == "closed"}
        for line in read_calls(path):
            mark = (line.at, line.role, line.model, line.max_usd)
            if line.event != "opened" or mark in known:
                continue
            known.add(mark)
            pair = [line, *([closed[line.id]] if line.id in closed else [])]
            lines += [msgspec.json.encode(msgspec.structs.replace(one, id=len(known))) for one in pair]
    return lines


def spent_on(path: Path) -> Spent:
    """What one calls.jsonl adds up to."""
    lines = read_calls(path)
    closed = {line.id: line for line in lines if line.event == "closed"}
    unclosed = [line for line in lines if line.event == "opened" and line.id not in closed]
    maybe = sum(line.maybe_usd for line in closed.values())
    most = sum(line.max_usd for line in unclosed)
    return Spent(sum(line.cost_usd for line in closed.values()), len(closed), most + maybe, len(unclosed))


def calls_of_judge(run: Run, judge: str) -> Path:
    """Where the calls of a judge are written down."""
    return run.path / "judgments" / judge / "calls.jsonl"


def spent_in(run: Run) -> Spent:
    """What a run has spent: the calls of its candidates, of its judges, and of their audits and canaries.

    Judgments of a judge with a ledger are not counted again; those of one without (judged elsewhere) count by their lines.
    """
    paid = sum((spent_on(path) for pattern in LEDGERS for path in sorted(run.path.glob(pattern))), Spent(0.0, 0))
    return sum((Spent(cost, 1) for cost in _judging_costs(run)), paid)


def _judging_costs(run: Run) -> Iterator[float]:
    decoder = msgspec.json.Decoder(_Cost)
    for folder in sorted(run.path.glob("judgments/*")):
        if (folder / "calls.jsonl").is_file():
            continue
        for path in sorted(folder.glob("*/*.jsonl")):
            for line in decoder.decode_lines(Journal(path).read()):
                if line.cost_usd:
                    yield line.cost_usd


class _Cost(msgspec.Struct, frozen=True):
    cost_usd: float = 0.0


class Budget:
    """Dollars that may be spent. What is reserved for calls in flight is as good as spent until it is settled.

    Args:
        max_usd: the limit; None is no limit.
        spent_usd: what was spent before.
    """

    def __init__(self, max_usd: float | None, spent_usd: float = 0.0) -> None:
        self.max_usd, self.spent_usd, self.reserved_usd = max_usd, spent_usd, 0.0
        self.is_reached = False  # whether a call was refused
        self._guard = threading.Lock()

    def reserve(self, max_usd: float) -> Reservation:
        """Set aside the most a call may cost, before it is made.

        Raises:
            Incomplete: where that could pass the limit; nothing is then set aside.
        """
        with self._guard:
            after = self.spent_usd + self.reserved_usd + max_usd
            if self.max_usd is not None and after > self.max_usd + 1e-9:  # sums of cents are not exact
                self.is_reached = True
                raise Incomplete(
                    f"The budget of ${self.max_usd:.2f} is reached: ${self.spent_usd:.2f} spent, ${self.reserved_usd:.2f} in "
                    f"flight, the next call may cost ${max_usd:.2f}. "
                    "What was answered is kept; raise limits.max_usd and run it again."
                )
            self.reserved_usd += max_usd
        return Reservation(self, max_usd)

    def _settle(self, reserved_usd: float, actual_usd: float) -> None:
        with self._guard:
            self.reserved_usd = max(0.0, self.reserved_usd - reserved_usd)
            self.spent_usd += actual_usd


class Reservation:
    """Dollars set aside for one call."""

    def __init__(self, budget: Budget, max_usd: float) -> None:
        self._budget, self.max_usd, self._is_open = budget, max_usd, True

    def settle(self, actual_usd: float) -> None:
        """Say what the call did cost; 0.0 if it was not made. Only the first word counts."""
        if self._is_open:
            self._is_open = False
            self._budget._settle(self.max_usd, actual_usd)
