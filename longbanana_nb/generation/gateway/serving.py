"""What is answered at a case's socket: its dialect of the agent model, a list of that one model, and the image tool."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import time
from typing import Any, cast

from tornado.iostream import StreamClosedError
from tornado.web import Application, HTTPError, RequestHandler

from longbanana_nb.errors import CallError
from longbanana_nb.generation.agent_contracts import ToolCall
from longbanana_nb.generation.gateway.answers import StreamReader, answer_of
from longbanana_nb.generation.gateway.checking import Checked
from longbanana_nb.generation.gateway.contracts import RefusedError
from longbanana_nb.generation.gateway.dialects import error_body, error_event
from longbanana_nb.generation.gateway.gate import Gate
from longbanana_nb.generation.gateway.upstream import Upstream, UpstreamError, explained, in_time, lines, whole
from longbanana_nb.generation.images import EXTENSIONS, NotAPictureError, examine
from longbanana_nb.generation.paying import Receipt

MODEL_PATHS = r"/v1/(?:messages|messages/count_tokens|chat/completions|responses)"


def application(gate: Gate, upstream: Upstream, works: set[asyncio.Task[None]]) -> Application:
    """Everything one case can reach. `works` holds what is under way, so that it can be ended."""
    shared = {"gate": gate, "upstream": upstream, "works": works}
    handlers = [
        (r"/v1/models(?:/(.*))?", _Models, shared),
        (MODEL_PATHS, _Model, shared),
        (r"/tool(?:/([A-Za-z_]{1,64}))?", _ImageTool, shared),
    ]
    return Application(
        cast(Any, handlers), default_handler_class=_Nothing, default_handler_args=shared, log_function=lambda _: None
    )


class _Handler(RequestHandler):
    """One request. Its work is a task of its own, ended when the agent goes away or the case is closed."""

    def initialize(self, gate: Gate, upstream: Upstream, works: set[asyncio.Task[None]]) -> None:
        self.gate, self.upstream, self.works = gate, upstream, works
        self.work: asyncio.Task[None] | None = None

    def set_default_headers(self) -> None:
        self.clear_header("Server")

    async def run(self, work: Any) -> None:
        """Do the work of a request; refusals are written down and answered."""
        self.work = asyncio.ensure_future(work)
        self.works.add(self.work)
        try:
            await self.work
        except RefusedError as error:
            self.gate.refused(error)
            self.fail(error.status, error.text, error.code)
        except UpstreamError as error:
            self.fail(error.status, error.text, error.code, error.headers)
        except asyncio.CancelledError:
            self.cut()
        except StreamClosedError:
            return
        finally:
            self.works.discard(self.work)

    def fail(self, status: int, text: str, code: str, headers: Any = None) -> None:
        """An error in the dialect; in a stream that has begun, its last event."""
        if self._headers_written:
            with contextlib.suppress(StreamClosedError):
                self.write(error_event(self.gate.permit.dialect, text))
                self.flush()
            self.cut()
            return
        self.clear()
        self.set_status(status)
        for name, value in (headers or {}).items():
            self.set_header(name, value)
        self.finish(error_body(self.gate.permit.dialect, status, text, code))

    def cut(self) -> None:
        """End the connection without an end of the answer."""
        if not self._finished:
            self.detach().close()

    def on_connection_close(self) -> None:
        if self.work is not None:
            self.work.cancel()

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        self.finish(error_body(self.gate.permit.dialect, status_code, "The gateway cannot answer this.", None))

    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        """An error of the gateway itself is the owner's to know, and ends the case."""
        if isinstance(value, Exception) and not isinstance(value, HTTPError) and self.gate.fault is None:
            self.gate.fault = CallError(f"The gateway failed on {self.request.method} {self.request.path[:80]}: {value!r}")


class _Nothing(_Handler):
    def prepare(self) -> None:
        text = f"There is no {self.request.method} {self.request.path[:120]} here."
        self.gate.refused(RefusedError("endpoint", text, 404))
        self.fail(404, text, "endpoint")


class _Models(_Handler):
    def get(self, name: str | None) -> None:
        """The one model there is."""
        permitted = self.gate.permit.model.id
        if name and name != permitted:
            self.fail(404, f"There is no model {name[:80]!r} here; there is {permitted!r}.", "model")
            return
        one = {
            "id": permitted,
            "object": "model",
            "type": "model",
            "display_name": permitted,
            "created": 0,
            "owned_by": "gateway",
        }
        self.finish(
            one if name else {"object": "list", "data": [one], "has_more": False, "first_id": permitted, "last_id": permitted}
        )


class _Model(_Handler):
    async def post(self) -> None:
        await self.run(self._pass_on())

    async def _pass_on(self) -> None:
        gate, path = self.gate, self.request.path
        request = await asyncio.to_thread(gate.check, path, self.request.body)
        started = time.monotonic()
        failure: UpstreamError | None = None
        rest = b""
        with gate.paid(request) as receipt:
            gate.sent(request)
            try:
                async with in_time(gate.permit):
                    rest = await self._answer(request, receipt, started)
            except UpstreamError as error:
                failure, seconds = error, time.monotonic() - started
                gate.failed(request, error.code, error.text, receipt, maybe_paid=error.maybe_paid, seconds=seconds)
            except (asyncio.CancelledError, StreamClosedError):
                seconds = time.monotonic() - started
                gate.failed(
                    request, "abandoned", "The program did not wait for the answer.", receipt, maybe_paid=True, seconds=seconds
                )
                raise
        if failure is not None:
            raise failure
        self.finish(rest)  # what is answered was written down

    async def _answer(self, request: Checked, receipt: Receipt, started: float) -> bytes:
        """Have the model answer; returns what the agent has not been sent yet."""
        permit = self.gate.permit
        betas = self.request.headers.get("anthropic-beta")
        async with self.upstream.answer(permit, self.request.path, request.data, betas) as response:
            kind = response.headers.get("content-type", "application/json")
            self.set_header("Content-Type", kind)
            if kind.startswith("text/event-stream"):
                await self._stream(request, receipt, started, response)
                return b""
            data = await whole(permit, response)
            found = answer_of(permit.dialect, _json(data))
            self.gate.answered(request, found, receipt, time.monotonic() - started)
            return data

    async def _stream(self, request: Checked, receipt: Receipt, started: float, response: Any) -> None:
        """Lines as they come; the next is read when the agent has taken the last."""
        permit = self.gate.permit
        reader = StreamReader(permit.dialect)
        with explained(permit):
            async for block in lines(permit, response):
                for line in block.splitlines():
                    reader.feed(line)
                self.write(block)
                await self.flush()
        if reader.failure is not None:
            raise UpstreamError("overloaded", f"The stream ended with an error: {reader.failure[:400]}", 502, maybe_paid=True)
        if not reader.is_whole:
            raise UpstreamError("transport", "The provider's stream was cut off.", 502, maybe_paid=True)
        self.gate.answered(request, reader.answer(), receipt, time.monotonic() - started)


class _ImageTool(_Handler):
    def get(self, name: str | None) -> None:
        """What the image tool offers."""
        listed = [
            {"name": tool.name, "description": tool.description, "inputSchema": tool.schema}
            for tool in self.gate.permit.tools.values()
        ]
        self.finish({"tools": listed})

    async def post(self, name: str | None) -> None:
        await self.run(self._use(str(name)))

    async def _use(self, name: str) -> None:
        arguments = _json(self.request.body or b"{}")
        if not isinstance(arguments, dict):
            raise RefusedError("json", "The arguments of a tool are a JSON object.")
        result = await self.gate.use(ToolCall(name, arguments))
        images = [{"id": one.id, "mime": _mime(one.data), "data": base64.b64encode(one.data).decode()} for one in result.images]
        self.finish({"ok": result.ok, "value": dict(result.value), "images": images})


def _mime(data: bytes) -> str:
    try:
        form = examine(data, least_edge=1).format
    except NotAPictureError:
        return "application/octet-stream"
    return f"image/{form}" if form in EXTENSIONS else "application/octet-stream"


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
