"""The conversation with an agent model: its whole history, kept within a stated number of tokens and pictures or refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from longbanana_nb.generation.agent_views import view
from longbanana_nb.providers.contracts import (
    ModelMessage,
    Part,
    Picture,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    UserMessage,
)

if TYPE_CHECKING:
    from longbanana_nb.generation.agent_contracts import ToolResult as Result
    from longbanana_nb.generation.agent_contracts import Turn
    from longbanana_nb.providers.catalogue import Model

Policy = Literal["stop", "forget-pictures"]
MARGIN = 1.25  # by which the count of a request's tokens may be too low
FRAME = 4  # tokens around a part
FORGOTTEN = "[Pictures that were shown here are taken out to make room. Look again where you need them.]"
NO_TOOL = "You called no tool. Nothing was done. Call a tool, or `finish` when the current picture is your answer."


class ContextFullError(Exception):
    """The next request would pass the stated size; the text has the numbers."""


@dataclass(slots=True)
class Talk:
    """Everything said so far. `most_tokens` bounds a request by the catalogue's formulas, `policy` says what happens there."""

    model: Model
    system: str
    tools: tuple[Tool, ...]
    max_tokens: int
    most_tokens: int
    policy: Policy
    messages: list[UserMessage | ModelMessage] = field(default_factory=list)
    forgotten: int = 0  # tool results whose pictures were taken out

    def begin(self, turn: Turn) -> None:
        """Say what the task is; texts of the release are data, and stand in JSON."""
        listed = [{"id": one.id, "role": one.role} for one in turn.inventory]
        task = json.dumps({"prompt": turn.prompt, "references": listed}, ensure_ascii=False)
        self.messages.append(UserMessage((Text(f"TASK: {task}"), Text(_left(turn), ends_prefix=True))))

    def answer(self, calls: Sequence[ToolCall], results: Sequence[Result], turn: Turn) -> None:
        """Say what came of the calls of the last reply; one that called nothing is told so."""
        parts: list[Part] = [self._result(call, result) for call, result in zip(calls, results, strict=True)]
        self.messages.append(UserMessage((*parts, *([] if parts else [Text(NO_TOOL)]), Text(_left(turn), ends_prefix=True))))

    def again(self, fault: str) -> None:
        """Say that the last reply could not be read; the reply itself is not kept."""
        last = self.messages[-1]
        if isinstance(last, UserMessage):
            self.messages[-1] = UserMessage((*last.parts, Text(f"Your answer could not be read: {fault}. Answer again.")))

    def request(self, params: dict[str, Any], cache: Literal["off", "5m", "1h"]) -> Request:
        """The next request, within its bounds.

        Raises:
            ContextFullError: where the policy is "stop", or where nothing is left to take out.
        """
        self._fit()
        return Request(
            self.system, _marked(self.messages), self.max_tokens, tools=self.tools, params=params, cache=cache
        )  # fmt: skip

    def _result(self, call: ToolCall, result: Result) -> ToolResult:
        parts: list[Text | Picture] = [Text(json.dumps(dict(result.value), ensure_ascii=False, default=str))]
        for image in result.images:
            parts += [Text(f"{image.id}:"), view(image, self.model)]
        return ToolResult(call.id, call.name, tuple(parts), is_error=not result.ok)

    def _fit(self) -> None:
        """Take the pictures of the oldest results out, one result at a time, until the request fits; the newest message stays."""
        while (fault := self._too_much()) is not None:
            places = [n for n, message in enumerate(self.messages[:-1]) if _has_pictures(message)]
            if self.policy == "stop" or not places:
                raise ContextFullError(fault)
            message = self.messages[places[0]]
            if isinstance(message, UserMessage):
                self.messages[places[0]], taken = _without_pictures(message)
                self.forgotten += taken

    def _too_much(self) -> str | None:
        pictures = sum(len(_pictures(message)) for message in self.messages)
        if self.model.limits.images is not None and pictures > self.model.limits.images:
            return f"the conversation holds {pictures} pictures; {self.model.id} takes {self.model.limits.images} in a request"
        tokens = self.tokens()
        if tokens is not None and tokens > self.most_tokens:
            return f"the conversation has about {tokens:,} tokens; at most {self.most_tokens:,} are allowed (max_input_tokens)"
        return None

    def tokens(self) -> int | None:
        """Tokens of the next request by the catalogue's formulas, with a margin; None where they are not known."""
        fixed = json.dumps([[tool.name, tool.description, dict(tool.schema)] for tool in self.tools])
        counts = [self.model.text_tokens(self.system + fixed)]
        for message in self.messages:
            if isinstance(message, ModelMessage):
                counts.append(self.model.text_tokens(repr(message.native)))
            else:
                counts += [self._tokens_of(part) for part in _flat(message)]
        known = [count + FRAME for count in counts if count is not None]
        return int(sum(known) * MARGIN) if len(known) == len(counts) else None

    def _tokens_of(self, part: Text | Picture) -> int | None:
        if isinstance(part, Picture):
            return self.model.image_tokens(part.width, part.height)
        return self.model.text_tokens(part.text)


def _left(turn: Turn) -> str:
    return json.dumps({"turns_left": turn.turns_left, "image_calls_left": turn.image_calls_left})


def _flat(message: UserMessage) -> list[Text | Picture]:
    return [one for part in message.parts for one in (part.parts if isinstance(part, ToolResult) else (part,))]


def _pictures(message: UserMessage | ModelMessage) -> list[Picture]:
    return [] if isinstance(message, ModelMessage) else [one for one in _flat(message) if isinstance(one, Picture)]


def _has_pictures(message: UserMessage | ModelMessage) -> bool:
    return bool(_pictures(message))


def _without_pictures(message: UserMessage) -> tuple[UserMessage, int]:
    """The message with a sentence in place of pictures, and how many results had some."""
    parts: list[Part] = []
    taken = 0
    for part in message.parts:
        if isinstance(part, ToolResult) and any(isinstance(one, Picture) for one in part.parts):
            kept = tuple(one for one in part.parts[:1] if isinstance(one, Text))
            parts.append(replace(part, parts=(*kept, Text(FORGOTTEN))))
            taken += 1
        else:
            parts.append(part)
    return UserMessage(tuple(parts)), taken


def _marked(messages: Sequence[UserMessage | ModelMessage]) -> tuple[UserMessage | ModelMessage, ...]:
    """The messages with cache marks at the end of the first and of the last one alone, up to which all is the same next time."""
    ours = [n for n, message in enumerate(messages) if isinstance(message, UserMessage)]
    marked = {ours[0], ours[-1]} if ours else set()
    return tuple(
        message
        if n in marked or isinstance(message, ModelMessage)
        else UserMessage(tuple(_unmarked(one) for one in message.parts))
        for n, message in enumerate(messages)
    )


def _unmarked(part: Part) -> Part:
    return replace(part, ends_prefix=False) if isinstance(part, Text) and part.ends_prefix else part
