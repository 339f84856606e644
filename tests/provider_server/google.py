"""Google's side: generateContent, resumable uploads that expire, batches inline and by file; strict about what it is sent."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import json
import re
from collections.abc import Callable
from typing import Any

from provider_server.base import Answer, ProviderServer, Seen

FIELDS = {"contents", "systemInstruction", "generationConfig", "tools"}
CONFIG = {
    "maxOutputTokens", "responseMimeType", "responseJsonSchema", "thinkingConfig", "mediaResolution", "temperature", "seed",
}  # fmt: skip
PARTS = {"text", "inlineData", "fileData", "functionCall", "functionResponse", "thoughtSignature", "thought"}
PASS = {"label": "Pass", "rationale": "seen"}
USAGE = {"promptTokenCount": 1500, "cachedContentTokenCount": 1000, "candidatesTokenCount": 40, "thoughtsTokenCount": 60}

Replies = Callable[[dict[str, Any]], Any]


class GoogleDialect:
    """`reply(body)` gives the text, or fields of the answer (`candidates`, `promptFeedback`, ...), or an Answer.

    An upload is usable when its state was asked for `polls` times, and so ends a batch. `outcomes` names what becomes of
    requests of batches by their keys. `token` is what Google Cloud's sign-in gives, for the route vertex.
    """

    def __init__(self, reply: Replies | None = None, *, key: str = "test-key", latency_s: float = 0.0, polls: int = 1) -> None:
        self.reply = reply or (lambda body: json.dumps(PASS))
        self.key, self.latency_s, self.polls, self.token = key, latency_s, polls, "cloud-token"
        self.files: dict[str, dict[str, Any]] = {}
        self.file_bytes: dict[str, bytes] = {}
        self.file_polls: dict[str, int] = {}
        self.file_state = "ACTIVE"
        self.batches: dict[str, dict[str, Any]] = {}
        self.batch_requests: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        self.batch_polls: dict[str, int] = {}
        self.batch_state = "BATCH_STATE_SUCCEEDED"
        self.outcomes: dict[str, Any] = {}
        self.page = 2

    def answer(self, seen: Seen, server: ProviderServer) -> Answer:
        if seen.path == "/token":
            return Answer({"access_token": self.token, "expires_in": 3600, "token_type": "Bearer"})
        is_cloud = seen.path.startswith("/v1beta1/projects/")
        if is_cloud and seen.headers.get("authorization") != f"Bearer {self.token}":
            return failure(401, "UNAUTHENTICATED", "no token")
        if not is_cloud and seen.headers.get("x-goog-api-key") != self.key and "upload_id" not in seen.query:
            return bad_key()
        for method, pattern, handle in self.routes():
            found = re.fullmatch(pattern, seen.path)
            if found and method == seen.method:
                return handle(seen, server, *found.groups())
        return failure(404, "NOT_FOUND", f"no {seen.method} {seen.path}")

    def routes(self) -> list[tuple[str, str, Callable[..., Answer]]]:
        model = r"(?:/v1|/v1beta1/projects/[^/]+/locations/[^/]+/publishers/google)/models/([^/:]+)"
        return [
            ("POST", f"{model}:generateContent", self.generate),
            ("POST", f"{model}:batchGenerateContent", self.open_batch),
            ("POST", "/upload/v1/files", self.upload),
            ("GET", "/v1/files", self.list_files),
            ("GET", "/v1/(files/[^/:]+)", self.get_file),
            ("GET", "/v1/(files/[^/:]+):download", self.download),
            ("GET", "/v1/batches", self.list_batches),
            ("GET", "/v1/(batches/[^/]+)", self.get_batch),
        ]

    # answers

    def generate(self, seen: Seen, server: ProviderServer, model: str) -> Answer:
        body = seen.json()
        return self.fault(body) or self.made(body, model)

    def made(self, body: dict[str, Any], model: str) -> Answer:
        given = self.reply(body)
        if isinstance(given, Answer):
            return given
        fields = {"candidates": [candidate(given)]} if isinstance(given, str) else dict(given)
        whole = {"usageMetadata": USAGE, "modelVersion": model, "responseId": "resp-1"} | fields
        return Answer(whole, delay_s=self.latency_s)

    def fault(self, body: dict[str, Any]) -> Answer | None:
        config = body.get("generationConfig", {})
        unknown = sorted(set(body) - FIELDS) + sorted(set(config) - CONFIG)
        if unknown or not body.get("contents"):
            return failure(400, "INVALID_ARGUMENT", f"Unknown name {unknown}")
        for part in [part for content in body["contents"] for part in content["parts"]]:
            if wrong := self.part_fault(part):
                return failure(400, "INVALID_ARGUMENT", wrong)
        return None

    def part_fault(self, part: dict[str, Any]) -> str | None:
        if set(part) - PARTS:
            return f"Unknown name {sorted(set(part) - PARTS)}"
        if "inlineData" in part:
            try:
                base64.b64decode(part["inlineData"]["data"], validate=True)
            except binascii.Error:
                return "Base64 decoding failed"
        if "fileData" in part and name_of(part["fileData"]["fileUri"]) not in self.files:
            return f"no file {part['fileData']['fileUri']}"
        return None

    # files

    def upload(self, seen: Seen, server: ProviderServer) -> Answer:
        if "upload_id" not in seen.query:
            name = f"files/f{len(self.files) + 1}"
            made = seen.json()["file"]
            expires = made.get("expirationTime") or moment(dt.timedelta(hours=48))
            self.files[name] = {
                "name": name, "displayName": made.get("displayName") or made.get("display_name"), "state": "PROCESSING",
                "mimeType": made.get("mimeType") or made.get("mime_type"), "expirationTime": expires,
                "uri": f"{server.url}/v1/{name}",
            }  # fmt: skip
            address = f"{server.url}/upload/v1/files?upload_id={name}"
            return Answer({}, headers={"X-Goog-Upload-URL": address, "X-Goog-Upload-Status": "active"})
        name = seen.query["upload_id"][0]
        self.file_bytes[name] = seen.body
        self.files[name]["sizeBytes"] = str(len(seen.body))
        return Answer({"file": self.state_of(name)}, headers={"X-Goog-Upload-Status": "final"})

    def state_of(self, name: str) -> dict[str, Any]:
        if self.file_polls.get(name, 0) >= self.polls:
            self.files[name]["state"] = self.file_state
        return self.files[name]

    def get_file(self, seen: Seen, server: ProviderServer, name: str) -> Answer:
        self.file_polls[name] = self.file_polls.get(name, 0) + 1
        return Answer(self.state_of(name))

    def list_files(self, seen: Seen, server: ProviderServer) -> Answer:
        return self.paged("files", list(self.files.values()), seen)

    def paged(self, name: str, every: list[Any], seen: Seen) -> Answer:
        start = int(seen.query.get("pageToken", ["0"])[0])
        body: dict[str, Any] = {name: every[start : start + self.page]}
        if start + self.page < len(every):
            body["nextPageToken"] = str(start + self.page)
        return Answer(body)

    def download(self, seen: Seen, server: ProviderServer, name: str) -> Answer:
        key = name.removeprefix("files/out-")
        results = (self.result(key, request) for key, request in self.batch_requests[f"batches/{key}"])
        return Answer("\n".join(json.dumps(line) for line in results), content_type="application/jsonl")

    # batches

    def open_batch(self, seen: Seen, server: ProviderServer, model: str) -> Answer:
        batch = seen.json()["batch"]
        source = batch["inputConfig"]
        if "requests" in source:
            requests = [(one["metadata"]["key"], one["request"]) for one in source["requests"]["requests"]]
        else:
            text = self.file_bytes[source.get("fileName") or source["file_name"]].decode()
            requests = [(line["key"], line["request"]) for line in map(json.loads, text.splitlines())]
        for _, request in requests:
            if wrong := self.fault(request):
                return wrong
        name = f"batches/b{len(self.batches) + 1}"
        label = batch.get("displayName") or batch.get("display_name")
        self.batches[name] = {"displayName": label, "createTime": moment(), "model": model, "by_file": "requests" not in source}
        self.batch_requests[name] = requests
        return Answer(self.operation(name))

    def get_batch(self, seen: Seen, server: ProviderServer, name: str) -> Answer:
        self.batch_polls[name] = self.batch_polls.get(name, 0) + 1
        return Answer(self.operation(name))

    def list_batches(self, seen: Seen, server: ProviderServer) -> Answer:
        return self.paged("operations", [self.operation(name) for name in self.batches], seen)

    def operation(self, name: str) -> dict[str, Any]:
        known = self.batches[name]
        is_over = self.batch_polls.get(name, 0) >= self.polls
        metadata = {key: known[key] for key in ("displayName", "createTime", "model")} | {"name": name}
        metadata["state"] = self.batch_state if is_over else "BATCH_STATE_RUNNING"
        if is_over and self.batch_state == "BATCH_STATE_SUCCEEDED":
            metadata["output"] = self.output(name, known["by_file"])
        return {"name": name, "metadata": metadata, "done": is_over}

    def output(self, name: str, by_file: bool) -> dict[str, Any]:
        if by_file:
            return {"responsesFile": f"files/out-{name.removeprefix('batches/')}"}
        lines = [self.result(key, request) for key, request in self.batch_requests[name]]
        inlined = [{"metadata": {"key": line.pop("key")}, **line} for line in lines]
        return {"inlinedResponses": {"inlinedResponses": inlined}}

    def result(self, key: str, request: dict[str, Any]) -> dict[str, Any]:
        given = self.outcomes.get(key)
        if given is not None:
            return {"key": key, **given}
        return {"key": key, "response": self.made(request, "gemini-3.8-flash").body}


def candidate(text: str | None = None, reason: str | None = "STOP", *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One candidate: a text, further parts, and why it ended."""
    whole = [*([{"text": text}] if text is not None else []), *parts]
    content = {"content": {"role": "model", "parts": whole}} if whole else {}
    return {"index": 0, **({"finishReason": reason} if reason else {}), **content, **more}


def failure(status: int, name: str, message: str, *details: dict[str, Any], headers: dict[str, str] | None = None) -> Answer:
    error = {"code": status, "message": message, "status": name, "details": list(details)}
    return Answer({"error": error}, status=status, headers=headers or {})


def bad_key() -> Answer:
    reason = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}
    return failure(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", reason)


def exhausted(quota: str | None, delay: str | None = None) -> Answer:
    """A 429 with the quota that is used up and the wait that is asked for."""
    details: list[dict[str, Any]] = []
    if quota:
        violations = [{"quotaId": quota, "quotaValue": "250"}]
        details.append({"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": violations})
    if delay:
        details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay})
    message = "You exceeded your current quota, please check your plan and billing details."
    return failure(429, "RESOURCE_EXHAUSTED", message, *details)


def name_of(uri: str) -> str:
    return f"files/{uri.rsplit('/', 1)[-1]}"


def moment(later: dt.timedelta = dt.timedelta()) -> str:
    return (dt.datetime.now(dt.UTC) + later).isoformat().replace("+00:00", "Z")
