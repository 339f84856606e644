"""What is said between the workbench and a model: requests, replies, errors, uploads, batches; adapters speak them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from longbanana_nb.errors import WorkbenchError

if TYPE_CHECKING:
    from longbanana_nb.providers.catalogue import Model

ErrorKind = Literal["rate_limited", "overloaded", "auth", "bad_request", "transport"]
Stop = Literal["end", "tool", "truncated", "refused", "filtered"]
CacheTime = Literal["off", "5m", "1h"]


@dataclass(frozen=True, slots=True)
class Text:
    """Words. `ends_prefix` marks the end of a part that many requests share, for providers that cache on request."""

    text: str
    ends_prefix: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """An image as it is sent: its bytes, or the handle of an upload of the same bytes; `sha256` is of the bytes."""

    sha256: str
    mime: str
    width: int
    height: int
    data: bytes | None = None
    handle: str | None = None
    ends_prefix: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to use a tool."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave for a call."""

    call_id: str
    name: str
    parts: tuple[Text | Picture, ...]
    is_error: bool = False


Part = Text | Picture | ToolResult


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What we say."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """What the model said, as the provider wants it back, unchanged (`native` is `Reply.native`)."""

    native: Any


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool a model may call; `schema` is a JSON schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model. `schema` asks for structured output; `params` are the profile's, checked by the catalogue."""

    system: str
    messages: tuple[UserMessage | ModelMessage, ...]
    max_tokens: int
    schema: Mapping[str, Any] | None = None
    tools: tuple[Tool, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    cache: CacheTime = "off"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call. The four never overlap: `input_tokens` is what was neither read from a cache nor written to it.

    `reported` is the provider's own account, word for word; a sum of usages has none.
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    reported: Mapping[str, Any] = field(default_factory=dict)

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.output_tokens + other.output_tokens,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered. `model` is the id it says it is; `detail` says why where `stop` is refused or filtered."""

    stop: Stop
    text: str
    tool_calls: tuple[ToolCall, ...]
    usage: Usage
    model: str
    request_id: str | None
    native: Any = None
    detail: str | None = None


class ProviderError(WorkbenchError):
    """A call that brought no reply.

    Args:
        kind: rate_limited (429), overloaded (529, 503, other 5xx), auth (401, 403, a bad key), bad_request (other 4xx),
            transport (timeouts, cut connections, unreadable bodies).
        is_quota: the account's quota or credit is used up; waiting a little does not help.
        is_too_large: the request or an image in it passes a limit of the provider.
        maybe_paid: the request had been sent whole, so the provider may have charged for it.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        retry_after_s: float | None = None,
        request_id: str | None = None,
        is_quota: bool = False,
        is_filtered: bool = False,
        is_too_large: bool = False,
        maybe_paid: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind, self.status, self.code, self.retry_after_s, self.request_id = kind, status, code, retry_after_s, request_id
        self.is_quota, self.is_filtered, self.is_too_large, self.maybe_paid = is_quota, is_filtered, is_too_large, maybe_paid

    @property
    def is_transient(self) -> bool:
        """Whether the same call may work a little later."""
        return self.kind in ("rate_limited", "overloaded", "transport") and not self.is_quota


@dataclass(frozen=True, slots=True)
class Upload:
    """A file lying with the provider; `expires_at` in UTC, ISO 8601, None where it stays.

    `name` is what it was laid down under and `size` its bytes, where the provider tells.
    """

    handle: str
    expires_at: str | None
    name: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class BatchItem:
    """One request of a batch, under our own id (at most 64 characters of A-Z a-z 0-9 _ -)."""

    id: str
    request: Request


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as the provider sees it. `label` is the one it was opened with, where the provider keeps one."""

    handle: str
    state: Literal["working", "ended", "failed", "expired"]
    requests: int | None = None
    created_at: str | None = None
    label: str | None = None
    detail: str | None = None


class Adapter(ABC):
    """One provider, one model, one key. One call is one attempt: retries, budget, journal and cache lie outside, once.

    All methods raise ProviderError. An adapter is used by one event loop and closed in it.
    """

    model: Model

    @abstractmethod
    async def ask(self, request: Request) -> Reply:
        """Ask once. Building the body is not done on the event loop."""

    @abstractmethod
    async def upload(self, picture: Picture, name: str) -> Upload:
        """Lay a picture down with the provider, for requests to name by handle."""

    @abstractmethod
    async def uploads(self) -> list[Upload]:
        """What lies with the provider and has not expired."""

    @abstractmethod
    async def open_batch(self, items: Sequence[BatchItem], label: str) -> Batch:
        """Hand in a batch."""

    @abstractmethod
    async def batches(self, since: str) -> list[Batch]:
        """Batches handed in at or after a time: how one is found again whose handle a kill kept from the journal."""

    @abstractmethod
    async def batch(self, handle: str) -> Batch:
        """The state of a batch."""

    @abstractmethod
    def batch_replies(self, handle: str) -> AsyncIterator[tuple[str, Reply | ProviderError]]:
        """The outcomes of an ended batch by our ids, in any order."""

    @abstractmethod
    async def close(self) -> None:
        """Close the connections."""
