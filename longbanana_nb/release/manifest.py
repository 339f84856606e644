"""Reading a manifest whose exact keys are unknown: what it says of identity, files, counts and checksums, all unchecked.

The keys of the published archives are not known, so files are taken as list or mapping, flat or nested, with or without hashes;
everything taken from here is checked against the disk and the records by its readers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from longbanana_nb.files import sha256_bytes
from longbanana_nb.release.findings import Findings, Place, shown
from longbanana_nb.release.records import decode_text, read_bytes, read_value
from longbanana_nb.release.taxonomy import CATEGORY_NAMES
from longbanana_nb.release.tree import Room, exists, is_folder, path_fault, room_of

SCHEMA = "lb.release.v1"
DEFAULT_PATHS = {
    "tasks": "public/tasks.jsonl",
    "checks": "evaluation/checks.jsonl",
    "check_units": "evaluation/check_units.jsonl",
    "probes": "evaluation/probes.jsonl",
    "binding_reviews": "evaluation/binding_reviews.jsonl",
    "graphs": "privileged/graphs.jsonl",
}
_ROLES = {
    "tasks": {"tasks", "task", "public_tasks", "generation_tasks", "cases"},
    "checks": {"checks", "check", "evaluation_checks", "eval_checks", "evaluation"},
    "check_units": {"check_units", "units"},
    "probes": {"probes"},
    "binding_reviews": {"binding_reviews"},
    "graphs": {"graphs", "graph"},
}
_COUNTED = {
    "cases": {"case", "cases", "task", "tasks", "generation_tasks", "public_tasks"},
    "references": {"reference", "references", "reference_images", "refs"},
    "backgrounds": {"background", "backgrounds", "public_backgrounds", "background_images"},
    "checks": {"check", "checks", "evaluation_checks", "eval_checks"},
    "images": {"image", "images", "public_images"},
}
_FILE_LISTS = {"files", "paths", "artifacts", "assets", "contents", "entries", "inventory", "checksums", "checksum", "hashes"}
_FILE_LISTS |= {"sha256", "sha256sums", "public", "evaluation", "privileged", "images"}
_COUNT_LISTS = {"counts", "count", "totals", "total", "statistics", "stats", "sizes"}
_PATH_KEYS = ("path", "file", "filename", "file_path", "relative_path", "name")
_HASH_KEYS = ("sha256", "sha-256", "sha256sum", "hash", "checksum", "digest")
_SIZE_KEYS = ("bytes", "size", "size_bytes", "length")
_RECORD_KEYS = ("count", "records", "lines", "rows", "entries")
_ROLE_KEYS = ("role", "kind", "type", "purpose")
_HEX = re.compile(r"(?:sha256[:-])?([0-9a-fA-F]{64})")
_SUM_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")
_MAX_IDENTITY = 200
_NAME = re.compile(r"[^\s/\\\x00-\x1f][^/\\\x00-\x1f]{0,99}")


@dataclass(frozen=True, slots=True)
class Declared:
    """One statement of the manifest about a file; a file stated twice has two, and both must hold."""

    path: str
    role: str
    where: str
    sha256: str | None = None
    bytes: int | None = None
    records: int | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a manifest says. `counts` are (name, number, where) in the order met; `located` maps a role to its path."""

    file: Path
    sha256: str
    name: str
    revision: str
    license: str | None
    schema: str | None
    files: tuple[Declared, ...]
    counts: tuple[tuple[str, int, str], ...]
    category_counts: tuple[tuple[str, int, str], ...]

    @property
    def root(self) -> Path:
        """The folder all paths are relative to."""
        return self.file.parent

    def paths(self, role: str) -> list[str]:
        """Every path stated for a role: by its declared role first, else by its file name."""
        by_role = [file.path for file in self.files if file.role in _ROLES[role] and file.path.endswith(".jsonl")]
        name = DEFAULT_PATHS[role].rsplit("/", 1)[-1]
        by_name = [file.path for file in self.files if file.path.rsplit("/", 1)[-1] == name]
        return list(dict.fromkeys(by_role or by_name))

    def locate(self, role: str, findings: Findings, *, required: bool) -> str | None:
        """The path of a role's file: declared, else the default one with a warning; None if it is optional and absent."""
        place, default = Place(self.file.name), DEFAULT_PATHS[role]
        paths = self.paths(role)
        if len(paths) > 1 and default in paths:
            paths = [default]
        if len(paths) > 1:
            findings.fault(place, "manifest", f"{len(paths)} files for {role}: {', '.join(paths)}", "one", "Declare one role.")
        if paths:
            return paths[0]
        if required:
            findings.warn(
                place, "default_path", f"no file with the role {role}", f"a declared path; took {default}", "Declare it."
            )
            return default
        return default if (self.root / default).is_file() else None


def read_manifest(file: str | Path, findings: Findings) -> Manifest | None:
    """Read a manifest tolerantly; None and a fault if it is not a JSON object in a readable file."""
    file = Path(file).expanduser().absolute()
    place = Place(str(file))
    if is_folder(file):
        findings.fault(place, "manifest", "a folder", "the manifest file of a release", f"Give {file / 'manifest.json'}.")
        return None
    data = read_bytes(file, place, findings)
    text = None if data is None else decode_text(data, place, findings)
    if data is None or text is None:
        return None
    before = len(findings.errors)
    value = read_value(text, place, findings)
    if not isinstance(value, dict):
        if len(findings.errors) == before:
            findings.fault(place, "manifest", shown(value), "a JSON object", "Give the manifest.json of a release.")
        return None
    return _interpret(file, sha256_bytes(data), value, findings)


def _interpret(file: Path, digest: str, value: dict[str, Any], findings: Findings) -> Manifest:
    place = Place(file.name)
    identity = value.get("release")
    nested = identity if isinstance(identity, dict) else {}
    name = _first_text(
        (nested, ("name", "id", "release")), (value, ("release", "release_id", "release_name", "name", "id", "dataset"))
    )
    if name is None:
        name = file.parent.name or "release"
        findings.warn(place, "identity", "no release name", f"release: a text; took the folder's, {name!r}", "Add it.")
    if not _NAME.fullmatch(name):
        findings.fault(place, "identity", f"release {shown(name)}", "1 to 100 characters without '/' and '\\'", "Rename it.")
        name = "unnamed"
    revision = _first_text((nested, ("revision", "version")), (value, ("revision", "release_revision", "version", "commit")))
    if revision is None:
        revision = f"sha256-{digest[:12]}"
        findings.warn(place, "identity", "no revision", f"revision: a text; took the manifest's hash, {revision}", "Add it.")
    if len(quote(f"{name}@{revision}", safe=" ")) > _MAX_IDENTITY:
        expected = f"a release and a revision of at most {_MAX_IDENTITY} bytes together, percent-encoded"
        fix = "Shorten it: the two name a folder of annotations."
        findings.fault(place, "identity", f"release {shown(name, 40)}, revision {shown(revision, 40)}", expected, fix)
        name, revision = "unnamed", f"sha256-{digest[:12]}"
    reading = _Reading(file, findings)
    reading.walk(value, "", False, 1)
    license_ = _first_text((value, ("license", "licence")))
    schema = value.get("schema")
    return Manifest(
        file,
        digest,
        name,
        revision,
        license_,
        schema if isinstance(schema, str) else None,
        tuple(dict.fromkeys(reading.files)),
        tuple(dict.fromkeys(reading.counts)),
        tuple(dict.fromkeys(reading.category_counts)),
    )


def _first_text(*sources: tuple[dict[str, Any], tuple[str, ...]]) -> str | None:
    for mapping, keys in sources:
        for key in keys:
            found = mapping.get(key)
            if isinstance(found, str) and found.strip():
                return found.strip()
            if isinstance(found, (int, float)) and not isinstance(found, bool) and key in ("revision", "version"):
                return str(found)
    return None


class _Reading:
    """Walks a manifest and notes every statement about a file or a count, with the keys that lead there."""

    def __init__(self, file: Path, findings: Findings) -> None:
        self.name, self.root, self.findings = file.name, file.parent, findings
        self.files: list[Declared] = []
        self.counts: list[tuple[str, int, str]] = []
        self.category_counts: list[tuple[str, int, str]] = []

    def walk(self, node: Any, trail: str, in_files: bool, depth: int) -> None:
        """Read one node; `trail` are the keys above it, `in_files` whether one of them lists files."""
        if depth > 64:
            return
        if isinstance(node, list):
            for part in node:
                if isinstance(part, str) and in_files:
                    self._listed(part, trail)
                else:
                    self.walk(part, trail, in_files, depth + 1)
        elif isinstance(node, dict):
            self._mapping(node, trail, in_files, depth)

    def _mapping(self, node: dict[str, Any], trail: str, in_files: bool, depth: int) -> None:
        own = next((key for key in _PATH_KEYS if isinstance(node.get(key), str) and self._is_file(node, key, in_files)), None)
        if own:
            self._declare(node[own], node, trail)
        for key, value in node.items():
            inside = f"{trail}.{key}" if trail else key
            plain = key.lower().replace("-", "_").replace(" ", "_")
            if key == own or (own and key in (*_HASH_KEYS, *_SIZE_KEYS, *_RECORD_KEYS, *_ROLE_KEYS)):
                continue
            if looks_like_path(key):
                self._declare(key, value, trail)
            elif isinstance(value, str):
                self._named_path(plain, value, node, inside, in_files)
            elif isinstance(value, (int, float)):
                self._number(plain, value, trail, inside)
            else:
                self.walk(value, inside, in_files or plain in _FILE_LISTS, depth + 1)

    @staticmethod
    def _is_file(node: dict[str, Any], key: str, in_files: bool) -> bool:
        if key == "name":
            return looks_like_path(node[key]) and in_files
        return in_files or looks_like_path(node[key]) or any(hash_key in node for hash_key in _HASH_KEYS)

    def _listed(self, text: str, trail: str) -> None:
        line = _SUM_LINE.fullmatch(text)
        self._declare(line[2] if line else text, line[1] if line else {}, trail)

    def _named_path(self, key: str, value: str, node: dict[str, Any], inside: str, in_files: bool) -> None:
        base = re.sub(r"_(path|file)$", "", key)
        known = any(base in names for names in _ROLES.values())
        if "://" in value or _HEX.fullmatch(value) or not looks_like_path(value) or not (in_files or known):
            return
        names = (f"{base}{suffix}" for suffix in ("_sha256", "_hash", "_checksum"))
        digest: Any = next((node[name] for name in names if name in node), {})
        self._declare(value, digest, inside.rsplit(".", 1)[0] if "." in inside else "", role=base)

    def _declare(self, path: str, about: Any, trail: str, role: str | None = None) -> None:
        path = self._below(path, trail)
        details = about if isinstance(about, dict) else {"sha256": about} if isinstance(about, str) else {}
        if isinstance(about, int) and not isinstance(about, bool):
            details = {"bytes": about}
        stated = role or next((details[key] for key in _ROLE_KEYS if isinstance(details.get(key), str)), None)
        where = f"{self.name} {trail}" if trail else self.name
        role = (stated or re.sub(r"_(path|file)$", "", trail.rsplit(".", 1)[-1])).lower().replace("-", "_").replace("/", "_")
        digest = self._digest(path, details, where)
        size, records = (self._size(path, details, keys, where) for keys in (_SIZE_KEYS, _RECORD_KEYS))
        self.files.append(Declared(path, role, where, digest, size, records))

    def _below(self, path: str, trail: str) -> str:
        """The path from the root: as written if that is there, else below the folders that the keys above it spell."""
        keys = trail.split(".") if trail else []
        spelt = [path, *("/".join([*keys[start:], path]) for start in reversed(range(len(keys))))]
        return next((one for one in spelt if path_fault(one) is None and exists(self.root / one)), path)

    def _digest(self, path: str, details: dict[str, Any], where: str) -> str | None:
        for key in _HASH_KEYS:
            if key not in details:
                continue
            value = details[key]
            value = value.get("sha256") if isinstance(value, dict) else value
            if isinstance(value, str) and (match := _HEX.fullmatch(value.strip())):
                return match[1].lower()
            found = f"{key}: {shown(value)}"
            self.findings.fault(Place(where, None, path), "hash", found, "a SHA-256 of 64 hex digits", "Correct the manifest.")
        return None

    def _size(self, path: str, details: dict[str, Any], keys: tuple[str, ...], where: str) -> int | None:
        for key in keys:
            value = details.get(key)
            if value is None or isinstance(value, (list, dict)):
                continue
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                return value
            self.findings.fault(Place(where, None, path), "count", f"{key}: {shown(value)}", "a whole number", "Correct it.")
        return None

    def _number(self, key: str, value: float, trail: str, inside: str) -> None:
        parents = [part.lower() for part in trail.split(".")] if trail else []
        listed = bool(parents) and any(part in _COUNT_LISTS for part in parents)
        upper = inside.rsplit(".", 1)[-1]
        where = f"{self.name} {inside}"
        if upper in CATEGORY_NAMES and (listed or (parents and "categor" in parents[-1])):
            if (not parents or "per_" not in parents[-1] or "categor" in parents[-1]) and self._is_whole(value, where):
                self.category_counts.append((upper, int(value), where))
            return
        bare = re.sub(r"^(num|n|number_of|total)_|_(count|total)$", "", key)
        near = all(part in _COUNT_LISTS | {"public", "evaluation"} for part in parents)
        if near and (listed or not parents):
            for name, words in _COUNTED.items():
                if bare in words and self._is_whole(value, where):
                    self.counts.append((name, int(value), where))

    def _is_whole(self, value: float, where: str) -> bool:
        """Whether a number can be a count; one that cannot is a fault, and is compared with nothing."""
        if isinstance(value, int) and not isinstance(value, bool):
            return True
        self.findings.fault(Place(where), "count", shown(value), "a whole number", "Correct it.")
        return False


def looks_like_path(text: str) -> bool:
    """Whether a text of a manifest reads as a file path: a short last extension, or a slash and no spaces."""
    if not text or len(text) > 1024 or "://" in text or "\n" in text:
        return False
    return bool(re.search(r"[^./\\\s][^/\\]*\.(jsonl?|txt|md|csv|png|jpe?g|webp|gif|bmp|tiff?|avif)$", text, re.IGNORECASE)) or (
        ("/" in text or "\\" in text) and not re.search(r"\s", text)
    )


def is_opened(file: Declared, rooms: set[Room]) -> bool:
    """Whether a declared file is opened when these rooms are: its room is among them, and it is no binding review."""
    if file.role in _ROLES["binding_reviews"] or file.path.rsplit("/", 1)[-1].startswith("binding_reviews"):
        return False
    return room_of_declared(file) in rooms


def room_of_declared(file: Declared) -> Room:
    """The room of a declared file: by its folder, and where that is none of the hidden two, by its role."""
    room = room_of(file.path)
    if room == "public" and file.role in _ROLES["graphs"]:
        return "privileged"
    if room == "public" and any(file.role in _ROLES[role] for role in ("checks", "check_units", "probes")):
        return "evaluation"
    return room
