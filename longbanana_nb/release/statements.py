"""What a manifest states of files and counts, wherever in it and under whatever keys it does so."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longbanana_nb.release.findings import Findings, Place, shown
from longbanana_nb.release.taxonomy import CATEGORY_NAMES
from longbanana_nb.release.tree import exists, path_fault

ROLES = {
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
_DIGITS = re.compile(r"[0-9]{1,18}")
_SUM_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")


@dataclass(frozen=True, slots=True)
class Declared:
    """One statement of the manifest about a file; a file stated twice has two, and both must hold."""

    path: str
    role: str
    where: str
    sha256: str | None = None
    bytes: int | None = None
    records: int | None = None


class Statements:
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
                if _COUNT_LISTS & set(trail.lower().split(".")):
                    self._number(plain, value, trail, inside)
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
        known = any(base in names for names in ROLES.values())
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

    def _number(self, key: str, value: float | str, trail: str, inside: str) -> None:
        parents = [part.lower() for part in trail.split(".")] if trail else []
        listed = bool(parents) and any(part in _COUNT_LISTS for part in parents)
        upper = inside.rsplit(".", 1)[-1]
        where = f"{self.name} {inside}"
        if upper in CATEGORY_NAMES and (listed or (parents and "categor" in parents[-1])):
            if (not parents or "per_" not in parents[-1] or "categor" in parents[-1]) and (
                number := self._whole(value, where)
            ) is not None:
                self.category_counts.append((upper, number, where))
            return
        bare = re.sub(r"^(num|n|number_of|total)_|_(count|total)$", "", key)
        near = all(part in _COUNT_LISTS | {"public", "evaluation"} for part in parents)
        if near and (listed or not parents):
            for name, words in _COUNTED.items():
                if bare in words and (number := self._whole(value, where)) is not None:
                    self.counts.append((name, number, where))

    def _whole(self, value: float | str, where: str) -> int | None:
        """The count that a number, or a text of digits, states; what can be no count is a fault, and is compared with nothing."""
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, str) and _DIGITS.fullmatch(value.strip()):
            return int(value)
        self.findings.fault(Place(where), "count", shown(value), "a whole number", "Correct it.")
        return None


def looks_like_path(text: str) -> bool:
    """Whether a text of a manifest reads as a file path: a short last extension, or a slash and no spaces."""
    if not text or len(text) > 1024 or "://" in text or "\n" in text:
        return False
    return bool(re.search(r"[^./\\\s][^/\\]*\.(jsonl?|txt|md|csv|png|jpe?g|webp|gif|bmp|tiff?|avif)$", text, re.IGNORECASE)) or (
        ("/" in text or "\\" in text) and not re.search(r"\s", text)
    )
