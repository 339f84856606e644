"""Real agent command lines for tests: found or skipped, and started in the sandbox against a scripted model on loopback."""

import base64
import contextlib
import io
import socket
import threading
from pathlib import Path

import pytest
from PIL import Image

from longbanana_nb.generation.agents.installed import state_of
from longbanana_nb.generation.sandbox import state as sandbox_state


def needed(name):
    """The installation of a command line; the test is skipped where it, or the sandbox, is not there."""
    if not sandbox_state().usable:
        pytest.skip(sandbox_state().reason)
    found = state_of(name)
    if found.installed is None:
        pytest.skip(f"{found.pin.title}: {found.problem}; run `longbanana-nb agents install {name}`")
    return found.installed


def png(colour="red", size=(200, 120)):
    out = io.BytesIO()
    Image.new("RGB", size, colour).save(out, "PNG")
    return out.getvalue()


@contextlib.contextmanager
def leading_to(port, path: Path):
    """A Unix socket at `path` whose connections lead to a port of this machine."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(64)

    def pump(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def both(one, other):
        back = threading.Thread(target=pump, args=(other, one), daemon=True)
        back.start()
        pump(one, other)
        back.join()
        one.close()
        other.close()

    def accept():
        with contextlib.suppress(OSError):
            while True:
                one, _ = listener.accept()
                other = socket.create_connection(("127.0.0.1", port))
                threading.Thread(target=both, args=(one, other), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


# An MCP server of one tool, for recipes alone: it answers with a text and a picture.
TOOL = """
import json, sys
PICTURE = "{picture}"
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    version = asked.get("params", {{}}).get("protocolVersion", "2025-06-18")
    answers = {{
        "initialize": {{"protocolVersion": version, "capabilities": {{"tools": {{}}}},
                       "serverInfo": {{"name": "t", "version": "1"}}}},
        "tools/list": {{"tools": [{{"name": "generate", "description": "draw", "inputSchema": {{"type": "object",
                       "properties": {{"prompt": {{"type": "string"}}}}}}}}]}},
        "tools/call": {{"content": [{{"type": "text", "text": "drawn"}},
                       {{"type": "image", "data": PICTURE, "mimeType": "image/png"}}]}},
    }}
    print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], "result": answers.get(asked["method"], {{}})}}), flush=True)
"""


def tool_script(place: Path):
    place.write_text(TOOL.format(picture=base64.b64encode(png("green")).decode()))
    return place
