"""OpenCode (any of the three dialects): one configuration file, the instruction on standard input; events as lines of JSON.

An instruction given as an argument would reach the model in quotes. A server's 500 and 429 are tried six times and no setting
changes that; it takes 30 to 80 s.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from longbanana_nb.generation.agents.contracts import TOOL_SERVER, Claim, Dialect, ReadHome, Rendered, Setting
from longbanana_nb.generation.agents.saying import count, end_of_status, end_of_words, inner, json_lines, usage, words

_PROVIDER = "gateway"
_PACKAGES: dict[Dialect, str] = {
    "openai-chat": "@ai-sdk/openai-compatible",
    "anthropic-messages": "@ai-sdk/anthropic",
    "openai-responses": "@ai-sdk/openai",
}  # they come with the program
_DISABLED = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "PROJECT_CONFIG", "CLAUDE_CODE", "SHARE")


@dataclass(frozen=True, slots=True)
class OpenCode:
    """The recipe of `opencode`."""

    name: str = "opencode"
    version: str = "1"
    dialects: tuple[Dialect, ...] = ("openai-chat", "anthropic-messages", "openai-responses")

    def render(self, setting: Setting) -> Rendered:
        """One headless run that asks nobody for permission."""
        env = {**setting.environment, "OPENCODE_CONFIG": f"{setting.home}/opencode.json"}
        env |= {f"XDG_{kind}_HOME": f"{setting.home}/.{kind.lower()}" for kind in ("CONFIG", "DATA", "CACHE", "STATE")}
        env |= {f"OPENCODE_DISABLE_{what}": "1" for what in _DISABLED}
        argv = [*setting.program, "run", "--pure", "--format", "json", "--title", "run", "--dir", setting.workspace]
        argv += ["-m", f"{_PROVIDER}/{setting.model}"]
        files = {"opencode.json": json.dumps(_configuration(setting)).encode()}
        return Rendered(tuple(argv), env, files, setting.instruction.encode())

    def parse(self, stdout: bytes, returncode: int | None, read_home: ReadHome) -> Claim:
        """Texts and step ends until an error, if there is one; tokens are the sum over steps."""
        text, reason, error = "", "", None
        tokens = [0, 0, 0]
        for event in json_lines(stdout):
            kind, part = event.get("type"), event.get("part")
            if kind == "text":
                text = words(inner(part, "text"))
            elif kind == "step_finish":
                reason = words(inner(part, "reason"))
                said = inner(part, "tokens")
                for place, value in enumerate((inner(said, "input"), inner(said, "cache", "read"), inner(said, "output"))):
                    tokens[place] += count(value)
            elif kind == "error":
                error = event.get("error")
        if error is not None:
            status, detail = inner(error, "data", "statusCode"), words(inner(error, "data", "message"))
            end = end_of_status(status) if isinstance(status, int) else end_of_words(detail)
            return Claim(end, text, detail or words(inner(error, "name")), usage(*tokens))
        if reason == "content-filter":
            return Claim("refused", text, reason, usage(*tokens))
        finished = returncode == 0 and reason in ("stop", "length")
        return Claim("finished" if finished else "silent", text, "" if finished else reason, usage(*tokens))


def _configuration(setting: Setting) -> dict[str, Any]:
    named = f"{_PROVIDER}/{setting.model}"
    milliseconds = round(1000 * setting.request_timeout_s)
    model = {
        "name": setting.model,
        "tool_call": True,
        "attachment": True,
        "modalities": {"input": ["text", "image"], "output": ["text"]},
        "limit": {"context": setting.context_tokens, "output": setting.max_tokens},
    }
    return {
        "model": named,
        "small_model": named,
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
        "enabled_providers": [_PROVIDER],
        "permission": {"*": "allow"},
        "lsp": False,
        "formatter": False,
        "provider": {
            _PROVIDER: {
                "npm": _PACKAGES[setting.dialect],
                "name": _PROVIDER,
                "options": {"baseURL": f"{setting.base_url}/v1", "apiKey": setting.permit, "timeout": milliseconds},
                "models": {setting.model: model},
            }
        },
        "mcp": {TOOL_SERVER: {"type": "local", "command": list(setting.image_tool), "enabled": True, "timeout": milliseconds}},
    }
