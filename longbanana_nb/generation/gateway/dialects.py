"""The three dialects: where a request goes, which of its fields may travel, and how an error is said in each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from longbanana_nb.generation.agents.contracts import Dialect

SAMPLING: Final = frozenset({
    "temperature", "top_p", "top_k", "min_p", "seed", "presence_penalty", "frequency_penalty", "repetition_penalty", "logit_bias",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rules:
    """What may travel in one dialect.

    `passed` fields travel as they are. `dropped` fields say who asks or how fast it is to be served; they are taken out. Sampling
    parameters are replaced by the system's. `tokens` are names of the limit of one answer; the first is added where none is sent.
    Any other field is refused.
    """

    path: str  # as the agent sends it
    target: str  # below the model's base address
    tokens: tuple[str, ...]
    passed: frozenset[str]
    dropped: frozenset[str]
    tool_types: frozenset[str | None]
    choices: frozenset[str]
    content: str  # the field that holds the conversation
    counting: str | None = None  # a path that only counts tokens


RULES: Final[Mapping[Dialect, Rules]] = {
    "anthropic-messages": Rules(
        path="/v1/messages",
        target="/v1/messages",
        tokens=("max_tokens",),
        passed=frozenset({
            "model", "messages", "system", "stream", "tools", "tool_choice", "thinking", "stop_sequences", "output_config",
            "context_management", "cache_control",
        }),
        dropped=frozenset({"metadata", "service_tier"}),
        tool_types=frozenset({None, "custom"}),
        choices=frozenset({"auto", "any", "none", "tool"}),
        content="messages",
        counting="/v1/messages/count_tokens",
    ),
    "openai-chat": Rules(
        path="/v1/chat/completions",
        target="/chat/completions",
        tokens=("max_tokens", "max_completion_tokens"),
        passed=frozenset({
            "model", "messages", "stream", "stream_options", "tools", "tool_choice", "parallel_tool_calls", "response_format",
            "stop", "reasoning_effort", "verbosity", "prompt_cache_key",
        }),
        dropped=frozenset({"user", "metadata", "store", "service_tier", "safety_identifier"}),
        tool_types=frozenset({"function", "custom"}),
        choices=frozenset({"auto", "required", "none", "function", "custom"}),
        content="messages",
    ),
    "openai-responses": Rules(
        path="/v1/responses",
        target="/responses",
        tokens=("max_output_tokens",),
        passed=frozenset({
            "model", "input", "instructions", "stream", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "include",
            "text", "truncation", "prompt_cache_key",
        }),
        dropped=frozenset({
            "user", "metadata", "client_metadata", "store", "service_tier", "safety_identifier", "prompt_cache_retention",
            "stream_options",
        }),
        tool_types=frozenset({"function", "custom", "namespace"}),
        choices=frozenset({"auto", "required", "none", "function", "custom"}),
        content="input",
    ),
}  # fmt: skip
INCLUDED: Final = frozenset({"reasoning.encrypted_content"})  # what a request in the responses dialect may ask to be added
_ERROR_TYPES: Final = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
    413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
}  # fmt: skip


def error_body(dialect: Dialect, status: int, text: str, code: str | None = None) -> dict[str, Any]:
    """An error as a client of the dialect expects it."""
    kind = _ERROR_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    if dialect == "anthropic-messages":
        return {"type": "error", "error": {"type": kind, "message": text}}
    return {"error": {"message": text, "type": kind, "param": None, "code": code}}


def error_event(dialect: Dialect, text: str) -> bytes:
    """An error in a stream that has begun."""
    if dialect == "openai-responses":
        value: dict[str, Any] = {"type": "error", "code": "server_error", "message": text, "param": None, "sequence_number": 0}
    else:
        value = error_body(dialect, 500, text, "server_error")
    name = "" if dialect == "openai-chat" else "event: error\n"
    return f"{name}data: {json.dumps(value)}\n\n".encode()
