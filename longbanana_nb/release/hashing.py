"""Hashing many files at once: reading and SHA-256 both leave the interpreter lock, so threads use every processor."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_BLOCK = 1 << 20


def workers() -> int:
    """How many threads hash and decode: one a processor that this process may use."""
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def hash_files(files: Iterable[Path]) -> dict[Path, str | OSError]:
    """SHA-256 hex of each distinct file, or the error that stopped its reading. Callers pass regular files only."""
    distinct = list(dict.fromkeys(files))
    with ThreadPoolExecutor(workers()) as pool:
        return dict(zip(distinct, pool.map(_hash, distinct, chunksize=1), strict=True))


def _hash(file: Path) -> str | OSError:
    digest = hashlib.sha256()
    try:
        with open(file, "rb", buffering=0) as stream:  # noqa: PTH123 - unbuffered reads of whole blocks
            while block := stream.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        return error
    return digest.hexdigest()
