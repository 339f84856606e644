"""What went wrong on the wire, as one of the five kinds: shared by the adapters, whose SDKs raise each their own."""

from __future__ import annotations

import asyncio
import datetime as dt
import email.utils
import json
import math
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from longbanana_nb.providers.contracts import ErrorKind, ProviderError

QUOTA_WORDS = ("insufficient_quota", "credit balance", "billing", "exceeded your current quota", "spend limit", "spending limit")
_LONGEST = 400
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)s")


def kind_of_status(status: int) -> ErrorKind:
    """The kind of an answer that is no reply."""
    if status in (401, 403):
        return "auth"
    if status == 429:
        return "rate_limited"
    if status == 408:
        return "transport"
    return "overloaded" if status >= 500 or status in (409, 425) else "bad_request"


def clean(text: str, key: str | None = None) -> str:
    """What a server said, fit to be shown: one line, no control characters, not long, and never the key."""
    shown = " ".join(_UNPRINTABLE.sub(" ", text.replace(key, "[redacted]") if key else text).split())
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."


def words_of(body: Any) -> str:
    """The sentence in an error body: the message of the usual shapes, else the text itself, a page without its tags."""
    if isinstance(body, bytes):
        body = body.decode("utf-8", "replace")
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except ValueError:
            return re.sub(r"<[^>]*>", " ", str(body))
    inner = body.get("error", body) if isinstance(body, dict) else body
    message = inner.get("message") if isinstance(inner, dict) else inner
    return message if isinstance(message, str) else json.dumps(body)


def of_status(
    who: str,
    status: int,
    message: str,
    headers: Mapping[str, str],
    *,
    code: str | None = None,
    request_id: str | None = None,
    retry_after_s: float | None = None,
    is_quota: bool | None = None,
    is_filtered: bool = False,
    is_too_large: bool = False,
    key: str | None = None,
) -> ProviderError:
    """The error of an answer with a status that is no success.

    Args:
        who: provider and model, for people.
        message: what the server said; cleaned here.
        is_quota: whether the account is used up; None reads it from status, code and message.
        retry_after_s: what the body asked to wait, where it did; the headers are read here.
    """
    told = clean(message, key)
    used_up = is_quota if is_quota is not None else status == 402 or any(word in f"{code} {told}".lower() for word in QUOTA_WORDS)
    after = retry_after_s if retry_after_s is not None else retry_after(headers)
    return ProviderError(
        kind_of_status(status),
        f"{who} answered {status}{f' ({code})' if code else ''}: {told or 'no text'}",
        status=status,
        code=code,
        retry_after_s=after,
        request_id=request_id,
        is_quota=used_up,
        is_filtered=is_filtered,
        is_too_large=is_too_large or status == 413,
    )


def of_transport(who: str, error: BaseException, *, key: str | None = None) -> ProviderError:
    """The error of a call that brought no whole answer. It may have been paid unless the request cannot have arrived whole."""
    import httpx2

    never_whole = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.WriteError, httpx2.WriteTimeout)
    is_unsent = isinstance(error, (*never_whole, httpx2.UnsupportedProtocol, httpx2.ProxyError))
    told = clean(str(error), key) or "no text"
    return ProviderError("transport", f"{who}: {type(error).__name__}: {told}", maybe_paid=not is_unsent)


def unreadable(who: str, what: str, *, status: int | None = None, request_id: str | None = None) -> ProviderError:
    """The error of an answer that says success and cannot be read."""
    return ProviderError(
        "transport", f"{who}: the answer cannot be read: {clean(what)}", status=status, request_id=request_id, maybe_paid=True
    )


@asynccontextmanager
async def within(who: str, timeout_s: float | None) -> AsyncIterator[None]:
    """A bound on a whole call, in seconds: a server that sends a byte now and then does not hold a call for ever."""
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError as error:
        raise ProviderError("transport", f"{who}: no answer within {timeout_s:g} s", maybe_paid=True) from error


def retry_after(headers: Mapping[str, str], now: dt.datetime | None = None) -> float | None:
    """Seconds that headers ask to wait: `retry-after-ms`, `Retry-After` in seconds or as an HTTP date; None if unreadable."""
    lower = {name.lower(): value.strip() for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(lower[name]) * unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    try:
        when = email.utils.parsedate_to_datetime(lower["retry-after"])
    except (KeyError, ValueError):
        return None
    moment = when if when.tzinfo else when.replace(tzinfo=dt.UTC)
    return max(0.0, (moment - (now or dt.datetime.now(dt.UTC))).total_seconds())


def retry_info(details: Any) -> float | None:
    """Seconds that a google.rpc.RetryInfo among error details asks to wait."""
    for detail in details if isinstance(details, list) else []:
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        found = _DURATION.fullmatch(delay) if isinstance(delay, str) else None
        if found:
            return float(found.group(1))
    return None
