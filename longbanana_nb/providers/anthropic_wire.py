"""The wire format of Anthropic's Messages API: our request as its body, its message as our reply, its errors as ours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from longbanana_nb.providers import faults
from longbanana_nb.providers import params as parameters
from longbanana_nb.providers.catalogue import Model
from longbanana_nb.providers.contracts import (
    ModelMessage,
    Part,
    Picture,
    ProviderError,
    Reply,
    Request,
    Stop,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from longbanana_nb.providers.encoding import PICTURES
from longbanana_nb.providers.reading import count

MOST_BREAKPOINTS = 4
OLDER_VERSION = "anthropic-version-2023-06-01"
STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool",
    "max_tokens": "truncated",
    "model_context_window_exceeded": "truncated",
    "pause_turn": "truncated",
    "refusal": "refused",
}
STATUS_OF = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_QUOTA_CODES = ("spend_limit", "billing", "storage_quota")
_TOO_LARGE = re.compile(
    r"image.{0,80}(?:exceed|too large|dimension|oversize)|(?:exceed|oversize).{0,80}image|prompt is too long|request_too_large"
    r"|exceeds? the maximum size|many-image",
    re.I | re.S,
)


def body(request: Request, model: Model) -> dict[str, Any]:
    """The body of one message. ProviderError where this model does not take what the request wants."""
    wrong = parameters.faults(model.params, request.params)
    if wrong:
        raise ProviderError("bad_request", f"{model.provider}/{model.id}: {'; '.join(wrong)}.")
    cache = {"type": "ephemeral", "ttl": request.cache} if request.cache != "off" else None
    built: dict[str, Any] = {
        "model": model.id,
        "max_tokens": request.max_tokens,
        "messages": [_message(message, cache) for message in request.messages],
    }
    if request.system:
        built["system"] = [{"type": "text", "text": request.system}]
    if request.tools:
        built["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)} for tool in request.tools
        ]
    _check_breakpoints(request)
    return built | _settings(request)


def headers(requests: Iterable[Request], model: Model) -> dict[str, str]:
    """Headers beside the SDK's own: the one model that takes a temperature takes it under an older version of the API."""
    rule = model.params.get("temperature")
    is_older = rule is not None and rule.through == OLDER_VERSION and any("temperature" in r.params for r in requests)
    return {"anthropic-version": OLDER_VERSION.removeprefix("anthropic-version-")} if is_older else {}


def _settings(request: Request) -> dict[str, Any]:
    found: dict[str, Any] = {}
    output: dict[str, Any] = {"effort": request.params["effort"]} if "effort" in request.params else {}
    if request.schema is not None:
        output["format"] = {"type": "json_schema", "schema": dict(request.schema)}
    if output:
        found["output_config"] = output
    if "thinking" in request.params:
        budget = {"budget_tokens": int(request.params["thinking_budget"])} if "thinking_budget" in request.params else {}
        found["thinking"] = {"type": request.params["thinking"], **budget}
    if "temperature" in request.params:
        found["temperature"] = request.params["temperature"]
    return found


def _check_breakpoints(request: Request) -> None:
    parts = [part for message in request.messages if isinstance(message, UserMessage) for part in message.parts]
    ends = sum(1 for part in parts if not isinstance(part, ToolResult) and part.ends_prefix)
    if request.cache != "off" and ends > MOST_BREAKPOINTS:
        raise ProviderError("bad_request", f"A request ends {ends} cached prefixes; Anthropic takes {MOST_BREAKPOINTS}.")


def _message(message: UserMessage | ModelMessage, cache: dict[str, Any] | None) -> dict[str, Any]:
    if isinstance(message, ModelMessage):
        return {"role": "assistant", "content": message.native}
    first = sorted(message.parts, key=lambda part: not isinstance(part, ToolResult))  # results of tools must come first
    return {"role": "user", "content": [block for part in first for block in _blocks(part, cache)]}


def _blocks(part: Part, cache: dict[str, Any] | None) -> list[dict[str, Any]]:
    if isinstance(part, ToolResult):
        inside = [block for inner in part.parts for block in _blocks(inner, None)]
        return [{"type": "tool_result", "tool_use_id": part.call_id, "content": inside, "is_error": part.is_error}]
    mark = {"cache_control": cache} if cache and part.ends_prefix else {}
    if isinstance(part, Text):
        return [{"type": "text", "text": part.text, **mark}] if part.text else []
    return [{"type": "image", "source": _source(part), "transformations": {"oversized_image": "error"}, **mark}]


def _source(picture: Picture) -> dict[str, Any]:
    if picture.handle is not None:
        return {"type": "file", "file_id": picture.handle}
    return {"type": "base64", "media_type": picture.mime, "data": PICTURES.quoted(picture)}


def reply(message: Mapping[str, Any], request_id: str | None) -> Reply:
    """Read a message. A reason to stop that is not known is no complete answer."""
    content = message["content"]
    reason = message["stop_reason"]
    calls = tuple(ToolCall(block["id"], block["name"], dict(block["input"])) for block in content if block["type"] == "tool_use")
    return Reply(
        stop=STOPS.get(reason, "truncated"),
        text="".join(block["text"] for block in content if block["type"] == "text"),
        tool_calls=calls,
        usage=usage(message["usage"]),
        model=message["model"],
        request_id=request_id,
        native=content,
        detail=_detail(reason, message.get("stop_details")),
    )


def _detail(reason: str, stop_details: Any) -> str | None:
    if reason == "refusal":
        told = stop_details if isinstance(stop_details, Mapping) else {}
        words = [str(told[name]) for name in ("category", "explanation") if told.get(name)]
        return faults.clean(": ".join(words)) or "refusal"
    if reason in ("end_turn", "stop_sequence", "tool_use"):
        return None
    return reason if reason in STOPS else f"unknown reason to stop: {faults.clean(str(reason))}"


def usage(reported: Mapping[str, Any]) -> Usage:
    """Tokens of a message; Anthropic's input tokens already leave out what was read from or written to a cache."""
    return Usage(
        input_tokens=count(reported, "input_tokens"),
        cached_tokens=count(reported, "cache_read_input_tokens"),
        cache_write_tokens=count(reported, "cache_creation_input_tokens"),
        output_tokens=count(reported, "output_tokens"),
        reported=dict(reported),
    )


def fault(who: str, status: int, answer: Any, sent_back: Mapping[str, str], key: str | None) -> ProviderError:
    """The error of an answer that is no message; `answer` is its body, read where it is JSON."""
    error = answer.get("error") if isinstance(answer, Mapping) else None
    told = error if isinstance(error, Mapping) else {}
    details = told.get("details")
    code = details.get("error_code") if isinstance(details, Mapping) else None
    code = code if isinstance(code, str) else told.get("type")
    words = faults.words_of(answer)
    is_quota = True if code and any(part in code for part in _QUOTA_CODES) else None
    is_too_large = status in (400, 413) and (code == "image_dimensions_too_large" or bool(_TOO_LARGE.search(words)))
    number = sent_back.get("request-id") or (answer.get("request_id") if isinstance(answer, Mapping) else None)
    return faults.of_status(
        who, status, words, sent_back, code=code, request_id=number, is_quota=is_quota, is_too_large=is_too_large, key=key
    )


def result(who: str, line: Mapping[str, Any], key: str | None) -> tuple[str, Reply | ProviderError]:
    """One line of the results of a batch."""
    outcome = line["result"]
    kind = outcome["type"]
    if kind == "succeeded":
        return line["custom_id"], reply(outcome["message"], outcome["message"].get("id"))
    if kind == "errored":
        told = outcome["error"]["error"]
        return line["custom_id"], fault(who, STATUS_OF.get(told["type"], 500), outcome["error"], {}, key)
    return line["custom_id"], ProviderError("overloaded", f"{who}: the request {kind} within its batch unanswered.", code=kind)
