"""The wire format of OpenAI's Responses API: our request as its body, its response as our reply."""

from __future__ import annotations

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
from longbanana_nb.providers.openai_common import SCHEMA_NAME, calls_of, data_uri, fault_of
from longbanana_nb.providers.reading import count

ENDPOINT = "/v1/responses"


def body(request: Request, model_id: str) -> dict[str, Any]:
    """The JSON body of a response that is neither stored by the provider nor streamed."""
    found: dict[str, Any] = {
        "model": model_id,
        "input": [item for message in request.messages for item in _items(message, request.params.get("detail"))],
        "max_output_tokens": request.max_tokens,
        "store": False,
    }
    if request.system:
        found["instructions"] = request.system
    if request.schema is not None:
        found["text"] = {"format": {"type": "json_schema", "name": SCHEMA_NAME, "schema": request.schema, "strict": True}}
    if request.tools:
        found["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.schema,
                "strict": False,
            }
            for tool in request.tools
        ]
        found["include"] = ["reasoning.encrypted_content"]  # what is not stored must come back with the next turn
    return found | _params(request.params)


def reply(who: str, answer: Mapping[str, Any], request_id: str | None = None) -> Reply:
    """Read a response. ProviderError where it failed, or is none."""
    if answer.get("error") or answer.get("status") in ("failed", "cancelled"):
        raise fault_of(who, answer.get("error") or f"The response {answer.get('status')}.", 200, {}, request_id)
    output = answer.get("output")
    if not isinstance(output, list):
        raise unreadable(who, "it holds no output", status=200, request_id=request_id)
    parts = [part for item in output if item.get("type") == "message" for part in item.get("content") or []]
    text = "".join(part.get("text") or "" for part in parts if part.get("type") == "output_text")
    refusals = [part.get("refusal") or "" for part in parts if part.get("type") == "refusal"]
    calls, broken = calls_of(
        (item.get("call_id"), item.get("name"), item.get("arguments")) for item in output if item.get("type") == "function_call"
    )
    stop, detail = _stop(answer, refusals, bool(calls), broken)
    return Reply(
        stop,
        "" if broken or stop == "refused" else text,
        calls if stop == "tool" else (),
        usage(answer.get("usage") or {}),
        str(answer.get("model") or ""),
        request_id or answer.get("id"),
        native=output,
        detail=detail,
    )


def usage(reported: Mapping[str, Any]) -> Usage:
    """Tokens of a call; what was read from the cache or written to it is not input, reasoning is output."""
    details = reported.get("input_tokens_details") or {}
    cached, written = count(details, "cached_tokens"), count(details, "cache_write_tokens")
    fresh = max(0, count(reported, "input_tokens") - cached - written)
    return Usage(fresh, cached, written, count(reported, "output_tokens"), reported)


def _stop(answer: Mapping[str, Any], refusals: list[str], has_calls: bool, broken: str | None) -> tuple[Stop, str | None]:
    if answer.get("status") != "completed":
        reason = (answer.get("incomplete_details") or {}).get("reason")
        if reason == "content_filter":
            return "filtered", reason
        return "truncated", None if reason == "max_output_tokens" else str(reason or answer.get("status"))
    if refusals:
        return "refused", " ".join(refusals)
    if broken:
        return "end", broken
    return ("tool" if has_calls else "end"), None


def _items(message: Any, detail: str | None) -> list[dict[str, Any]]:
    """Input items of a message; results of tools are items of their own and come first, as the calls did."""
    if not isinstance(message, UserMessage):
        return list(message.native)
    results = [_result(part, detail) for part in message.parts if isinstance(part, ToolResult)]
    content = [_part(part, detail) for part in message.parts if not isinstance(part, ToolResult)]
    return [*results, *([{"role": "user", "content": content}] if content else [])]


def _result(result: ToolResult, detail: str | None) -> dict[str, Any]:
    parts = [_part(part, detail) for part in result.parts]
    if result.is_error:
        parts.insert(0, {"type": "input_text", "text": "The tool failed:"})
    return {"type": "function_call_output", "call_id": result.call_id, "output": parts}


def _part(part: Text | Picture, detail: str | None) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "input_text", "text": part.text}
    found: dict[str, Any] = {"type": "input_image", "detail": detail or "auto"}
    if part.handle is not None:
        return found | {"file_id": part.handle}
    return found | {"image_url": data_uri(part)}


def _params(params: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in params.items():
        if name == "effort":
            found["reasoning"] = {"effort": value}
        elif name == "temperature":
            found["temperature"] = value
        elif name not in ("detail", "max_tokens"):  # one stands with the pictures, the other is the request's own
            raise ProviderError("bad_request", f"The OpenAI adapter knows no parameter {name!r}.")
    return found
