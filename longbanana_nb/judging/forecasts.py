"""What is open for a model judge, in calls, pictures, tokens and dollars, worked out and written down before the first call."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from longbanana_nb.errors import DataError
from longbanana_nb.files import utc_now
from longbanana_nb.judging.costing import Costing, Question, StandIns, dollars, usage_of
from longbanana_nb.runs.journal import Journal
from longbanana_nb.runs.judge_spec import Sending
from longbanana_nb.runs.judging_plans import PLANS, JudgingPlan

if TYPE_CHECKING:
    from longbanana_nb.judging.model_jobs import Maker, Work
    from longbanana_nb.judging.model_protocols import ModelProtocol
    from longbanana_nb.judging.preflight import Ready
    from longbanana_nb.judging.units import OpenCandidate, Opening
    from longbanana_nb.providers.prices import Price


def plan_ahead(
    opening: Opening, ready: Ready, protocol: ModelProtocol, sending: Sending, opened: Sequence[tuple[Maker, OpenCandidate]]
) -> JudgingPlan:
    """The plan of what is open, by the same formulas as `plan`; it is on disk beside the judge's ledger when this returns."""
    profile = opening.profile
    with tempfile.TemporaryDirectory() as folder:
        costing, groups, uncounted = Costing(profile, ready.model, protocol, StandIns(Path(folder))), [], 0
        for maker, candidate in opened:
            works = maker.works(candidate, candidate.units)
            asked = [(work, _question(costing, work)) for work in works]
            groups.append([one for _, one in asked if one is not None])
            uncounted += sum(len(work.units) for work, one in asked if one is None)
    plan = _plan(opening.judge_sha256, ready, sending, groups, uncounted)
    Journal(opening.calls.with_name(PLANS)).append(msgspec.json.encode(plan))
    return plan


def _question(costing: Costing, work: Work) -> Question | None:
    """None for what cannot be put to the model, and where a picture cannot be looked at: its question will say so itself."""
    try:
        return costing.question(work)
    except DataError:
        return None


def _plan(judge_sha256: str, ready: Ready, sending: Sending, groups: list[list[Question]], uncounted: int) -> JudgingPlan:
    asked = [one for group in groups for one in group]
    is_known, calls, most = all(one.is_known for one in asked), len(asked), sum(one.most_calls for one in asked)
    usage = usage_of(groups, cached=sending.cache != "off", model=ready.model)
    usd = dollars(ready.price, usage, calls, hour=sending.cache == "1h") if is_known else None
    return JudgingPlan(
        at=utc_now(),
        judge_sha256=judge_sha256,
        open=sum(one.checks for one in asked) + uncounted,
        uncounted=uncounted,
        calls=calls,
        most_calls=most,
        pictures=sum(len(one.pictures) for one in asked),
        tokens_in=usage.input_tokens + usage.cached_tokens + usage.cache_write_tokens if is_known else None,
        tokens_out=usage.output_tokens if is_known else None,
        usd=usd,
        most_usd=most_dollars(ready.price, asked) if most > calls and is_known else usd,
    )


def most_dollars(price: Price | None, asked: Sequence[Question]) -> float | None:
    """What the questions cost if each takes all its turns; None: unknown."""
    if price is None:
        return None
    return sum(price.most(one.most_tokens // one.most_calls, one.answer) * one.most_calls for one in asked)
