"""One client of google-genai over our own HTTP client, and its errors as ours."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

import google.auth.exceptions
import httpx2
from google import genai
from google.genai import errors, types

from longbanana_nb.providers import faults
from longbanana_nb.providers.contracts import ProviderError
from longbanana_nb.providers.http import http_client
from longbanana_nb.providers.wire_json import read_answer

if TYPE_CHECKING:
    from longbanana_nb.providers.catalogue import Model

Read = TypeVar("Read")
_VERSIONS = {"developer": "v1", "vertex": "v1beta1"}
_BAD_KEY = re.compile(r"API_KEY_(?:INVALID|EXPIRED)|API key (?:not valid|expired)", re.I)
_PER_DAY = re.compile(r"per ?day|prepa(?:id|yment) credits|credits are depleted|spend(?:ing)? (?:cap|limit)", re.I)
_TOO_LARGE = re.compile(r"maximum number of tokens|payload size exceeds|(?:request|image|file) (?:is )?too large", re.I)
_BODY: ContextVar[bytes | None] = ContextVar("_BODY", default=None)


async def _send_ours(request: httpx2.Request) -> None:
    """Send the body that was built before in place of the one that the SDK made of placeholders."""
    body = _BODY.get()
    if body is not None:
        request.stream = httpx2.ByteStream(body)
        request.headers["Content-Length"] = str(len(body))


async def _raise_at_once(response: httpx2.Response) -> None:
    """An error is an error when it comes: the SDK would send a piece of an upload again on its own."""
    if response.status_code >= 300:
        await errors.APIError.raise_for_async_response(response)


class Connection:
    """A client with nothing of the environment in it but what it is given; the SDK repeats and continues nothing."""

    def __init__(
        self, model: Model, access: Mapping[str, Any], *, base_url: str | None, timeout_s: float, connections: int
    ) -> None:
        self.who, self.timeout_s = f"{model.provider}/{model.id}", timeout_s
        self._key: str | None = access.get("api_key")
        self._free = asyncio.Semaphore(connections)
        self._http = http_client(timeout_s=timeout_s, connections=connections)
        self._http.event_hooks = {"request": [_send_ours], "response": [_raise_at_once]}
        options = types.HttpOptions(
            base_url=base_url,
            api_version=_VERSIONS[model.route],
            timeout=math.ceil(timeout_s * 1000),  # the SDK's milliseconds
            httpx_async_client=self._http,
        )
        self.client = genai.Client(http_options=options, **access)

    @asynccontextmanager
    async def once(self, body: bytes | None = None) -> AsyncIterator[None]:
        """One call of the SDK, within the time and the connections there are; its errors become ours."""
        async with self._free:
            token = _BODY.set(body)
            try:
                async with faults.within(self.who, self.timeout_s):
                    yield
            except errors.APIError as error:
                raise self._of_api(error) from None
            except httpx2.HTTPError as error:
                raise faults.of_transport(self.who, error, key=self._key) from None
            except google.auth.exceptions.GoogleAuthError as error:
                raise self._of_auth(error) from None
            except (KeyError, RuntimeError, TypeError, ValueError) as error:
                raise faults.unreadable(self.who, f"{type(error).__name__}: {error}") from None
            finally:
                _BODY.reset(token)

    def read(self, response: types.HttpResponse | None, read: Callable[[Mapping[str, Any], str | None], Read]) -> Read:
        """What `read` makes of a raw answer and its id."""
        text = (response.body if response else None) or ""
        try:
            found = json.loads(text)
        except ValueError:
            raise faults.unreadable(self.who, faults.words_of(text) or "nothing", status=200) from None
        if not isinstance(found, dict):
            raise faults.unreadable(self.who, "it is no JSON object", status=200)
        if "error" in found:
            raise self._of_api(errors.APIError(_status_in(found["error"]), found)) from None
        request_id = ((response.headers if response else None) or {}).get("x-request-id")
        return read_answer(self.who, lambda: read(found, request_id))

    async def close(self) -> None:
        """Close the connections."""
        self.client.close()
        await self._http.aclose()

    def _of_api(self, error: errors.APIError) -> ProviderError:
        inner = error.details.get("error", error.details) if isinstance(error.details, dict) else {}
        details = inner.get("details") if isinstance(inner, dict) else None
        reasons = [detail.get("reason") for detail in details or [] if isinstance(detail, dict) and detail.get("reason")]
        message, whole = faults.words_of(error.details), json.dumps(error.details)
        found = faults.of_status(
            self.who,
            error.code,
            message,
            getattr(error.response, "headers", None) or {},
            code=str(reasons[0] if reasons else error.status),
            retry_after_s=faults.retry_info(details),
            is_quota=error.code == 402 or (error.code == 429 and _is_used_up(details, message)),
            is_too_large=error.code == 400 and bool(_TOO_LARGE.search(message)),
            key=self._key,
        )
        if error.code == 400 and _BAD_KEY.search(whole):  # Google answers a bad key with 400
            found.kind = "auth"
        return found

    def _of_auth(self, error: google.auth.exceptions.GoogleAuthError) -> ProviderError:
        if isinstance(error, google.auth.exceptions.TransportError) or error.retryable:
            return ProviderError("transport", f"{self.who}: Google Cloud's sign-in: {faults.clean(str(error))}")
        return ProviderError("auth", f"{self.who}: no usable Google Cloud credentials: {faults.clean(str(error))}")


def _is_used_up(details: Any, message: str) -> bool:
    """Whether a quota of the day or the credit is gone, not one of the minute; the message is the same for both."""
    failures = [detail for detail in details or [] if isinstance(detail, dict) and "QuotaFailure" in str(detail.get("@type"))]
    quotas = [violation for failure in failures for violation in failure.get("violations") or []]
    if quotas:
        return any(_PER_DAY.search(str(quota.get("quotaId"))) or str(quota.get("quotaValue")) == "0" for quota in quotas)
    return bool(_PER_DAY.search(message))


def _status_in(error: Any) -> int:
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and code >= 400 else 500
