"""The one strict reader of model judges' replies: a structured verdict and nothing else; what is not one is invalid, by reason.

Accepted is one JSON object with the verdict in a field of its own: alone, inside one code fence, or with prose around it. Prose
is never searched for words. What could be read in two ways is `ambiguous`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longbanana_nb.judging.quoting import kept_text
from longbanana_nb.runs.judge_spec import InvalidReason

if TYPE_CHECKING:
    from longbanana_nb.providers.contracts import Reply
    from longbanana_nb.release import Check
    from longbanana_nb.release.contract import Option

VERSION = "replies-1"
VERDICT_FIELDS = ("verdict", "label", "score", "choice")  # the first is asked for; the others are what models say instead
RATIONALE_FIELDS = ("rationale", "reason", "explanation")
WORDS = {"fail": 0, "uncertain": 1, "pass": 2}
LONGEST_REPLY = 200_000
MOST_DIGITS = 400
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,6})?|nan|infinity|inf)", re.ASCII | re.IGNORECASE)
_FENCE_OPEN = re.compile(r"```[ \t]*(?:json)?\s*\Z", re.IGNORECASE)
_FENCE_CLOSE = re.compile(r"\s*```")

VERDICT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"rationale": {"type": "string"}, "verdict": {"type": "string", "enum": ["Fail", "Uncertain", "Pass"]}},
    "required": ["rationale", "verdict"],
    "additionalProperties": False,
}
VERDICTS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "answers": {
            "type": "array",
            "items": {
                **VERDICT_SCHEMA,
                "properties": {"id": {"type": "string"}, **VERDICT_SCHEMA["properties"]},
                "required": ["id", "rationale", "verdict"],
            },
        }
    },
    "required": ["answers"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Read:
    """What a reply says of one check: a label, or why there is none. The rationale is safe to show."""

    label: int | None
    invalid: InvalidReason | None = None
    rationale: str | None = None


class _Unreadable(Exception):  # noqa: N818
    def __init__(self, reason: InvalidReason) -> None:
        super().__init__(reason)
        self.reason: InvalidReason = reason


def read_verdict(reply: Reply, options: Sequence[Option] = ()) -> Read:
    """The verdict of a reply to one check; `options` are the check's, whose names are accepted as they are written."""
    try:
        return _verdict(_object(reply), options)
    except _Unreadable as why:
        return Read(None, why.reason)


def read_verdicts(reply: Reply, checks: Sequence[tuple[str, Check]]) -> list[Read]:
    """The verdicts of a reply to several checks, in their order; each check with the name we gave it in the question."""
    try:
        answers = _object(reply).get("answers", _ABSENT)
        if answers is _ABSENT:
            raise _Unreadable("missing_field")
        if not isinstance(answers, list):
            raise _Unreadable("bad_value")
    except _Unreadable as why:
        return [Read(None, why.reason) for _ in checks]
    return [_verdict_of(name, check, answers) for name, check in checks]


def read_choice(reply: Reply, field: str, known: Sequence[str]) -> tuple[str | None, InvalidReason | None]:
    """A field that holds one of some words, exactly as they are written; else the reason why not."""
    found, invalid = read_object(reply)
    if found is None:
        return None, invalid
    value = found.get(field, _ABSENT)
    if value is _ABSENT:
        return None, "missing_field"
    return (value, None) if isinstance(value, str) and value in known else (None, "bad_value")


def read_object(reply: Reply) -> tuple[dict[str, Any] | None, InvalidReason | None]:
    """The one JSON object of a reply, else the reason why there is none."""
    try:
        return _object(reply), None
    except _Unreadable as why:
        return None, why.reason


_ABSENT = object()


def _verdict_of(name: str, check: Check, answers: list[Any]) -> Read:
    mine = [one for one in answers if isinstance(one, dict) and one.get("id") == name]
    if len(mine) != 1:
        return Read(None, "ambiguous" if mine else "missing_field")
    return _verdict(mine[0], check.options)


def _verdict(found: dict[str, Any], options: Sequence[Option]) -> Read:
    rationale = next((found[name] for name in RATIONALE_FIELDS if isinstance(found.get(name), str)), None)
    shown = kept_text(rationale) if rationale else None
    fields = [name for name in VERDICT_FIELDS if name in found]
    if not fields:
        return Read(None, "missing_field", shown)
    try:
        labels = {_label(found[name], options) for name in fields}
    except _Unreadable as why:
        return Read(None, why.reason, shown)
    return Read(labels.pop(), None, shown) if len(labels) == 1 else Read(None, "ambiguous", shown)


def _label(value: Any, options: Sequence[Option]) -> int:
    if isinstance(value, str):
        return _label_of_text(value, options)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Unreadable("bad_value")
    return _label_of_number(value)


def _label_of_text(value: str, options: Sequence[Option]) -> int:
    meant = {option.value for option in options if option.name == value}
    word = value.strip()
    if word.casefold() in WORDS and word.isascii():
        meant.add(WORDS[word.casefold()])  # type: ignore[arg-type]
    elif _NUMBER.fullmatch(word) and not meant:
        return _label_of_number(float(word))
    if len(meant) > 1:
        raise _Unreadable("ambiguous")
    if not meant:
        raise _Unreadable("bad_value")
    return meant.pop()


def _label_of_number(value: float) -> int:
    if not math.isfinite(value) or not 0 <= value <= 2:
        raise _Unreadable("out_of_range")
    if value != int(value):
        raise _Unreadable("bad_value")
    return int(value)


def _object(reply: Reply) -> dict[str, Any]:
    """The one JSON object of a reply that ended by itself."""
    if reply.stop in ("truncated", "refused", "filtered"):
        raise _Unreadable(reply.stop)  # type: ignore[arg-type, unused-ignore]
    if reply.stop == "tool" or len(reply.text) > LONGEST_REPLY:
        raise _Unreadable("parse_error")
    text = reply.text.lstrip("\ufeff").replace("\r\n", "\n").strip()
    start = text.find("{")
    if start < 0:
        raise _Unreadable("parse_error")
    found, end = _decoded(text, start)
    _require_alone(text[:start], text[end:])
    return found


def _decoded(text: str, start: int) -> tuple[dict[str, Any], int]:
    decoder = json.JSONDecoder(object_pairs_hook=_once_each, parse_int=_whole_number)
    try:
        found, end = decoder.raw_decode(text, start)
    except (ValueError, RecursionError):  # malformed, or nested deeper than any answer
        raise _Unreadable("parse_error") from None
    return found, end


def _require_alone(before: str, after: str) -> None:
    """Nothing beside the object that could be another answer, and a code fence only right around it."""
    if "{" in after:
        raise _Unreadable("ambiguous")
    if "}" in before + after or before.rstrip().endswith("[") or after.lstrip().startswith("]"):
        raise _Unreadable("parse_error")
    fences = before.count("```"), after.count("```")
    if fences == (0, 0):
        return
    if fences != (1, 1) or not _FENCE_OPEN.search(before) or not _FENCE_CLOSE.match(after):
        raise _Unreadable("parse_error")


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Unreadable("ambiguous")
    return found


def _whole_number(digits: str) -> int | float:
    return int(digits) if len(digits) <= MOST_DIGITS else math.inf
