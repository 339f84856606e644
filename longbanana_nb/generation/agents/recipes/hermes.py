"""Hermes-Agent (any of the three dialects): one configuration file; standard output is its last words, a file says how it went.

Its exit code is 0 after any failure of the server, with the error as the answer: the usage file is what tells. Without the two
switches for lazy installation it would run pip while it works.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from longbanana_nb.generation.agents.contracts import TOOL_SERVER, Claim, Dialect, ReadHome, Rendered, Setting
from longbanana_nb.generation.agents.saying import end_of_words, json_object, usage

_USAGE = "usage.json"
_PROVIDER = "gateway"
_MODES: dict[Dialect, str] = {
    "openai-chat": "chat_completions",
    "openai-responses": "codex_responses",
    "anthropic-messages": "anthropic_messages",
}


@dataclass(frozen=True, slots=True)
class Hermes:
    """The recipe of `hermes`."""

    name: str = "hermes"
    version: str = "1"
    dialects: tuple[Dialect, ...] = ("openai-chat", "openai-responses", "anthropic-messages")

    def render(self, setting: Setting) -> Rendered:
        """One headless run that approves everything."""
        env = {
            **setting.environment,
            "PATH": f"{setting.folder}/venv/bin:{setting.path}",
            "HERMES_HOME": f"{setting.home}/.hermes",
            "HERMES_DISABLE_LAZY_INSTALLS": "1",
        }
        argv = [*setting.program, "-z", setting.instruction, "-t", f"terminal,file,vision,{TOOL_SERVER}", "--ignore-rules"]
        argv += ["--usage-file", f"{setting.home}/{_USAGE}"]
        return Rendered(tuple(argv), env, {".hermes/config.yaml": json.dumps(_configuration(setting)).encode()})

    def parse(self, stdout: bytes, returncode: int | None, read_home: ReadHome) -> Claim:
        """The usage file; without one the run did not end by itself."""
        text = stdout.decode("utf-8", "replace").strip()
        said = json_object(read_home(_USAGE) or b"")
        if not said:
            return Claim("silent", text)
        tokens = usage(said.get("input_tokens"), said.get("cache_read_tokens"), said.get("output_tokens"))
        if said.get("failed") is False and said.get("completed") is True:
            return Claim("finished", text, "", tokens)
        return Claim(end_of_words(text) if said.get("failed") else "max_turns", "", text, tokens)


def _configuration(setting: Setting) -> dict[str, Any]:
    command, *arguments = setting.image_tool
    provider = {
        "base_url": setting.base_url if setting.dialect == "anthropic-messages" else f"{setting.base_url}/v1",
        "api_key": setting.permit,
        "api_mode": _MODES[setting.dialect],
        "models": {setting.model: {"context_length": setting.context_tokens, "supports_vision": True}},
    }
    return {
        "model": {
            "default": setting.model,
            "provider": _PROVIDER,
            "context_length": setting.context_tokens,
            "max_tokens": setting.max_tokens,
            "supports_vision": True,
        },
        "providers": {_PROVIDER: provider},
        "terminal": {"backend": "local", "cwd": setting.workspace},
        "security": {"allow_lazy_installs": False, "tirith_enabled": False},
        "memory": {"memory_enabled": False, "user_profile_enabled": False},
        "agent": {"max_turns": setting.max_turns, "api_max_retries": 3},
        "mcp_servers": {TOOL_SERVER: {"command": command, "args": arguments, "timeout": round(setting.request_timeout_s)}},
    }
