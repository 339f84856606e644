"""Asking a text model about checks: within a budget, several at once, each answer durable before it counts, none asked twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from longbanana_nb.errors import Incomplete
from longbanana_nb.files import utc_now
from longbanana_nb.judging.annotate.drafts import ModelDraft
from longbanana_nb.judging.annotate.questions import MAX_TOKENS, Said, Unreadable, read_said, request_for
from longbanana_nb.judging.quoting import kept_raw, kept_text
from longbanana_nb.judging.replies import read_object
from longbanana_nb.providers.contracts import ProviderError, Reply, Request
from longbanana_nb.providers.retry import Retry, asked

if TYPE_CHECKING:
    from longbanana_nb.providers.contracts import Adapter
    from longbanana_nb.providers.prices import Price
    from longbanana_nb.release import Check
    from longbanana_nb.runs import Budget, Ledger
    from longbanana_nb.runs.journal import Journal

TRIES = 2  # an answer that cannot be used is asked for once more, with what was wrong
FAILURES_IN_A_ROW = 10


@dataclass(slots=True)
class Desk:
    """What asking needs: the model's line, what it costs, and where money and answers are written down."""

    adapter: Adapter
    params: dict[str, Any]
    price: Price | None
    budget: Budget
    ledger: Ledger
    journal: Journal
    stop: Callable[[], bool]
    retry: Retry = field(default_factory=Retry)
    concurrency: int = 8
    failed_in_a_row: int = 0
    why: str | None = None  # why no more is asked


async def ask_about(desk: Desk, open_checks: Sequence[tuple[str, Check]], answered: Callable[[], None]) -> None:
    """Ask about each (key, check); what comes back is in the journal when `answered` is called.

    Raises:
        ProviderError: what concerns every question, such as a refused key.
        Incomplete: a budget or a series of failures ended it; what was answered is kept.
    """
    waiting = list(reversed(open_checks))

    async def worker() -> None:
        while waiting and not desk.stop() and desk.why is None:
            key, check = waiting.pop()
            await _one(desk, key, check)
            answered()

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(desk.concurrency, len(waiting))):
                group.create_task(worker())
    except BaseExceptionGroup as many:  # one is enough to say what is wrong, and the others were called off
        raise many.exceptions[0] from None
    if desk.why is not None:
        raise Incomplete(desk.why)


async def _one(desk: Desk, key: str, check: Check) -> None:
    wrong = None
    for _ in range(TRIES):
        reply = await _paid(desk, key, check, request_for(check, desk.params, wrong))
        if reply is None:
            return
        said, invalid, wrong = _read(reply, check)
        _keep(desk, _draft(desk, key, check, reply, said, invalid, wrong))
        if said is not None or invalid in ("refused", "filtered"):
            return


async def _paid(desk: Desk, key: str, check: Check, request: Request) -> Reply | None:
    """One call through budget and ledger; None where it was not made or brought nothing."""
    most = _most(desk, request)
    try:
        reserved = desk.budget.reserve(most)
    except Incomplete as full:
        desk.why = str(full)
        return None
    cost = most
    try:
        number = desk.ledger.open_call("annotate", desk.adapter.model.id, most)
        reply = await asked(desk.adapter, request, desk.retry)
        cost = desk.price.of(reply.usage) if desk.price is not None else 0.0
        desk.ledger.close_call(number, cost, reply.stop, dict(reply.usage.reported))
    except ProviderError as error:
        if not error.maybe_paid:
            cost = 0.0
            desk.ledger.close_call(number, 0.0, error.kind)
        _failed(desk, key, check, error)
        return None
    finally:
        reserved.settle(cost)
    desk.failed_in_a_row = 0
    return reply


def _failed(desk: Desk, key: str, check: Check, error: ProviderError) -> None:
    if error.kind in ("auth", "bad_request") or error.is_quota:
        raise error
    _keep(desk, ModelDraft(key=key, case_id=check.case_id, check_id=check.check_id, invalid="transport", at=utc_now()))
    desk.failed_in_a_row += 1
    if desk.failed_in_a_row >= FAILURES_IN_A_ROW:
        desk.why = (
            f"{FAILURES_IN_A_ROW} calls in a row brought no answer; the last: {error}. What was answered is kept; run it again."
        )


def _most(desk: Desk, request: Request) -> float:
    if desk.price is None:
        return 0.0
    words = request.system + "".join(part.text for message in request.messages for part in message.parts)  # type: ignore[union-attr]
    return desk.price.most(desk.adapter.model.text_tokens(words) or len(words), MAX_TOKENS)


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
    desk: Desk, key: str, check: Check, reply: Reply, said: Said | None, invalid: str | None, wrong: str | None
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
        cost_usd=desk.price.of(reply.usage) if desk.price is not None else None,
        at=utc_now(),
    )


def _keep(desk: Desk, draft: ModelDraft) -> None:
    desk.journal.append(msgspec.json.encode(draft))
