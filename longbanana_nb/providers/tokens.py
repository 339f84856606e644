"""How many tokens a picture or a text makes, by the named formulas of the catalogue; estimates, the provider's count decides."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

_WIDE = re.compile("[^\u0000-\u024f]")


def _patches(edge: int, factor: float = 1.0) -> Callable[[int, int], int]:
    def count(width: int, height: int) -> int:
        return math.ceil(math.ceil(width / edge) * math.ceil(height / edge) * factor)

    return count


def _text(factor: float) -> Callable[[str], int]:
    def count(text: str) -> int:
        """A quarter of a token a plain character, a whole one for any other: scripts without spaces pack badly."""
        wide = 0 if text.isascii() else len(_WIDE.findall(text))
        return math.ceil(((len(text) - wide) / 4 + wide) * factor)

    return count


IMAGE_FORMULAS: dict[str, Callable[[int, int], int]] = {
    "patches-28": _patches(28),  # Claude's vision page; 1024 x 1024 makes 1369
    "patches-32-by-1.2": _patches(32, 1.2),  # gpt-6; 1024 x 1024 makes 1229
    "fixed-1120": lambda width, height: 1120,  # Gemini's budget at its usual resolution, whatever the size
}
TEXT_FORMULAS: dict[str, Callable[[str], int]] = {
    "four-characters": _text(1.0),
    "four-characters-and-30-percent": _text(1.3),  # the tokenizer of Claude 4.7 and later
}
