"""A request of an agent held against its permit: what travels on is built anew from what is allowed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from longbanana_nb.errors import CallError
from longbanana_nb.generation.gateway.contracts import MAX_TOKENS, MOST_BODY, Permit, RefusedError
from longbanana_nb.generation.gateway.conversation import Said, conversation
from longbanana_nb.generation.gateway.dialects import INCLUDED, RULES, SAMPLING, Rules


@dataclass(frozen=True, slots=True)
class Checked:
    """A request as it travels on. `text_bytes` is its size without pictures; `changes` says what was taken out or replaced."""

    data: bytes
    said: tuple[Said, ...]
    has_tools: bool
    is_stream: bool
    is_counting: bool
    max_tokens: int
    text_bytes: int
    changes: tuple[str, ...]

    @property
    def pictures(self) -> list[bytes]:
        """All pictures, in order, as often as they are sent."""
        return [picture for said in self.said for picture in said.pictures]


def refuse_odd_params(permit: Permit) -> None:
    """CallError for parameters of the agent model that no request could be given here."""
    odd = sorted(set(permit.params) - SAMPLING - {"max_tokens"})
    if odd:
        raise CallError(
            f"agent_model.params: {', '.join(odd)}: the gateway sets max_tokens and sampling parameters "
            f"({', '.join(sorted(SAMPLING))}) and no others."
        )


def most_body(permit: Permit) -> int:
    """The largest request in bytes."""
    return permit.model.limits.request_bytes or MOST_BODY


def checked(permit: Permit, path: str, raw: bytes) -> Checked:
    """Hold a request against a permit.

    Raises:
        RefusedError: for what is not allowed; nothing of it was sent then.
    """
    rules = RULES[permit.dialect]
    if path not in (rules.path, rules.counting):
        raise RefusedError("endpoint", f"There is no {path[:120]} here; there is {rules.path}.", 404)
    if len(raw) > most_body(permit):
        raise RefusedError("size", f"The request has {len(raw)} bytes; at most {most_body(permit)} are taken.", 413)
    is_counting = path == rules.counting
    body = _read(raw)
    if body.get("model") != permit.model.id:
        raise RefusedError(
            "model", f"model: {str(body.get('model'))[:80]!r} is not the model of this system: {permit.model.id!r}."
        )
    changes: list[str] = []
    sent = _fields(rules, body, changes)
    _check_tools(rules, body)
    _check_choice(rules, body.get("tool_choice"))
    try:
        said = conversation(permit.dialect, sent)
    except RecursionError:
        raise RefusedError("json", "The request is nested too deeply.") from None
    most = _set_params(permit, rules, sent, body, changes, is_counting)
    _settle_stream(permit, sent, body)
    data = json.dumps(sent, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
    pictures = sum(4 * ((len(picture) + 2) // 3) for one in said for picture in one.pictures)
    return Checked(
        data,
        tuple(said),
        bool(body.get("tools")),
        body.get("stream") is True,
        is_counting,
        most,
        len(data) - pictures,
        tuple(changes),
    )


def _read(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        raise RefusedError("json", "The request is no JSON.") from None
    if not isinstance(body, dict):
        raise RefusedError("json", f"The request is {type(body).__name__}, expected an object.")
    return body


def _fields(rules: Rules, body: Mapping[str, Any], changes: list[str]) -> dict[str, Any]:
    """The fields that travel as they are."""
    known = rules.passed | rules.dropped | SAMPLING | set(rules.tokens) | {"n"}
    unknown = sorted(str(name)[:60] for name, value in body.items() if name not in known and value is not None)
    if unknown:
        raise RefusedError("field", f"{', '.join(unknown)}: not passed on. Fields that are: {', '.join(sorted(rules.passed))}.")
    if body.get("n", 1) != 1:
        raise RefusedError("field", "n: one answer a request.")
    changes += [f"{name} taken out" for name in sorted(rules.dropped & set(body)) if body[name] not in (None, False)]
    wanted = body.get("include") or []
    if not isinstance(wanted, list) or not all(isinstance(one, str) and one in INCLUDED for one in wanted):
        raise RefusedError("field", f"include: only {', '.join(sorted(INCLUDED))}.")
    return {name: value for name, value in body.items() if name in rules.passed and value is not None}


def _check_tools(rules: Rules, body: Mapping[str, Any]) -> None:
    tools = body.get("tools") or []
    if not isinstance(tools, list):
        raise RefusedError("json", f"tools: found {type(tools).__name__}, expected a list.")
    for tool in tools:
        _check_tool(rules, tool)
        if isinstance(tool, Mapping) and tool.get("type") == "namespace":
            inner = tool.get("tools") or []
            if not isinstance(inner, list):
                raise RefusedError("json", f"tools: a namespace of {type(inner).__name__}, expected a list.")
            for one in inner:
                _check_tool(rules, one)


def _check_tool(rules: Rules, tool: Any) -> None:
    """Only tools that the agent itself carries out: a tool of the provider could look into the world on the agent's behalf."""
    kind = tool.get("type") if isinstance(tool, Mapping) else tool
    if not isinstance(tool, Mapping) or not isinstance(kind, str | None) or kind not in rules.tool_types:
        wanted = ", ".join(sorted(name for name in rules.tool_types if name))
        raise RefusedError("tool", f"tools: type {str(kind)[:60]!r} is not passed on; only {wanted}: tools that the agent runs.")
    callers = tool.get("allowed_callers")
    if callers not in (None, [], ["direct"]):
        raise RefusedError("tool", "tools: allowed_callers: only the model itself may call a tool.")


def _check_choice(rules: Rules, choice: Any) -> None:
    kind = choice.get("type") if isinstance(choice, Mapping) else choice
    if kind is not None and (not isinstance(kind, str) or kind not in rules.choices):
        raise RefusedError("tool", f"tool_choice: {str(kind)[:60]!r}; expected one of {', '.join(sorted(rules.choices))}.")


def _set_params(
    permit: Permit, rules: Rules, sent: dict[str, Any], body: Mapping[str, Any], changes: list[str], is_counting: bool
) -> int:
    """Put the system's sampling parameters and limit of tokens into a request; returns the limit."""
    ours = {name: value for name, value in permit.params.items() if name in SAMPLING}
    odd = [name for name in sorted(SAMPLING & set(body)) if body[name] is not None and ours.get(name) != body[name]]
    changes += [f"{name} {json.dumps(body[name])[:40]} {'replaced' if name in ours else 'taken out'}" for name in odd]
    most = int(permit.params.get("max_tokens", MAX_TOKENS))
    if is_counting:
        return 0
    sent.update(ours)
    names = [name for name in rules.tokens if body.get(name) is not None] or [_usual_name(permit, rules)]
    asked = [body[name] for name in names if body.get(name) is not None]
    if any(not isinstance(value, int) or isinstance(value, bool) or value < 1 for value in asked):
        raise RefusedError("field", f"{names[0]}: expected a whole number from 1.")
    limit: int = min([most, *asked])
    changes += [f"{name} {value} lowered to {limit}" for name, value in zip(names, asked, strict=False) if value > limit]
    sent.update(dict.fromkeys(names, limit))
    return limit


def _usual_name(permit: Permit, rules: Rules) -> str:
    """The field for the limit of tokens; OpenAI's newer models take the newer name alone, other servers often the older."""
    return rules.tokens[-1] if permit.model.provider == "openai" else rules.tokens[0]


def _settle_stream(permit: Permit, sent: dict[str, Any], body: Mapping[str, Any]) -> None:
    """Have the provider count tokens in streams too, and keep no conversation on its side."""
    if not isinstance(body.get("stream", False), bool | None):
        raise RefusedError("field", "stream: expected true or false.")
    if permit.dialect == "openai-chat":
        sent.pop("stream_options", None)
        if body.get("stream"):
            sent["stream_options"] = {"include_usage": True}
    elif permit.dialect == "openai-responses":
        sent["store"] = False
