"""Any server that speaks chat completions: vLLM, Ollama, llama.cpp, gateways. It takes no uploads and no batches."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from longbanana_nb.providers import openai_chat_wire as wire
from longbanana_nb.providers.contracts import Adapter, Batch, BatchItem, Picture, ProviderError, Reply, Request, Upload
from longbanana_nb.providers.openai_common import Connection
from longbanana_nb.providers.wire_json import encode, read_answer

if TYPE_CHECKING:
    from longbanana_nb.providers.catalogue import Model

_ABOUT_SCHEMAS = ("response_format", "json_schema", "schema", "grammar", "guided", "structured")


def open_adapter(model: Model, *, key: str | None, base_url: str, timeout_s: float, connections: int) -> Adapter:
    """An adapter for a model behind `base_url`."""
    return OpenAIChat(model, Connection(model, key=key, base_url=base_url, timeout_s=timeout_s, connections=connections))


class OpenAIChat(Adapter):
    """Chat completions of one model of one server."""

    def __init__(self, model: Model, connection: Connection) -> None:
        self.model, self._connection = model, connection

    async def ask(self, request: Request) -> Reply:
        """Ask once."""
        try:
            answer, request_id = await self._connection.post(
                "/chat/completions", request, lambda: encode(wire.body(request, self.model.id))
            )
        except ProviderError as error:
            raise _with_hint(error, request) from None
        return read_answer(self._connection.who, lambda: wire.reply(self._connection.who, answer, request_id))

    async def upload(self, picture: Picture, name: str) -> Upload:
        """Not to be had."""
        self._refuse("uploads")

    async def uploads(self) -> list[Upload]:
        """Not to be had."""
        self._refuse("uploads")

    async def open_batch(self, items: Sequence[BatchItem], label: str) -> Batch:
        """Not to be had."""
        self._refuse("batches")

    async def batches(self, since: str) -> list[Batch]:
        """Not to be had."""
        self._refuse("batches")

    async def batch(self, handle: str) -> Batch:
        """Not to be had."""
        self._refuse("batches")

    async def batch_replies(self, handle: str) -> AsyncIterator[tuple[str, Reply | ProviderError]]:
        """Not to be had."""
        self._refuse("batches")
        yield  # type: ignore[unreachable]

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.close()

    def _refuse(self, what: str) -> NoReturn:
        raise ProviderError("bad_request", f"{self._connection.who}: an OpenAI-compatible endpoint takes no {what} here.")


def _with_hint(error: ProviderError, request: Request) -> ProviderError:
    """The same error, with what to do where the server takes no JSON schema; nothing else is tried in its place."""
    told = str(error).lower()
    is_refused = error.kind == "bad_request" and not (error.is_too_large or error.is_filtered)
    form: Any = request.params.get("structured", "json_schema")
    if request.schema is None or form == "none" or not is_refused or not any(word in told for word in _ABOUT_SCHEMAS):
        return error
    weaker = "json_object or none" if form == "json_schema" else "none"
    hint = f"The server seems not to take structured: {form}. Set params {{structured: {weaker}}} in the profile: another judge."
    return ProviderError("bad_request", f"{error} {hint}", status=error.status, code=error.code, request_id=error.request_id)
