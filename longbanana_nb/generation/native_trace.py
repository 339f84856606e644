"""The transcript of our own loop: what the agent model did, tries that failed included, and what the tools answered."""

from __future__ import annotations

import json
from typing import Any

from longbanana_nb.generation.agent_contracts import Action, Finish, Stop, ToolCall, ToolCalls, ToolResult
from longbanana_nb.generation.drawing import DrawingBoard
from longbanana_nb.generation.tools import FINISH


def action(board: DrawingBoard, done: Action, seconds: float) -> None:
    """Write down one action of the agent model; only its first line has the time it took."""
    for text in getattr(done, "attempts", ()):
        board.trace("agent", "attempt", "failed", text)
    if isinstance(done, ToolCall):
        _tool_call(board, done, done.thought, seconds)
    elif isinstance(done, Stop):
        board.trace("agent", "stop", done.outcome, f"{done.reason.code}: {done.reason.raw}", seconds=seconds)
    elif isinstance(done, Finish):
        board.trace("agent", "finish", FINISH, done.note, seconds=seconds)
    else:
        _tool_calls(board, done, seconds)


def result(board: DrawingBoard, found: ToolResult) -> None:
    """Write down what a tool answered."""
    kind = "tool_result" if found.ok else "tool_error"
    board.trace("tool", kind, str(found.call.name), _json(dict(found.value)), images=[image.sha256 for image in found.images])


def _tool_calls(board: DrawingBoard, done: ToolCalls, seconds: float) -> None:
    if done.thought or not done.calls:
        board.trace("agent", "text", "says", done.thought, seconds=seconds)
        seconds = 0.0
    for n, call in enumerate(done.calls):
        _tool_call(board, call, call.thought, 0.0 if n else seconds)


def _tool_call(board: DrawingBoard, call: ToolCall, thought: str, seconds: float) -> None:
    board.trace("agent", "tool_call", str(call.name), f"{thought}\n{_json(call.arguments)}".strip(), seconds=seconds)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
