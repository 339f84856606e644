"""Judging of a run by asking a model: jobs go out together, and every answer is on disk before it counts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import CallError, DataError, Incomplete
from longbanana_nb.judging import batching
from longbanana_nb.judging.bills import Bill, Tariff, tokens
from longbanana_nb.judging.desk import Desk, Flight, StopAsking
from longbanana_nb.judging.forecasts import plan_ahead
from longbanana_nb.judging.halts import halt_of
from longbanana_nb.judging.handles import Handles, open_handles
from longbanana_nb.judging.keeping import Keeper
from longbanana_nb.judging.model_jobs import Line, Maker, Work
from longbanana_nb.judging.model_protocols import ModelAnswer, ModelProtocol
from longbanana_nb.judging.preflight import Ready, ready_to_ask
from longbanana_nb.judging.summary import Money, Summary
from longbanana_nb.judging.units import OpenCandidate, Opening, asked_cases, is_open
from longbanana_nb.judging.uploading import Uploads
from longbanana_nb.providers.connecting import connect
from longbanana_nb.providers.contracts import ProviderError, Reply, Request
from longbanana_nb.providers.retry import Retry
from longbanana_nb.runs import Budget, Ledger, graceful_stop, judge_sha256, reusable_answers, spent_in
from longbanana_nb.runs.commits import Commits, committing
from longbanana_nb.runs.experiment import Limits
from longbanana_nb.runs.interrupts import Stop
from longbanana_nb.runs.judge_spec import Sending
from longbanana_nb.runs.own_loop import in_own_loop
from longbanana_nb.runs.progress import progress_bar

if TYPE_CHECKING:
    from longbanana_nb.release import Evaluation, Release
    from longbanana_nb.runs import JudgeSpec, Run

WAKE_S = 0.2  # between two looks whether a stop was asked for
GRACE_S = 60.0  # for what is on its way when a stop is asked for


@dataclass(frozen=True, slots=True)
class Patience:
    """How long things are waited for, in seconds; tests make it short."""

    retry: Retry = field(default_factory=Retry)
    grace_s: float = GRACE_S
    batches: batching.Waiting = field(default_factory=batching.Waiting)


def judge_with_model(
    run: Run,
    release: Release,
    profile: JudgeSpec,
    *,
    protocols: Mapping[str, ModelProtocol],
    limits: Limits | None = None,
    reuse: Iterable[str | Path] = (),
    retry: Collection[str] = (),
    patience: Patience | None = None,
) -> Summary:
    """Answer, by asking a model, every planned check of every candidate that has no current valid answer.

    Works the same in a script, in a cell with a running event loop and under papermill. The first Ctrl-C or SIGTERM stops the
    asking: what is on its way comes back and is kept. Replies that cannot be read are asked again as often as `reask` says.

    Args:
        protocols: the model protocols there are, by name.
        limits: what the whole experiment may take: dollars (spent before included), requests and bytes on their way, seconds.
        reuse: other runs, whose valid answers are taken by key and whose uploads are used while they last.
        retry: reasons of invalid answers (for example refused, filtered) that are asked again once now.

    Raises:
        CallError: before the first call: a retired model, parameters or a way to send it does not take, no key, a limit in
            dollars without a price; or what the provider refuses as a whole (a bad key, an unknown model).
        DataError: where the judge's name stands for another judge in this run.
        Incomplete: interruption, budget, a batch that is not done, a provider that cannot be reached; answers are kept.
    """
    if profile.protocol not in protocols:
        raise CallError(f"judge {profile.name!r}: {profile.protocol!r} asks no model; there are: {', '.join(sorted(protocols))}.")
    limits, reuse, patience = limits or Limits(), list(reuse), patience or Patience()
    protocol = protocols[profile.protocol]
    ready = ready_to_ask(profile, max_usd=limits.max_usd)
    versions = protocol.versions(profile)
    sha256 = judge_sha256(profile, versions)
    summary = Summary(profile.name)
    with run.owner():
        reusable = reusable_answers(reuse)
        if ready.missing is not None and is_open(Opening(run, profile, sha256, reusable, summary, retry), release):
            ready.require_key()
        run.add_judge(profile, sha256, versions=versions)
        opening = Opening(run, profile, sha256, reusable, summary, retry)
        spent = spent_in(run)
        budget = Budget(limits.max_usd, spent.usd + spent.open_usd)
        handles = open_handles(run.path, reuse, ready.account)
        with graceful_stop() as stop:
            judging = Judging(release, release.evaluation(), protocol, opening, ready, limits, budget, handles, patience, stop)
            in_own_loop(judging.all)
            stop.require_complete(summary.answered, summary.expected - summary.no_candidate, "answers")
    if summary.failures:
        raise Incomplete("\n".join([summary.text(), "Some candidates could not be judged; the other answers are kept."]))
    return summary


@dataclass(slots=True)
class Judging:
    """A model judge at work on a run."""

    release: Release
    evaluation: Evaluation
    protocol: ModelProtocol
    opening: Opening
    ready: Ready
    limits: Limits
    budget: Budget
    handles: Handles
    patience: Patience
    stop: Stop
    halt: BaseException | None = None  # why the work ends early
    _progress: Callable[[int], Any] = field(default=lambda _: None)

    @property
    def sending(self) -> Sending:
        """How requests travel."""
        return self.opening.profile.sending or Sending()

    def is_over(self) -> bool:
        """Whether no question is to be put any more."""
        return self.halt is not None or self.stop()

    async def all(self) -> None:
        """Open, ask, ask again what deserves it, until nothing is left or the work has to end."""
        opened = await asyncio.to_thread(lambda: list(self._opened()))
        units = sum(len(one.units) for _, one in opened)
        if not units:
            return
        ahead = (self.opening, self.ready, self.protocol, self.sending, opened)
        self.opening.summary.planned = await asyncio.to_thread(plan_ahead, *ahead)
        async with committing() as commits:
            keeper = Keeper(self.opening, commits)
            desk = self._desk(commits)
            try:
                with progress_bar(f"judge {self.opening.profile.name}", units) as bar:
                    self._progress = bar.update
                    await self._rounds(desk, keeper, opened)
            finally:
                if desk.uploads is not None:
                    await desk.uploads.close()
                await desk.adapter.close()
                self.opening.summary.money = self._money(desk)
        if self.halt is not None:
            raise self.halt

    def _opened(self) -> Iterator[tuple[Maker, OpenCandidate]]:
        for case, checks in asked_cases(self.opening.run, self.release, self.evaluation):
            texts = {check.check_id: check for check in self.evaluation.checks[case.case_id]}
            maker = Maker(self.opening.profile, self.ready.model, self.release.cases[case.case_id], texts)
            for opened in self.opening.candidates(case, checks):
                yield maker, opened

    def _desk(self, commits: Commits) -> Desk:
        adapter = connect(
            self.ready.model, key=self.ready.key, timeout_s=self.limits.timeout_s, connections=self.limits.concurrency
        )
        flight, retry = Flight(int(self.limits.max_inflight_mb * 1e6)), self.patience.retry
        needed_s = batching.LIFE_S if self.sending.batch else self.limits.timeout_s
        is_uploaded = self.sending.images == "uploaded"
        return Desk(
            adapter=adapter,
            model=self.ready.model,
            sending=self.sending,
            retry=retry,
            tariff=Tariff(self.ready.model, self.ready.price),
            ledger=Ledger(self.opening.calls),
            budget=self.budget,
            commits=commits,
            flight=flight,
            is_over=self.is_over,
            uploads=Uploads(adapter, self.handles, retry, commits, flight, needed_s) if is_uploaded else None,
        )

    def _money(self, desk: Desk) -> Money:
        is_priced, total = self.ready.price is not None, desk.total
        return Money(
            total.calls,
            tokens(total.usage),
            total.cost_usd if is_priced else None,
            desk.uploads.made if desk.uploads is not None else 0,
        )

    async def _rounds(self, desk: Desk, keeper: Keeper, opened: list[tuple[Maker, OpenCandidate]]) -> None:
        """Ask everything; then again what could not be read, until nothing of it is left."""
        try:
            if desk.uploads is not None:
                await desk.uploads.take_stock()
            while opened and not self.is_over():
                if self.sending.batch:
                    await batching.Batching(self, desk, keeper, self.patience.batches).work(opened)
                else:
                    await self._ask_all(desk, keeper, self._line(opened))
                if self.halt is None:
                    await keeper.release()
                opened = [(maker, one) for maker, one in opened if self._is_open(one)]
        except (ProviderError, Incomplete) as error:
            self.halt = self.halt or halt_of(self.opening.profile.name, error)

    def _line(self, opened: list[tuple[Maker, OpenCandidate]]) -> Line:
        line = Line(self.sending.cache != "off")
        for maker, one in opened:
            line.join(maker.works(one, one.units))
        return line

    def _is_open(self, one: OpenCandidate) -> bool:
        """Keep of a candidate's units those that are asked again in the next round."""
        failed = [unit for unit in one.units if unit.failed_now]
        for unit in failed:
            unit.failed_now = False
        one.units = [unit for unit in failed if self.opening.is_asked_again(unit.before)]
        return bool(one.units)

    async def _ask_all(self, desk: Desk, keeper: Keeper, line: Line) -> None:
        running: dict[asyncio.Task[None], Work] = {}
        ended: asyncio.Queue[asyncio.Task[None]] = asyncio.Queue()
        stopped_at: float | None = None
        try:
            while True:
                while len(running) < self.limits.concurrency and not self.is_over() and (work := line.next()) is not None:
                    task = asyncio.create_task(self._ask(desk, keeper, work))
                    task.add_done_callback(ended.put_nowait)
                    running[task] = work
                if not running:
                    return
                for task in await _some(ended, WAKE_S):
                    line.ended(running.pop(task))
                    if not task.cancelled():
                        task.result()
                if self.is_over():
                    stopped_at = stopped_at or time.monotonic()
                    is_late = time.monotonic() - stopped_at > self.patience.grace_s
                    for task in list(running if is_late else desk.waiting):
                        task.cancel()
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _ask(self, desk: Desk, keeper: Keeper, work: Work) -> None:
        """Carry out one job and keep its answers; what ends the whole work is noted, not raised."""
        bill = Bill()

        async def ask(request: Request) -> Reply:
            is_alone = self.opening.profile.protocol == "direct" and not work.shares_references
            return await desk.ask(request, bill, keeps_last_mark=not is_alone)

        try:
            await self.take(keeper, work, await self.answers(work, ask, keeper), bill)
        except StopAsking:
            return
        except DataError as fault:
            self.fail(work, fault)
        except (ProviderError, Incomplete) as error:
            self.halt = self.halt or halt_of(self.opening.profile.name, error)

    async def answers(self, work: Work, ask: Callable[[Request], Any], keeper: Keeper) -> list[ModelAnswer]:
        """The answers of one job. A request that the provider cannot take is one question's fault only where others worked."""
        try:
            return await self.protocol.judge(work.job, ask)
        except ProviderError as error:
            if error.kind != "bad_request" or error.status == 404 or error.is_quota or not keeper.has_succeeded:
                raise
            return [ModelAnswer(check.check_id, None, "transport", raw=str(error)[:4000]) for check in work.job.checks]

    async def take(self, keeper: Keeper, work: Work, answers: list[ModelAnswer], bill: Bill, *, from_batch: bool = False) -> None:
        """Keep the answers of a job and show the progress."""
        await keeper.keep(work, answers, bill, may_be_storm=not from_batch)
        self._progress(len(work.units))

    def fail(self, work: Work, fault: DataError) -> None:
        """Note a picture that cannot be read; it keeps nobody else from being judged."""
        record = work.opened.record
        text = f"system {record.system!r}, case {record.case_id!r}: {fault}"
        if text not in self.opening.summary.failures:
            self.opening.summary.failures.append(text)


async def _some(ended: asyncio.Queue[asyncio.Task[None]], timeout_s: float) -> list[asyncio.Task[None]]:
    """What has ended, all of it; none where nothing does within so many seconds."""
    try:
        async with asyncio.timeout(timeout_s):
            found = [await ended.get()]
    except TimeoutError:
        return []
    while not ended.empty():
        found.append(ended.get_nowait())
    return found
