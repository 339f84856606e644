"""The judges of an experiment or run at work, one after another: those that answer probes, and those that ask a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from longbanana_nb.embedded import model_protocols, protocols
from longbanana_nb.errors import CallError
from longbanana_nb.judging import judge_run
from longbanana_nb.judging.model_engine import Patience, judge_with_model
from longbanana_nb.names import nearest
from longbanana_nb.runs import INVALID_REASONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from longbanana_nb.judging import Summary
    from longbanana_nb.release import Release
    from longbanana_nb.runs import JudgeSpec, Limits, Run


@dataclass(frozen=True, slots=True)
class WorkOrder:
    """What is to be judged, by whom, and within which limits; `retry` names reasons that are asked again now."""

    run: Run
    release: Release
    judges: tuple[JudgeSpec, ...]
    limits: Limits
    reuse: tuple[Path, ...] = ()
    retry: tuple[str, ...] = ()


def judge_all(order: WorkOrder, *, patience: Patience | None = None) -> list[Summary]:
    """Ask each judge in turn; the budget is one for all of them.

    Raises:
        CallError, DataError, Incomplete: from the judge at work; what it and those before it answered is kept.
    """
    _require_reasons(order.retry)
    return [_one(order, judge, patience) for judge in order.judges]


def _one(order: WorkOrder, judge: JudgeSpec, patience: Patience | None) -> Summary:
    if not judge.asks_model:
        return judge_run(order.run, order.release, judge, protocols=protocols(), reuse=order.reuse, retry=order.retry)
    return judge_with_model(
        order.run,
        order.release,
        judge,
        protocols=model_protocols(),
        limits=order.limits,
        reuse=order.reuse,
        retry=order.retry,
        patience=patience,
    )


def _require_reasons(retry: Iterable[str]) -> None:
    for reason in retry:
        if reason not in INVALID_REASONS:
            near = nearest(reason, INVALID_REASONS)
            offer = f"Did you mean {near!r}?" if near else f"There are {', '.join(INVALID_REASONS)}."
            raise CallError(f"retry: {reason!r} is no reason of an invalid answer. {offer}")
