"""The chat-completions wire format as many servers speak it: our request as its body, its answer as our reply."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from longbanana_nb.providers.contracts import (
    Picture,
    ProviderError,
    Reply,
    Request,
    Stop,
    Text,
    ToolResult,
    Usage,
    UserMessage,
)
from longbanana_nb.providers.faults import unreadable
from longbanana_nb.providers.openai_common import OURS, SCHEMA_NAME, calls_of, data_uri, fault_of
from longbanana_nb.providers.reading import count

_ENDS = {"stop", "tool_calls", "function_call", "eos", "eos_token", "stop_sequence", "end_turn"}
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_ALWAYS_SENT = {"temperature": "temperature", "top_p": "top_p", "seed": "seed", "effort": "reasoning_effort"}


def body(request: Request, model_id: str) -> dict[str, Any]:
    """The JSON body of a completion."""
    structured = request.params.get("structured", "json_schema")
    system = request.system
    found: dict[str, Any] = {"model": model_id, "max_tokens": request.max_tokens}
    if request.schema is not None:
        if structured == "json_schema":
            form = {"name": SCHEMA_NAME, "schema": request.schema, "strict": True}
            found["response_format"] = {"type": "json_schema", "json_schema": form}
        else:  # the server does not hold the model to the schema, so the model is told it
            system = (
                f"{system}\n\nAnswer with one JSON object that keeps to this JSON schema:\n{json.dumps(request.schema)}".lstrip()
            )
            found |= {"response_format": {"type": "json_object"}} if structured == "json_object" else {}
    if request.tools:
        found["tools"] = [
            {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema}}
            for tool in request.tools
        ]
    detail = request.params.get("detail")
    said = [entry for message in request.messages for entry in _messages(message, detail)]
    found["messages"] = [*([{"role": "system", "content": system}] if system else []), *said]
    return found | _params(request.params)


def reply(who: str, answer: Mapping[str, Any], request_id: str | None = None) -> Reply:
    """Read a completion. ProviderError where it is an error in the clothes of a success, or holds no choice."""
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
    if error := answer.get("error") or first.get("error"):
        raise fault_of(who, error, 200, {}, request_id)
    message = first.get("message")
    if not isinstance(message, Mapping):
        raise unreadable(who, "it holds no choice with a message", status=200, request_id=request_id)
    functions = [(call.get("id"), call.get("function") or {}) for call in message.get("tool_calls") or []]
    calls, broken = calls_of((call_id, function.get("name"), function.get("arguments")) for call_id, function in functions)
    stop, detail = _stop(first, message, bool(calls), broken)
    return Reply(
        stop,
        "" if broken or stop == "refused" else _THOUGHTS.sub("", _text(message)),
        calls if stop == "tool" else (),
        usage(answer.get("usage") or {}),
        str(answer.get("model") or ""),
        request_id or answer.get("id"),
        native=_native(message),
        detail=detail,
    )


def usage(reported: Mapping[str, Any]) -> Usage:
    """Tokens of a call as far as the server counts them."""
    cached = count(reported.get("prompt_tokens_details") or {}, "cached_tokens")
    fresh = max(0, count(reported, "prompt_tokens") - cached)
    return Usage(fresh, cached, output_tokens=count(reported, "completion_tokens"), reported=reported)


def _stop(choice: Mapping[str, Any], message: Mapping[str, Any], has_calls: bool, broken: str | None) -> tuple[Stop, str | None]:
    """Only the known ends are ends: a reason that is missing or new may have cut the answer."""
    reason = choice.get("finish_reason")
    if reason == "content_filter":
        return "filtered", reason
    if reason == "length":
        return "truncated", None
    if reason not in _ENDS:
        return "truncated", f"finish_reason {reason!r}"
    if message.get("refusal"):
        return "refused", str(message["refusal"])
    if broken:
        return "end", broken
    return ("tool" if has_calls else "end"), None


def _text(message: Mapping[str, Any]) -> str:
    """The words of an answer: a text, parts of text, or nothing; what it thought stands in fields of its own."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if part.get("type") == "text")
    return content if isinstance(content, str) else ""


def _native(message: Mapping[str, Any]) -> dict[str, Any]:
    """The answer as the next turn repeats it; thoughts go back only with calls of tools, where servers want them."""
    calls = message.get("tool_calls") or []
    kept = ["content", "reasoning_content"] if calls else ["content"]
    found: dict[str, Any] = {"role": "assistant", **{name: message[name] for name in kept if message.get(name) is not None}}
    if calls:
        found["tool_calls"] = [{**call, "id": call.get("id") or f"{OURS}{n}"} for n, call in enumerate(calls)]
    return found


def _messages(message: Any, detail: str | None) -> list[dict[str, Any]]:
    """Messages of a turn; a tool's message takes text alone, so its pictures follow in the user's."""
    if not isinstance(message, UserMessage):
        return [dict(message.native)]
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    content = [_part(part, detail) for result in results for part in _shown(result)]
    content += [_part(part, detail) for part in message.parts if not isinstance(part, ToolResult)]
    return [*map(_result, results), *([{"role": "user", "content": content}] if content else [])]


def _result(result: ToolResult) -> dict[str, Any]:
    text = "\n".join(part.text for part in result.parts if isinstance(part, Text))
    said = f"The tool failed: {text}" if result.is_error else text
    return {"role": "tool", "tool_call_id": result.call_id, "content": said}


def _shown(result: ToolResult) -> list[Text | Picture]:
    pictures = [part for part in result.parts if isinstance(part, Picture)]
    return [Text(f"Pictures that {result.name} ({result.call_id}) gave:"), *pictures] if pictures else []


def _part(part: Text | Picture, detail: str | None) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if part.data is None:
        raise ProviderError("bad_request", "An OpenAI-compatible endpoint takes no uploaded files; send the bytes.")
    return {"type": "image_url", "image_url": {"url": data_uri(part), **({"detail": detail} if detail else {})}}


def _params(params: Mapping[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(params) - set(_ALWAYS_SENT) - {"detail", "max_tokens", "structured"})
    if unknown:
        raise ProviderError("bad_request", f"The adapter of OpenAI-compatible endpoints knows no parameter {', '.join(unknown)}.")
    return {_ALWAYS_SENT[name]: value for name, value in params.items() if name in _ALWAYS_SENT}
