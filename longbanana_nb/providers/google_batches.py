"""Batches of Gemini: requests inline or in a file, states, and outcomes by our own ids."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal

from google.genai import types

from longbanana_nb.providers import google_wire as wire
from longbanana_nb.providers.contracts import Batch, BatchItem, ErrorKind, ProviderError, Reply
from longbanana_nb.providers.faults import clean, kind_of_status
from longbanana_nb.providers.wire_json import encode, read_answer

INLINE_BYTES = 18_000_000
"""Google takes less than 20 MB inline; a larger batch goes as a file."""

_STATES: dict[str, Literal["working", "ended", "failed", "expired"]] = {
    "JOB_STATE_SUCCEEDED": "ended",
    "JOB_STATE_PARTIALLY_SUCCEEDED": "ended",
    "JOB_STATE_FAILED": "failed",
    "JOB_STATE_CANCELLED": "failed",
    "JOB_STATE_EXPIRED": "expired",
}
_GRPC: dict[int, ErrorKind] = {  # google.rpc.Code
    1: "overloaded",
    4: "overloaded",
    7: "auth",
    8: "rate_limited",
    10: "overloaded",
    13: "overloaded",
    14: "overloaded",
    16: "auth",
}


def inline(items: Sequence[BatchItem], label: str) -> bytes | None:
    """The body of a batch with its requests inline; None where it would be too large."""
    requests, size = [], 0
    for item in items:
        body = wire.body(item.request)
        size += len(encode(body))
        if size > INLINE_BYTES:
            return None
        requests.append((item.id, body))
    return encode(wire.batch_body(requests, label))


def file_of(items: Sequence[BatchItem]) -> bytes:
    """A file of requests, one a line, each under our id."""
    return b"".join(encode({"key": item.id, "request": wire.body(item.request)}) + b"\n" for item in items)


async def chunks(data: bytes) -> AsyncIterator[bytes]:
    """A file that came whole, as one that comes in pieces."""
    yield data


def name_of(handle: str) -> str:
    """`files/abc` from the address of a file."""
    return f"files/{handle.rsplit('/', 1)[-1]}"


def batch(job: types.BatchJob) -> Batch:
    """A batch as the contract has it. The SDK hands on neither its numbers nor why it failed."""
    state = job.state.value if job.state else "JOB_STATE_UNSPECIFIED"
    ours = _STATES.get(state, "working")
    told = job.error.message if job.error and job.error.message else state
    return Batch(
        handle=job.name or "",
        state=ours,
        created_at=job.create_time.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if job.create_time else None,
        label=job.display_name,
        detail=None if ours in ("working", "ended") else told,
    )


def outcome(who: str, answer: Mapping[str, Any] | None, error: Mapping[str, Any] | None) -> Reply | ProviderError:
    """What became of one request."""
    if error or not answer:
        return _failure(who, error or {"message": "the batch did not come to this request", "code": 1})
    try:
        return read_answer(who, lambda: wire.reply(who, answer))
    except ProviderError as failure:
        return failure


def _failure(who: str, error: Mapping[str, Any]) -> ProviderError:
    code = error.get("code")
    number = code if isinstance(code, int) else 0
    kind = kind_of_status(number) if number >= 400 else _GRPC.get(number, "bad_request")
    message = clean(str(error.get("message") or "no text"))
    return ProviderError(kind, f"{who} in a batch ({code}): {message}", code=str(code), status=number if number >= 400 else None)
