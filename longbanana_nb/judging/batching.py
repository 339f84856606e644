"""Batches: handed in once, found again after a kill, waited for within bounds, read once."""

from __future__ import annotations

import asyncio
import datetime as dt
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from longbanana_nb.errors import DataError, Incomplete
from longbanana_nb.files import sha256_bytes, utc_now
from longbanana_nb.judging.bills import Bill, tokens
from longbanana_nb.judging.estimates import parts_of
from longbanana_nb.judging.handles import HandleLine, OpenBatch, encoded
from longbanana_nb.judging.model_jobs import Maker, Work
from longbanana_nb.judging.model_protocols import Unaskable
from longbanana_nb.judging.units import OpenCandidate, Unit
from longbanana_nb.providers.contracts import Batch, BatchItem, Picture, ProviderError, Reply, Request
from longbanana_nb.providers.retry import tried

if TYPE_CHECKING:
    from longbanana_nb.judging.desk import Desk
    from longbanana_nb.judging.keeping import Keeper
    from longbanana_nb.judging.model_engine import Judging
    from longbanana_nb.runs.ledger import Reservation

LIFE_S = 25 * 3600.0  # a batch may be worked on for a day
ROLE = "batch"
SKEW_S = 600.0  # between our clock and the provider's
REQUESTS, BYTES = 100_000, 256_000_000  # of one batch, where the catalogue says nothing
FRAME_BYTES = 3000  # of a request besides its texts and pictures


@dataclass(frozen=True, slots=True)
class Waiting:
    """Seconds: how long a batch is waited for in one call, how often it is looked at, and when a lost one is given up."""

    most_s: float = 600.0
    first_s: float = 5.0
    longest_s: float = 60.0
    settle_s: float = 30.0


@dataclass(slots=True)
class _Packed:
    """Requests of one batch to be."""

    works: dict[str, Work] = field(default_factory=dict)
    items: list[BatchItem] = field(default_factory=list)
    size: int = 0
    reserved: list[Reservation] = field(default_factory=list)

    @property
    def most(self) -> float:
        """The most it may cost."""
        return sum(one.max_usd for one in self.reserved)


@dataclass(slots=True)
class Batching:
    """The batches of one judge in one round."""

    judging: Judging
    desk: Desk
    keeper: Keeper
    waiting: Waiting
    open: list[OpenBatch] = field(default_factory=list)
    reserved: dict[str, list[Reservation]] = field(default_factory=dict)  # by label
    units: dict[str, tuple[Maker, OpenCandidate, Unit]] = field(default_factory=dict)  # by key

    async def work(self, opened: Sequence[tuple[Maker, OpenCandidate]]) -> None:
        """Read what was handed in earlier, hand in the rest, wait for it, read it.

        Raises:
            Incomplete: where batches are still worked on after the time that they are waited for, or the budget is reached.
        """
        self.units = {unit.key: (maker, one, unit) for maker, one in opened for unit in one.units}
        profile = self.judging.opening
        self.open = self.judging.handles.batches_of(profile.profile.name, profile.judge_sha256)
        for batch in list(self.open):
            if not batch.handle:
                await self._find(batch)
        held = {key for batch in self.open for keys in batch.items.values() for key in keys}
        reached = None
        try:
            async for packed in self._packed(opened, held):
                await self._hand_in(packed)
        except Incomplete as error:
            reached = error
        await self._wait()
        if reached is not None:
            raise reached

    async def _packed(self, opened: Sequence[tuple[Maker, OpenCandidate]], held: set[str]) -> AsyncIterator[_Packed]:
        """What is in no batch yet, as batches within the provider's limits and the budget."""
        limits, packed = self.desk.model.limits, _Packed()
        most_items, most_bytes = limits.batch_requests or REQUESTS, limits.batch_bytes or BYTES
        for maker, one in opened:
            for work in maker.works(one, [unit for unit in one.units if unit.key not in held]):
                if self.judging.is_over():
                    break
                request = await self._request(work)
                if request is None:
                    continue
                size = _size(request)
                if packed.items and (len(packed.items) >= most_items or packed.size + size > most_bytes):
                    yield packed
                    packed = _Packed()
                try:
                    reservation = self.desk.budget.reserve(self.desk.tariff.most(request))
                except Incomplete:
                    if packed.items:
                        yield packed
                    raise
                packed.reserved.append(reservation)
                packed.works[_id(work)] = work
                packed.items.append(BatchItem(_id(work), request))
                packed.size += size
        if packed.items and not self.judging.is_over():
            yield packed

    async def _request(self, work: Work) -> Request | None:
        """The request of a job as it travels; None where it cannot be put, and then that is its answer."""
        try:
            request = await asyncio.to_thread(self.judging.protocol.first_request, work.job)
        except Unaskable:
            await self._take(work, ProviderError("transport", "never asked"), None)
            return None
        except DataError as fault:
            self.judging.fail(work, fault)
            return None
        return await self.desk.ready(request, keeps_last_mark=work.shares_references)

    async def _hand_in(self, packed: _Packed) -> None:
        opening = self.judging.opening
        label = f"lb-{opening.judge_sha256[:12]}-{uuid.uuid4().hex[:12]}"
        keys = {name: [unit.key for unit in work.units] for name, work in packed.works.items()}
        call, line = self.desk.ledger.opening(ROLE, self.desk.model.id, packed.most)
        await self.desk.commits.durable(self.desk.ledger.journal, line)
        batch = OpenBatch(label, utc_now(), call, keys)
        await self._note(batch, "intent", items=keys, sha256=sha256_bytes("\n".join(keys).encode()))
        self.reserved[label] = packed.reserved
        self.open.append(batch)
        once = replace(self.desk.retry, repeats_paid=False)
        try:
            given = await tried(lambda: self.desk.adapter.open_batch(packed.items, label), once)
        except ProviderError as error:
            if not error.maybe_paid:
                await self._lose(batch)
                raise
            await self._find(batch)
            if batch not in self.open:
                raise Incomplete(
                    f"A batch of {len(batch.items)} questions did not reach the provider: {error} Run the same command again."
                ) from None
        else:
            await self._adopt(batch, given)

    async def _adopt(self, batch: OpenBatch, given: Batch) -> None:
        batch.handle = given.handle
        self.judging.handles.known.add(given.handle)
        await self._note(batch, "handed_in")

    async def _find(self, batch: OpenBatch) -> None:
        """Find a batch again whose handle was not written down; one that never reached the provider is given up."""
        began = dt.datetime.fromisoformat(batch.at)
        since = (began - dt.timedelta(seconds=SKEW_S)).isoformat(timespec="seconds").replace("+00:00", "Z")
        while True:
            there = await tried(lambda: self.desk.adapter.batches(since), self.desk.retry)
            new = [one for one in there if one.handle not in self.judging.handles.known]
            same = [one for one in new if one.label == batch.label]
            alike = [one for one in new if not one.label and one.requests in (None, len(batch.items))]
            if found := (same or sorted(alike, key=lambda one: one.created_at or "")):
                await self._adopt(batch, found[0])
                return
            if (dt.datetime.now(dt.UTC) - began).total_seconds() >= self.waiting.settle_s:
                await self._lose(batch)
                return
            await asyncio.sleep(min(1.0, self.waiting.settle_s / 4))

    async def _lose(self, batch: OpenBatch) -> None:
        """Give up a batch that the provider does not have; nothing was paid for it."""
        self.open.remove(batch)
        self._close(batch, 0.0, "not_made", None)
        await self._note(batch, "lost")

    async def _wait(self) -> None:
        """Look at the open batches until all are read."""
        pause, ends = self.waiting.first_s, time.monotonic() + self.waiting.most_s
        while self.open and not self.judging.is_over():
            for batch in list(self.open):
                state = await tried(lambda handle=batch.handle: self.desk.adapter.batch(handle), self.desk.retry)  # type: ignore[misc]
                if state.state != "working":
                    await self._read(batch, state)
            if not self.open:
                return
            if time.monotonic() + pause > ends:
                raise Incomplete(self._come_back())
            await self._pause(pause)
            pause = min(self.waiting.longest_s, 1.5 * pause)

    async def _pause(self, seconds: float) -> None:
        """Wait, but not when a stop is asked for."""
        ends = time.monotonic() + seconds
        while not self.judging.is_over() and (left := ends - time.monotonic()) > 0:
            await asyncio.sleep(min(left, 0.2))

    def _come_back(self) -> str:
        questions = sum(len(batch.items) for batch in self.open)
        handles = ", ".join(batch.handle for batch in self.open)
        name = self.judging.opening.profile.name
        return (
            f"judge {name!r}: {len(self.open)} batches with {questions} questions are still worked on ({handles}); a batch may "
            "take a day. Come back later and run the same command again: nothing is handed in twice."
        )

    async def _read(self, batch: OpenBatch, state: Batch) -> None:
        """Put the answers of a batch into the journals, then write down that it is read."""
        given = self.desk.adapter.batch_replies(batch.handle)
        replies = {name: outcome async for name, outcome in given} if state.state == "ended" else {}
        if replies and not set(replies) & set(batch.items):  # somebody else's, of the same size and time
            batch.handle = ""
            await self._find(batch)
            return
        missing = ProviderError("transport", f"no outcome in the batch {batch.handle} ({state.detail or state.state})")
        bill = Bill()
        for name, keys in batch.items.items():
            outcome = replies.get(name, missing)
            cost = self.desk.tariff.cost(outcome.usage) if isinstance(outcome, Reply) else 0.0
            if isinstance(outcome, Reply):
                bill.add(outcome.usage, cost)
            if (work := self._work_of(keys)) is not None:
                await self._take(work, outcome, cost)
        self.desk.total.merge(bill)
        self._close(batch, bill.cost_usd, state.state, bill)
        await self._note(batch, "read")
        self.open.remove(batch)

    def _work_of(self, keys: Sequence[str]) -> Work | None:
        """The job of a request, as far as its units are still open; None where what was asked has changed since."""
        found = [self.units[key] for key in keys if key in self.units]
        if len(found) != len(keys):
            return None
        maker, opened, _ = found[0]
        return maker.work(opened, tuple(unit for _, _, unit in found))

    async def _take(self, work: Work, outcome: Reply | ProviderError, cost: float | None) -> None:
        bill = Bill()

        async def given(_: Request) -> Reply:
            if isinstance(outcome, Reply):
                bill.add(outcome.usage, cost or 0.0)
                return outcome
            raise outcome if outcome.is_filtered or outcome.is_too_large else ProviderError("transport", str(outcome))

        await self.judging.take(self.keeper, work, await self.judging.protocol.judge(work.job, given), bill, from_batch=True)

    def _close(self, batch: OpenBatch, cost: float, outcome: str, bill: Bill | None) -> None:
        line = self.desk.ledger.closing(batch.call, cost, outcome, tokens(bill.usage) if bill is not None else None, attempts=1)
        self.desk.commits.add(self.desk.ledger.journal, line)
        for n, reservation in enumerate(self.reserved.pop(batch.label, [])):
            reservation.settle(cost if n == 0 else 0.0)

    async def _note(self, batch: OpenBatch, event: str, **more: object) -> None:
        opening, handles = self.judging.opening, self.judging.handles
        line = HandleLine(
            kind="batch",
            event=event,  # type: ignore[arg-type]
            at=batch.at if event == "intent" else utc_now(),
            account=handles.account,
            handle=batch.handle,
            label=batch.label,
            judge=opening.profile.name,
            judge_sha256=opening.judge_sha256,
            call=batch.call,
            **more,  # type: ignore[arg-type]
        )
        await self.desk.commits.durable(handles.journal, encoded(line))


def _id(work: Work) -> str:
    """The id of a request in a batch: from what is asked and how often it was, so that no two rounds share one."""
    keys = "".join(f"{unit.key}{unit.attempt}" for unit in work.units)
    return sha256_bytes(keys.encode())[:48]


def _size(request: Request) -> int:
    """About how many bytes a request has on the wire."""
    total = FRAME_BYTES + len(request.system)
    for part in parts_of(request):
        total += (len(part.data or b"") * 4 // 3 + 100) if isinstance(part, Picture) else 2 * len(part.text) + 30
    return total
