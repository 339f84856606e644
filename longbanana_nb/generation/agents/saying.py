"""Reading what an agent printed: lines of JSON from a program that may print anything, at any length, or nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from longbanana_nb.generation.agents.contracts import End

_MOST_LINE = 4_000_000
_STATUS = re.compile(r"\b(?:HTTP|status|API Error:?)\s*:?\s*(\d{3})\b", flags=re.I)
_DEMAND = re.compile(r"high demand|overloaded|temporar(?:y|ily)", flags=re.I)


def json_lines(stdout: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects of an output, one a line; lines that are none, or too long to be one, are passed over."""
    for line in stdout.splitlines():
        if len(line) <= _MOST_LINE and (found := json_object(line)):
            yield found


def json_object(text: bytes) -> dict[str, Any]:
    """One JSON object, or an empty one where the text is none."""
    try:
        value = json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def inner(value: Any, *names: str) -> Any:
    """The value at a path of names in nested objects, or None."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def words(value: Any) -> str:
    """A text, or nothing where the value is no text."""
    return value if isinstance(value, str) else ""


def count(value: Any) -> int:
    """A count that a program states, or 0 where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def usage(tokens_in: Any, cached: Any, out: Any) -> dict[str, int]:
    """Tokens as a program states them."""
    return {"in": count(tokens_in), "cached": count(cached), "out": count(out)}


def end_of_status(status: Any) -> End:
    """What an HTTP status says of a model's server."""
    if status in (401, 403):
        return "auth"
    if status == 429:
        return "rate_limited"
    if isinstance(status, int) and 500 <= status < 600:
        return "overloaded"
    return "bad_request" if isinstance(status, int) and 400 <= status < 500 else "failed"


def end_of_words(text: str) -> End:
    """What an error message says, by the HTTP status it names."""
    found = _STATUS.search(text)
    if found:
        return end_of_status(int(found[1]))
    return "overloaded" if _DEMAND.search(text) else "failed"
