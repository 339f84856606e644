"""The image tool of an agent program: by MCP on standard input and output, and by command line, through a case's socket."""

import contextlib
import json
import socket
import subprocess
import sys
import threading

import pytest
from gateway_fixtures import door, permit, provider
from PIL import Image

from longbanana_nb.generation.gateway import IMAGE_TOOL_SCRIPT, Gateway, image_tools
from longbanana_nb.generation.tools import TOOLS, tools_of

DRAWN = {"prompt": "A pear.", "references": ["ref_01", "back"], "keep_current": False}


@contextlib.contextmanager
def leading_to(path):
    """A port of 127.0.0.1 that leads to a socket, as in a sandbox."""
    listener = socket.create_server(("127.0.0.1", 0))

    def pump(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def both(client):
        with client, socket.socket(socket.AF_UNIX) as gate:
            gate.connect(str(path))
            back = threading.Thread(target=pump, args=(gate, client))
            back.start()
            pump(client, gate)
            back.join()

    def accept():
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=both, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    with listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def one(tmp_path):
    with provider() as server, Gateway() as gateway:
        wanted = permit(tmp_path / "case", "openai-chat", f"{server.url}/s/no_image", max_image_calls=2)
        with door(gateway, wanted) as opened:
            yield opened


@pytest.fixture
def url(one):
    with leading_to(one.path) as found:
        yield found


def shell(url, *words):
    command = [sys.executable, "-I", "-S", str(IMAGE_TOOL_SCRIPT), "--url", url, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


class Client:
    """An MCP client: JSON-RPC, one message a line."""

    def __init__(self, url):
        command = [sys.executable, "-I", "-S", str(IMAGE_TOOL_SCRIPT), "--url", url]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.number = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        assert self.process.wait(10) == 0, "the server ends with its input"
        self.process.stdout.close()

    def send(self, text):
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()

    def ask(self, method, **params):
        self.number += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}))
        answer = json.loads(self.process.stdout.readline())
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", self.number)
        return answer

    def call(self, name, arguments):
        return self.ask("tools/call", name=name, arguments=arguments)["result"]


def told(result):
    return json.loads(result["content"][0]["text"])


def test_an_mcp_client_draws_and_looks(one, url):
    with Client(url) as client:
        started = client.ask(
            "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"}
        )
        assert started["result"]["protocolVersion"] == "2025-06-18"
        assert started["result"]["capabilities"] == {"tools": {"listChanged": False}}
        client.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        listed = client.ask("tools/list")["result"]["tools"]
        assert [tool["name"] for tool in listed] == ["list_references", "look", "crop", "generate", "look_at_result"]
        assert all(tool["inputSchema"]["type"] == "object" and tool["description"] for tool in listed)
        assert len(told(client.call("list_references", {}))["references"]) == 5
        looked = client.call("look", {"references": ["ref_01"]})
        assert [part["type"] for part in looked["content"]] == ["text", "text", "image"]
        assert looked["content"][2]["mimeType"] == "image/png"
        drawn = client.call("generate", DRAWN)
        assert told(drawn) == {"outcome": "image", "calls_left": 1, "picture": 1, "width": 96, "height": 96}
        seen = client.call("look_at_result", {})
        assert (seen["content"][2]["mimeType"], seen["isError"]) == ("image/png", False)
    assert one.gate.image_calls == 1
    assert one.gate.permit.board.draft.sent == ["back", "ref_01"]
    names = [(actor, kind) for actor, kind, _ in one.names()]
    assert names[-6:] == [
        ("program", "image_tool"), ("harness", "image_call"), ("backend", "outcome"), ("tool", "tool_result"),
        ("program", "image_tool"), ("tool", "tool_result"),
    ]  # fmt: skip


def test_what_is_wrong_with_a_call_is_told_to_the_model(one, url):
    with Client(url) as client:
        for name, arguments, text in (
            ("generate", {**DRAWN, "references": ["ref_99"]}, "is no id of this task"),
            ("generate", {"prompt": "A"}, "missing"),
            ("look", {"references": ["../evaluation/checks.jsonl"]}, "is no id of this task"),
            ("finish", {}, "There is no tool 'finish'"),
            ("tool/../v1", {}, "There is no"),
        ):
            result = client.call(name, arguments)
            assert result["isError"], name
            assert text in told(result)["error"]
        assert told(client.call("generate", DRAWN))["outcome"] == "image"
        assert told(client.call("generate", DRAWN))["calls_left"] == 0
        assert "All 2 image calls" in told(client.call("generate", DRAWN))["error"]
    assert one.gate.image_calls == 2


def test_messages_that_are_none_of_the_protocol(url):
    with Client(url) as client:
        assert client.ask("resources/list")["error"]["code"] == -32601
        assert client.ask("ping")["result"] == {}
        assert client.ask("initialize", protocolVersion="1999-01-01")["result"]["protocolVersion"] == "2025-06-18"
        client.send("no json")
        assert json.loads(client.process.stdout.readline())["error"]["code"] == -32700
        client.send('{"jsonrpc": "2.0", "id": 7}')
        client.send("")
        assert client.ask("ping")["result"] == {}


def test_the_same_tools_by_command_line(one, url, tmp_path):
    done = shell(url, "generate", "--prompt", "A pear.", "--references", "ref_01", "back")
    assert (done.returncode, json.loads(done.stdout)["outcome"]) == (0, "image"), done.stderr
    done = shell(url, "generate", json.dumps({**DRAWN, "keep_current": True}))
    assert json.loads(done.stdout)["picture"] == 2
    assert one.gate.permit.board.draft.steps[1].parent_sha256 == one.gate.permit.board.draft.steps[0].sha256
    done = shell(url, "look_at_result", "--picture", "1", "--save", str(tmp_path / "out"))
    file = tmp_path / "out" / "picture_1.png"
    assert done.stdout.splitlines()[-1] == str(file)
    with Image.open(file) as saved:
        assert saved.size == (96, 96)
    done = shell(url, "crop", "--reference", "ref_01", "--box", "0", "0", "0.5", "0.5")
    assert json.loads(done.stdout)["id"] == "crop_1"
    assert "--save" in done.stderr


def test_a_wrong_command_fails_with_words(url):
    done = shell(url, "look", "--references", "ref_99")
    assert (done.returncode, "is no id" in done.stdout) == (1, True)
    assert shell(url, "paint").returncode == 2
    assert shell(url, "generate", "{").returncode == 1
    gone = shell("http://127.0.0.1:9", "list_references")
    assert (gone.returncode, "cannot be reached" in gone.stderr) == (1, True)


def test_a_blocked_image_call_is_an_outcome_the_gate_knows(tmp_path):
    with provider() as server, Gateway() as gateway:
        wanted = permit(tmp_path, "openai-chat", f"{server.url}/s/no_image", backend={"at": 1, "how": "blocked"})
        with door(gateway, wanted) as one:
            assert one.post(DRAWN, "/tool/generate").json()["value"]["outcome"] == "blocked"
            outcome, reason = one.gate.undrawn
            assert (outcome, reason.code) == ("blocked", "IMAGE_SAFETY")
            assert one.post(DRAWN, "/tool/generate").json()["value"]["outcome"] == "image"
            assert one.gate.undrawn is None


def test_a_workflow_offers_what_it_has_and_no_artefacts():
    assert set(image_tools(TOOLS)) == set(TOOLS) - {"finish"}
    assert "go_back" in image_tools(tools_of("reflect"))
    assert "write_review" not in image_tools(tools_of("reflect"))
