"""Codex CLI (OpenAI's responses): one configuration file; events as lines of JSON.

Without `unbounded_connection_retries = false` a refused connection is tried for ever; without `plugins = false` it looks for
hosts that are not there. Retries of requests and of streams multiply. An item of type `error` about model metadata is benign.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from longbanana_nb.generation.agents.contracts import TOOL_SERVER, Claim, Dialect, ReadHome, Rendered, Setting
from longbanana_nb.generation.agents.saying import end_of_words, inner, json_lines, usage, words

_PROVIDER = "gateway"
_KEY = "GATEWAY_PERMIT"
_OFF = (
    "plugins", "apps", "shell_snapshot", "unbounded_connection_retries", "multi_agent", "goals", "hooks", "image_generation",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Codex:
    """The recipe of `codex`."""

    name: str = "codex"
    version: str = "1"
    dialects: tuple[Dialect, ...] = ("openai-responses",)

    def render(self, setting: Setting) -> Rendered:
        """One headless run without its own sandbox: it runs in ours."""
        env = {**setting.environment, "CODEX_HOME": f"{setting.home}/.codex", _KEY: setting.permit}
        argv = [*setting.program, "exec", "--json", "--strict-config", "--skip-git-repo-check", "--ephemeral"]
        argv += ["--dangerously-bypass-approvals-and-sandbox", "-C", setting.workspace, setting.instruction]
        return Rendered(tuple(argv), env, {".codex/config.toml": _toml(_configuration(setting)).encode()})

    def parse(self, stdout: bytes, returncode: int | None, read_home: ReadHome) -> Claim:
        """`turn.completed` or `turn.failed`, whichever came last, and the last message."""
        claim, text = Claim("silent"), ""
        for event in json_lines(stdout):
            if event.get("type") == "item.completed" and inner(event, "item", "type") == "agent_message":
                text = words(inner(event, "item", "text"))
            elif event.get("type") == "turn.completed":
                said = event.get("usage")
                tokens = usage(inner(said, "input_tokens"), inner(said, "cached_input_tokens"), inner(said, "output_tokens"))
                claim = Claim("finished", text, "", tokens)
            elif event.get("type") == "turn.failed":
                detail = words(inner(event, "error", "message"))
                claim = Claim(end_of_words(detail), text, detail)
        return claim


def _configuration(setting: Setting) -> dict[str, Any]:
    command, *arguments = setting.image_tool
    return {
        "model": setting.model,
        "model_provider": _PROVIDER,
        "model_context_window": setting.context_tokens,
        "approval_policy": "never",
        "sandbox_mode": "danger-full-access",
        "check_for_update_on_startup": False,
        "web_search": "disabled",
        "features": dict.fromkeys(_OFF, False),
        "analytics": {"enabled": False},
        "feedback": {"enabled": False},
        "history": {"persistence": "none"},
        "otel": {"exporter": "none"},
        f"model_providers.{_PROVIDER}": {
            "name": _PROVIDER,
            "base_url": f"{setting.base_url}/v1",
            "wire_api": "responses",
            "env_key": _KEY,
            "request_max_retries": 2,
            "stream_max_retries": 1,
            "stream_idle_timeout_ms": round(1000 * setting.request_timeout_s),
        },
        f"mcp_servers.{TOOL_SERVER}": {
            "command": command,
            "args": arguments,
            "startup_timeout_sec": 30,
            "tool_timeout_sec": round(setting.request_timeout_s),
        },
    }


def _toml(tables: dict[str, Any]) -> str:
    """Plain values first, then each table; numbers, booleans, texts and lists of texts are written in TOML as in JSON."""
    top = [f"{key} = {_value(value)}" for key, value in tables.items() if not isinstance(value, dict)]
    for name, table in tables.items():
        if isinstance(table, dict):
            top += [f"[{name}]", *(f"{key} = {_value(value)}" for key, value in table.items())]
    return "\n".join(top) + "\n"


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
