"""What a request takes before it is sent: tokens by the catalogue's formulas, bytes, pictures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from longbanana_nb.providers.contracts import ModelMessage, Picture, Request, Text, ToolResult

if TYPE_CHECKING:
    from longbanana_nb.providers.catalogue import Model

MESSAGE_TOKENS = 4  # of the frame around a message or a part


def parts_of(request: Request) -> Iterator[Text | Picture]:
    """Every text and picture that we say in a request, in order; pictures that tools gave included."""
    for message in request.messages:
        if isinstance(message, ModelMessage):
            continue
        for part in message.parts:
            yield from part.parts if isinstance(part, ToolResult) else (part,)


def pictures_of(request: Request) -> list[Picture]:
    """The pictures of a request in order."""
    return [part for part in parts_of(request) if isinstance(part, Picture)]


def inline_bytes(request: Request) -> int:
    """Bytes of the pictures that travel within the request, as base64."""
    return sum(-(-len(picture.data) // 3) * 4 for picture in pictures_of(request) if picture.data is not None)


def input_tokens(model: Model, request: Request) -> int | None:
    """An estimate of the input tokens of a request; None where nothing is known of the model's tokenizer or of its pictures."""
    total = 0
    for tokens in _each(model, request):
        if tokens is None:
            return None
        total += tokens + MESSAGE_TOKENS
    return total


def prefix_tokens(model: Model, request: Request) -> int | None:
    """Tokens up to the end of the first part that is marked as shared by many requests; 0 where none is."""
    total = _fixed(model, request)
    for part in parts_of(request):
        tokens = part_tokens(model, part)
        if tokens is None or total is None:
            return None
        total += tokens + MESSAGE_TOKENS
        if part.ends_prefix:
            return total
    return 0


def _each(model: Model, request: Request) -> Iterator[int | None]:
    yield _fixed(model, request)
    for part in parts_of(request):
        yield part_tokens(model, part)
    for message in request.messages:
        if isinstance(message, ModelMessage):
            yield model.text_tokens(repr(message.native))


def _fixed(model: Model, request: Request) -> int | None:
    """Tokens of what stands before all messages: system text, schema and tools."""
    tools = [[tool.name, tool.description, dict(tool.schema)] for tool in request.tools]
    shapes = json.dumps([request.schema, tools], default=dict)
    return model.text_tokens(request.system + shapes)


def part_tokens(model: Model, part: Text | Picture) -> int | None:
    """Tokens of a text or picture; None where nothing is known."""
    if isinstance(part, Picture):
        return model.image_tokens(part.width, part.height)
    return model.text_tokens(part.text)
