"""A lesson: a review with the judge's own instrument. It improves what is measured, and not necessarily the picture (Goodhart).

The questions are the planner's own, read off the prompt; the evaluation's checks and probes stay out of its reach. The instrument
is the one that the `tools` judge looks with.
"""

from __future__ import annotations

from typing import Any

from longbanana_nb.demo.brief import REGIONS, RELATION_WORDS
from longbanana_nb.demo.eye import Eye
from longbanana_nb.demo.planner_case import Task
from longbanana_nb.demo.planner_review import Demand, Fix, look_of
from longbanana_nb.demo.sketch_wishes import Wish, best
from longbanana_nb.judging.answers import answer
from longbanana_nb.judging.exemplars import Exemplars, exemplars
from longbanana_nb.judging.pixels import VERSION as PIXELS_VERSION
from longbanana_nb.judging.pixels import PixelLook
from longbanana_nb.release import parse_probe
from longbanana_nb.release.probes import Present

JUDGES_EYE_VERSION = f"planner-judges-eye-1+{PIXELS_VERSION}"
Question = tuple[str, dict[str, Any], Wish | None]


class JudgesEyeReview:
    """A review by the instrument of the `tools` judge; of one task, whose exemplars are prepared once."""

    def __init__(self, eye: Eye) -> None:
        """The planner's own eye plays no part here; it chose the references."""
        self._known: Exemplars | None = None

    def review(self, picture: bytes, task: Task) -> list[Demand]:
        """Each question asked of the picture; what the instrument cannot answer is left out."""
        questions = [(text, parse_probe(probe, text), wish) for text, probe, wish in _questions(task)]
        if self._known is None:
            self._known = exemplars([probe for _, probe, _ in questions], task.pictures.get)
        look = PixelLook(picture, self._known)
        found = []
        for text, probe, wish in questions:
            answered = answer(probe, look)
            if answered.label is not None:
                fix: Fix = "add" if isinstance(probe, Present) and answered.label == 0 else "redraw"
                found.append(Demand(text, answered.label == 2, answered.rationale[:200] or "not so", fix, wish))
        return found


def _questions(task: Task) -> list[Question]:
    """What the prompt asks, as probes whose exemplars are the references that the planner found."""
    if task.commission is None:
        return []
    entities = {wish.key: entity for wish in task.commission.wishes if (entity := _entity(task, wish)) is not None}
    found: list[Question] = []
    for wish in task.commission.wishes:
        if wish.key in entities:
            found += _of_thing(task, wish, entities[wish.key])
    for relation, a, b in task.commission.relations:
        if a in entities and b in entities:
            probe = {"relation": {"a": entities[a], "is": relation, "b": entities[b]}}
            found.append((f"{a} {RELATION_WORDS[relation]} {b}", probe, None))
    for key, words in task.commission.regions:
        if key in entities:
            found.append((f"{key} in the {words}", {"region": entities[key], "within": list(REGIONS[words])}, None))
    for axis, keys in task.commission.orders:
        if all(key in entities for key in keys):
            found.append((f"order of {', '.join(keys)}", {"order": [entities[key] for key in keys], "along": "xy"[axis]}, None))
    if (colour := task.backdrop_colour()) is not None:
        found.append((f"a {colour} backdrop", {"palette": {"colour": colour, "share": 0.6}}, None))
    return found


def _of_thing(task: Task, wish: Wish, entity: dict[str, Any]) -> list[Question]:
    look = look_of(task, wish)
    found: list[Question] = [(wish.key, {"present": entity}, wish)]
    if look is not None and look.count > 1:
        found.append((f"{look.count} of {wish.key}", {"count": entity, "equals": look.count}, wish))
    if look is not None and look.colour:
        found.append((f"{wish.key} is {look.colour}", {"colour": entity, "is": look.colour}, wish))
    if look is not None and look.text:
        found.append((f'{wish.key} bears "{look.text}"', {"text": {"in": entity, "equals": look.text}}, wish))
    return found


def _entity(task: Task, wish: Wish) -> dict[str, Any] | None:
    first = best(wish, task.sights_of(wish))
    if first is None:
        return None
    box = [round(edge, 4) for edge in first.seen.box]
    return {"name": wish.kind, "exemplar": {"reference_id": task.id_of(first.percept), "box": box}}
