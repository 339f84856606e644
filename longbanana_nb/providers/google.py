"""Gemini through the Developer API and through Google Cloud (route vertex), its Files and its Batches."""

from __future__ import annotations

import asyncio
import datetime as dt
import io
import os
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from google.genai import types

from longbanana_nb.errors import CallError
from longbanana_nb.providers import google_batches as batching
from longbanana_nb.providers import google_wire as wire
from longbanana_nb.providers.contracts import Adapter, Batch, BatchItem, Picture, ProviderError, Reply, Request, Upload
from longbanana_nb.providers.encoding import built
from longbanana_nb.providers.google_connection import Connection
from longbanana_nb.providers.reading import lines_of
from longbanana_nb.providers.wire_json import bounded, encode

if TYPE_CHECKING:
    from longbanana_nb.providers.catalogue import Model

_POLL_S = (0.2, 5.0)
_ANYTHING = "-"
"""Stands in arguments of the SDK whose place the body takes that was built before."""


def open_adapter(model: Model, *, key: str | None, base_url: str | None, timeout_s: float, connections: int) -> Adapter:
    """An adapter for a model on either route.

    Raises:
        CallError: without a key, or without a project on the route vertex.
    """
    return Google(model, connection(model, key=key, base_url=base_url, timeout_s=timeout_s, connections=connections))


def connection(model: Model, *, key: str | None, base_url: str | None, timeout_s: float, connections: int) -> Connection:
    """A connection on either route; project and location of Google Cloud come from the environment. Raises as `open_adapter`."""
    access: dict[str, Any] = {"enterprise": model.route == "vertex"}
    if model.route == "vertex":
        if not (project := os.environ.get("GOOGLE_CLOUD_PROJECT")):
            raise CallError(f"{model.provider}/{model.id} on the route vertex needs the variable GOOGLE_CLOUD_PROJECT.")
        access |= {"project": project, "location": os.environ.get("GOOGLE_CLOUD_LOCATION") or "global"}
    elif key is None:
        raise CallError(f"{model.provider}/{model.id} needs a key in {' or '.join(model.key_env)}.")
    else:
        access["api_key"] = key
    return Connection(model, access, base_url=base_url, timeout_s=timeout_s, connections=connections)


class Google(Adapter):
    """generateContent of one model on one route."""

    def __init__(self, model: Model, connection: Connection) -> None:
        self.model, self._connection, self._who = model, connection, connection.who

    async def ask(self, request: Request) -> Reply:
        """Ask once. The body is built here and sent as it is; the SDK's own building takes the event loop's time."""
        body = bounded(self._who, await built(request, lambda: encode(wire.body(request))), self.model.limits.request_bytes)
        config = types.GenerateContentConfig(
            should_return_http_response=True,
            automatic_continuation=False,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )
        async with self._connection.once(body):
            answer = await self._connection.client.aio.models.generate_content(
                model=self.model.id, contents=_ANYTHING, config=config
            )
        return self._connection.read(answer.sdk_http_response, lambda found, id_: wire.reply(self._who, found, id_))

    async def upload(self, picture: Picture, name: str) -> Upload:
        """Lay a picture down for 48 hours and wait until it can be used; its handle is the file's address."""
        self._needs_developer("uploads")
        if picture.data is None:
            raise ProviderError("bad_request", f"{self._who}: a picture without bytes cannot be uploaded.")
        return await self._laid_down(picture.data, picture.mime, name)

    async def _laid_down(self, data: bytes, mime: str, name: str) -> Upload:
        files, deadline = self._connection.client.aio.files, asyncio.get_running_loop().time() + self._connection.timeout_s
        async with self._connection.once():
            file = await files.upload(
                file=io.BytesIO(data), config=types.UploadFileConfig(mime_type=mime, display_name=name[:512])
            )
        wait = _POLL_S[0]
        while file.state is types.FileState.PROCESSING:
            if asyncio.get_running_loop().time() + wait > deadline:
                raise ProviderError("transport", f"{self._who}: the upload is still being processed. Try again later.")
            await asyncio.sleep(wait)
            wait = min(2 * wait, _POLL_S[1])
            async with self._connection.once():
                file = await files.get(name=file.name or "")
        if file.state is not types.FileState.ACTIVE or not file.uri:
            told = file.error.message if file.error else file.state
            raise ProviderError("bad_request", f"{self._who}: the upload cannot be used: {told}.")
        return _upload(file, file.uri)

    async def uploads(self) -> list[Upload]:
        """The usable files of the project that have not expired."""
        self._needs_developer("uploads")
        now = dt.datetime.now(dt.UTC)
        async with self._connection.once():
            pages = await self._connection.client.aio.files.list(config=types.ListFilesConfig(page_size=100))
            files = [file async for file in pages if file.state is types.FileState.ACTIVE]
        left = [file for file in files if file.expiration_time is None or file.expiration_time > now]
        return [_upload(file, file.uri) for file in left if file.uri]

    async def open_batch(self, items: Sequence[BatchItem], label: str) -> Batch:
        """Hand in a batch: inline where it fits, else as a file of requests."""
        self._needs_developer("batches")
        batches, config = self._connection.client.aio.batches, types.CreateBatchJobConfig(display_name=label)
        body = await asyncio.to_thread(batching.inline, items, label)
        if body is not None:
            placeholder: Any = [{"contents": _ANYTHING}]
            async with self._connection.once(body):
                return batching.batch(await batches.create(model=self.model.id, src=placeholder, config=config))
        data = await asyncio.to_thread(batching.file_of, items)
        bounded(self._who, data, self.model.limits.batch_bytes)
        name = batching.name_of((await self._laid_down(data, "application/jsonl", label)).handle)
        async with self._connection.once():
            return batching.batch(await batches.create(model=self.model.id, src=name, config=config))

    async def batches(self, since: str) -> list[Batch]:
        """Batches handed in at or after a time."""
        self._needs_developer("batches")
        start = dt.datetime.fromisoformat(since)
        async with self._connection.once():
            jobs = [job async for job in await self._connection.client.aio.batches.list()]
        return [batching.batch(job) for job in jobs if job.create_time is None or job.create_time >= start]

    async def batch(self, handle: str) -> Batch:
        """The state of a batch."""
        return batching.batch(await self._job(handle))

    async def batch_replies(self, handle: str) -> AsyncIterator[tuple[str, Reply | ProviderError]]:
        """The outcomes of a batch, from the file of results or from the batch itself, by our ids."""
        where = (await self._job(handle)).dest or types.BatchJobDestination()
        if where.file_name:
            async with self._connection.once():
                data: bytes = await self._connection.client.aio.files.download(file=where.file_name)
            async for line in lines_of(self._who, batching.chunks(data)):
                yield str(line.get("key")), batching.outcome(self._who, line.get("response"), line.get("error"))
        for item in where.inlined_responses or []:
            answer = item.response.model_dump(mode="json", by_alias=True, exclude_none=True) if item.response else None
            error = item.error.model_dump() if item.error else None
            yield (item.metadata or {}).get("key", ""), batching.outcome(self._who, answer, error)

    async def _job(self, handle: str) -> types.BatchJob:
        self._needs_developer("batches")
        async with self._connection.once():
            return await self._connection.client.aio.batches.get(name=handle)

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.close()

    def _needs_developer(self, what: Literal["uploads", "batches"]) -> None:
        if self.model.route == "vertex":
            told = f"{self._who}: {what} on the route vertex want a bucket of Google Cloud Storage; use the route developer."
            raise ProviderError("bad_request", told)


def _upload(file: types.File, uri: str) -> Upload:
    return Upload(uri, _moment(file.expiration_time), file.display_name, file.size_bytes)


def _moment(moment: dt.datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
