"""Whether an agent did what its workflow asks: each artefact present, valid, made at the right time, and acted upon.

A driver reports what happened as events in order; whatever the agent says of itself is no event. Where an artefact is a file that
the agent writes, the driver looks at the file before each image call and at the end, and reports "noted" when its bytes are new.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation.workflows.artefacts import (
    FILES,
    MOST_BYTES,
    Artefact,
    BadArtefactError,
    Choice,
    Evidence,
    Plan,
    Review,
    parts_of,
    read_artefact,
)
from longbanana_nb.runs.records import ArtefactFacts, WorkflowFacts


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened.

    - "opened": the agent was shown references; `names` are their ids.
    - "drawn": an image call was made; `picture` is its number from 1, `names` the references it was given.
    - "looked": the agent was shown the picture of image call `picture`.
    - "noted": an artefact was written anew; `names` holds its part, `valid` whether it could be read.
    """

    kind: Literal["opened", "drawn", "looked", "noted"]
    names: tuple[str, ...] = ()
    picture: int | None = None
    valid: bool = True


@dataclass(frozen=True, slots=True)
class Left:
    """What an agent left: bytes by part, the events, the picture that became the candidate, image calls that were not used."""

    contents: Mapping[str, bytes] = field(default_factory=dict)
    events: Sequence[Event] = ()
    candidate: int | None = None  # number of the image call
    image_calls_left: int = 0


def counted(workflow: str | None, left: Left, ids: Collection[str], best_of: int | None = None) -> WorkflowFacts:
    """The record's account of a workflow: one entry a part that the workflow has, and the number of reviews.

    `timely` of a part is true where a valid note of it was made: evidence after a reference was opened and before the first
    image call; a plan before the first image call; a review after the picture drawn last was looked at; a choice after its
    pictures were looked at, as many of them as were asked for unless image calls ran out.

    `followed` is true where: all references that the evidence names were opened before it was noted; the planned calls were
    made first and in order, each with just its references; after a review that found something an image call was made, or none
    was left; the chosen picture is the candidate. It is None where there was nothing to follow.
    """
    facts = {part: _facts(part, left, ids, best_of) for part in parts_of(workflow, best_of)}
    review = _read("review", left, ids)
    return WorkflowFacts(**facts, rounds=len(review.rounds) if isinstance(review, Review) else 0)


def kept(workflow: str | None, left: Left, best_of: int | None = None) -> dict[str, bytes]:
    """The files to keep beside the record, by name: what the workflow has and the agent left, unless it is too large."""
    parts = parts_of(workflow, best_of)
    return {FILES[part]: left.contents[part] for part in parts if _is_kept(left.contents.get(part))}


def _is_kept(data: bytes | None) -> bool:
    return data is not None and len(data) <= MOST_BYTES


def _facts(part: str, left: Left, ids: Collection[str], best_of: int | None) -> ArtefactFacts:
    data = left.contents.get(part)
    if data is None:
        return ArtefactFacts()
    fault, artefact = None, None
    try:
        artefact = read_artefact(part, data, ids)
    except BadArtefactError as error:
        fault = str(error)[:500]
    return ArtefactFacts(
        file=FILES[part] if _is_kept(data) else None,
        sha256=sha256_bytes(data) if _is_kept(data) else None,
        present=True,
        valid=artefact is not None,
        timely=artefact is not None and _is_timely(part, artefact, left, best_of),
        followed=None if artefact is None else _is_followed(artefact, left),
        fault=fault,
    )


def _read(part: str, left: Left, ids: Collection[str]) -> Artefact | None:
    try:
        return read_artefact(part, left.contents[part], ids) if part in left.contents else None
    except BadArtefactError:
        return None


def _is_timely(part: str, artefact: Artefact, left: Left, best_of: int | None) -> bool:
    before = _before_first_note(part, left.events)
    if before is None:
        return False
    drawn = [event.picture for event in before if event.kind == "drawn"]
    looked = {event.picture for event in before if event.kind == "looked"}
    if part == "evidence":
        return not drawn and any(event.kind == "opened" for event in before)
    if part == "plan":
        return not drawn
    if part == "review":
        return bool(drawn) and drawn[-1] in looked
    attempts = {one.picture for one in artefact.attempts} if isinstance(artefact, Choice) else set()
    return attempts <= looked and (len(attempts) >= (best_of or 1) or left.image_calls_left == 0)


def _before_first_note(part: str, events: Sequence[Event]) -> list[Event] | None:
    """What happened before the first valid note of a part; None where there was none."""
    for n, event in enumerate(events):
        if event.kind == "noted" and event.names == (part,) and event.valid:
            return list(events[:n])
    return None


def _is_followed(artefact: Artefact, left: Left) -> bool | None:
    if isinstance(artefact, Evidence):
        before = _before_first_note("evidence", left.events) or []
        opened = {name for event in before if event.kind == "opened" for name in event.names}
        return all(name in opened for finding in artefact.findings for name in finding.references)
    if isinstance(artefact, Plan):
        return _is_drawn_as_planned(artefact, left.events)
    if isinstance(artefact, Choice):
        return artefact.chosen == left.candidate
    return _is_repaired(artefact, left)


def _is_drawn_as_planned(plan: Plan, events: Sequence[Event]) -> bool:
    """Whether the first image calls are the planned ones, each with just the references planned for it."""
    drawn = [set(event.names) for event in events if event.kind == "drawn"]
    return [set(stage.references) for stage in plan.stages] == drawn[: len(plan.stages)]


def _is_repaired(review: Review, left: Left) -> bool | None:
    """Whether something was drawn after the first review that found something; None where no review did."""
    if not any(one.unsatisfied for one in review.rounds):
        return None
    noted = [n for n, event in enumerate(left.events) if event.kind == "noted" and event.names == ("review",)]
    first = next((n for n, one in enumerate(review.rounds) if one.unsatisfied), 0)
    after = left.events[noted[min(first, len(noted) - 1)] :] if noted else ()
    return any(event.kind == "drawn" for event in after) or left.image_calls_left == 0
