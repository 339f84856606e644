"""Claude: messages, files and batches of Anthropic's API through its SDK, with nothing of the environment but what we give."""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import anthropic
import httpx2

from longbanana_nb.providers import anthropic_wire as wire
from longbanana_nb.providers import faults
from longbanana_nb.providers.contracts import (
    Adapter,
    Batch,
    BatchItem,
    Picture,
    ProviderError,
    Reply,
    Request,
    Upload,
)
from longbanana_nb.providers.encoding import built
from longbanana_nb.providers.http import http_client
from longbanana_nb.providers.reading import lines_of, object_of, whole
from longbanana_nb.providers.wire_json import encode, read_answer

if TYPE_CHECKING:
    from longbanana_nb.providers.catalogue import Model

KEPT_S = 7 * 24 * 3600
"""How long an upload is asked to stay."""


def open_adapter(model: Model, *, key: str | None, base_url: str, timeout_s: float, connections: int) -> Adapter:
    """An adapter for a Claude model."""
    if key is None:
        raise ProviderError("auth", f"{model.provider}/{model.id} needs a key.")
    return Anthropic(model, key=key, base_url=base_url, timeout_s=timeout_s, connections=connections)


class Anthropic(Adapter):
    """One Claude model with one key."""

    def __init__(self, model: Model, *, key: str, base_url: str, timeout_s: float, connections: int) -> None:
        self.model = model
        self._who, self._key, self._timeout_s = f"{model.provider}/{model.id}", key, timeout_s
        self._free = asyncio.Semaphore(connections)
        self._calls_prefix, self._calls = uuid.uuid4().hex, itertools.count(1)
        self._client = anthropic.AsyncAnthropic(
            api_key=key,
            base_url=base_url,
            max_retries=0,
            timeout=timeout_s,
            http_client=http_client(timeout_s=timeout_s, connections=connections + 1),  # one for results that are being read
            open_telemetry=False,
        )
        self._client._custom_headers = {}  # the SDK fills it from ANTHROPIC_CUSTOM_HEADERS, which could even replace the key

    async def ask(self, request: Request) -> Reply:
        """Ask once."""
        content = await built(request, lambda: self._encoded(request))
        answer, request_id = await self._post("/v1/messages", content, wire.headers([request], self.model))
        return read_answer(self._who, lambda: wire.reply(answer, request_id))

    async def count_tokens(self, request: Request) -> int:
        """What the provider counts for a request, free of charge; an answer costs `max_tokens` more at most."""
        content = await built(request, lambda: self._encoded(request, is_counted=True))
        answer, _ = await self._post("/v1/messages/count_tokens", content, wire.headers([request], self.model))
        return read_answer(self._who, lambda: int(answer["input_tokens"]))

    async def upload(self, picture: Picture, name: str) -> Upload:
        """Lay a picture down for a week."""
        if picture.data is None:
            raise ProviderError("bad_request", f"{name} has no bytes to be uploaded.")
        form = {"body": {"expires_in_seconds": KEPT_S}, "files": [("file", (name, picture.data, picture.mime))]}
        answer, _ = await self._said(self._client.post, "/v1/files", {"headers": {"Content-Type": "multipart/form-data"}}, **form)
        return read_answer(self._who, lambda: _upload(answer))

    async def uploads(self) -> list[Upload]:
        """The files that lie with the provider and have not expired."""
        found: list[Upload] = []
        page, now = None, dt.datetime.now(dt.UTC)
        while True:
            asked = {"limit": 1000} | ({"page": page} if page else {})
            answer, _ = await self._said(self._client.get, "/v1/files", {"params": asked})
            found += read_answer(self._who, partial(_uploads, answer))
            page = answer.get("next_page")
            if not page:
                return [one for one in found if one.expires_at is None or dt.datetime.fromisoformat(one.expires_at) > now]

    async def open_batch(self, items: Sequence[BatchItem], label: str) -> Batch:
        """Hand in a batch. Anthropic keeps no label: a lost handle is found again by its time."""
        content = await asyncio.to_thread(self._encoded_batch, items)
        answer, _ = await self._post("/v1/messages/batches", content, wire.headers([i.request for i in items], self.model))
        return read_answer(self._who, lambda: _batch(answer))

    async def batches(self, since: str) -> list[Batch]:
        """Batches handed in at or after `since`; they come newest first."""
        start, found = dt.datetime.fromisoformat(since), []
        async with self._once():
            async for batch in self._client.messages.batches.list(limit=100):
                if batch.created_at < start:
                    break
                found.append(_batch(batch.to_dict(mode="json")))
        return found

    async def batch(self, handle: str) -> Batch:
        """The state of a batch."""
        async with self._once():
            batch = await self._client.messages.batches.retrieve(handle)
        return read_answer(self._who, lambda: _batch(batch.to_dict(mode="json")))

    async def batch_replies(self, handle: str) -> AsyncIterator[tuple[str, Reply | ProviderError]]:
        """The outcomes of an ended batch, read as they come; the address is ours, not one that the answer names."""
        async with self._once(is_bounded=False):
            get: Any = self._client.get
            path = f"/v1/messages/batches/{handle}/results"
            response: httpx2.Response = await get(path, cast_to=httpx2.Response, stream=True)
            try:
                async for line in lines_of(self._who, response.aiter_bytes()):
                    yield read_answer(self._who, partial(wire.result, self._who, line, self._key))
            finally:
                await response.aclose()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _encoded(self, request: Request, *, is_counted: bool = False) -> bytes:
        body = wire.body(request, self.model)
        if is_counted:
            del body["max_tokens"]
        return self._bounded(encode(body), self.model.limits.request_bytes)

    def _encoded_batch(self, items: Sequence[BatchItem]) -> bytes:
        requests = [{"custom_id": item.id, "params": wire.body(item.request, self.model)} for item in items]
        most = self.model.limits.batch_requests
        if most is not None and len(requests) > most:
            raise ProviderError(
                "bad_request", f"{self._who}: {len(requests):,} requests; a batch holds {most:,}.", is_too_large=True
            )
        return self._bounded(encode({"requests": requests}), self.model.limits.batch_bytes)

    def _bounded(self, content: bytes, most: int | None) -> bytes:
        if most is not None and len(content) > most:
            told = f"{self._who}: the request has {len(content):,} bytes; at most {most:,} are taken. Nothing was sent."
            raise ProviderError("bad_request", told, is_too_large=True)
        return content

    async def _post(self, path: str, content: bytes, headers: dict[str, str]) -> tuple[Mapping[str, Any], str | None]:
        return await self._said(self._client.post, path, {"headers": headers}, content=content)

    def _call_id(self) -> str:
        """A new id for a call; the SDK would draw random bytes for each."""
        return f"{self._calls_prefix}-{next(self._calls)}"

    async def _said(self, verb: Any, path: str, options: dict[str, Any], **given: Any) -> tuple[Mapping[str, Any], str | None]:
        """The object that an answer holds, and the request's id. The SDK's models, which we do not read, are not built."""
        async with self._once():
            response: httpx2.Response = await verb(
                path, cast_to=httpx2.Response, options=options | {"idempotency_key": self._call_id()}, stream=True, **given
            )
            data = await whole(self._who, response)
        request_id = response.headers.get("request-id")
        return object_of(self._who, data, status=response.status_code, request_id=request_id), request_id

    @asynccontextmanager
    async def _once(self, *, is_bounded: bool = True) -> AsyncIterator[None]:
        """One call of the SDK within the connections and the time there are, unless it streams at length; errors become ours."""
        async with self._free if is_bounded else nullcontext():
            try:
                async with faults.within(self._who, self._timeout_s if is_bounded else None):
                    yield
            except anthropic.APIStatusError as error:
                answer = error.body if error.body is not None else error.response.text
                raise wire.fault(self._who, error.status_code, answer, error.response.headers, self._key) from None
            except anthropic.APIConnectionError as error:
                raise faults.of_transport(self._who, error.__cause__ or error, key=self._key) from None
            except httpx2.HTTPError as error:
                raise faults.of_transport(self._who, error, key=self._key) from None
            except anthropic.AnthropicError as error:
                raise faults.unreadable(self._who, str(error)) from None


def _batch(answer: Mapping[str, Any]) -> Batch:
    is_over = answer["processing_status"] == "ended"
    return Batch(
        handle=answer["id"],
        state="expired" if answer.get("archived_at") else "ended" if is_over else "working",
        requests=sum(answer["request_counts"].values()),
        created_at=answer["created_at"],
        detail=answer["processing_status"],
    )


def _uploads(page: Mapping[str, Any]) -> list[Upload]:
    return [_upload(file) for file in page["data"]]


def _upload(file: Mapping[str, Any]) -> Upload:
    expires_at = file.get("expires_at")
    moment = dt.datetime.fromisoformat(expires_at) if expires_at else None
    return Upload(file["id"], _utc(moment), file.get("filename"), file.get("size_bytes"))


def _utc(moment: dt.datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
