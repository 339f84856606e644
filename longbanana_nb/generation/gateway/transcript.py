"""The lines of a case's transcript as the gateway sees it: what is new in each request, what was answered, what tools gave."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation.agent_contracts import ToolCall, ToolResult
from longbanana_nb.generation.drawing import DrawingBoard
from longbanana_nb.generation.gateway.answers import Answer
from longbanana_nb.generation.gateway.checking import Checked
from longbanana_nb.generation.gateway.contracts import SeenPicture
from longbanana_nb.generation.gateway.conversation import Said


class Transcript:
    """Writes into the draft of a drawing board, so that image calls stand between the words that led to them."""

    def __init__(self, board: DrawingBoard) -> None:
        self._board = board
        self._known: set[bytes] = set()  # what was written already: each request repeats the whole conversation

    def request(self, request: Checked, pictures: Mapping[bytes, SeenPicture]) -> None:
        """What is new in a request. What the model itself said stands there from its answers; repeated otherwise, it is new."""
        if request.is_counting:
            return
        for said in request.said:
            mark = _mark(said)
            if mark in self._known or (said.kind == "text" and not said.text and not said.pictures):
                continue
            self._known.add(mark)
            kind = {"text": "told", "tool_call": "tool_call", "tool_result": "tool_result"}[said.kind]
            hashes = [pictures[picture].sha256 for picture in said.pictures]
            self._board.trace("program", kind, said.name, said.text, images=hashes)
        changes = "; ".join(request.changes)
        mark = changes.encode("utf-8", "replace")
        if changes and mark not in self._known:
            self._known.add(mark)
            self._board.trace("gateway", "changed", "request", changes)

    def answer(self, answer: Answer, seconds: float) -> None:
        """What the model said, and the tools it wants used."""
        if answer.text or not answer.calls:
            self._known.add(_mark(Said("text", "assistant", answer.text)))
            self._line("text", answer.stop, answer.text, answer, seconds)
            seconds, answer = 0.0, Answer(calls=answer.calls)
        for n, (name, arguments) in enumerate(answer.calls):
            self._known.add(_mark(Said("tool_call", name, arguments)))
            self._line("tool_call", name, arguments, Answer() if n else answer, 0.0 if n else seconds)

    def image_tool(self, call: ToolCall) -> None:
        """The image tool is used."""
        self._board.trace("program", "image_tool", str(call.name), _json(call.arguments))

    def tool_result(self, found: ToolResult, seconds: float) -> None:
        """What the image tool gave."""
        kind = "tool_result" if found.ok else "tool_error"
        hashes = [image.sha256 for image in found.images]
        self._board.trace("tool", kind, str(found.call.name), _json(dict(found.value)), images=hashes, seconds=seconds)

    def picture(self, found: SeenPicture) -> None:
        """A picture reached the model for the first time."""
        text = f"{found.id or 'no picture of this case'}, {found.width} x {found.height}"
        self._board.trace("gateway", "picture", found.match, text, images=[found.sha256])

    def _line(self, kind: str, name: str, text: str, answer: Answer, seconds: float) -> None:
        self._board.trace("agent", kind, name, text, seconds=seconds)
        if answer.usage is not None:
            tokens = {
                "in": answer.usage.input_tokens + answer.usage.cache_write_tokens,
                "cached": answer.usage.cached_tokens,
                "out": answer.usage.output_tokens,
            }
            self._board.draft.trace[-1]["tokens"] = tokens


def _mark(said: Said) -> bytes:
    """What makes two things said the same; arguments count by their value, for programs write JSON their own way."""
    text = said.text
    if said.kind == "tool_call":
        try:
            text = json.dumps(json.loads(text), sort_keys=True)
        except (ValueError, RecursionError):
            text = said.text
    whole = json.dumps([said.kind, said.name, text, [sha256_bytes(picture) for picture in said.pictures]])
    return hashlib.sha256(whole.encode()).digest()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
