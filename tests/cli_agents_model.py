"""A scripted language model on loopback that speaks the three dialects of agent command lines, streamed.

The step of a script is the number of the assistant's turns with a tool call in the request, so nothing is kept between requests.
Tools are named by what they do; the name and the arguments a command line knows them by are found in what it offers.
"""

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SHELLS = {"Bash": "command", "exec_command": "cmd", "bash": "command", "exec": "command", "terminal": "command"}
VIEWS = {"Read": "file_path", "view_image": "path", "read": "filePath", "vision_analyze": "image_url"}
IN, OUT = 1000, 20  # tokens of every answer


@dataclass(frozen=True)
class Shell:
    """Run a command."""

    command: str


@dataclass(frozen=True)
class View:
    """Look at a picture."""

    path: str


@dataclass(frozen=True)
class Use:
    """Use a tool of the image tool's server."""

    tool: str
    arguments: dict


@dataclass(frozen=True)
class Say:
    """Words, and the end of the turn; `refused` ends it as a refusal."""

    text: str
    refused: bool = False


@dataclass(frozen=True)
class Fail:
    """An HTTP error."""

    status: int
    text: str = "scripted failure"


@dataclass(frozen=True)
class Hang:
    """No answer for so long."""

    seconds: float = 600.0


@dataclass
class ScriptedModel:
    """The server; `script` may be changed between runs, `requests` holds (path, headers, body) of all that came."""

    script: list = field(default_factory=list)
    requests: list = field(default_factory=list)

    def __enter__(self):
        self.over = threading.Event()
        model = self

        class Handler(_Handler):
            owner = model

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        return self

    def __exit__(self, *_):
        self.over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def step(self, turns):
        return self.script[min(turns, len(self.script) - 1)]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: ScriptedModel

    def log_message(self, *_):
        pass

    def do_GET(self):
        self._send(404, b"{}", "application/json")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
        self.owner.requests.append((self.path, dict(self.headers), body))
        speak = next((speak for part, speak in _DIALECTS.items() if self.path.split("?")[0].endswith(part)), None)
        if speak is None:
            self._send(404, b"{}", "application/json")
            return
        dialect = speak(body)
        step = self.owner.step(dialect.turns()) if dialect.tools() else Say("ok")
        if isinstance(step, Hang):
            self.owner.over.wait(step.seconds)
            return
        if isinstance(step, Fail):
            error = {"type": "error", "error": {"type": "api_error", "message": step.text, "code": "scripted"}}
            self._send(step.status, json.dumps(error).encode(), "application/json")
            return
        answer = dialect.whole(step)
        if not body.get("stream"):
            self._send(200, json.dumps(answer).encode(), "application/json")
            return
        lines = b"".join(_event(name, event) for name, event in dialect.events(answer))
        self._send(200, lines, "text/event-stream")

    def _send(self, status, data, kind):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _event(name, event):
    data = event if isinstance(event, str) else json.dumps(event)
    return (f"event: {name}\n" if name else "").encode() + f"data: {data}\n\n".encode()


def _number():
    return f"{time.time_ns():x}"[-12:]


class _Dialect:
    def __init__(self, body):
        self.body = body

    def named(self, step):
        """Name, namespace and arguments of a step's tool, as this command line offers it."""
        offered = self.tools()
        if isinstance(step, Use):
            return *_image_tool(offered, step.tool), step.arguments
        table, value = (SHELLS, step.command) if isinstance(step, Shell) else (VIEWS, step.path)
        name = next(name for name in table if name in offered)
        arguments = {table[name]: value}
        if name == "vision_analyze":
            arguments["question"] = "What is it?"
        if name == "bash":
            arguments["description"] = "run"
        return name, None, arguments


def _image_tool(offered, tool):
    """The name under which a tool of the image tool's server is offered, and its namespace where there is one."""
    for name, inner in offered.items():
        if "imagetool" in name and tool in inner:
            return tool, name
    return next(name for name in offered if "imagetool" in name and name.endswith(tool)), None


class _Chat(_Dialect):
    def tools(self):
        return {tool["function"]["name"]: () for tool in self.body.get("tools", [])}

    def turns(self):
        return sum(1 for message in self.body["messages"] if message.get("tool_calls"))

    def whole(self, step):
        message, finish = {"role": "assistant", "content": None}, "tool_calls"
        if isinstance(step, Say):
            message["content"], finish = step.text, "content_filter" if step.refused else "stop"
        else:
            name, _, arguments = self.named(step)
            call = {"id": f"call_{_number()}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            message["tool_calls"] = [call]
        usage = {"prompt_tokens": IN, "completion_tokens": OUT, "total_tokens": IN + OUT}
        choice = {"index": 0, "message": message, "finish_reason": finish}
        head = {
            "id": f"chatcmpl-{_number()}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": self.body["model"],
        }
        return {**head, "choices": [choice], "usage": usage}

    def events(self, answer):
        head = {**{key: answer[key] for key in ("id", "created", "model")}, "object": "chat.completion.chunk"}
        choice = answer["choices"][0]
        delta = {"role": "assistant", "content": choice["message"]["content"]}
        if calls := choice["message"].get("tool_calls"):
            delta["tool_calls"] = [{"index": n, **call} for n, call in enumerate(calls)]
        yield None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        yield None, {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
        yield None, {**head, "choices": [], "usage": answer["usage"]}
        yield None, "[DONE]"


class _Messages(_Dialect):
    def tools(self):
        return {tool["name"]: () for tool in self.body.get("tools", []) if "name" in tool}

    def turns(self):
        return sum(1 for message in self.body["messages"] if message["role"] == "assistant" and _holds_call(message["content"]))

    def whole(self, step):
        if isinstance(step, Say):
            block, stop = {"type": "text", "text": step.text}, "refusal" if step.refused else "end_turn"
        else:
            name, _, arguments = self.named(step)
            block, stop = {"type": "tool_use", "id": f"toolu_{_number()}", "name": name, "input": arguments}, "tool_use"
        usage = {"input_tokens": IN, "output_tokens": OUT, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        head = {"id": f"msg_{_number()}", "type": "message", "role": "assistant", "model": self.body["model"]}
        return {**head, "content": [block], "stop_reason": stop, "stop_sequence": None, "usage": usage}

    def events(self, answer):
        (block,) = answer["content"]
        start = {**answer, "content": [], "stop_reason": None, "usage": {**answer["usage"], "output_tokens": 1}}
        yield "message_start", {"type": "message_start", "message": start}
        if block["type"] == "text":
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield "content_block_start", {"type": "content_block_start", "index": 0, "content_block": empty}
        yield "content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": 0}
        last = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
        yield "message_delta", {"type": "message_delta", "delta": last, "usage": {"output_tokens": OUT}}
        yield "message_stop", {"type": "message_stop"}


def _holds_call(content):
    return isinstance(content, list) and any(block.get("type") == "tool_use" for block in content)


class _Responses(_Dialect):
    def tools(self):
        found = {}
        for tool in self.body.get("tools", []):
            if "name" in tool:
                found[tool["name"]] = tuple(inner["name"] for inner in tool.get("tools", ()))
        return found

    def turns(self):
        items = self.body["input"] if isinstance(self.body["input"], list) else []
        return sum(1 for item in items if item.get("type") == "function_call")

    def whole(self, step):
        if isinstance(step, Say):
            content = [{"type": "output_text", "text": step.text, "annotations": []}]
            if step.refused:
                content = [{"type": "refusal", "refusal": step.text}]
            item = {"type": "message", "id": f"msg_{_number()}", "role": "assistant", "status": "completed", "content": content}
        else:
            name, namespace, arguments = self.named(step)
            call = {"call_id": f"call_{_number()}", "name": name, "arguments": json.dumps(arguments), "status": "completed"}
            item = {"type": "function_call", "id": f"fc_{_number()}", **call}
            if namespace:
                item["namespace"] = namespace
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        usage = {"input_tokens": IN, "output_tokens": OUT, "total_tokens": IN + OUT, **details}
        head = {"id": f"resp_{_number()}", "object": "response", "created_at": int(time.time()), "model": self.body["model"]}
        return {**head, "status": "completed", "output": [item], "usage": usage, "tools": [], "parallel_tool_calls": True}

    def events(self, answer):
        (item,) = answer["output"]
        empty = {**answer, "status": "in_progress", "output": [], "usage": None}
        events = [{"type": "response.created", "response": empty}]
        events.append({"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}})
        if item["type"] == "message" and item["content"][0]["type"] == "output_text":
            place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
            text = item["content"][0]["text"]
            events.append({"type": "response.content_part.added", **place, "part": {**item["content"][0], "text": ""}})
            events.append({"type": "response.output_text.delta", **place, "delta": text})
            events.append({"type": "response.output_text.done", **place, "text": text})
        elif item["type"] == "function_call":
            place = {"item_id": item["id"], "output_index": 0}
            events.append({"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"]})
            events.append({"type": "response.function_call_arguments.done", **place, "arguments": item["arguments"]})
        events.append({"type": "response.output_item.done", "output_index": 0, "item": item})
        events.append({"type": "response.completed", "response": answer})
        for n, event in enumerate(events):
            yield event["type"], {**event, "sequence_number": n}


_DIALECTS = {"/chat/completions": _Chat, "/messages": _Messages, "/responses": _Responses}
