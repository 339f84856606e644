"""Asking a text model about checks: within a budget, several at once, each answer durable before it counts, none asked twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from longbanana_nb.errors import Incomplete
from longbanana_nb.files import utc_now
from longbanana_nb.judging.annotate.drafts import ModelDraft
from longbanana_nb.judging.annotate.questions import Said, Unreadable, read_said, request_for
from longbanana_nb.judging.asking import invalid_of
from longbanana_nb.judging.bills import Bill
from longbanana_nb.judging.desk import Desk, StopAsking
from longbanana_nb.judging.quoting import kept_raw, kept_text
from longbanana_nb.judging.replies import read_object
from longbanana_nb.providers.contracts import ProviderError, Reply, Request

if TYPE_CHECKING:
    from longbanana_nb.release import Check
    from longbanana_nb.runs.journal import Journal

TRIES = 2  # an answer that cannot be used is asked for once more, with what was wrong
FAILURES_IN_A_ROW = 10


@dataclass(slots=True)
class Annotating:
    """A text model at work: the desk its questions go out from, its parameters, and the journal its answers are kept in."""

    desk: Desk
    params: dict[str, Any]
    journal: Journal
    concurrency: int = 8
    failed_in_a_row: int = 0
    why: str | None = None  # why no more is asked


async def ask_about(work: Annotating, open_checks: Sequence[tuple[str, Check]], answered: Callable[[], None]) -> None:
    """Ask about each (key, check); what comes back is in the journal when `answered` is called.

    Raises:
        ProviderError: what concerns every question, such as a refused key.
        Incomplete: a budget or a series of failures ended it; what was answered is kept.
    """
    waiting = list(reversed(open_checks))

    async def worker() -> None:
        while waiting and not work.desk.is_over() and work.why is None:
            key, check = waiting.pop()
            await _one(work, key, check)
            answered()

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(work.concurrency, len(waiting))):
                group.create_task(worker())
    except BaseExceptionGroup as many:  # one is enough to say what is wrong, and the others were called off
        raise many.exceptions[0] from None
    if work.why is not None:
        raise Incomplete(work.why)


async def _one(work: Annotating, key: str, check: Check) -> None:
    wrong = None
    for _ in range(TRIES):
        bill = Bill()
        reply = await _paid(work, key, check, request_for(check, work.params, wrong), bill)
        if reply is None:
            return
        said, invalid, wrong = _read(reply, check)
        cost = bill.cost_usd if work.desk.tariff.price is not None else None
        _keep(work, _draft(key, check, reply, said, invalid, wrong, cost))
        if said is not None or invalid in ("refused", "filtered"):
            return


async def _paid(work: Annotating, key: str, check: Check, request: Request, bill: Bill) -> Reply | None:
    """One call; None where it was not made or brought nothing."""
    try:
        reply = await work.desk.ask(request, bill)
    except Incomplete as full:
        work.why = str(full)
        return None
    except StopAsking:
        return None
    except ProviderError as error:
        _failed(work, key, check, error)
        return None
    work.failed_in_a_row = 0
    return reply


def _failed(work: Annotating, key: str, check: Check, error: ProviderError) -> None:
    """Keep a failure that concerns this check alone, as its answer; raise what concerns every check."""
    if (invalid := invalid_of(error)) is None:
        raise error
    doubt = kept_text(str(error), 300)
    draft = ModelDraft(key=key, case_id=check.case_id, check_id=check.check_id, invalid=invalid, doubt=doubt, at=utc_now())
    _keep(work, draft)
    work.failed_in_a_row = work.failed_in_a_row + 1 if invalid == "transport" else 0
    if work.failed_in_a_row >= FAILURES_IN_A_ROW:
        work.why = (
            f"{FAILURES_IN_A_ROW} calls in a row brought no answer; the last: {error}. What was answered is kept; run it again."
        )


def _read(reply: Reply, check: Check) -> tuple[Said | None, str | None, str | None]:
    """What was said, or the reason why nothing counts and what to tell the model."""
    found, invalid = read_object(reply)
    if found is None:
        return None, invalid, f"there was not one JSON object ({invalid})"
    try:
        return read_said(found, check), None, None
    except Unreadable as why:
        return None, "bad_value", str(why)


def _draft(
    key: str, check: Check, reply: Reply, said: Said | None, invalid: str | None, wrong: str | None, cost_usd: float | None
) -> ModelDraft:
    return ModelDraft(
        key=key,
        case_id=check.case_id,
        check_id=check.check_id,
        dimension=said.dimension if said else None,
        polarity=said.polarity if said else None,
        probe=said.probe if said else None,
        invalid=invalid,
        doubt=kept_text(said.doubt, 300) if said and said.doubt else (kept_text(wrong, 300) if wrong else None),
        model=reply.model,
        raw=kept_raw(reply.text),
        usage=dict(reply.usage.reported),
        cost_usd=cost_usd,
        at=utc_now(),
    )


def _keep(work: Annotating, draft: ModelDraft) -> None:
    work.journal.append(msgspec.json.encode(draft))
