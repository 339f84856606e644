"""The embedded agent model: looks at all references, chooses those the brief needs, and has them drawn in as few calls as fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from longbanana_nb.demo import brief
from longbanana_nb.demo.eye import EYE_VERSION, Eye, Percept
from longbanana_nb.demo.sketch_brief import commission_of
from longbanana_nb.demo.sketch_wishes import Commission, Wish, best, meets, sights
from longbanana_nb.errors import CallError
from longbanana_nb.generation import Action, Finish, ModelChoice, ToolCall, Turn
from longbanana_nb.generation.tools import GENERATE, LOOK, LOOK_AT_RESULT, MOST_LOOKED_AT_ONCE

PLANNER_VERSION = "planner-1"
WORK = 160
"""Edge length at which the planner parts things; the sketch's eye uses another, and the judge another instrument altogether."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Which references go into which call, and why."""

    stages: tuple[tuple[str, ...], ...]
    reasons: dict[str, str]


class PlannerAgent:
    """A stand-in for a language model that plans: rules over the prompt grammar and over what its own eye sees.

    It knows what any agent knows: the prompt, the inventory, and what its tools answered. It keeps no state between turns but
    the percepts of pictures it was shown.
    """

    def __init__(self) -> None:
        self._eye = Eye(work=WORK)
        self._plan: Plan | None = None

    @property
    def version(self) -> str:
        """Version of the rules and of the eye."""
        return f"{PLANNER_VERSION}+{EYE_VERSION}@{WORK}"

    @property
    def simulated(self) -> bool:
        """Always true: it is no language model."""
        return True

    def next(self, turn: Turn) -> Action:
        """Look at everything, draw stage by stage, look at the result once, finish."""
        asked = {name for result in turn.results if result.call.name == LOOK for name in result.call.arguments["references"]}
        unseen = [listed.id for listed in turn.inventory if listed.id not in asked]
        if unseen:
            batch = unseen[:MOST_LOOKED_AT_ONCE]
            return ToolCall(LOOK, {"references": batch}, f"I look at {len(batch)} pictures before I choose.")
        if self._plan is None:
            self._plan = self._planned(turn)
        drawn = [result for result in turn.results if result.call.name == GENERATE]
        failed = bool(drawn) and not (drawn[-1].ok and drawn[-1].value["outcome"] == "image")
        if len(drawn) < len(self._plan.stages) and not failed and turn.image_calls_left > 0 and turn.turns_left > 1:
            return self._generate(turn, len(drawn))
        if drawn and not failed and turn.results[-1].call.name == GENERATE and turn.turns_left > 1:
            return ToolCall(LOOK_AT_RESULT, {}, "I look at what was drawn.")
        return Finish("The last call gave no picture." if failed else "All chosen pictures went into the drawing.")

    def _generate(self, turn: Turn, stage: int) -> ToolCall:
        plan = self._plan
        assert plan is not None  # noqa: S101 - made before the first drawing
        chosen = plan.stages[stage]
        why = "; ".join(f"{name}: {plan.reasons[name]}" for name in chosen if name in plan.reasons)
        thought = f"Stage {stage + 1} of {len(plan.stages)}. {why}"
        return ToolCall(GENERATE, {"prompt": turn.prompt, "references": list(chosen), "keep_current": stage > 0}, thought)

    def _planned(self, turn: Turn) -> Plan:
        """Choose references for the brief; for a prompt outside the grammar the first ones, and the model decides."""
        capacity = turn.capabilities.references_per_call
        try:
            commission = commission_of(brief.parse(turn.prompt))
        except brief.UnparsablePrompt:
            return Plan((tuple(listed.id for listed in turn.inventory[:capacity]),), {})
        percepts = self._percepts(turn)
        backgrounds = [listed.id for listed in turn.inventory if listed.role == "background"]
        reasons = chosen_references(commission, {name: p for name, p in percepts.items() if name not in backgrounds})
        if commission.backdrop[0] == "background":
            reasons = {**dict.fromkeys(backgrounds, "the backdrop"), **reasons}
        return Plan(_stages(list(reasons), capacity), reasons)

    def _percepts(self, turn: Turn) -> dict[str, Percept]:
        """What each reference that was shown shows; a picture that cannot be read shows nothing and is passed over."""
        percepts = {}
        for result in turn.results:
            if result.call.name == LOOK and result.ok:
                percepts.update({image.id: self._eye.look(image.data) for image in result.images})
        return percepts


def planner_agent(choice: ModelChoice) -> PlannerAgent:
    """The factory the engines are given: id `planner-1`, no parameters.

    Raises:
        CallError: for another id, or any parameter.
    """
    if choice.id != PLANNER_VERSION:
        raise CallError(
            f"agent model id: found {choice.id!r}; expected {PLANNER_VERSION!r}, the only one of provider 'embedded'."
        )
    if choice.params:
        raise CallError(f"agent model params: found {', '.join(sorted(choice.params))}; expected none. Remove them.")
    return PlannerAgent()


def chosen_references(commission: Commission, percepts: dict[str, Percept]) -> dict[str, str]:
    """Ids of the references a brief needs, each with the reason, in the order of the brief."""
    chosen: dict[str, str] = {}
    ids = {id(percept): name for name, percept in percepts.items()}
    if commission.backdrop[0] == "card":
        chosen.update({name: "the palette card" for name, percept in percepts.items() if percept.card})
    for wish in commission.wishes:
        for percept in _pictures_for(wish, list(percepts.values())):
            chosen.setdefault(ids[id(percept)], wish.key)
    return chosen


def _pictures_for(wish: Wish, percepts: Sequence[Percept]) -> list[Percept]:
    """The pictures one wish needs: all that are counted over, else the clearest one; and the one whose colour is taken."""
    seen = sights(percepts)
    right = [sight for sight in seen if meets(wish, sight)]
    if wish.count is None:
        return list({id(sight.percept): sight.percept for sight in right}.values())
    pictures = [one.percept] if (one := best(wish, right)) is not None else []
    if wish.colour_of is not None:
        donor = Wish("", wish.colour_of, colour=wish.colour_of_colour)
        other = best(donor, [sight for sight in seen if meets(donor, sight)])
        pictures += [other.percept] if other is not None else []
    return pictures


def _stages(chosen: list[str], capacity: int) -> tuple[tuple[str, ...], ...]:
    """Calls of at most `capacity` images, the carried picture counted from the second call on; at least one call."""
    stages = [tuple(chosen[:capacity])]
    rest = chosen[capacity:]
    room = max(1, capacity - 1)
    stages += [tuple(rest[start : start + room]) for start in range(0, len(rest), room)]
    return tuple(stages)
