"""What is said in a request: texts, tool calls, results and pictures, in any dialect. What is not known is refused."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from longbanana_nb.generation.agents.contracts import Dialect
from longbanana_nb.generation.gateway.contracts import RefusedError

_DATA = re.compile(r"data:image/[a-z0-9.+-]+;base64,", re.IGNORECASE)
_SILENT = frozenset({"thinking", "redacted_thinking", "reasoning", "summary_text", "reasoning_text"})
_TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_CALLS = frozenset({"function_call", "custom_tool_call"})
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})


@dataclass(frozen=True, slots=True)
class Said:
    """One thing said in a conversation. `name` is the role, the name of a tool called, or the id of the call it answers."""

    kind: Literal["text", "tool_call", "tool_result"]
    name: str
    text: str = ""
    pictures: tuple[bytes, ...] = ()


def conversation(dialect: Dialect, body: Mapping[str, Any]) -> list[Said]:
    """All that a request says, in order.

    Raises:
        RefusedError: a picture that is not sent as its bytes, a file, a part or an item of another kind.
    """
    if dialect == "openai-responses":
        return [*_instructions(body.get("instructions")), *_items(body.get("input"))]
    said = [*_instructions(body.get("system"))] if dialect == "anthropic-messages" else []
    for message in _list(body.get("messages"), "messages"):
        said += _message(_object(message, "messages"))
    return said


def _instructions(value: Any) -> Iterator[Said]:
    if value is not None:
        yield from _parts(value, "system")


def _message(message: Mapping[str, Any]) -> Iterator[Said]:
    role = _text(message.get("role"), "role")
    if message.get("audio") is not None:
        raise RefusedError("part", "messages: audio is not passed on.")
    if role == "tool":
        yield _result(message.get("tool_call_id"), message.get("content"))
        return
    yield from _parts(message.get("content"), role)
    for call in _list(message.get("tool_calls") or [], "tool_calls"):
        inner = _object(call, "tool_calls")
        told = inner.get(str(inner.get("type") or "function"))
        if not isinstance(told, Mapping):
            raise RefusedError("part", f"tool_calls: type {str(inner.get('type'))[:60]!r}; expected function or custom.")
        yield Said("tool_call", str(told.get("name")), _json(told.get("arguments", told.get("input"))))


def _items(value: Any) -> Iterator[Said]:
    if isinstance(value, str):
        yield Said("text", "user", value)
        return
    for one in _list(value, "input"):
        item = _object(one, "input")
        kind = str(item.get("type", "message"))
        if kind == "message":
            yield from _parts(item.get("content"), _text(item.get("role"), "role"))
        elif kind in _CALLS:
            yield Said("tool_call", str(item.get("name")), _json(item.get("arguments", item.get("input"))))
        elif kind in _RESULTS:
            yield _result(item.get("call_id"), item.get("output"))
        elif kind != "reasoning":
            raise RefusedError("part", f"input: an item of type {kind[:60]!r} is not passed on.")


def _result(call: Any, content: Any) -> Said:
    inner = list(_parts(content, "tool"))
    if any(said.kind != "text" for said in inner):
        raise RefusedError("part", "A result of a tool holds texts and pictures alone.")
    pictures = tuple(picture for said in inner for picture in said.pictures)
    return Said("tool_result", str(call), "\n".join(said.text for said in inner if said.text), pictures)


def _parts(content: Any, role: str) -> Iterator[Said]:
    """The parts of a message; a text alone is one part."""
    if content is None:
        return
    if isinstance(content, str):
        yield Said("text", role, content)
        return
    for one in _list(content, "content"):
        part = {"type": "text", "text": one} if isinstance(one, str) else _object(one, "content")
        kind = str(part.get("type"))
        if kind in _TEXTS:
            yield Said("text", role, _text(part.get(_TEXTS[kind]), kind))
        elif kind in ("image", "image_url", "input_image"):
            yield Said("text", role, "", (_picture(part),))
        elif kind == "tool_use":
            yield Said("tool_call", str(part.get("name")), _json(part.get("input")))
        elif kind == "tool_result":
            yield _result(part.get("tool_use_id"), part.get("content"))
        elif kind not in _SILENT:
            raise RefusedError("part", f"content: a part of type {kind[:60]!r} is not passed on.")


def _picture(part: Mapping[str, Any]) -> bytes:
    """The bytes of a picture that travels as base64; anything that has to be fetched is refused."""
    source = part.get("source") if part["type"] == "image" else part.get("image_url")
    if part["type"] == "image":
        if not isinstance(source, Mapping) or source.get("type") != "base64":
            kind = source.get("type") if isinstance(source, Mapping) else source
            raise RefusedError("image_source", f"A picture with source {str(kind)[:60]!r}; send its bytes as base64.")
        return _decoded(source.get("data"))
    url = source.get("url") if isinstance(source, Mapping) else source
    found = _DATA.match(url) if isinstance(url, str) else None
    if not isinstance(url, str) or found is None or part.get("file_id") is not None:
        raise RefusedError("image_source", "A picture by address or by file id; send its bytes as a data: address in base64.")
    return _decoded(url[found.end() :])


def _decoded(value: Any) -> bytes:
    try:
        return base64.b64decode(_text(value, "data"), validate=True)
    except (binascii.Error, ValueError):
        raise RefusedError("image_source", "The data of a picture is not base64.") from None


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise RefusedError("json", f"{where}: found {type(value).__name__}, expected a list.")
    return value


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise RefusedError("json", f"{where}: found {type(value).__name__}, expected an object.")
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise RefusedError("json", f"{where}: found {type(value).__name__}, expected a text.")
    return value


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
