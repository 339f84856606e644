"""Our own tool loop for an agent model: it plans with tools, within turns, image calls and time, until it finishes.

An agent that finishes leaves the picture drawn last. One that does not finish (turns or time used up) leaves no candidate: the
outcome is "budget" or "timeout", and what it drew is kept as steps.
"""

from __future__ import annotations

import json
import time
import traceback
from typing import TYPE_CHECKING

from longbanana_nb.errors import CallError, WorkbenchError
from longbanana_nb.generation.contracts import (
    Action,
    AgentModel,
    Capabilities,
    Draft,
    Finish,
    Models,
    Reason,
    Stop,
    ToolCall,
    ToolResult,
    Turn,
)
from longbanana_nb.generation.drawing import DrawingBoard
from longbanana_nb.generation.paying import OverBudgetError, Receipt, paid_call
from longbanana_nb.generation.tools import FINISH, GENERATE
from longbanana_nb.generation.workspace import Workspace

if TYPE_CHECKING:
    from longbanana_nb.release import Case
    from longbanana_nb.runs import SystemSpec

MAX_TURNS = 60  # where the system names no number
MAX_IMAGE_CALLS = 12


def refuse_what_does_not_fit(spec: SystemSpec, case: Case, capabilities: Capabilities) -> None:
    """Raise CallError for a reference policy the loop does not know, or a model that takes no image at all."""
    if spec.references.policy != "agent":
        raise CallError(f"system {spec.name!r}: native with references.policy {spec.references.policy!r}; expected 'agent'.")
    if capabilities.references_per_call < 1:
        raise CallError(f"system {spec.name!r}: the backend takes no image in a call, so no reference could reach it.")


def native(case: Case, spec: SystemSpec, models: Models, seed: int) -> Draft:
    """Let the agent model work on the case."""
    backend, agent = models.backend, models.agent
    if backend is None or agent is None:
        raise CallError(f"system {spec.name!r}: native needs a backend and an agent model.")
    refuse_what_does_not_fit(spec, case, backend.capabilities)
    board = DrawingBoard(case, backend, seed, models.purse)
    workspace = Workspace(case, board, spec.limits.max_image_calls or MAX_IMAGE_CALLS)
    turns = spec.harness.max_turns or MAX_TURNS
    ends = None if spec.harness.timeout_s is None else time.monotonic() + spec.harness.timeout_s
    results: list[ToolResult] = []
    for number in range(1, turns + 1):
        if ends is not None and time.monotonic() >= ends:
            return board.end(
                "timeout", Reason("timeout", f"turn {number}", f"{spec.harness.timeout_s:g} s were allowed for the case")
            )
        turn = Turn(
            number=number,
            prompt=case.prompt,
            inventory=workspace.inventory,
            results=tuple(results),
            capabilities=backend.capabilities,
            turns_left=turns - number + 1,
            image_calls_left=workspace.image_calls_left,
            seed=seed,
        )
        started = time.monotonic()
        try:
            with paid_call(models.purse, "agent", agent) as receipt:
                action = _asked(agent, turn, receipt)
        except OverBudgetError as error:
            return board.end("budget", Reason(error.code, f"turn {number}", str(error)))
        board.draft.agent_calls += 1
        board.count("agent", action.usage)
        _trace_action(board, action, time.monotonic() - started)
        if isinstance(action, Stop):
            return board.end(action.outcome, action.reason)
        if isinstance(action, Finish) or action.name == FINISH:
            return _finished(board, results, number)
        result = workspace.use(action)
        if board.out_of_money is not None:
            return board.end("budget", board.out_of_money)
        _trace_result(board, result)
        results.append(result)
    return board.end("budget", Reason("max_turns", f"turn {turns}", f"{turns} turns were allowed and the agent did not finish"))


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


def _finished(board: DrawingBoard, results: list[ToolResult], turn: int) -> Draft:
    """The picture drawn last; without any, the outcome of the last image call, if there was one."""
    if board.current is not None:
        return board.end("image")
    for result in reversed(results):
        if result.call.name == GENERATE and result.ok:
            reason = Reason(str(result.value["code"]), f"turn {turn}", str(result.value["raw"]))
            return board.end(result.value["outcome"], reason)
    return board.end("no_image", Reason("finished_without_drawing", f"turn {turn}", "the agent finished and had drawn nothing"))


def _trace_action(board: DrawingBoard, action: Action, seconds: float) -> None:
    if isinstance(action, ToolCall):
        text = f"{action.thought}\n{_json(action.arguments)}".strip()
        board.trace("agent", "tool_call", str(action.name), text, seconds=seconds)
    elif isinstance(action, Stop):
        board.trace("agent", "stop", action.outcome, f"{action.reason.code}: {action.reason.raw}", seconds=seconds)
    else:
        board.trace("agent", "finish", FINISH, action.note, seconds=seconds)


def _trace_result(board: DrawingBoard, result: ToolResult) -> None:
    kind = "tool_result" if result.ok else "tool_error"
    board.trace("tool", kind, str(result.call.name), _json(dict(result.value)), images=[image.sha256 for image in result.images])


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)
