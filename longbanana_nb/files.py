"""Files that are whole or absent: atomic writes, hashing, and JSON that is read and written strictly."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from longbanana_nb.errors import DataError, Fault

MAX_DIGITS = 1000
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def utc_now() -> str:
    """The present moment as ISO 8601 in UTC with a `Z`, to the microsecond."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def sha256_bytes(data: bytes) -> str:
    """Lower-case hex SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """Lower-case hex SHA-256 of a file's bytes, read in blocks."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def canonical_json(value: Any) -> bytes:
    """The one byte form of a JSON value: sorted keys, no spaces, UTF-8.

    Raises:
        ValueError: for NaN and infinities, which JSON does not have.
    """
    return _CANONICAL.encode(value).encode("utf-8")


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees the old bytes or the new ones, whatever happens in between.

    The parent folder is made if it is missing. The bytes are flushed to disk before the name changes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o666 & ~umask())
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk, where the system allows it (not on Windows)."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def parse_json(text: str, where: str) -> Any:
    """Parse JSON strictly: a repeated key, a number that is not finite and half a surrogate pair are faults, named by `where`."""
    try:
        return strict_json(text, _unique_keys)
    except (ValueError, RecursionError) as error:
        fault = Fault(where, "json", json_fault(error), "one valid JSON value", "Correct the text there.")
        raise DataError("A JSON text cannot be read.", [fault]) from None


def strict_json(text: str, pairs: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> Any:
    """One JSON value whose numbers are finite and whose texts are whole characters; `pairs` makes each object.

    Raises:
        UnicodeEncodeError: half a surrogate pair. ValueError, RecursionError: anything else that is no JSON; see `json_fault`.
    """
    value = json.loads(text, object_pairs_hook=pairs, parse_constant=_no_constant, parse_float=_finite, parse_int=_whole)
    if "\\u" in text:
        json.dumps(value, ensure_ascii=False).encode()
    return value


def json_fault(error: ValueError | RecursionError) -> str:
    """What was found, in words, where a text is no strict JSON."""
    if isinstance(error, RecursionError):
        return "JSON that is nested too deeply"
    return "half a surrogate pair" if isinstance(error, UnicodeEncodeError) else str(error)


def read_text(path: Path) -> str:
    """Read a UTF-8 text file (a byte-order mark is allowed); other encodings are a fault, not a guess."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fault = Fault(str(path), "encoding", f"byte {error.start} that is not UTF-8", "UTF-8 text", "Save it as UTF-8.")
        raise DataError("A text file cannot be read.", [fault]) from None
    except OSError as error:
        fault = Fault(
            str(path), "unreadable", error.strerror or str(error), "a readable file", "Check the path and its permissions."
        )
        raise DataError("A file cannot be read.", [fault]) from None


def read_json(path: Path) -> Any:
    """Read one strict JSON value from a file."""
    return parse_json(read_text(path), str(path))


def read_json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield (line number from 1, value) of a JSONL file; blank lines are passed over."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            yield number, parse_json(line, f"{path} line {number}")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"the key {key!r} occurs twice in one object")
        result[key] = value
    return result


def _no_constant(token: str) -> Any:
    raise ValueError(f"the number {token}, which JSON does not have")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {digits[:40]}, which is too large")
    return value


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits; at most {MAX_DIGITS} are read")
    return int(digits)


def umask() -> int:
    """The permission bits this process takes from new files; reading them sets them to none for an instant."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
