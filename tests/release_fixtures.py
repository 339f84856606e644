"""A small release on disk that tests bend: real images, real hashes, one function a part."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

from longbanana_nb.release import write_release

OPTIONS = [{"value": 2, "name": "Pass"}, {"value": 1, "name": "Uncertain"}, {"value": 0, "name": "Fail"}]


def picture(colour: tuple[int, int, int], kind: str = "JPEG", size: tuple[int, int] = (24, 16)) -> bytes:
    """The bytes of a small plain picture with a little structure."""
    image = Image.new("RGB", size, colour)
    image.putpixel((1, 1), (255, 255, 255))
    stream = BytesIO()
    image.save(stream, kind)
    return stream.getvalue()


def entity(reference_id: str = "ref_01") -> dict[str, Any]:
    return {"name": "red teapot", "exemplar": {"reference_id": reference_id, "box": [0.1, 0.1, 0.9, 0.9]}}


def task(case_id: str, category: str = "SCC", *, references: int = 3, background: bool = False) -> dict[str, Any]:
    listed = [{"id": f"ref_{n:02}", "path": f"public/images/{case_id}/ref_{n:02}.jpg"} for n in range(1, references + 1)]
    value: dict[str, Any] = {"case_id": case_id, "category": category, "prompt": "Show the teapot.", "references": listed}
    value["background"] = {"path": f"public/images/{case_id}/back.jpg"} if background else None
    return value


def check(case_id: str, check_id: str, category: str = "SCC", **changes: Any) -> dict[str, Any]:
    value = {
        "case_id": case_id,
        "check_id": check_id,
        "category": category,
        "question": "Is the teapot red?",
        "guide": "Look at its body.",
        "options": OPTIONS,
        "option_desc": {"2": "red", "1": "cannot tell", "0": "another colour"},
        "reference_ids": ["ref_01"],
    }
    return value | changes


def small_release(folder: Path, name: str = "tiny", *, tasks: list[dict[str, Any]] | None = None, **changes: Any) -> Path:
    """Two cases of three references (one with a background), three checks, units, probes and graphs; gives the manifest."""
    tasks = tasks if tasks is not None else [task("case_a"), task("case_b", "RGC", background=True)]
    images = {}
    for number, one in enumerate(tasks):
        for n, part in enumerate([*one["references"], *([one["background"]] if one["background"] else [])]):
            images[part["path"]] = picture((40 * n % 256, 60 * number % 256, n // 6))
    parts: dict[str, Any] = {
        "checks": [check("case_a", "c1"), check("case_a", "c2"), check("case_b", "c1", "RGC")],
        "units": [
            {"case_id": c, "check_id": k, "unit": "n01", "dimension": "Content Fidelity", "polarity": "positive"}
            for c, k in (("case_a", "c1"), ("case_a", "c2"), ("case_b", "c1"))
        ],
        "probes": [
            {"case_id": c, "check_id": k, "probe": {"present": entity()}}
            for c, k in (("case_a", "c1"), ("case_a", "c2"), ("case_b", "c1"))
        ],
        "graphs": [{"schema": "lb.graph.v1", "case_id": one["case_id"], "nodes": []} for one in tasks],
    }
    return write_release(
        folder / name, name=name, revision="r1", license="CC-BY-4.0", tasks=tasks, extra_files=images, **(parts | changes)
    )


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def rewrite(manifest: Path, path: str, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    """Change the records of a JSONL file and restate its size and hash, so that only the change is wrong."""
    file = manifest.parent / path
    records = lines(file)
    change(records)
    replace(manifest, path, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode())


def replace(manifest: Path, path: str, data: bytes) -> None:
    """Replace a file's bytes and restate its size and hash in the manifest."""
    (manifest.parent / path).write_bytes(data)
    value = json.loads(manifest.read_text("utf-8"))
    for stated in value["files"]:
        if stated["path"] == path:
            stated |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    manifest.write_text(json.dumps(value), "utf-8")


def edit(manifest: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the manifest itself."""
    value = json.loads(manifest.read_text("utf-8"))
    change(value)
    manifest.write_text(json.dumps(value), "utf-8")
