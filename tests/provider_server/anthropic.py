"""Anthropic's side: messages with prompt caching, files that expire, batches, counting; strict about what it is sent."""

from __future__ import annotations

import datetime as dt
import email.parser
import email.policy
import hashlib
import json
import re
import time
from collections.abc import Callable
from typing import Any

from provider_server.base import Answer, ProviderServer, Seen

CURRENT, OLDER = "2026-10-21", "2023-06-01"
FIELDS = {
    "cache_control", "max_tokens", "messages", "metadata", "model", "output_config", "stop_sequences", "stream", "system",
    "temperature", "thinking", "tool_choice", "tools",
}  # fmt: skip
CACHE_MIN = {"claude-sonnet-4-6": 1024, "claude-haiku-4-5": 4096}
IMAGE_TOKENS = 1369
PASS = {"label": "Pass", "rationale": "seen"}

Replies = Callable[[dict[str, Any]], Any]


class AnthropicDialect:
    """`reply(body)` gives the text, or fields of the message (`content`, `stop_reason`, ...), or an Answer.

    Batches end when they were asked for `polls` times; `outcomes` names what becomes of requests by their ids.
    """

    def __init__(self, reply: Replies | None = None, *, key: str = "test-key", latency_s: float = 0.0, polls: int = 1) -> None:
        self.reply = reply or (lambda body: json.dumps(PASS))
        self.key, self.latency_s, self.polls = key, latency_s, polls
        self.files: dict[str, dict[str, Any]] = {}
        self.file_bytes: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.batch_requests: dict[str, list[dict[str, Any]]] = {}
        self.batch_polls: dict[str, int] = {}
        self.outcomes: dict[str, Any] = {}
        self.cache: dict[str, float] = {}
        self.page = 2

    def answer(self, seen: Seen, server: ProviderServer) -> Answer:
        if seen.headers.get("authorization") != f"Bearer {self.key}":
            return failure(401, "authentication_error", f"invalid key {seen.headers.get('authorization', '')}")
        version = seen.headers.get("anthropic-version")
        if version not in (CURRENT, OLDER):
            return failure(400, "invalid_request_error", f"anthropic-version: {version}")
        for method, pattern, handle in self.routes():
            found = re.fullmatch(pattern, seen.path)
            if found and method == seen.method:
                return handle(seen, server, *found.groups())
        return failure(404, "not_found_error", f"no {seen.method} {seen.path}")

    def routes(self) -> list[tuple[str, str, Callable[..., Answer]]]:
        return [
            ("POST", "/v1/messages", self.message),
            ("POST", "/v1/messages/count_tokens", self.count),
            ("POST", "/v1/files", self.upload),
            ("GET", "/v1/files", self.list_files),
            ("POST", "/v1/messages/batches", self.open_batch),
            ("GET", "/v1/messages/batches", self.list_batches),
            ("GET", "/v1/messages/batches/([^/]+)", self.get_batch),
            ("GET", "/v1/messages/batches/([^/]+)/results", self.results),
        ]

    # messages

    def message(self, seen: Seen, server: ProviderServer) -> Answer:
        body = seen.json()
        wrong = self.fault(body, seen.headers["anthropic-version"])
        return wrong or self.made(body, is_counted="max_tokens" in body)

    def made(self, body: dict[str, Any], *, is_counted: bool = True) -> Answer:
        given = self.reply(body)
        if isinstance(given, Answer):
            return given
        fields = {"content": [{"type": "text", "text": given}]} if isinstance(given, str) else dict(given)
        message = {
            "id": "msg_01", "type": "message", "role": "assistant", "model": body["model"], "content": [],
            "stop_reason": "end_turn", "stop_sequence": None, "usage": self.usage(body),
        }  # fmt: skip
        return Answer(message | fields, delay_s=self.latency_s)

    def fault(self, body: dict[str, Any], version: str) -> Answer | None:
        unknown = sorted(set(body) - FIELDS)
        if unknown or not isinstance(body.get("max_tokens"), int):
            return failure(400, "invalid_request_error", f"{unknown or 'max_tokens'}: Extra inputs are not permitted")
        if "temperature" in body and (version != OLDER or body["model"] != "claude-sonnet-4-6"):
            return failure(400, "invalid_request_error", "temperature: Extra inputs are not permitted")
        if sum("cache_control" in block for block in blocks(body)) > 4:
            return failure(400, "invalid_request_error", "A maximum of 4 blocks with cache_control may be provided.")
        for block in blocks(body):
            if block["type"] == "image" and block["source"]["type"] == "file":
                file = self.files.get(block["source"]["file_id"])
                if file is None or expired(file):
                    return failure(400, "invalid_request_error", "File not found", error_code="file_expired")
        return None

    def usage(self, body: dict[str, Any]) -> dict[str, Any]:
        """Tokens as a provider counts them: the longest ready prefix read, the rest up to the last mark written."""
        now, prefix, total = time.monotonic(), hashlib.sha256(body["model"].encode()), 0
        read = marked = 0
        ttl, writes = "5m", []
        for block in blocks(body):
            total += tokens(block)
            prefix.update(json.dumps({k: v for k, v in block.items() if k != "cache_control"}).encode())
            if "cache_control" in block and total >= CACHE_MIN.get(body["model"], 512):
                marked, ttl = total, block["cache_control"].get("ttl", "5m")
                if self.cache.get(prefix.hexdigest(), now + 1) <= now:
                    read = total
                writes.append(prefix.hexdigest())
        for entry in writes:
            self.cache.setdefault(entry, now + self.latency_s)
        written = marked - read
        return {
            "input_tokens": total - marked, "output_tokens": 40, "service_tier": "standard",
            "cache_read_input_tokens": read, "cache_creation_input_tokens": written,
            "cache_creation": {f"ephemeral_{t}_input_tokens": written if t == ttl else 0 for t in ("5m", "1h")},
        }  # fmt: skip

    def count(self, seen: Seen, server: ProviderServer) -> Answer:
        body = seen.json()
        if "max_tokens" in body:
            return failure(400, "invalid_request_error", "max_tokens: Extra inputs are not permitted")
        return Answer({"input_tokens": sum(tokens(block) for block in blocks(body))})

    # files

    def upload(self, seen: Seen, server: ProviderServer) -> Answer:
        raw = b"Content-Type: " + seen.headers["content-type"].encode() + b"\r\n\r\n" + seen.body
        parts = {}
        for part in email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(raw).iter_parts():
            parts[part.get_param("name", header="content-disposition")] = part
        lasts = int(parts["expires_in_seconds"].get_content()) if "expires_in_seconds" in parts else None
        now, file = dt.datetime.now(dt.UTC), parts["file"]
        number = f"file_{len(self.files) + 1}"
        self.file_bytes[number] = file.get_payload(decode=True)
        self.files[number] = {
            "id": number, "type": "file", "filename": file.get_filename(), "mime_type": file.get_content_type(),
            "size_bytes": len(self.file_bytes[number]), "created_at": stamp(now), "downloadable": False,
            "expires_at": stamp(now + dt.timedelta(seconds=lasts)) if lasts else None,
        }  # fmt: skip
        return Answer(self.files[number])

    def list_files(self, seen: Seen, server: ProviderServer) -> Answer:
        start = int(seen.query.get("page", ["page_0"])[0].removeprefix("page_"))
        files = list(self.files.values())
        more = f"page_{start + self.page}" if start + self.page < len(files) else None
        return Answer({"data": files[start : start + self.page], "next_page": more})

    # batches

    def open_batch(self, seen: Seen, server: ProviderServer) -> Answer:
        requests = seen.json()["requests"]
        for request in requests:
            if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", request["custom_id"]):
                return failure(400, "invalid_request_error", "requests.0.custom_id: String should match pattern")
        number = f"msgbatch_{len(self.batches) + 1}"
        self.batch_requests[number], self.batch_polls[number] = requests, 0
        self.batches[number] = {
            "id": number, "type": "message_batch", "processing_status": "in_progress",
            "created_at": stamp(dt.datetime.now(dt.UTC)),
            "request_counts": {"processing": len(requests), "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0},
            "expires_at": stamp(dt.datetime.now(dt.UTC) + dt.timedelta(days=1)), "ended_at": None, "cancel_initiated_at": None,
            "archived_at": None, "results_url": None,
        }  # fmt: skip
        return Answer(self.batches[number])

    def list_batches(self, seen: Seen, server: ProviderServer) -> Answer:
        newest = list(reversed(self.batches.values()))
        after = seen.query.get("after_id", [None])[0]
        start = 0 if after is None else next(n for n, batch in enumerate(newest) if batch["id"] == after) + 1
        data = newest[start : start + self.page]
        more = start + self.page < len(newest)
        return Answer({"data": data, "has_more": more, "first_id": None, "last_id": data[-1]["id"] if data else None})

    def get_batch(self, seen: Seen, server: ProviderServer, number: str) -> Answer:
        if number not in self.batches:
            return failure(404, "not_found_error", "no such batch")
        self.batch_polls[number] += 1
        if self.batch_polls[number] >= self.polls:
            self.batches[number] |= {"processing_status": "ended", "results_url": f"https://elsewhere.invalid/{number}/results"}
        return Answer(self.batches[number])

    def results(self, seen: Seen, server: ProviderServer, number: str) -> Answer:
        lines = [self.result(request, seen.headers["anthropic-version"]) for request in reversed(self.batch_requests[number])]
        data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        return Answer(data.encode(), content_type="application/x-jsonl")

    def result(self, request: dict[str, Any], version: str) -> dict[str, Any]:
        number, outcome = request["custom_id"], self.outcomes.get(request["custom_id"], "succeeded")
        wrong = self.fault(request["params"], OLDER)
        if isinstance(outcome, dict):
            return {"custom_id": number, "result": {"type": "errored", "error": {"type": "error", "error": outcome}}}
        if outcome != "succeeded":
            return {"custom_id": number, "result": {"type": outcome}}
        if wrong is not None:
            return {"custom_id": number, "result": {"type": "errored", "error": wrong.body}}
        return {"custom_id": number, "result": {"type": "succeeded", "message": self.made(request["params"]).body}}


def failure(status: int, kind: str, message: str, *, headers: dict[str, str] | None = None, **details: Any) -> Answer:
    """An error as Anthropic words it."""
    error = {"type": kind, "message": message, **({"details": details} if details else {})}
    return Answer({"type": "error", "error": error, "request_id": "req_fake"}, status=status, headers=headers or {})


def blocks(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Tools, system and messages in the order of a prefix."""
    system = body.get("system", [])
    inner = [{"type": "text", "text": system}] if isinstance(system, str) else list(system)
    said = [block for message in body["messages"] for block in message["content"]]
    return [{"type": "tool", "text": json.dumps(tool)} for tool in body.get("tools", [])] + inner + said


def tokens(block: dict[str, Any]) -> int:
    return IMAGE_TOKENS if block["type"] == "image" else len(json.dumps(block)) // 4


def expired(file: dict[str, Any]) -> bool:
    return file["expires_at"] is not None and dt.datetime.fromisoformat(file["expires_at"]) <= dt.datetime.now(dt.UTC)


def stamp(moment: dt.datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
