"""A language model that follows scripts, in the three dialects: the base path picks the script, the conversation its step.

`http://127.0.0.1:PORT/s/NAME/v1/...` follows `scripts[NAME]`, a list of steps of `cli_agents_model` and the faults below. The
step is the number of assistant turns with a tool call, so nothing is kept; requests without tools advance nothing.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from typing import Any

from cli_agents_model import _DIALECTS, Fail, Hang, Say, Shell, Use, View, _event

from provider_server.base import Answer, ProviderServer, Seen

GENERATE = Use("generate", {"prompt": "A pear.", "references": ["ref_01"], "keep_current": False})


@dataclass(frozen=True)
class Cut:
    """The stream ends after so many bytes (-1: before the status line)."""

    after: int = 1100


@dataclass(frozen=True)
class Slow:
    """A step whose bytes drip."""

    step: Any
    drip_s: float = 0.001


@dataclass(frozen=True)
class Echo:
    """Words that repeat the key the server was given."""


SCRIPTS: dict[str, list[Any]] = {
    "success": [View("references/ref_01.png"), GENERATE, Use("look_at_result", {}), Say("Done.")],
    "shell": [Shell("ls; cat prompt.txt"), Say("Done.")],
    "view": [View("references/ref_01.png"), Say("Done.")],
    "no_image": [Say("I am done.")],
    "refuses": [Say("I would rather not.", refused=True)],
    "bad_key": [Fail(401, "no such key")],
    "busy": [Fail(429, "slow down")],
    "broken": [Fail(500, "fell over")],
    "overloaded": [Fail(529, "too many")],
    "hangs": [Hang(600)],
    "cut": [Cut()],
    "gone": [Cut(-1)],
    "slow": [Slow(Say("Slowly said."))],
    "echo": [Echo()],
    "endless": [Use("list_references", {})] * 500,
}


class ScriptedAgent:
    """The server's side. `retry_after` goes with a 429; `scripts` may be added to."""

    def __init__(self, scripts: dict[str, list[Any]] | None = None, *, retry_after: str = "7") -> None:
        self.scripts = {**SCRIPTS, **(scripts or {})}
        self.retry_after = retry_after

    def answer(self, seen: Seen, server: ProviderServer) -> Answer:
        found = re.fullmatch(r"/s/(\w+)/v1(/.*)", seen.path)
        if found is None or seen.method != "POST" or found[1] not in self.scripts:
            return Answer({"error": {"message": f"no {seen.method} {seen.path}"}}, status=404)
        if seen.path.endswith("/count_tokens"):
            return Answer({"input_tokens": 1234})
        speak = next(speak for part, speak in _DIALECTS.items() if found[2].endswith(part))
        dialect, steps = speak(seen.json()), self.scripts[found[1]]
        step = steps[min(dialect.turns(), len(steps) - 1)] if dialect.tools() else steps[0]
        return self.made(step if dialect.tools() or not isinstance(step, Use | View | Shell) else Say("ok"), dialect, seen)

    def made(self, step: Any, dialect: Any, seen: Seen) -> Answer:
        if isinstance(step, Fail):
            key = seen.headers.get("x-api-key") or seen.headers.get("authorization", "")
            error = {"type": "error", "error": {"type": "api_error", "message": f"{step.text} ({key})", "code": "scripted"}}
            return Answer(error, status=step.status, headers={"retry-after": self.retry_after} if step.status == 429 else {})
        if isinstance(step, Hang):
            return Answer(b"", delay_s=step.seconds)
        if isinstance(step, Cut):
            return self._cut(step, dialect, seen)
        if isinstance(step, Slow):
            told = self.made(step.step, dialect, seen)
            return Answer(told.body, content_type=told.content_type, drip_s=step.drip_s)
        if isinstance(step, Echo):
            step = Say(f"The key is {seen.headers.get('x-api-key') or seen.headers.get('authorization', '')}.")
        whole = dialect.whole(step)
        if not dialect.body.get("stream"):
            return Answer(whole)
        lines = b"".join(_event(name, event) for name, event in dialect.events(whole))
        return Answer(lines, content_type="text/event-stream")

    def _cut(self, step: Cut, dialect: Any, seen: Seen) -> Answer:
        told = self.made(Say("A long answer. " * 50), dialect, seen)
        return Answer(told.body, content_type=told.content_type, cut_after=step.after)


def picture_part(dialect: str, data: bytes, mime: str = "image/png") -> dict[str, Any]:
    """A picture as a client of the dialect sends it."""
    text = base64.b64encode(data).decode()
    if dialect == "anthropic-messages":
        return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": text}}
    url = f"data:{mime};base64,{text}"
    return (
        {"type": "input_image", "image_url": url}
        if dialect == "openai-responses"
        else {"type": "image_url", "image_url": {"url": url}}
    )


def request_body(
    dialect: str, model: str, *parts: Any, stream: bool = False, has_tools: bool = True, **more: Any
) -> dict[str, Any]:
    """A small request with the user's parts (texts, or parts made by `picture_part`), and the image tool's `generate`."""
    text = "input_text" if dialect == "openai-responses" else "text"
    content = [{"type": text, "text": part} if isinstance(part, str) else part for part in parts or ("Draw.",)]
    message = {"role": "user", "content": content}
    schema = {"type": "object", "properties": {}}
    body: dict[str, Any] = {"model": model, "stream": stream}
    body["input" if dialect == "openai-responses" else "messages"] = [message]
    named = {name: f"mcp__imagetool__{name}" for name in ("generate", "list_references", "look_at_result")}
    if dialect == "anthropic-messages":
        body |= {
            "max_tokens": 500,
            "tools": [{"name": name, "description": "d", "input_schema": schema} for name in named.values()],
        }
    elif dialect == "openai-chat":
        body["tools"] = [{"type": "function", "function": {"name": name, "parameters": schema}} for name in named.values()]
    else:
        body["tools"] = [{"type": "function", "name": name, "parameters": schema} for name in named.values()]
    if not has_tools:
        del body["tools"]
    return json.loads(json.dumps({**body, **more}))
