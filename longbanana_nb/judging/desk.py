"""Where a model judge's questions go out: made ready to travel, paid, written down, tried again, and never more than allowed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import Incomplete
from longbanana_nb.judging.bills import Bill, Tariff, tokens
from longbanana_nb.judging.estimates import inline_bytes, pictures_of
from longbanana_nb.providers.contracts import (
    Adapter,
    Part,
    Picture,
    ProviderError,
    Reply,
    Request,
    Text,
    ToolResult,
    Usage,
    UserMessage,
)
from longbanana_nb.providers.retry import Attempt, Retry, tried

if TYPE_CHECKING:
    from longbanana_nb.judging.uploading import Uploads
    from longbanana_nb.providers.catalogue import Model
    from longbanana_nb.runs import Budget, Ledger
    from longbanana_nb.runs.commits import Commits
    from longbanana_nb.runs.judge_spec import Sending
    from longbanana_nb.runs.ledger import Reservation

ROLE = "judge"


class StopAsking(Exception):  # noqa: N818 - a state of the work, not a fault of the program
    """A question was not put, or not put again, because the asking is to end."""


@dataclass(slots=True)
class Flight:
    """Bytes of requests on their way: at most so many, but always at least one request."""

    max_bytes: int
    _now: int = 0
    _free: asyncio.Condition = field(default_factory=asyncio.Condition)

    @contextlib.asynccontextmanager
    async def room(self, size: int) -> AsyncIterator[None]:
        """Wait for room for a request of this size, and hold it."""
        async with self._free:
            await self._free.wait_for(lambda: self._now == 0 or self._now + size <= self.max_bytes)
            self._now += size
        try:
            yield
        finally:
            async with self._free:
                self._now -= size
                self._free.notify_all()


@dataclass(slots=True)
class Desk:
    """One judge's way to its model. Used by one event loop.

    Args:
        is_over: whether no question is to be put again.
    """

    adapter: Adapter
    model: Model
    sending: Sending
    retry: Retry
    tariff: Tariff
    ledger: Ledger
    budget: Budget
    commits: Commits
    flight: Flight
    is_over: Callable[[], bool]
    uploads: Uploads | None = None
    role: str = ROLE  # as which calls are written down
    total: Bill = field(default_factory=Bill)
    waiting: set[asyncio.Task[Any]] = field(default_factory=set)  # tasks between two attempts
    in_flight: int = 0
    settled: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def reserved(self, most: float) -> Reservation:
        """Set aside the most a call may cost; where only calls on their way stand against it, their end is waited for.

        Raises:
            Incomplete: where the budget does not allow it whatever they cost.
        """
        async with self.settled:
            while True:
                try:
                    reservation = self.budget.reserve(most)
                except Incomplete:
                    if self.in_flight == 0:
                        raise
                    await self.settled.wait()
                else:
                    self.in_flight += 1
                    return reservation

    async def settle(self) -> None:
        """Say that a call has been settled."""
        async with self.settled:
            self.in_flight -= 1
            self.settled.notify_all()

    async def ask(self, request: Request, bill: Bill, *, keeps_last_mark: bool = True) -> Reply:
        """Put one question.

        Args:
            keeps_last_mark: whether what stands behind the first cache mark is asked with again, so that keeping it pays.

        Raises:
            ProviderError: where it brought no reply. Incomplete: the budget. StopAsking: the asking is to end.
        """
        travelling = await self.ready(request, keeps_last_mark=keeps_last_mark)
        async with self.flight.room(inline_bytes(travelling)):
            return await _Call(self, travelling, bill).made()

    async def ready(self, request: Request, *, keeps_last_mark: bool = True) -> Request:
        """The request as it travels: its cache marks set, its pictures laid down with the provider where that is the policy."""
        cached = replace(request if keeps_last_mark else with_one_mark(request), cache=self.sending.cache)
        if self.uploads is None:
            return cached
        messages = [await self._by_handle(one) if isinstance(one, UserMessage) else one for one in cached.messages]
        return replace(cached, messages=tuple(messages))

    async def _by_handle(self, message: UserMessage) -> UserMessage:
        return UserMessage(tuple([await self._part_by_handle(part) for part in message.parts]))

    async def _part_by_handle(self, part: Part) -> Part:
        if isinstance(part, Text) or self.uploads is None:
            return part
        if isinstance(part, Picture):
            return await self.uploads.laid_down(part)
        inner = [one if isinstance(one, Text) else await self.uploads.laid_down(one) for one in part.parts]
        return replace(part, parts=tuple(inner))


@dataclass(slots=True)
class _Call:
    """One paid call with all its attempts."""

    desk: Desk
    request: Request
    bill: Bill
    most: float = 0.0
    attempts: int = 0
    lost: int = 0  # attempts without a reply that may have been paid
    number: int = 0
    is_travelling: bool = False
    reserved: list[Reservation] = field(default_factory=list)  # one for each lost attempt, one for the present one

    async def made(self) -> Reply:
        """Reserve, write down, ask, write down, settle."""
        desk = self.desk
        self.most = desk.tariff.most(self.request)
        self.reserved.append(await desk.reserved(self.most))
        cost = None
        try:
            self.number, line = desk.ledger.opening(desk.role, desk.model.id, self.most)
            await desk.commits.durable(desk.ledger.journal, line)
            reply = await self._tried()
            cost = desk.tariff.cost(reply.usage)
            self._close(cost, reply.stop, reply.usage)
            for bill in (self.bill, desk.total):
                bill.add(reply.usage, cost)
            return reply
        finally:
            present = cost if cost is not None else self.most if self.is_travelling else 0.0
            for reservation, spent in zip(self.reserved, [self.most] * self.lost + [present], strict=False):
                reservation.settle(spent)
            await desk.settle()

    async def _tried(self) -> Reply:
        task = asyncio.current_task()
        try:
            return await tried(self._attempt, self.desk.retry, self._log)
        except ProviderError as error:
            self._close(0.0, error.kind)
            raise
        except (StopAsking, Incomplete):
            self._close(0.0, "stopped")
            raise
        except asyncio.CancelledError:
            if not self.is_travelling:
                self._close(0.0, "stopped")
            raise
        finally:
            self.desk.waiting.discard(task)

    async def _attempt(self) -> Reply:
        self.desk.waiting.discard(asyncio.current_task())
        self.is_travelling = True
        try:
            reply = await self.desk.adapter.ask(self.request)
        except ProviderError:
            self.is_travelling = False
            raise
        self.is_travelling = False
        return reply

    def _log(self, attempt: Attempt) -> None:
        self.attempts = attempt.number
        self.lost += attempt.maybe_paid
        if attempt.wait_s is None:
            return
        if self.desk.is_over():
            raise StopAsking
        if attempt.maybe_paid:
            self.reserved.append(self.desk.budget.reserve(self.most))
        if (task := asyncio.current_task()) is not None:
            self.desk.waiting.add(task)

    def _close(self, cost: float, outcome: str, usage: Usage | None = None) -> None:
        """Write the call's end down; it reaches the disk with the answer, or with the next call."""
        used = {**tokens(usage), "pictures": len(pictures_of(self.request))} if usage is not None else None
        maybe_usd = self.lost * self.most
        line = self.desk.ledger.closing(self.number, cost, outcome, used, attempts=self.attempts, maybe_usd=maybe_usd)
        self.desk.commits.add(self.desk.ledger.journal, line)


def with_one_mark(request: Request) -> Request:
    """The request with its first cache mark only."""
    is_behind = False

    def kept(part: Part) -> Part:
        nonlocal is_behind
        if isinstance(part, ToolResult) or not part.ends_prefix:
            return part
        was_behind, is_behind = is_behind, True
        return replace(part, ends_prefix=False) if was_behind else part

    messages = [
        UserMessage(tuple(kept(part) for part in one.parts)) if isinstance(one, UserMessage) else one for one in request.messages
    ]
    return replace(request, messages=tuple(messages))
