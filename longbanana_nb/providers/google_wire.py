"""Gemini's wire format: our request as a generateContent body, their answer as our reply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from longbanana_nb.providers.contracts import (
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
from longbanana_nb.providers.faults import unreadable
from longbanana_nb.providers.reading import count

OURS = "lb-call-"
"""Ids of calls that came without one; they are never sent back."""

FILTERED = {
    "SAFETY",
    "RECITATION",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "ESCALATION",
    "MODEL_ARMOR",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
}
"""Why an answer ended that a filter ended."""

_MALFORMED = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"}


def body(request: Request) -> dict[str, Any]:
    """The JSON body of generateContent."""
    found: dict[str, Any] = {"contents": [_content(message) for message in request.messages]}
    if request.system:
        found["systemInstruction"] = {"parts": [{"text": request.system}]}
    if request.tools:
        found["tools"] = [
            {
                "functionDeclarations": [
                    {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.schema}
                    for tool in request.tools
                ]
            }
        ]
    found["generationConfig"] = _config(request)
    return found


def reply(who: str, answer: Mapping[str, Any], request_id: str | None = None) -> Reply:
    """Read an answer. ProviderError where it holds none, or says that the account or the request is at fault."""
    candidates, feedback = answer.get("candidates") or [], answer.get("promptFeedback") or {}
    common: dict[str, Any] = {
        "usage": usage(answer.get("usageMetadata") or {}),
        "model": str(answer.get("modelVersion") or ""),
        "request_id": answer.get("responseId") or request_id,
    }
    if not candidates:
        if reason := feedback.get("blockReason"):
            return Reply("filtered", "", (), native=None, detail=_detail(f"prompt: {reason}", feedback), **common)
        raise unreadable(who, "it holds no candidate and no reason for it", status=200, request_id=common["request_id"])
    candidate = candidates[0]
    content = candidate.get("content") or {}
    parts = [part for part in content.get("parts") or [] if not part.get("thought")]
    text, calls = "".join(part["text"] for part in parts if part.get("text")), _calls(parts)
    stop, detail = _stop(candidate, bool(calls))
    if detail and stop == "end":  # what was said before a call that cannot be read is no answer
        text = ""
    return Reply(stop, text, calls if stop == "tool" else (), native=content, detail=detail, **common)


def usage(reported: Mapping[str, Any]) -> Usage:
    """Tokens of a call: thoughts are output, what was read from a cache is not input."""
    cached = count(reported, "cachedContentTokenCount")
    sent = count(reported, "promptTokenCount") + count(reported, "toolUsePromptTokenCount")
    out = count(reported, "candidatesTokenCount") + count(reported, "thoughtsTokenCount")
    return Usage(input_tokens=max(0, sent - cached), cached_tokens=cached, output_tokens=out, reported=reported)


def _stop(candidate: Mapping[str, Any], has_calls: bool) -> tuple[Stop, str | None]:
    """Only STOP is an end: whatever else closed an answer may have cut it, reasons of tomorrow included."""
    reason = str(candidate.get("finishReason") or "FINISH_REASON_UNSPECIFIED")
    if reason == "STOP":
        return ("tool" if has_calls else "end"), None
    detail = _detail(reason, candidate)
    if reason == "PUP_LIMITED_DISABLED":
        raise ProviderError("auth", f"The account is limited or disabled ({detail}).", status=200, code=reason)
    if reason == "MISSING_THOUGHT_SIGNATURE":
        raise ProviderError("bad_request", f"The conversation was refused ({detail}).", status=200, code=reason)
    if reason in FILTERED:
        return "filtered", detail
    return ("end" if reason in _MALFORMED else "truncated"), None if reason == "MAX_TOKENS" else detail


def _detail(reason: str, holder: Mapping[str, Any]) -> str:
    message = holder.get("finishMessage") or holder.get("blockReasonMessage")
    return f"{reason}: {message}" if message else reason


def _calls(parts: Iterable[Mapping[str, Any]]) -> tuple[ToolCall, ...]:
    calls = [part["functionCall"] for part in parts if part.get("functionCall")]
    return tuple(
        ToolCall(call.get("id") or f"{OURS}{n}", str(call.get("name")), call.get("args") or {}) for n, call in enumerate(calls)
    )


def _content(message: Any) -> dict[str, Any]:
    if isinstance(message, UserMessage):
        return {"role": "user", "parts": [_part(part) for part in message.parts]}
    return {"role": "model", "parts": [], **message.native}


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"text": part.text}
    if isinstance(part, Picture):
        return _picture(part)
    return {"functionResponse": _result(part)}


def _picture(picture: Picture) -> dict[str, Any]:
    if picture.handle is not None:
        return {"fileData": {"mimeType": picture.mime, "fileUri": picture.handle}}
    return {"inlineData": {"mimeType": picture.mime, "data": PICTURES.quoted(picture)}}


def _result(result: ToolResult) -> dict[str, Any]:
    texts = [part.text for part in result.parts if isinstance(part, Text)]
    pictures = [_picture(part) for part in result.parts if isinstance(part, Picture)]
    found: dict[str, Any] = {
        "name": result.name,
        "response": {"error" if result.is_error else "result": "\n".join(texts)},
    }
    if not result.call_id.startswith(OURS):
        found["id"] = result.call_id
    if pictures:
        found["parts"] = pictures
    return found


def _config(request: Request) -> dict[str, Any]:
    found: dict[str, Any] = {"maxOutputTokens": request.max_tokens}
    if request.schema is not None:
        found |= {"responseMimeType": "application/json", "responseJsonSchema": request.schema}
    for name, value in request.params.items():
        if name == "thinking_level":
            found["thinkingConfig"] = {"thinkingLevel": str(value).upper()}
        elif name == "media_resolution":
            found["mediaResolution"] = f"MEDIA_RESOLUTION_{str(value).upper()}"
        elif name in ("temperature", "seed"):
            found[name] = value
        elif name != "max_tokens":  # that one is the request's own
            raise ProviderError("bad_request", f"The Google adapter knows no parameter {name!r}.")
    return found


def batch_body(items: Sequence[tuple[str, Mapping[str, Any]]], label: str) -> dict[str, Any]:
    """The body of batchGenerateContent with requests inline."""
    requests = [{"request": request, "metadata": {"key": key}} for key, request in items]
    return {"batch": {"displayName": label, "inputConfig": {"requests": {"requests": requests}}}}
