"""Reading JSON text so that every fault in it is recorded with its line, and what can be read is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from longbanana_nb.files import json_fault, strict_json
from longbanana_nb.release.findings import Findings, Place, shown

MAX_TEXT_BYTES = 512 * 2**20


def read_bytes(file: Path, place: Place, findings: Findings) -> bytes | None:
    """The bytes of a metadata file, or None and a fault: unreadable, not a regular file, or over 512 MiB."""
    try:
        if not file.is_file():
            kind = "a folder" if file.is_dir() else "no such file" if not file.exists() else "something that is not a file"
            findings.fault(place, "missing_file", kind, "a readable file", "Check the path, or extract the release again.")
            return None
        if (size := file.stat().st_size) > MAX_TEXT_BYTES:
            findings.fault(place, "too_large", f"{size} bytes", f"at most {MAX_TEXT_BYTES}", "This is no release file.")
            return None
        return file.read_bytes()
    except (OSError, ValueError) as error:
        findings.fault(place, "unreadable", str(error), "a readable file", "Check the path and its permissions.")
        return None


def decode_text(data: bytes, place: Place, findings: Findings) -> str | None:
    """UTF-8 text, with or without a byte-order mark; or None and a fault that names the line."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        at = Place(f"{place.where} line {line}", place.case_id, place.id)
        findings.fault(at, "encoding", f"a byte that is not UTF-8 (byte {error.start})", "UTF-8 text", "Save the file as UTF-8.")
        return None


def read_value(text: str, place: Place, findings: Findings) -> Any:
    """One JSON value, or None and a fault. Repeated keys, NaN, Infinity and lone surrogates are faults too."""
    repeated: list[str] = []

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated.extend(sorted({key for key in keys if keys.count(key) > 1}))
        return result

    try:
        value = strict_json(text, unique)
    except UnicodeEncodeError as error:
        findings.fault(place, "encoding", json_fault(error), "whole characters", "Write the text as UTF-8.")
        return None
    except (ValueError, RecursionError) as error:
        findings.fault(place, "json", json_fault(error), "one valid JSON value", "Correct the text there.")
        return None
    for key in repeated:
        findings.fault(place, "repeated_key", f"the key {shown(key)} twice in one object", "each key once", "Remove one.")
    return value


def record_lines(data: bytes, name: str, findings: Findings) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Each JSON object of a JSONL file with its place; blank lines are passed over, anything else is a fault."""
    text = decode_text(data, Place(name), findings)
    for number, line in enumerate((text or "").split("\n"), start=1):
        if not line.strip():
            continue
        place = Place(f"{name} line {number}")
        before = len(findings.errors)
        value = read_value(line, place, findings)
        if isinstance(value, dict):
            yield place, value
        elif len(findings.errors) == before:
            findings.fault(place, "json", shown(value), "a JSON object", "Write one record a line.")


def text_of(record: dict[str, Any], key: str, place: Place, findings: Findings) -> str | None:
    """A text that is not blank, or None and a fault. A number is not taken for a text: "007" and 7 are different ids."""
    value = record.get(key)
    if isinstance(value, str) and value.strip():
        return value
    expected = f"{key}: a text that is not blank"
    fix = f"Write {key} in quotes." if isinstance(value, (int, float)) else f"Add {key} to the record."
    findings.fault(place, "field", f"{key}: {shown(value)}", expected, fix)
    return None
