"""The image tool as an agent program finds it: an MCP server on standard input and output, and the same tools by command line.

Standard library alone, run by its path with a bare Python (`-I`). Everything is done by the gateway; this only carries it there.

    image-tool [--url URL] mcp                              the MCP server (also with no word at all)
    image-tool list_references
    image-tool look --references ID ID
    image-tool generate --prompt TEXT --references ID ID [--keep-current]
    image-tool look_at_result --save FOLDER                 pictures are written into FOLDER, and their paths printed
    image-tool NAME '{"prompt": "..."}'                     all arguments as one JSON object
"""

import argparse
import base64
import http.client
import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

URL = "http://127.0.0.1:8901"
PROTOCOLS = ("2025-06-18", "2025-03-26", "2024-11-05")
LONGEST_S = 3600.0  # an image call takes as long as it takes; the program under test has its own limit
ENDINGS = {"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp"}


class ToolError(Exception):
    """What the gateway, or the way to it, had to say against a call."""


def ask(url: str, method: str, path: str, value: Any = None) -> dict[str, Any]:
    """One request to the gateway; its JSON object."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port or 80, timeout=LONGEST_S)
    body = None if value is None else json.dumps(value).encode()
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        data: dict[str, Any] = json.loads(response.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise ToolError(f"The image tool cannot be reached: {error or type(error).__name__}") from None
    finally:
        connection.close()
    if response.status != 200:
        raise ToolError(str((data.get("error") or {}).get("message") or f"status {response.status}"))
    return data


# MCP


def serve(url: str) -> None:
    """Answer JSON-RPC messages, one a line, until standard input ends."""
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        try:
            messages = json.loads(line)
        except ValueError:
            say({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "This line is no JSON."}})
            continue
        for message in messages if isinstance(messages, list) else [messages]:
            answer = answered(url, message)
            if answer is not None:
                say(answer)


def say(message: dict[str, Any]) -> None:
    """One message out."""
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
    sys.stdout.buffer.flush()


def answered(url: str, message: Any) -> dict[str, Any] | None:
    """The answer to one message; None for a notification."""
    if not isinstance(message, dict) or "method" not in message:
        return None
    number = message.get("id")
    if number is None:
        return None
    head = {"jsonrpc": "2.0", "id": number}
    params = message.get("params") or {}
    try:
        return {**head, "result": result(url, message["method"], params if isinstance(params, dict) else {})}
    except LookupError:
        return {**head, "error": {"code": -32601, "message": f"There is no method {message['method']}."}}
    except ToolError as error:
        return {**head, "error": {"code": -32603, "message": str(error)}}


def result(url: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """What a method gives; LookupError where there is none of that name."""
    if method == "initialize":
        asked = params.get("protocolVersion")
        version = asked if asked in PROTOCOLS else PROTOCOLS[0]
        info = {"name": "imagetool", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {"listChanged": False}}, "serverInfo": info}
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": ask(url, "GET", "/tool")["tools"]}
    if method == "tools/call":
        return called(url, str(params.get("name")), params.get("arguments") or {})
    raise LookupError(method)


def called(url: str, name: str, arguments: Any) -> dict[str, Any]:
    """A use of a tool as MCP has it; what is wrong with it is a result too, for the model to read."""
    try:
        found = ask(url, "POST", f"/tool/{quote(name, safe='')}", arguments)
    except ToolError as error:
        return {"content": [{"type": "text", "text": json.dumps({"error": str(error)})}], "isError": True}
    content = [{"type": "text", "text": json.dumps(found["value"], ensure_ascii=False)}]
    for image in found["images"]:
        content.append({"type": "text", "text": f"Picture {image['id']}:"})
        content.append({"type": "image", "data": image["data"], "mimeType": image["mime"]})
    return {"content": content, "isError": not found["ok"]}


# command line


def parser(tools: list[dict[str, Any]], url: str) -> argparse.ArgumentParser:
    """A parser with one command a tool, its options from the tool's schema."""
    found = argparse.ArgumentParser(prog="image-tool", description="Draw pictures from references.")
    found.add_argument("--url", default=url, help=argparse.SUPPRESS)
    commands = found.add_subparsers(dest="tool", metavar="TOOL")
    commands.add_parser("mcp", help="serve the tools by MCP on standard input and output")
    for tool in tools:
        command = commands.add_parser(tool["name"], help=tool["description"], description=tool["description"])
        command.add_argument("--save", metavar="FOLDER", help="write the pictures that come back into this folder")
        command.add_argument("json", nargs="?", metavar="ARGUMENTS", help="all arguments as one JSON object")
        for name, schema in tool["inputSchema"]["properties"].items():
            command.add_argument(f"--{name.replace('_', '-')}", dest=f"arg_{name}", **option(schema))
    return found


def option(schema: dict[str, Any]) -> dict[str, Any]:
    """How an argument is read, by its JSON type."""
    kinds: dict[str, Any] = {"number": float, "integer": int, "object": json.loads}
    if schema.get("type") == "boolean":
        return {"action": "store_true"}
    if schema.get("type") == "array":
        kind = (schema.get("items") or {}).get("type")
        return {"nargs": "*", "default": None, "type": kinds.get(str(kind), str)}
    return {"default": None, "type": kinds.get(str(schema.get("type")), str)}


def by_command(url: str, options: argparse.Namespace) -> int:
    """Use one tool; prints its value as JSON, and the paths of pictures that were saved. Returns the exit code."""
    given = {name[4:]: value for name, value in vars(options).items() if name.startswith("arg_") and value is not None}
    arguments = json.loads(options.json) if options.json else given
    found = ask(url, "POST", f"/tool/{options.tool}", arguments)
    print(json.dumps(found["value"], ensure_ascii=False))
    for image in found["images"]:
        if options.save:
            folder = Path(options.save)
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / (quote(image["id"], safe="") + ENDINGS.get(image["mime"], ""))
            file.write_bytes(base64.b64decode(image["data"]))
            print(file)
        else:
            print(f"picture {image['id']}: add --save FOLDER to have it as a file", file=sys.stderr)
    return 0 if found["ok"] else 1


def main() -> int:
    """Serve by MCP, or use one tool."""
    first = argparse.ArgumentParser(add_help=False)
    first.add_argument("--url", default=URL)
    known, rest = first.parse_known_args()
    if not rest or rest == ["mcp"]:
        serve(known.url)
        return 0
    try:
        options = parser(ask(known.url, "GET", "/tool")["tools"], known.url).parse_args()
        if options.tool is None:
            print("Name a tool, or --help.", file=sys.stderr)
            return 2
        return by_command(known.url, options)
    except (ToolError, ValueError) as error:
        print(json.dumps({"error": str(error)}), file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
