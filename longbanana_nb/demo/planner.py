"""The embedded agent model: rules over the prompt grammar and over what its own eye sees, for every workflow of our own loop."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from longbanana_nb.demo.eye import EYE_VERSION, Eye
from longbanana_nb.demo.planner_case import Task, chosen, groups, stages
from longbanana_nb.demo.planner_evidence import close_ups, evidence_of, reasons_of
from longbanana_nb.demo.planner_review import Demand, EyeReview, Reviewer
from longbanana_nb.errors import CallError
from longbanana_nb.generation import Action, Finish, ModelChoice, ToolCall, ToolCalls, ToolResult, Turn
from longbanana_nb.generation.native import MOST_CALLS_A_TURN
from longbanana_nb.generation.tools import (
    CHOOSE,
    GENERATE,
    GO_BACK,
    LOOK,
    LOOK_AT_RESULT,
    MOST_LOOKED_AT_ONCE,
    NOTE_EVIDENCE,
    WRITE_PLAN,
    WRITE_REVIEW,
)
from longbanana_nb.generation.workflows.artefacts import parts_of

PLANNER_VERSION = "planner-1"
JUDGES_EYE = "planner-judges-eye"
RULES_VERSION = "rules-2"
WORK = 160
"""Edge length at which the planner parts things; the sketch's eye uses another, and the judge another instrument altogether."""
MOST_REPAIRS = 3
Story = Generator[Action, Turn, Turn]
Stages = tuple[tuple[str, ...], ...]


class PlannerAgent:
    """A stand-in for a language model that plans.

    It knows what any agent knows: the prompt, the inventory, and what its tools answered. `reviewer` is what it looks at drawn
    pictures with; its own eye unless another is given.
    """

    def __init__(self, reviewer: Callable[[Eye], Reviewer] = EyeReview, version: str = PLANNER_VERSION) -> None:
        self._eye = Eye(work=WORK)
        self._reviewer = reviewer(self._eye)
        self._version = version
        self._story: Generator[Action, Turn, None] | None = None

    @property
    def version(self) -> str:
        """Version of the rules and of the eye."""
        return f"{self._version}+{RULES_VERSION}+{EYE_VERSION}@{WORK}"

    @property
    def simulated(self) -> bool:
        """Always true: it is no language model."""
        return True

    def next(self, turn: Turn) -> Action:
        """Go on where the last turn left off."""
        if self._story is None:
            self._story = self._told(turn)
            return next(self._story)
        return self._story.send(turn)

    def _told(self, turn: Turn) -> Generator[Action, Turn, None]:
        """The whole of one task: look, gather, plan, draw, then choose, review, or just look once; finish."""
        parts = parts_of(turn.workflow, turn.best_of)
        turn = yield from self._look_at_all(turn)
        pictures = _pictures(turn)
        task = Task.of(turn, {name: self._eye.look(data) for name, data in pictures.items()}, pictures)
        reasons = chosen(task)
        if "evidence" in parts and task.commission is not None:
            turn, reasons = yield from self._gather(turn, task)
        planned = self._stages(turn, task, reasons, is_staged="plan" in parts)
        if "plan" in parts:
            turn = yield ToolCall(WRITE_PLAN, {"stages": [_stage(stage, reasons) for stage in planned]}, "What each call draws.")
        if turn.best_of is not None:
            turn = yield from self._choose(turn, task, planned, reasons)
            yield Finish("The best of what I drew, by my own eye.")
            return
        turn = yield from _draw(turn, planned, reasons)
        if not _has_drawn(turn):
            yield Finish("The last call gave no picture.")
            return
        if "review" in parts:
            turn = yield from self._reflect(turn, task, planned, reasons)
        elif turn.turns_left > 1:
            turn = yield ToolCall(LOOK_AT_RESULT, {}, "I look at what was drawn.")
        yield Finish("All chosen pictures went into the drawing.")

    def _look_at_all(self, turn: Turn) -> Story:
        ids = [listed.id for listed in turn.inventory]
        for start in range(0, len(ids), MOST_LOOKED_AT_ONCE):
            batch = ids[start : start + MOST_LOOKED_AT_ONCE]
            turn = yield ToolCall(LOOK, {"references": batch}, f"I look at {len(batch)} pictures before I choose.")
        return turn

    def _gather(self, turn: Turn, task: Task) -> Generator[Action, Turn, tuple[Turn, dict[str, str]]]:
        """Cut out what may be needed, look at it closely, and note what is seen."""
        wanted = close_ups(task)
        seen: list[ToolResult] = []
        for start in range(0, len(wanted), MOST_CALLS_A_TURN):
            calls = tuple(one.call() for one in wanted[start : start + MOST_CALLS_A_TURN])
            turn = yield ToolCalls(calls, "I look closely at what may be needed.")
            seen += turn.results[-len(calls) :]
        readings = [self._eye.look(one.images[0].data) if one.ok and one.images else None for one in seen]
        evidence = evidence_of(task, list(zip(wanted, readings, strict=True)))
        turn = yield ToolCall(NOTE_EVIDENCE, evidence, "What the references show, as I read it in the cuts.")
        return turn, reasons_of(task, evidence)

    def _stages(self, turn: Turn, task: Task, reasons: dict[str, str], *, is_staged: bool) -> Stages:
        """All in as few calls as fit; for a plan calls of half the capacity, so that each has less to attend to."""
        capacity = turn.capabilities.references_per_call
        if task.commission is None:
            return (tuple(listed.id for listed in turn.inventory[:capacity]),)
        if not is_staged:
            return stages([list(reasons)], capacity, capacity)
        size = max(2, capacity // 2)
        planned = stages(groups(task, reasons), capacity, size)
        while len(planned) > turn.image_calls_left and size < capacity:
            size += 1
            planned = stages(groups(task, reasons), capacity, size)
        return planned

    def _choose(self, turn: Turn, task: Task, planned: Stages, reasons: dict[str, str]) -> Story:
        """Draw separate pictures, look at each, choose the one in which most demands are seen to be met."""
        attempts: list[tuple[int, list[Demand]]] = []
        for _ in range(turn.best_of or 1):
            if turn.image_calls_left < len(planned) or turn.turns_left < len(planned) + 3:
                break
            turn = yield from _draw(turn, planned, reasons)
            if not _has_drawn(turn):
                continue
            turn = yield ToolCall(LOOK_AT_RESULT, {}, "I look at what was drawn.")
            attempts.append(self._reviewed(turn, task))
        if not attempts:
            return turn
        number, demands = max(attempts, key=lambda one: (_met(one[1]), -one[0]))
        told = [{"picture": n, "seen": _in_words(found)} for n, found in attempts]
        why = f"Most demands are seen to be met: {_met(demands)} of {len(demands)}."
        return (yield ToolCall(CHOOSE, {"attempts": told, "chosen": number, "why": why}))

    def _reflect(self, turn: Turn, task: Task, planned: Stages, reasons: dict[str, str]) -> Story:
        """Look, review, repair, and look again; in the end the picture with most demands met is taken."""
        reviewed: list[tuple[int, list[Demand]]] = []
        for n in range(MOST_REPAIRS + 1):
            if turn.turns_left < 4:
                break
            turn = yield ToolCall(LOOK_AT_RESULT, {}, "I look at what was drawn.")
            number, demands = self._reviewed(turn, task)
            reviewed.append((number, demands))
            turn = yield ToolCall(WRITE_REVIEW, _review(demands), _in_words(demands))
            open_ = [one for one in demands if not one.is_met]
            if not open_ or n == MOST_REPAIRS or turn.image_calls_left == 0:
                break
            turn = yield from self._repair(turn, task, planned, reasons, open_)
            if not _has_drawn(turn):
                break
        best = max(reviewed, key=lambda one: (_met(one[1]), one[0]), default=None)
        if best is not None and turn.turns_left > 1 and best[0] != _last_picture(turn):
            turn = yield ToolCall(GO_BACK, {"picture": best[0]}, "The repair did not help; I take the earlier picture.")
        return turn

    def _repair(self, turn: Turn, task: Task, planned: Stages, reasons: dict[str, str], open_: Sequence[Demand]) -> Story:
        """Add what is missing to the picture, if that is all; draw anew where something in it is wrong."""
        capacity = turn.capabilities.references_per_call
        missing = {one.wish.key for one in open_ if one.fix == "add" and one.wish is not None}
        needed = [name for name, reason in reasons.items() if reason in missing][: capacity - 1]
        if needed and 2 * len(missing) >= len(open_):
            arguments = {"prompt": turn.prompt, "references": needed, "keep_current": True}
            return (yield ToolCall(GENERATE, arguments, f"I add what is missing: {', '.join(sorted(missing))}."))
        fits = planned if len(planned) <= turn.image_calls_left else stages([list(reasons)], capacity, capacity)
        if len(fits) > turn.image_calls_left:
            return turn
        return (yield from _draw(turn, fits, reasons))

    def _reviewed(self, turn: Turn, task: Task) -> tuple[int, list[Demand]]:
        """The picture that was just shown, by number, and its demands."""
        shown = turn.results[-1]
        if not shown.ok or not shown.images:
            return 0, []
        return int(shown.value["picture"]), self._reviewer.review(shown.images[0].data, task)


def planner_agent(choice: ModelChoice) -> PlannerAgent:
    """The factory the engines are given: ids `planner-1` and `planner-judges-eye`, no parameters.

    `planner-judges-eye` reviews with the judge's own instrument, as a lesson: it improves what is measured, not the picture.

    Raises:
        CallError: for another id, or any parameter.
    """
    if choice.id not in (PLANNER_VERSION, JUDGES_EYE):
        there = f"{PLANNER_VERSION!r}, or {JUDGES_EYE!r} for the lesson"
        raise CallError(f"agent model id: found {choice.id!r}; expected {there}, of provider 'embedded'.")
    if choice.params:
        raise CallError(f"agent model params: found {', '.join(sorted(choice.params))}; expected none. Remove them.")
    if choice.id == PLANNER_VERSION:
        return PlannerAgent()
    from longbanana_nb.demo.planner_judges_eye import JUDGES_EYE_VERSION, JudgesEyeReview

    return PlannerAgent(JudgesEyeReview, JUDGES_EYE_VERSION)


def _pictures(turn: Turn) -> dict[str, bytes]:
    """The references that were shown, by id."""
    shown = [image for one in turn.results if one.call.name == LOOK and one.ok for image in one.images]
    return {image.id: image.data for image in shown}


def _draw(turn: Turn, planned: Stages, reasons: dict[str, str]) -> Story:
    """The calls of a plan, the first from an empty sheet; a call that gives no picture ends them."""
    for n, stage in enumerate(planned):
        if turn.image_calls_left == 0 or turn.turns_left <= 1:
            break
        why = "; ".join(f"{name}: {reasons[name]}" for name in stage if name in reasons)
        arguments = {"prompt": turn.prompt, "references": list(stage), "keep_current": n > 0}
        turn = yield ToolCall(GENERATE, arguments, f"Stage {n + 1} of {len(planned)}. {why}")
        if not _has_drawn(turn):
            break
    return turn


def _has_drawn(turn: Turn) -> bool:
    """Whether the last image call gave a picture."""
    drawn = [result for result in turn.results if result.call.name == GENERATE]
    return bool(drawn) and drawn[-1].ok and drawn[-1].value["outcome"] == "image"


def _last_picture(turn: Turn) -> int:
    drawn = [one for one in turn.results if one.call.name == GENERATE and one.ok and one.value["outcome"] == "image"]
    return int(drawn[-1].value["picture"]) if drawn else 0


def _stage(stage: Sequence[str], reasons: dict[str, str]) -> dict[str, object]:
    things = list(dict.fromkeys(reasons[name] for name in stage if name in reasons))
    return {"draws": ", ".join(things) or "what the prompt asks", "references": list(stage)}


def _met(demands: Sequence[Demand]) -> int:
    return sum(one.is_met for one in demands)


def _in_words(demands: Sequence[Demand]) -> str:
    open_ = [f"{one.text}: {one.seen}" for one in demands if not one.is_met]
    return f"{_met(demands)} of {len(demands)} demands are met. {'; '.join(open_)}".strip()[:2000]


def _review(demands: Sequence[Demand]) -> dict[str, object]:
    repairs = {"add": "add it to the picture", "redraw": "draw the picture anew"}
    unmet = [{"demand": one.text, "seen": one.seen, "repair": repairs[one.fix]} for one in demands if not one.is_met]
    return {"satisfied": [one.text for one in demands if one.is_met], "unsatisfied": unmet}
