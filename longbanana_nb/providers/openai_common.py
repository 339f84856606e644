"""What both OpenAI dialects share: the connection, errors as our kinds, pictures as addresses, calls of tools."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import openai

from longbanana_nb.providers import faults
from longbanana_nb.providers.contracts import ErrorKind, Picture, ProviderError, Request, ToolCall
from longbanana_nb.providers.encoding import PICTURES, built
from longbanana_nb.providers.http import http_client
from longbanana_nb.providers.reading import lines_of, object_of, whole
from longbanana_nb.providers.wire_json import bounded

if TYPE_CHECKING:
    from longbanana_nb.providers.catalogue import Model

SCHEMA_NAME = "answer"
OURS = "lb-call-"
"""Ids of calls that came without one."""

_FILTERS = {
    "content_filter",
    "content_policy_violation",
    "moderation_blocked",
    "image_content_policy_violation",
    "misalignment_policy_violation",
    "bio_policy",
    "cyber_policy",
    "invalid_prompt",
}
_TOO_LARGE = {
    "context_length_exceeded",
    "exceed_context_size_error",
    "image_too_large",
    "image_file_too_large",
    "request_too_large",
    "string_above_max_length",
    "tokens_limit_reached",
}
_SAYS_TOO_LARGE = re.compile(
    r"maximum context length|context (?:size|length|window)|(?:request|payload|body|file) too large", re.I
)
_KIND_OF_CODE: dict[str, ErrorKind] = {
    "server_error": "overloaded",
    "internal_error": "overloaded",
    "rate_limit_exceeded": "rate_limited",
    "rate_limit_error": "rate_limited",
    "invalid_api_key": "auth",
    "authentication_error": "auth",
    "invalid_request_error": "bad_request",
}


def data_uri(picture: Picture) -> Any:
    """A picture's bytes as an address, ready to be put into JSON."""
    return PICTURES.quoted(picture, f"data:{picture.mime};base64,")


def calls_of(found: Iterable[tuple[Any, Any, Any]]) -> tuple[tuple[ToolCall, ...], str | None]:
    """Calls from (id, name, arguments), and what is wrong where one cannot be read."""
    calls = []
    for n, (call_id, name, arguments) in enumerate(found):
        try:
            read = json.loads(arguments or "{}") if isinstance(arguments, str) or arguments is None else arguments
        except ValueError:
            return (), f"malformed call of {name}: its arguments are no JSON"
        if not isinstance(read, Mapping) or not isinstance(name, str):
            return (), f"malformed call of {name}: its arguments are no object"
        calls.append(ToolCall(str(call_id or f"{OURS}{n}"), name, read))
    return tuple(calls), None


def fault_of(
    who: str, error: Any, status: int, headers: Mapping[str, str], request_id: str | None, key: str | None = None
) -> ProviderError:
    """The error of an error object, with whatever status it came: some servers send them with 200."""
    told = error if isinstance(error, Mapping) else {}
    code = told.get("code") or told.get("type")
    if isinstance(code, int) and 400 <= code <= 599:  # gateways put the status of the server behind them there
        status, code = code, told.get("type")
    message, code = faults.words_of(error), None if code is None else str(code)
    found = faults.of_status(
        who,
        status,
        message,
        headers,
        code=code,
        request_id=request_id,
        is_filtered=code in _FILTERS,
        is_too_large=status in (400, 413, 422, 200) and (code in _TOO_LARGE or bool(_SAYS_TOO_LARGE.search(message))),
        key=key,
    )
    if status < 300:
        found.kind, found.maybe_paid = _kind_in_success(found), True
    return found


def _kind_in_success(error: ProviderError) -> ErrorKind:
    if error.is_filtered or error.is_too_large:
        return "bad_request"
    return "rate_limited" if error.is_quota else _KIND_OF_CODE.get(error.code or "", "transport")


class Connection:
    """One client of the SDK, with nothing of the environment in it: no key, address, organisation or retry but ours."""

    def __init__(self, model: Model, *, key: str | None, base_url: str, timeout_s: float, connections: int) -> None:
        self.who = f"{model.provider}/{model.id}"
        self._key, self._timeout_s, self._free = key, timeout_s, asyncio.Semaphore(connections)
        self._http = http_client(timeout_s=timeout_s, connections=connections)
        self._most_bytes = model.limits.request_bytes
        self._options: Any = {} if key else {"headers": {"Authorization": openai.Omit()}}
        self.client = openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=base_url,
            max_retries=0,
            http_client=self._http,
        )
        self.client._custom_headers = {}  # the SDK fills it from OPENAI_CUSTOM_HEADERS, which could even replace the key
        self.client.organization = self.client.project = self.client.admin_api_key = None

    async def post(self, path: str, request: Request, build: Callable[[], bytes]) -> tuple[Mapping[str, Any], str | None]:
        """Post a request's body once; the JSON object that came, and the id of the request."""
        content = bounded(self.who, await built(request, build), self._most_bytes)
        post: Any = self.client.post
        async with self.once():
            response: httpx2.Response = await post(
                path, cast_to=httpx2.Response, content=content, options=self._options, stream=True
            )
            data = await whole(self.who, response)
        request_id = response.headers.get("x-request-id")
        return object_of(self.who, data, status=response.status_code, request_id=request_id), request_id

    async def lines(self, path: str) -> AsyncIterator[Mapping[str, Any]]:
        """The objects of a file of JSON lines, read as they come."""
        get: Any = self.client.get
        async with self.once(is_bounded=False):
            response: httpx2.Response = await get(path, cast_to=httpx2.Response, stream=True)
            try:
                async for line in lines_of(self.who, response.aiter_bytes()):
                    yield line
            finally:
                await response.aclose()

    @asynccontextmanager
    async def once(self, *, is_bounded: bool = True) -> AsyncIterator[None]:
        """One call of the SDK within the connections and, unless it streams at length, the time there is; errors become ours."""
        async with self._free:
            try:
                async with faults.within(self.who, self._timeout_s if is_bounded else None):
                    yield
            except openai.APIStatusError as error:
                told, status = error.body if error.body else error.response.text, error.status_code
                raise fault_of(self.who, told, status, error.response.headers, error.request_id, self._key) from None
            except openai.APIConnectionError as error:
                raise faults.of_transport(self.who, error.__cause__ or error, key=self._key) from None
            except httpx2.HTTPError as error:
                raise faults.of_transport(self.who, error, key=self._key) from None
            except (openai.OpenAIError, ValueError) as error:
                raise faults.unreadable(self.who, str(error)) from None

    async def close(self) -> None:
        """Close the connections."""
        await self.client.close()
