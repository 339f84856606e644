"""What a provider answered, whole or as a stream of events: words, tool calls, why it ended, and the tokens it counted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from longbanana_nb.generation.agents.contracts import Dialect
from longbanana_nb.providers import anthropic_wire, openai_chat_wire, openai_responses_wire
from longbanana_nb.providers.contracts import Usage

REFUSED = frozenset({"refusal", "content_filter"})


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. `usage` is None where none was counted; `calls` are names and arguments as they came."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    stop: str = ""
    model: str | None = None
    usage: Usage | None = None

    @property
    def is_refused(self) -> bool:
        """Whether the model, or a filter, would not answer."""
        return self.stop in REFUSED


def answer_of(dialect: Dialect, body: Any) -> Answer:
    """A whole answer; what cannot be read is an answer without tokens."""
    try:
        return _READERS[dialect](body)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return Answer()


def _messages(body: Mapping[str, Any]) -> Answer:
    blocks = body["content"]
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    calls = tuple((str(block["name"]), _json(block["input"])) for block in blocks if block["type"] == "tool_use")
    usage = anthropic_wire.usage(body["usage"]) if body.get("usage") else None
    return Answer(text, calls, str(body.get("stop_reason")), body.get("model"), usage)


def _chat(body: Mapping[str, Any]) -> Answer:
    choice = body["choices"][0] if body.get("choices") else {}
    message = choice.get("message") or {}
    told = [call.get(call.get("type") or "function") or {} for call in message.get("tool_calls") or []]
    calls = tuple((str(one.get("name")), _json(one.get("arguments", one.get("input")))) for one in told)
    usage = openai_chat_wire.usage(body["usage"]) if body.get("usage") else None
    stop = "refusal" if message.get("refusal") else str(choice.get("finish_reason"))
    return Answer(_words(message), calls, stop, body.get("model"), usage)


def _words(message: Mapping[str, Any]) -> str:
    found = message.get("content") or message.get("refusal") or ""
    return found if isinstance(found, str) else _json(found)


def _responses(body: Mapping[str, Any]) -> Answer:
    parts = [part for item in body["output"] if item["type"] == "message" for part in item["content"]]
    text = "".join(part.get("text") or part.get("refusal") or "" for part in parts)
    kinds = {"function_call": "arguments", "custom_tool_call": "input"}
    calls = tuple((str(one["name"]), _json(one[kinds[one["type"]]])) for one in body["output"] if one["type"] in kinds)
    usage = openai_responses_wire.usage(body["usage"]) if body.get("usage") else None
    stop = str((body.get("incomplete_details") or {}).get("reason") or body.get("status"))
    return Answer(text, calls, "refusal" if any(p["type"] == "refusal" for p in parts) else stop, body.get("model"), usage)


_READERS = {"anthropic-messages": _messages, "openai-chat": _chat, "openai-responses": _responses}


@dataclass(slots=True)
class StreamReader:
    """Reads the lines of an event stream as they pass, and puts the whole answer together.

    `is_whole` once the stream said that it ended; `failure` is what it said went wrong.
    """

    dialect: Dialect
    is_whole: bool = False
    failure: str | None = None
    _body: dict[str, Any] = field(default_factory=dict)
    _message: dict[str, Any] = field(default_factory=dict)

    def feed(self, line: bytes) -> None:
        """One line, with or without its end; what cannot be read is passed over."""
        if not line.startswith(b"data:"):
            return
        data = line[5:].strip()
        if data == b"[DONE]":
            self.is_whole = True
            return
        try:
            event = json.loads(data)
            if isinstance(event, dict):
                self._take(event)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            return

    def answer(self) -> Answer:
        """What the stream said; tokens only if it ended whole, for those counted before are not all."""
        found = answer_of(self.dialect, self._body)
        return found if self.is_whole else Answer(found.text, found.calls, found.stop, found.model)

    def _take(self, event: dict[str, Any]) -> None:
        if event.get("error") or event.get("type") in ("error", "response.failed"):
            told = event.get("error") or (event.get("response") or {}).get("error") or event
            self.failure = str(told.get("message") or told.get("code") or told) if isinstance(told, dict) else str(told)
        {"anthropic-messages": self._messages, "openai-chat": self._chat, "openai-responses": self._responses}[self.dialect](
            event
        )

    def _messages(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind == "message_start":
            self._body = {**event["message"], "content": []}
        elif kind == "content_block_start":
            self._body["content"].append({**event["content_block"], "_parts": []})
        elif kind == "content_block_delta":
            delta, block = event["delta"], self._body["content"][event["index"]]
            block["_parts"].append(delta.get("text") or delta.get("partial_json") or "")
        elif kind == "content_block_stop":
            block = self._body["content"][event["index"]]
            block["text" if block["type"] == "text" else "input"] = "".join(block.pop("_parts"))
        elif kind == "message_delta":
            self._body.update(event["delta"])
            self._body["usage"] = {**(self._body.get("usage") or {}), **(event.get("usage") or {})}
        elif kind == "message_stop":
            self.is_whole = True

    def _chat(self, event: dict[str, Any]) -> None:
        if not self._body:
            self._message = {"content": "", "tool_calls": []}
            self._body = {"choices": [{"message": self._message}]}
        self._body["model"] = event.get("model") or self._body.get("model")
        if event.get("usage"):
            self._body["usage"] = event["usage"]
        for choice in event.get("choices") or []:
            delta = choice.get("delta") or {}
            self._message["content"] += delta.get("content") or delta.get("refusal") or ""
            for call in delta.get("tool_calls") or []:
                self._call(call)
            if choice.get("finish_reason"):
                self._body["choices"][0]["finish_reason"] = choice["finish_reason"]
                self._message.setdefault("refusal", None)

    def _call(self, call: dict[str, Any]) -> None:
        calls, index = self._message["tool_calls"], call.get("index", 0)
        while len(calls) <= index < 1000:
            calls.append({"function": {"name": "", "arguments": ""}})
        told = call.get("function") or {}
        calls[index]["function"]["name"] += told.get("name") or ""
        calls[index]["function"]["arguments"] += told.get("arguments") or ""

    def _responses(self, event: dict[str, Any]) -> None:
        if event.get("type") == "response.output_item.done":
            self._message.setdefault("output", []).append(event["item"])
        elif event.get("type") in ("response.completed", "response.incomplete", "response.failed"):
            response = event["response"]
            self._body = {**response, "output": response.get("output") or self._message.get("output", [])}
            self.is_whole = True


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
