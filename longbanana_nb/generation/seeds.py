"""Seeds by hash, so that systems share their luck: the same case, sample and call number give every system the same noise."""

from __future__ import annotations

import hashlib


def case_seed(case_id: str, sample: int) -> int:
    """The seed of one candidate, 0 to 2^31 - 1; the system's name takes no part, so paired differences lose common noise."""
    return _number(f"{sample}\n{case_id}")


def call_seed(seed: int, call: int) -> int:
    """The seed of image call `call` (from 1) of a candidate whose seed is `seed`."""
    return _number(f"{seed}\n{call}")


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") & 0x7FFF_FFFF
