"""OpenAI itself, through the Responses API, its Files and its Batches."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from longbanana_nb.errors import CallError
from longbanana_nb.providers import openai_responses_wire as wire
from longbanana_nb.providers.contracts import Adapter, Batch, BatchItem, Picture, ProviderError, Reply, Request, Upload
from longbanana_nb.providers.openai_common import Connection, fault_of
from longbanana_nb.providers.wire_json import bounded, encode, read_answer

if TYPE_CHECKING:
    from openai.types import Batch as TheirBatch
    from openai.types import FileObject

    from longbanana_nb.providers.catalogue import Model

UPLOAD_DAYS = 7
_PURPOSE: Literal["vision"] = "vision"
_BATCH_STATES: dict[str, Literal["working", "ended", "failed", "expired"]] = {
    "completed": "ended",
    "failed": "failed",
    "expired": "expired",
    "cancelled": "failed",
}


def open_adapter(model: Model, *, key: str | None, base_url: str, timeout_s: float, connections: int) -> Adapter:
    """An adapter for a model of OpenAI; CallError without a key."""
    if key is None:
        raise CallError(f"{model.provider}/{model.id} needs a key in {' or '.join(model.key_env)}.")
    return OpenAIResponses(model, Connection(model, key=key, base_url=base_url, timeout_s=timeout_s, connections=connections))


class OpenAIResponses(Adapter):
    """Responses of one model of OpenAI."""

    def __init__(self, model: Model, connection: Connection) -> None:
        self.model, self._connection, self._who = model, connection, connection.who

    async def ask(self, request: Request) -> Reply:
        """Ask once."""
        answer, request_id = await self._connection.post("/responses", request, lambda: encode(wire.body(request, self.model.id)))
        return read_answer(self._who, lambda: wire.reply(self._who, answer, request_id))

    async def upload(self, picture: Picture, name: str) -> Upload:
        """Lay a picture down for a week; its handle is the file's id."""
        if picture.data is None:
            raise ProviderError("bad_request", f"{self._who}: a picture without bytes cannot be uploaded.")
        async with self._connection.once():
            file = await self._connection.client.files.create(
                file=(name, picture.data, picture.mime),
                purpose=_PURPOSE,
                expires_after={"anchor": "created_at", "seconds": UPLOAD_DAYS * 86_400},
            )
        return _upload(file)

    async def uploads(self) -> list[Upload]:
        """The pictures that lie with OpenAI and have not expired."""
        now = dt.datetime.now(dt.UTC).timestamp()
        async with self._connection.once():
            files = [file async for file in self._connection.client.files.list(purpose=_PURPOSE, limit=10_000)]
        return [_upload(file) for file in files if file.expires_at is None or file.expires_at > now]

    async def open_batch(self, items: Sequence[BatchItem], label: str) -> Batch:
        """Hand in a batch: a file of requests first, then the batch over it."""
        most = self.model.limits.batch_requests
        if most is not None and len(items) > most:
            told = f"{self._who}: {len(items):,} requests; a batch holds {most:,}."
            raise ProviderError("bad_request", told, is_too_large=True)
        content = bounded(self._who, await self._in_thread(items), self.model.limits.batch_bytes)
        client = self._connection.client
        async with self._connection.once():
            file = await client.files.create(file=("requests.jsonl", content, "application/jsonl"), purpose="batch")
        async with self._connection.once():
            opened = await client.batches.create(
                input_file_id=file.id, endpoint="/v1/responses", completion_window="24h", metadata={"label": label}
            )
        return _batch(opened)

    async def batches(self, since: str) -> list[Batch]:
        """Batches handed in at or after a time; OpenAI lists the newest first."""
        start = int(dt.datetime.fromisoformat(since).timestamp())
        found = []
        async with self._connection.once():
            async for batch in self._connection.client.batches.list(limit=100):
                if batch.created_at < start:
                    break
                found.append(_batch(batch))
        return found

    async def batch(self, handle: str) -> Batch:
        """The state of a batch."""
        async with self._connection.once():
            return _batch(await self._connection.client.batches.retrieve(handle))

    async def batch_replies(self, handle: str) -> AsyncIterator[tuple[str, Reply | ProviderError]]:
        """The outcomes in the file of outputs and in the file of errors; an expired batch has both, as far as it came."""
        client = self._connection.client
        async with self._connection.once():
            batch = await client.batches.retrieve(handle)
        for file_id in (batch.output_file_id, batch.error_file_id):
            if file_id is None:
                continue
            async for line in self._connection.lines(f"/files/{file_id}/content"):
                yield str(line.get("custom_id")), self._outcome(line)

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.close()

    async def _in_thread(self, items: Sequence[BatchItem]) -> bytes:
        return await asyncio.to_thread(lambda: b"\n".join(self._lines_of(items)) + b"\n")

    def _lines_of(self, items: Sequence[BatchItem]) -> Iterator[bytes]:
        for item in items:
            body = wire.body(item.request, self.model.id)
            yield encode({"custom_id": item.id, "method": "POST", "url": wire.ENDPOINT, "body": body})

    def _outcome(self, line: Mapping[str, Any]) -> Reply | ProviderError:
        response, error = line.get("response") or {}, line.get("error")
        status, request_id = response.get("status_code"), response.get("request_id")
        body = response.get("body") or {}
        try:
            if error or not response:
                return _never_run(self._who, error)
            if status != 200:
                return fault_of(self._who, body.get("error") or body, int(status or 500), {}, request_id)
            return read_answer(self._who, lambda: wire.reply(self._who, body, request_id))
        except ProviderError as failure:
            return failure


def _never_run(who: str, error: Any) -> ProviderError:
    """A request that the batch did not come to (expired, cancelled): nothing was paid, and it may be asked again."""
    told = error if isinstance(error, Mapping) else {}
    message = told.get("message") or "the batch did not come to this request"
    return ProviderError("transport", f"{who}: {message}", code=told.get("code"))


def _batch(batch: TheirBatch) -> Batch:
    faults = (batch.errors.data if batch.errors else None) or []
    return Batch(
        handle=batch.id,
        state=_BATCH_STATES.get(batch.status, "working"),
        requests=batch.request_counts.total if batch.request_counts else None,
        created_at=_moment(batch.created_at),
        label=(batch.metadata or {}).get("label"),
        detail="; ".join(f"{fault.code}: {fault.message}" for fault in faults) or None,
    )


def _upload(file: FileObject) -> Upload:
    return Upload(file.id, _moment(file.expires_at), file.filename, file.bytes)


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
