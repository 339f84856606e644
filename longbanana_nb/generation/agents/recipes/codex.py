"""Codex CLI (OpenAI's responses): one configuration file; events as lines of JSON.

Without `unbounded_connection_retries = false` a refused connection is tried for ever; without `plugins = false` it looks for
hosts that are not there. Retries of requests and of streams multiply. For models that it knows it would offer its tools inside a
JavaScript tool and ask for sub-agents; a catalogue of one model, written for each run, has it offer every model the same plain
tools.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from longbanana_nb.generation.agents.contracts import TOOL_SERVER, Claim, Dialect, ReadHome, Rendered, Setting
from longbanana_nb.generation.agents.saying import end_of_words, inner, json_lines, usage, words

_PROVIDER = "gateway"
_KEY = "GATEWAY_PERMIT"
_OFF = ("plugins", "apps", "shell_snapshot", "unbounded_connection_retries", "goals", "hooks", "image_generation")
_TOLD = (
    "You work alone in a folder of a computer, with nobody to ask. Use your tools until the task is done: run commands, look at "
    "pictures with view_image, and use the tools of MCP servers. Keep what you say to the user short."
)


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
        files = {".codex/config.toml": _toml(_configuration(setting)).encode(), ".codex/models.json": _catalogue(setting)}
        return Rendered(tuple(argv), env, files)

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
        "model_catalog_json": f"{setting.home}/.codex/models.json",
        "approval_policy": "never",
        "sandbox_mode": "danger-full-access",
        "check_for_update_on_startup": False,
        "web_search": "disabled",
        "agents": {"enabled": False},
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


def _catalogue(setting: Setting) -> bytes:
    """The one model there is, with what the program is to know of it."""
    model = {
        "slug": setting.model,
        "display_name": setting.model,
        "description": "",
        "visibility": "list",
        "supported_in_api": True,
        "priority": 0,
        "base_instructions": _TOLD,
        "shell_type": "unified_exec",
        "supported_reasoning_levels": [],
        "supports_reasoning_summaries": False,
        "support_verbosity": False,
        "supports_parallel_tool_calls": True,
        "experimental_supported_tools": [],
        "input_modalities": ["text", "image"],
        "truncation_policy": {"mode": "tokens", "limit": 10000},
        "context_window": setting.context_tokens,
    }
    return json.dumps({"models": [model]}).encode()


def _toml(tables: dict[str, Any]) -> str:
    """Plain values first, then each table; numbers, booleans, texts and lists of texts are written in TOML as in JSON."""
    top = [f"{key} = {_value(value)}" for key, value in tables.items() if not isinstance(value, dict)]
    for name, table in tables.items():
        if isinstance(table, dict):
            top += [f"[{name}]", *(f"{key} = {_value(value)}" for key, value in table.items())]
    return "\n".join(top) + "\n"


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
