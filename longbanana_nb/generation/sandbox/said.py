"""What a program said, as it may be kept: the end of it, without keys, with nothing in it that a terminal would obey."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from longbanana_nb.runs import redact

MOST_CHARACTERS = 2000
SHORTEST_SECRET = 6
MARGIN = 1 << 16  # bytes before the end that are looked through, so that no part of a key stands at its beginning
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def end_of(output: bytes, secrets: Iterable[str] = (), characters: int = MOST_CHARACTERS) -> str:
    """The last characters of an output; `secrets` are replaced, controls and direction marks are written out (`\\x1b`)."""
    text = output[-4 * characters - MARGIN :].decode("utf-8", "replace")
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, "[redacted]")
    text = redact(text).replace("\r\n", "\n").strip()[-characters:]
    if text.isprintable():
        return text
    return "".join(_written_out(letter) for letter in text)


def _written_out(letter: str) -> str:
    if letter in "\n\t" or unicodedata.category(letter) not in _HIDDEN:
        return letter
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
