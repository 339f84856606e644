"""One candidate to make, as it travels to a worker process, and what comes back."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import CallError, Fault, WorkbenchError
from longbanana_nb.files import utc_now
from longbanana_nb.generation.agent_contracts import AgentFactory
from longbanana_nb.generation.contracts import BackendFactory, Draft, ModelChoice, Models
from longbanana_nb.generation.harnesses import harness_of
from longbanana_nb.generation.images import PictureFacts, examine

if TYPE_CHECKING:
    from pathlib import Path

    from longbanana_nb.generation.paying import Purse
    from longbanana_nb.release import Case
    from longbanana_nb.runs import SystemSpec
    from longbanana_nb.runs.system_spec import ModelSpec


@dataclass(frozen=True, slots=True)
class Job:
    """One (system, case, sample). Factories are top-level callables or "module:callable", so that the job can be pickled."""

    case: Case
    spec: SystemSpec
    sample: int
    attempt: int  # from 1
    seed: int
    backend: BackendFactory | str | None
    agent: AgentFactory | str | None
    graph: Mapping[str, Any] | None = None  # privileged; only for systems that declare it


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the owner of the run tells jobs in its own threads: when to end soon, and what no program under test may see."""

    stop: Callable[[], bool] = field(default=lambda: False)
    hidden: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Made:
    """A draft with the facts of its image and the time it took."""

    draft: Draft
    facts: PictureFacts | None
    started_at: str
    ended_at: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A job that a person has to look at before it can be done: a damaged release, a call that cannot be made as written."""

    text: str
    faults: tuple[Fault, ...]


def carry_out(job: Job, purse: Purse | None = None, surroundings: Surroundings | None = None) -> Made | Refused:
    """Run the job's harness. It writes nothing but the ledger of paid calls; the owner of the run does. WorkbenchErrors come back
    as values.
    """
    try:
        return _made(job, purse, surroundings or Surroundings())
    except WorkbenchError as error:
        return Refused(str(error), error.faults)


def carry_out_all(group: tuple[Job, ...]) -> list[Made | Refused]:
    """Carry out jobs one after another in one process, so that what a local model saw of a case is seen once."""
    return [carry_out(job) for job in group]


def _made(job: Job, purse: Purse | None, around: Surroundings) -> Made:
    started = utc_now()
    models = Models(
        backend=resolve(job.backend)(choice(job.spec.backend)) if job.backend is not None and job.spec.backend else None,
        agent=resolve(job.agent)(choice(job.spec.agent_model)) if job.agent is not None and job.spec.agent_model else None,
        purse=purse,
        stop=around.stop,
        hidden=around.hidden,
        graph=job.graph,
    )
    draft = harness_of(job.spec)(job.case, job.spec, models, job.seed)
    facts = examine(draft.image, least_edge=1) if draft.image is not None else None
    return Made(draft, facts, started, utc_now())


def choice(model: ModelSpec) -> ModelChoice:
    """The part of a system that a factory needs."""
    return ModelChoice(model.provider, model.id, model.route, dict(model.params), model.base_url, model.key_env)


def resolve(factory: Callable[[ModelChoice], Any] | str) -> Callable[[ModelChoice], Any]:
    """A factory as a callable; "module:callable" is imported."""
    if not isinstance(factory, str):
        return factory
    module, colon, name = factory.partition(":")
    try:
        found = getattr(importlib.import_module(module), name) if colon and name else None
    except (ImportError, AttributeError) as error:
        raise CallError(f"The model factory {factory!r} cannot be imported: {error}. Expected 'module:callable'.") from None
    if not callable(found):
        raise CallError(f"The model factory {factory!r} is not 'module:callable'. Correct it.")
    return found  # type: ignore[no-any-return]
