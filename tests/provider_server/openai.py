"""OpenAI's side: responses, files that expire, batches; and chat completions as compatible servers speak them."""

from __future__ import annotations

import base64
import email.parser
import email.policy
import json
import re
import time
from collections.abc import Callable
from typing import Any

from provider_server.base import Answer, ProviderServer, Seen

RESPONSE_FIELDS = {
    "model", "input", "instructions", "max_output_tokens", "store", "text", "tools", "include", "reasoning", "temperature",
}  # fmt: skip
CHAT_FIELDS = {
    "model", "messages", "max_tokens", "response_format", "tools", "temperature", "top_p", "seed", "reasoning_effort",
}  # fmt: skip
PASS = {"label": "Pass", "rationale": "seen"}
USAGE = {
    "input_tokens": 5000, "input_tokens_details": {"cached_tokens": 4000, "cache_write_tokens": 600}, "output_tokens": 90,
    "output_tokens_details": {"reasoning_tokens": 50}, "total_tokens": 5090,
}  # fmt: skip
CHAT_USAGE = {"prompt_tokens": 900, "completion_tokens": 30, "prompt_tokens_details": {"cached_tokens": 100}}

Replies = Callable[[dict[str, Any]], Any]


class OpenAIDialect:
    """`reply(body)` gives the text, or fields of the response (`output`, `status`, ...), or an Answer.

    A batch ends when its state was asked for `polls` times, in `batch_state`; `outcomes` names what becomes of requests of
    batches by their ids, `never_run` those that an expired batch did not come to.
    """

    def __init__(self, reply: Replies | None = None, *, key: str = "test-key", latency_s: float = 0.0, polls: int = 1) -> None:
        self.reply = reply or (lambda body: json.dumps(PASS))
        self.key, self.latency_s, self.polls = key, latency_s, polls
        self.files: dict[str, dict[str, Any]] = {}
        self.file_bytes: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.batch_polls: dict[str, int] = {}
        self.batch_state = "completed"
        self.outcomes: dict[str, Any] = {}
        self.never_run: set[str] = set()
        self.page = 2

    def answer(self, seen: Seen, server: ProviderServer) -> Answer:
        if seen.headers.get("authorization") != f"Bearer {self.key}":
            return failure(401, "invalid_api_key", f"Incorrect API key provided: {seen.headers.get('authorization', '')}")
        for method, pattern, handle in self.routes():
            found = re.fullmatch(pattern, seen.path)
            if found and method == seen.method:
                return handle(seen, server, *found.groups())
        return failure(404, None, f"no {seen.method} {seen.path}")

    def routes(self) -> list[tuple[str, str, Callable[..., Answer]]]:
        return [
            ("POST", "/v1/responses", self.respond),
            ("POST", "/v1/files", self.upload),
            ("GET", "/v1/files", self.list_files),
            ("GET", "/v1/files/([^/]+)/content", self.content),
            ("POST", "/v1/batches", self.open_batch),
            ("GET", "/v1/batches", self.list_batches),
            ("GET", "/v1/batches/([^/]+)", self.get_batch),
        ]

    # responses

    def respond(self, seen: Seen, server: ProviderServer) -> Answer:
        body = seen.json()
        return self.fault(body) or self.made(body)

    def made(self, body: dict[str, Any]) -> Answer:
        given = self.reply(body)
        if isinstance(given, Answer):
            return given
        fields = {"output": [message(given)]} if isinstance(given, str) else dict(given)
        whole = {
            "id": "resp_1", "object": "response", "created_at": int(time.time()), "status": "completed", "error": None,
            "incomplete_details": None, "model": body["model"], "usage": USAGE,
        }  # fmt: skip
        return Answer(whole | fields, headers={"x-request-id": "req_openai"}, delay_s=self.latency_s)

    def fault(self, body: dict[str, Any]) -> Answer | None:
        unknown = sorted(set(body) - RESPONSE_FIELDS)
        if unknown:
            return failure(400, "unknown_parameter", f"Unknown parameter: {unknown}")
        form = body.get("text", {}).get("format")
        if form is not None and (set(form) != {"type", "name", "schema", "strict"} or form["type"] != "json_schema"):
            return failure(400, "invalid_value", f"text.format: {form}")
        inner = [item.get("content") or item.get("output") or [] for item in body["input"]]
        for part in [part for parts in inner if isinstance(parts, list) for part in parts]:
            if wrong := self.part_fault(part):
                return failure(400, "invalid_value", wrong)
        return None

    def part_fault(self, part: dict[str, Any]) -> str | None:
        if part["type"] not in ("input_text", "input_image", "output_text"):
            return f"type {part['type']}"
        if part["type"] == "input_image" and "file_id" in part:
            return None if part["file_id"] in self.files else f"no file {part['file_id']}"
        return data_uri_fault(part["image_url"]) if part["type"] == "input_image" else None

    # files

    def upload(self, seen: Seen, server: ProviderServer) -> Answer:
        fields = multipart(seen)
        file_id = f"file-{len(self.files) + 1}"
        name, mime, data = fields["file"]
        seconds = int(fields.get("expires_after[seconds]", ("", "", b"2592000"))[2])
        self.files[file_id] = {
            "id": file_id, "object": "file", "bytes": len(data), "created_at": int(time.time()), "filename": name,
            "purpose": fields["purpose"][2].decode(), "status": "processed", "mime": mime,
            "expires_at": int(time.time()) + seconds,
        }  # fmt: skip
        self.file_bytes[file_id] = data
        return Answer(self.files[file_id])

    def list_files(self, seen: Seen, server: ProviderServer) -> Answer:
        purpose = seen.query.get("purpose", [""])[0]
        return self.paged([file for file in self.files.values() if purpose in ("", file["purpose"])], seen)

    def paged(self, every: list[dict[str, Any]], seen: Seen) -> Answer:
        after = seen.query.get("after", [None])[0]
        start = next((n + 1 for n, one in enumerate(every) if one["id"] == after), 0)
        page = every[start : start + self.page]
        more = start + self.page < len(every)
        return Answer({"object": "list", "data": page, "has_more": more, "last_id": page[-1]["id"] if page else None})

    def content(self, seen: Seen, server: ProviderServer, file_id: str) -> Answer:
        kind, _, batch_id = file_id.partition("-of-")
        wanted = [line for line in self.lines(batch_id) if (line["error"] is None) == (kind == "output")]
        return Answer("\n".join(map(json.dumps, wanted)) + "\n", content_type="application/octet-stream")

    # batches

    def open_batch(self, seen: Seen, server: ProviderServer) -> Answer:
        body = seen.json()
        if body["endpoint"] != "/v1/responses" or body["input_file_id"] not in self.files:
            return failure(400, "invalid_value", "endpoint or file")
        batch_id = f"batch_{len(self.batches) + 1}"
        self.batches[batch_id] = {
            "id": batch_id, "object": "batch", "endpoint": body["endpoint"], "input_file_id": body["input_file_id"],
            "completion_window": body["completion_window"], "created_at": int(time.time()) + len(self.batches),
            "metadata": body.get("metadata"),
        }  # fmt: skip
        return Answer(self.state_of(batch_id))

    def list_batches(self, seen: Seen, server: ProviderServer) -> Answer:
        return self.paged([self.state_of(batch_id) for batch_id in reversed(self.batches)], seen)

    def get_batch(self, seen: Seen, server: ProviderServer, batch_id: str) -> Answer:
        self.batch_polls[batch_id] = self.batch_polls.get(batch_id, 0) + 1
        return Answer(self.state_of(batch_id))

    def state_of(self, batch_id: str) -> dict[str, Any]:
        known = dict(self.batches[batch_id])
        if self.batch_polls.get(batch_id, 0) < self.polls:
            return known | {"status": "in_progress"}
        if self.batch_state == "failed":
            errors = {"object": "list", "data": [{"code": "invalid_json_line", "message": "line 1", "line": 1}]}
            return known | {"status": "failed", "errors": errors}
        lines = self.lines(batch_id)
        counts = {"total": len(lines), "completed": len(lines) - len(self.never_run), "failed": len(self.never_run)}
        files = {"output_file_id": f"output-of-{batch_id}", "error_file_id": f"error-of-{batch_id}" if self.never_run else None}
        return known | {"status": self.batch_state, "request_counts": counts} | files

    def lines(self, batch_id: str) -> list[dict[str, Any]]:
        text = self.file_bytes[self.batches[batch_id]["input_file_id"]].decode()
        return [self.result(json.loads(line)) for line in text.splitlines()]

    def result(self, line: dict[str, Any]) -> dict[str, Any]:
        found = {"id": "batch_req_1", "custom_id": line["custom_id"], "response": None, "error": None}
        if line["custom_id"] in self.never_run:
            return found | {"error": {"code": "batch_expired", "message": "This request could not be executed."}}
        given = self.outcomes.get(line["custom_id"]) or self.fault(line["body"]) or self.made(line["body"])
        return found | {"response": {"status_code": given.status, "request_id": "req_b", "body": given.body}}


class ChatDialect:
    """A compatible server. `reply(body)` gives the text, fields of the message, a whole answer (with `choices`), or an Answer."""

    def __init__(self, reply: Replies | None = None, *, key: str | None = None, latency_s: float = 0.0) -> None:
        self.reply = reply or (lambda body: json.dumps(PASS))
        self.key, self.latency_s = key, latency_s

    def answer(self, seen: Seen, server: ProviderServer) -> Answer:
        wanted = f"Bearer {self.key}" if self.key else None
        if seen.headers.get("authorization") != wanted:
            return failure(401, None, f"Unauthorized {seen.headers.get('authorization', '')}")
        if (seen.method, seen.path) != ("POST", "/v1/chat/completions"):
            return Answer({"detail": "Not Found"}, status=404)
        body = seen.json()
        return self.fault(body) or self.made(body)

    def made(self, body: dict[str, Any]) -> Answer:
        given = self.reply(body)
        if isinstance(given, Answer):
            return given
        if isinstance(given, dict) and ("choices" in given or "error" in given):
            return Answer(given)
        fields = {"content": given} if isinstance(given, str) else given
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **fields}}
        whole = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "model": body["model"],
            "choices": [choice],
            "usage": CHAT_USAGE,
        }
        return Answer(whole, delay_s=self.latency_s)

    def fault(self, body: dict[str, Any]) -> Answer | None:
        unknown = sorted(set(body) - CHAT_FIELDS)
        if unknown:
            return failure(400, None, f"Unknown parameter: {unknown}")
        for said in body["messages"]:
            if said["role"] == "tool" and not isinstance(said["content"], str):
                return failure(400, None, "a tool's content is a text")
            parts = said.get("content") if isinstance(said.get("content"), list) else []
            for part in parts:
                if part["type"] == "image_url" and (wrong := data_uri_fault(part["image_url"]["url"])):
                    return failure(400, None, wrong)
        return None


def message(text: str, *more: dict[str, Any]) -> dict[str, Any]:
    """An output item with a text, and further parts."""
    parts = [{"type": "output_text", "text": text, "annotations": []}, *more]
    return {"type": "message", "id": "m1", "status": "completed", "role": "assistant", "content": parts}


def failure(status: int, code: str | None, text: str, kind: str = "invalid_request_error", **headers: str) -> Answer:
    error = {"message": text, "type": kind, "param": None, "code": code}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer({"error": error}, status=status, headers={"x-request-id": "req_openai", **named})


def data_uri_fault(uri: str) -> str | None:
    found = re.fullmatch(r"data:image/(jpeg|png|gif|webp);base64,([A-Za-z0-9+/]+=*)", uri)
    return None if found and base64.b64decode(found[2], validate=True) else "Invalid image data"


def multipart(seen: Seen) -> dict[str, tuple[str, str, bytes]]:
    """(file name, type, bytes) of each field of a form."""
    head = f"Content-Type: {seen.headers['content-type']}\r\n\r\n".encode()
    parts = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + seen.body).iter_parts()
    found = {}
    for part in parts:
        name = part.get_param("name", header="content-disposition")
        found[str(name)] = (part.get_filename() or "", part.get_content_type(), part.get_payload(decode=True))
    return found
