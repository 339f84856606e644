"""Our own tool loop for an agent model: it plans with tools, within turns, image calls and time, until it finishes.

An agent that finishes leaves the current picture: the one drawn last, unless it took an earlier one. One that does not finish
(turns or time used up) leaves no candidate: the outcome is "budget" or "timeout", and what it drew is kept as steps.
"""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from longbanana_nb.errors import CallError, WorkbenchError
from longbanana_nb.generation import native_trace as trace
from longbanana_nb.generation.agent_contracts import Action, AgentModel, Finish, Stop, ToolCall, ToolCalls, ToolResult, Turn
from longbanana_nb.generation.contracts import Backend, Capabilities, Draft, Models, Reason
from longbanana_nb.generation.drawing import DrawingBoard
from longbanana_nb.generation.paying import OverBudgetError, Receipt, paid_call
from longbanana_nb.generation.tools import FINISH, GENERATE, TOOL_OF_PART, tools_of
from longbanana_nb.generation.workflows import instructions
from longbanana_nb.generation.workflows.artefacts import parts_of
from longbanana_nb.generation.workflows.compliance import counted, kept
from longbanana_nb.generation.workspace import Workspace

if TYPE_CHECKING:
    from longbanana_nb.release import Case
    from longbanana_nb.runs import SystemSpec

MAX_TURNS = 60  # where the system names no number
MAX_IMAGE_CALLS = 12
MOST_CALLS_A_TURN = 16  # tool calls; what an agent wants beyond them in one turn is answered with an error


def refuse_what_does_not_fit(spec: SystemSpec, case: Case, capabilities: Capabilities) -> None:
    """Raise CallError for a reference policy the loop does not know, a model without images, too few image calls to choose."""
    if spec.references.policy != "agent":
        raise CallError(f"system {spec.name!r}: native with references.policy {spec.references.policy!r}; expected 'agent'.")
    if capabilities.references_per_call < 1:
        raise CallError(f"system {spec.name!r}: the backend takes no image in a call, so no reference could reach it.")
    if spec.best_of is not None and spec.best_of > _image_calls(spec):
        raise CallError(
            f"system {spec.name!r}: best_of {spec.best_of} pictures with limits.max_image_calls {_image_calls(spec)}. "
            "Allow at least as many image calls as pictures."
        )


def versions_of(spec: SystemSpec) -> dict[str, str]:
    """The texts an agent of this system is told, for its hash."""
    return instructions.versions(spec.workflow, "tool", best_of=spec.best_of, more=("native",))


def native(case: Case, spec: SystemSpec, models: Models, seed: int) -> Draft:
    """Let the agent model work on the case."""
    backend, agent = models.backend, models.agent
    if backend is None or agent is None:
        raise CallError(f"system {spec.name!r}: native needs a backend and an agent model.")
    refuse_what_does_not_fit(spec, case, backend.capabilities)
    board = DrawingBoard(case, backend, seed, models.purse)
    workspace = Workspace(case, board, _image_calls(spec), tools_of(spec.workflow, spec.best_of))
    try:
        draft = _Loop(case, spec, backend, agent, models, seed, board, workspace).run()
    finally:
        if (close := getattr(agent, "close", None)) is not None:
            close()
    candidate = board.current.n if board.current is not None and draft.outcome == "image" else None
    left = workspace.notes.left(candidate, workspace.image_calls_left)
    draft.workflow = counted(spec.workflow, left, workspace.notes.ids, spec.best_of)
    draft.notes = kept(spec.workflow, left, spec.best_of)
    return draft


def _image_calls(spec: SystemSpec) -> int:
    return spec.limits.max_image_calls or MAX_IMAGE_CALLS


@dataclass(slots=True)
class _Loop:
    """One candidate in the making."""

    case: Case
    spec: SystemSpec
    backend: Backend
    agent: AgentModel
    models: Models
    seed: int
    board: DrawingBoard
    workspace: Workspace
    results: list[ToolResult] = field(default_factory=list)

    def run(self) -> Draft:
        """Turn by turn, until the agent finishes or something ends it."""
        turns, timeout = self.spec.harness.max_turns or MAX_TURNS, self.spec.harness.timeout_s
        ends = None if timeout is None else time.monotonic() + timeout
        told = self._told(turns)
        for number in range(1, turns + 1):
            if self.models.stop():
                return self.board.end("interrupted", Reason("stopped", f"turn {number}", "the run was stopped"))
            if ends is not None and time.monotonic() >= ends:
                return self.board.end("timeout", Reason("timeout", f"turn {number}", f"{timeout:g} s were allowed for the case"))
            done = self._turn(self._state(number, turns - number + 1, told))
            if done is not None:
                return done
        text = f"{turns} turns were allowed and the agent did not finish"
        return self.board.end("budget", Reason("max_turns", f"turn {turns}", text))

    def _turn(self, turn: Turn) -> Draft | None:
        started = time.monotonic()
        try:
            with paid_call(self.models.purse, "agent", self.agent) as receipt:
                action = _asked(self.agent, turn, receipt)
        except OverBudgetError as error:
            return self.board.end("budget", Reason(error.code, f"turn {turn.number}", str(error)))
        self.board.draft.agent_calls += 1
        self.board.count("agent", action.usage)
        trace.action(self.board, action, time.monotonic() - started)
        if isinstance(action, Stop):
            return self.board.end(action.outcome, action.reason)
        if isinstance(action, Finish):
            return self._finished(turn.number)
        for n, call in enumerate(action.calls if isinstance(action, ToolCalls) else (action,)):
            if call.name == FINISH:
                return self._finished(turn.number)
            if (done := self._use(call, n)) is not None:
                return done
        return None

    def _use(self, call: ToolCall, n: int) -> Draft | None:
        if n >= MOST_CALLS_A_TURN:
            text = f"At most {MOST_CALLS_A_TURN} tool calls are carried out in one turn. Ask again."
            result = ToolResult(call, False, {"error": text})
        else:
            result = self.workspace.use(call)
        if self.board.out_of_money is not None:
            return self.board.end("budget", self.board.out_of_money)
        trace.result(self.board, result)
        self.results.append(result)
        return None

    def _finished(self, turn: int) -> Draft:
        """The current picture; without any, the outcome of the last image call, if there was one."""
        if self.board.current is not None:
            return self.board.end("image")
        for result in reversed(self.results):
            if result.call.name == GENERATE and result.ok:
                reason = Reason(str(result.value["code"]), f"turn {turn}", str(result.value["raw"]))
                return self.board.end(result.value["outcome"], reason)
        nothing = Reason("finished_without_drawing", f"turn {turn}", "the agent finished and had drawn nothing")
        return self.board.end("no_image", nothing)

    def _state(self, number: int, turns_left: int, told: str) -> Turn:
        return Turn(
            number=number,
            prompt=self.case.prompt,
            inventory=self.workspace.inventory,
            results=tuple(self.results),
            capabilities=self.backend.capabilities,
            turns_left=turns_left,
            image_calls_left=self.workspace.image_calls_left,
            seed=self.seed,
            workflow=self.spec.workflow or "minimal",
            best_of=self.spec.best_of,
            instruction=told,
        )

    def _told(self, turns: int) -> str:
        """Task and workflow, with the numbers of this system."""
        capacity, calls = self.backend.capabilities.references_per_call, self.workspace.image_calls_left
        task = instructions.text("native").text
        for gap, value in (("{capacity}", capacity), ("{turns}", turns), ("{image_calls}", calls)):
            task = task.replace(gap, str(value))
        tools = tuple(TOOL_OF_PART[part] for part in parts_of(self.spec.workflow, self.spec.best_of))
        return f"{task}\n\n{instructions.instruction(self.spec.workflow, 'tool', best_of=self.spec.best_of, tools=tools)}"


def _asked(agent: AgentModel, turn: Turn, receipt: Receipt) -> Action:
    """The agent model's action; an exception in its code is an outcome of this candidate, with the end of the traceback."""
    try:
        action = agent.next(turn)
    except WorkbenchError:
        raise
    except Exception:
        return Stop("failed", Reason("agent_exception", f"turn {turn.number}", traceback.format_exc()[-2000:]))
    receipt.usage, receipt.outcome = action.usage, type(action).__name__.lower()
    return action
