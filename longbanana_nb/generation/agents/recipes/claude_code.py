"""Claude Code (Anthropic's messages): flags and variables; events as lines of JSON.

A result that failed still says `subtype: success`; `is_error` is what counts. Requests refused with 401 or 400 are tried again.
A program that was ended leaves no result. The cost it states for a model it does not know is made up, and is not read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from longbanana_nb.generation.agents.contracts import TOOL_SERVER, Claim, Dialect, End, ReadHome, Rendered, Setting
from longbanana_nb.generation.agents.saying import end_of_status, end_of_words, inner, json_lines, usage, words


@dataclass(frozen=True, slots=True)
class ClaudeCode:
    """The recipe of `claude-code`."""

    name: str = "claude-code"
    version: str = "1"
    dialects: tuple[Dialect, ...] = ("anthropic-messages",)

    def render(self, setting: Setting) -> Rendered:
        """One headless run without plugins, hooks, memory or settings of a user."""
        milliseconds = str(round(1000 * setting.request_timeout_s))
        env = {
            **setting.environment,
            "CLAUDE_CONFIG_DIR": f"{setting.home}/.claude",
            "IS_SANDBOX": "1",
            "ANTHROPIC_BASE_URL": setting.base_url,
            "ANTHROPIC_API_KEY": setting.permit,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_MAX_RETRIES": "2",
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(setting.max_tokens),
            "API_TIMEOUT_MS": milliseconds,
            "MCP_TOOL_TIMEOUT": milliseconds,
        }
        command, *arguments = setting.image_tool
        servers = {"mcpServers": {TOOL_SERVER: {"command": command, "args": arguments}}}
        argv = [*setting.program, "-p", "--output-format", "stream-json", "--verbose", "--bare"]
        argv += ["--dangerously-skip-permissions", "--no-session-persistence", "--tools", "Bash,Read,Write,Edit"]
        argv += ["--strict-mcp-config", "--mcp-config", f"{setting.home}/mcp.json", "--model", setting.model]
        argv += ["--max-turns", str(setting.max_turns), setting.instruction]
        return Rendered(tuple(argv), env, {"mcp.json": json.dumps(servers).encode()})

    def parse(self, stdout: bytes, returncode: int | None, read_home: ReadHome) -> Claim:
        """The `result` event, the last one if there are several."""
        results = [event for event in json_lines(stdout) if event.get("type") == "result"]
        if not results:
            return Claim("silent")
        last = results[-1]
        text = words(last.get("result"))
        read = inner(last, "usage", "cache_read_input_tokens")
        tokens = usage(inner(last, "usage", "input_tokens"), read, inner(last, "usage", "output_tokens"))
        if last.get("subtype") == "error_max_turns":
            return Claim("max_turns", text, "error_max_turns", tokens)
        if last.get("is_error") is False:
            refused = last.get("stop_reason") == "refusal"
            return Claim("refused" if refused else "finished", text, "stop_reason refusal" if refused else "", tokens)
        status = last.get("api_error_status")
        end: End = end_of_status(status) if isinstance(status, int) else end_of_words(text)
        return Claim(end, "", text or words(last.get("terminal_reason")), tokens)
