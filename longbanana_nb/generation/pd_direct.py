"""PD-Direct: the case drawn in stages that an integer programme made of its graph, full prompt each time, picture carried on.

It sees the privileged graph, and only to choose which references go into which call: prompts are the case's own. Each call sends
the picture so far (from the second stage on), the background (if any, and `background` is "first"), the stage's references in
contract order. A stage without a picture ends the case with that stage's outcome.
Source: DESIGN 8; LongBanana's PD-Direct has "privileged access to the construction graph".
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import CallError, DataError
from longbanana_nb.files import canonical_json, sha256_bytes
from longbanana_nb.generation.contracts import Capabilities, Draft, Models, Reason
from longbanana_nb.generation.drawing import DrawingBoard, Input
from longbanana_nb.generation.inventory import input_image
from longbanana_nb.generation.scheduling import Schedule, demand_of, schedule
from longbanana_nb.runs.records import ArtefactFacts, WorkflowFacts

if TYPE_CHECKING:
    from longbanana_nb.release import Case
    from longbanana_nb.runs import SystemSpec

FILE = "schedule.json"


def refuse_what_does_not_fit(spec: SystemSpec, case: Case, capabilities: Capabilities) -> None:
    """Raise CallError for another reference policy, or a model that has no room for a reference beside what is always sent."""
    if spec.references.policy != "staged":
        raise CallError(f"system {spec.name!r}: pd-direct with references.policy {spec.references.policy!r}; expected 'staged'.")
    if min(rooms(spec, case, capabilities)) < 1:
        raise CallError(
            f"system {spec.name!r}, case {case.case_id!r}: the backend takes {capabilities.references_per_call} images a call, "
            "which leaves no room for a reference beside the background and the picture so far."
        )


def rooms(spec: SystemSpec, case: Case, capabilities: Capabilities) -> tuple[int, int]:
    """How many references the first stage, and each later one, can send."""
    policy = spec.references
    background = 1 if case.background is not None and policy.background == "first" else 0
    room = capabilities.references_per_call - background
    return min(policy.size, room), min(policy.size, room - (1 if policy.carry_last else 0))


def scheduled(case: Case, spec: SystemSpec, capabilities: Capabilities, graph: Mapping[str, Any]) -> Schedule:
    """The schedule of a case; DataError where its graph gives none."""
    order = [reference.id for reference in case.references]
    demand = demand_of(graph)
    unknown = sorted({name for needed in demand.units.values() for name in needed} - set(order))
    if unknown:
        raise DataError(f"case {case.case_id!r}: the graph names references the case does not have: {', '.join(unknown)}.")
    return schedule(demand, order, rooms(spec, case, capabilities))


def pd_direct(case: Case, spec: SystemSpec, models: Models, seed: int) -> Draft:
    """Draw the case stage by stage."""
    if models.backend is None:
        raise CallError(f"system {spec.name!r}: pd-direct needs a backend.")
    if models.graph is None:
        raise CallError(
            f"system {spec.name!r}, case {case.case_id!r}: pd-direct needs the case's graph, and the release has none."
        )
    capabilities = models.backend.capabilities
    refuse_what_does_not_fit(spec, case, capabilities)
    plan = scheduled(case, spec, capabilities, models.graph)
    board = DrawingBoard(case, models.backend, seed, models.purse)
    ends = None if spec.harness.timeout_s is None else time.monotonic() + spec.harness.timeout_s
    return _with_schedule(_drawn(case, spec, board, plan, ends), plan)


def _drawn(case: Case, spec: SystemSpec, board: DrawingBoard, plan: Schedule, ends: float | None) -> Draft:
    policy, most = spec.references, spec.limits.max_image_calls
    references = {reference.id: reference for reference in case.references}
    first = (case.background,) if case.background is not None and policy.background == "first" else ()
    for number, stage in enumerate(plan.stages, start=1):
        where = f"stage {number} of {len(plan.stages)}"
        if most is not None and number > most:
            return board.end("budget", Reason("max_image_calls", where, f"{most} image calls were allowed"))
        if ends is not None and time.monotonic() >= ends:
            return board.end("timeout", Reason("timeout", where, f"{spec.harness.timeout_s:g} s were allowed for the case"))
        sent = [*first, *(references[name] for name in stage.references)]
        inputs = [Input(input_image(reference), reference.id) for reference in sent]
        drawn = board.draw(case.prompt, inputs, keep_current=policy.carry_last and number > 1)
        if drawn.outcome != "image":
            return board.end(drawn.outcome, drawn.reason)
    return board.end("image")


def _with_schedule(draft: Draft, plan: Schedule) -> Draft:
    """The draft with its schedule beside it, named and hashed by the record."""
    data = canonical_json(plan.as_json()) + b"\n"
    draft.notes[FILE] = data
    facts = ArtefactFacts(FILE, sha256_bytes(data), present=True, valid=True, timely=True, followed=True)
    draft.workflow = WorkflowFacts(plan=facts, rounds=len(plan.stages))
    return draft
