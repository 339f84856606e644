"""One case on disk for model judges, and a scripted `Ask`: replies in order, and a record of every request."""

from __future__ import annotations

import asyncio
import datetime as dt
import io
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from longbanana_nb.files import sha256_bytes
from longbanana_nb.judging.model_protocols import ModelJob
from longbanana_nb.judging.protocols import PictureFile
from longbanana_nb.providers.catalogue import resolve
from longbanana_nb.providers.connecting import connect
from longbanana_nb.providers.contracts import Picture, Reply, Request, Text, ToolCall, ToolResult, Usage
from longbanana_nb.release import Check
from longbanana_nb.release.contract import Option
from longbanana_nb.runs import parse_judge

TODAY = dt.date(2026, 11, 30)
OPTIONS = (Option(0, "Fail", "no cup"), Option(1, "Uncertain", "cannot tell"), Option(2, "Pass", "a cup"))
TOOLS = ["crop", "ocr", "count", "layout", "colour", "match"]


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def noise(seed: int, width: int = 96, height: int = 64) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))


def picture_file(folder: Path, id_: str, data: bytes) -> PictureFile:
    file = folder / f"{sha256_bytes(id_.encode())[:12]}.img"
    file.write_bytes(data)
    return PictureFile(id_, file, sha256_bytes(data))


def check(check_id: str = "c1", references: Iterable[str] = ("r1", "r2"), **changes: Any) -> Check:
    values: dict[str, Any] = {
        "case_id": "case_a",
        "check_id": check_id,
        "category": "SCC",
        "question": "Is there a cup?",
        "guide": "Look for a cup.",
        "options": OPTIONS,
        "reference_ids": tuple(references),
        "candidate_only_reason": None if tuple(references) else "nothing to compare with",
    }
    return Check(**(values | changes))


def job(
    folder: Path, *checks: Check, pictures: dict[str, bytes] | None = None, profile: dict[str, Any] | None = None, **changes: Any
):
    """A job with the candidate, references r1 to r3 and a background `bg`; `pictures` replaces or adds bytes by id."""
    data = {"candidate": encoded(noise(0)), "bg": encoded(noise(9)), **{f"r{n}": encoded(noise(n)) for n in (1, 2, 3)}}
    files = {id_: picture_file(folder, id_, found) for id_, found in (data | (pictures or {})).items()}
    candidate = files.pop("candidate")
    spec = {"name": "j", "protocol": "direct", "model": {"provider": "anthropic", "id": "claude-sonnet-4-6"}} | (profile or {})
    parsed = parse_judge(spec)
    model = resolve(parsed.model.provider, parsed.model.id, parsed.model.route, base_url=parsed.model.base_url, on=TODAY)
    values: dict[str, Any] = {"profile": parsed, "model": model, "case_id": "case_a", "candidate": candidate}
    values |= {"references": files, "checks": checks or (check(),), "background": files.get("bg")}
    return ModelJob(**(values | changes))


def agentic_profile(**changes: Any) -> dict[str, Any]:
    return {"protocol": "agentic", "agentic": {"max_turns": 3, "tools": TOOLS}} | changes


def said(text: str, stop: str = "end", *calls: ToolCall, detail: str | None = None) -> Reply:
    return Reply(stop, text, calls, Usage(10, 2, 1, 5, {"n": 1}), "claude-sonnet-4-6-answered", "req_1", {"said": text}, detail)


def verdict(word: str, **more: Any) -> str:
    return json.dumps({"rationale": "a cup is there", "verdict": word, **more})


def wants(*calls: tuple[str, Any]) -> Reply:
    return said("", "tool", *(ToolCall(f"t{n}", name, args) for n, (name, args) in enumerate(calls)))


class Script:
    """Gives replies in order (the last again and again), raises what is an error, and keeps the requests."""

    def __init__(self, *replies: Reply | Exception | Callable[[Request], Reply]) -> None:
        self.replies, self.requests = list(replies), []

    async def __call__(self, request: Request) -> Reply:
        self.requests.append(request)
        given = self.replies[min(len(self.requests), len(self.replies)) - 1]
        if isinstance(given, Exception):
            raise given
        return given(request) if callable(given) else given


def told(request: Request) -> list[str]:
    """Everything a request says, in order: texts, and "<picture>" where a picture stands."""
    found: list[str] = []
    for message in request.messages:
        for part in getattr(message, "parts", ()):
            inner = part.parts if isinstance(part, ToolResult) else (part,)
            found += [one.text if isinstance(one, Text) else "<picture>" for one in inner]
    return found


def pictures(request: Request) -> list[Picture]:
    return [part for message in request.messages for part in getattr(message, "parts", ()) if isinstance(part, Picture)]


def asked_over_the_wire(server: Any, given: ModelJob, protocol: Any, path: str = "") -> list[Any]:
    """Judge a job through the provider's true SDK, against a loopback server."""

    async def run() -> list[Any]:
        adapter = connect(given.model, key="test-key", base_url=server.url + path, timeout_s=20.0, connections=4)
        try:
            return await protocol.judge(given, lambda request: adapter.ask(replace(request, cache="5m")))
        finally:
            await adapter.close()

    return asyncio.run(run())
