"""Writing a release: records, licence and attribution, then the manifest last, the same bytes for the same content."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import canonical_json, write_atomic
from longbanana_nb.release.hashing import hash_files
from longbanana_nb.release.manifest import DEFAULT_PATHS, SCHEMA
from longbanana_nb.release.tree import is_regular, path_fault

Record = Mapping[str, Any]


def write_release(
    root: Path,
    *,
    name: str,
    revision: str,
    license: str,
    tasks: Iterable[Record],
    checks: Iterable[Record],
    units: Iterable[Record] = (),
    probes: Iterable[Record] = (),
    graphs: Iterable[Record] = (),
    extra_files: Mapping[str, bytes] | None = None,
) -> Path:
    """Write a release below `root` and return its manifest, which is written last: without it there is no release.

    Args:
        root: the release's folder; images may lie in it already, where the tasks say.
        name, revision: the release's identity.
        license: the licence's short name, such as "CC-BY-4.0"; it stands in the manifest.
        tasks: task records; a reference or background without `sha256` gets that of its file.
        checks: check records, as on the dataset card.
        units: records of check_units.jsonl.    probes: records of probes.jsonl.    graphs: records of graphs.jsonl.
        extra_files: further files by posix path: images, LICENSE.txt, ATTRIBUTION.md. The last two are written in a
            minimal form, naming release and licence, if they are neither here nor in the folder.

    Raises:
        DataError: a task names a file that is not there, a path that may not be, or a hash its file does not have; all at once.
    """
    manifest = root / "manifest.json"
    manifest.unlink(missing_ok=True)
    files = dict(extra_files or {})
    if faults := [Fault("extra_files", "path", f"{path!r} ({why})", "a plain path", "Rename it.") for path, why in _bad(files)]:
        raise DataError("A release cannot be written.", faults)
    for path, text in (("LICENSE.txt", f"{license}\n"), ("ATTRIBUTION.md", f"# Attribution\n\n{name}, licence {license}.\n")):
        if path not in files and not (root / path).is_file():
            files[path] = text.encode()
    for path, data in files.items():  # not flushed one by one: the manifest's hashes tell whether each arrived
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    roles = {path: "attribution" if path in ("LICENSE.txt", "ATTRIBUTION.md") else "extra" for path in files}
    roles |= dict.fromkeys(("LICENSE.txt", "ATTRIBUTION.md"), "attribution")
    completed = _complete([dict(task) for task in tasks], root, roles)
    listed: dict[str, list[Record]] = {
        "tasks": list(completed),
        "checks": list(checks),
        "check_units": list(units),
        "probes": list(probes),
        "graphs": list(graphs),
    }
    for role, records in listed.items():
        path = DEFAULT_PATHS[role]
        if records or role in ("tasks", "checks"):
            write_atomic(root / path, b"".join(canonical_json(record) + b"\n" for record in records))
            roles[path] = role
        else:
            (root / path).unlink(missing_ok=True)
    counts = {
        "cases": len(completed),
        "references": sum(len(task.get("references", [])) for task in completed),
        "backgrounds": sum(task.get("background") is not None for task in completed),
        "checks": len(listed["checks"]),
    }
    identity = {"schema": SCHEMA, "release": name, "revision": revision, "license": license, "counts": counts}
    stated = _stated(root, roles)
    text = json.dumps({**identity, "files": stated}, indent=1, ensure_ascii=False, allow_nan=False)
    write_atomic(manifest, f"{text}\n".encode())
    return manifest


def _bad(files: Iterable[str]) -> list[tuple[str, str]]:
    return [(path, why) for path in files if (why := path_fault(path))]


def _stated(root: Path, roles: Mapping[str, str]) -> list[dict[str, Any]]:
    """What the manifest says of each file, by path."""
    hashes = hash_files(root / path for path in roles)
    stated = []
    for path, role in sorted(roles.items()):
        digest = hashes[root / path]
        if isinstance(digest, OSError):
            raise digest
        stated.append({"path": path, "role": role, "bytes": (root / path).stat().st_size, "sha256": digest})
    return stated


def _complete(tasks: list[dict[str, Any]], root: Path, roles: dict[str, str]) -> list[dict[str, Any]]:
    """The tasks with every image's hash; adds the images' paths to `roles`, in words that say nothing of their part."""
    pictures: list[tuple[dict[str, Any], Fault | None]] = []
    for number, task in enumerate(tasks, start=1):
        task["references"] = [dict(reference) for reference in task.get("references", [])]
        if task.get("background") is not None:
            task["background"] = dict(task["background"])
        for role, picture in [("reference", part) for part in task["references"]] + [("background", task.get("background"))]:
            if picture is None:
                continue
            path, why = picture.get("path"), path_fault(picture.get("path"))
            missing = why or (None if is_regular(root / str(path)) else "no such file")
            place, case_id = f"task {number}", task.get("case_id")
            fault = Fault(place, "path", f"{path!r} ({missing})", "an image below the root", "Write it first.", case_id)
            pictures.append((picture, fault if missing else None))
            if not missing:
                roles[str(path)] = role if roles.get(str(path)) != "reference" else "reference"
    faults = [problem for _, problem in pictures if problem]
    hashes = hash_files(root / picture["path"] for picture, problem in pictures if not problem)
    for picture, problem in pictures:
        actual = None if problem else hashes[root / picture["path"]]
        if isinstance(actual, OSError):
            raise actual
        if actual and picture.setdefault("sha256", actual) != actual:
            path, stated = str(picture["path"]), str(picture["sha256"])
            faults.append(Fault(path, "hash", f"sha256 {actual}", f"the stated {stated}", "Leave the hash out."))
    if faults:
        raise DataError("A release cannot be written.", faults)
    return tasks
