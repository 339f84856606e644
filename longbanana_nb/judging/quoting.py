"""Texts of others as data: quoted where a model reads them, made visible where a person does, cut where they are kept."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from longbanana_nb.runs import redact

PLAIN_ID = re.compile(r"[\w.\-]{1,80}")
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # controls, direction marks and other formats, half pairs, line separators
RAW_BYTES = 4096
RATIONALE_CHARACTERS = 2000


def as_data(value: Any) -> str:
    """A value as JSON on one line, letters of all scripts as they are; nothing in it can end its quotes, its line or hide."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if text.isprintable():  # then nothing of it is hidden, whatever the script
        return text
    return "".join(_json_escape(letter) if unicodedata.category(letter) in HIDDEN else letter for letter in text)


def quoted(id_: str) -> str:
    """An id as it stands in a label: as it is if it is plain (letters, digits, `_ . -`), else as a JSON string."""
    return id_ if PLAIN_ID.fullmatch(id_) else as_data(id_)


def visible(text: str) -> str:
    """`text` with what a page or terminal would obey and not show written out (`\\x1b`, `\\u202e`); line ends and tabs stay."""
    if text.isprintable():
        return text
    return "".join(_named(letter) if _is_hidden(letter) else letter for letter in text.replace("\r\n", "\n"))


def kept_text(text: str, characters: int = RATIONALE_CHARACTERS) -> str:
    """What is kept of a model's words: without keys, visible, cut with a mark of how much is missing."""
    shown = visible(redact(text))
    return shown if len(shown) <= characters else f"{shown[:characters]} [{len(shown) - characters} characters cut]"


def kept_raw(text: str) -> str:
    """A reply as it came, without keys, at most 4 KB of UTF-8; half surrogate pairs, which no file can hold, are written out."""
    whole = redact(text)
    if not whole.isprintable():
        whole = "".join(_named(letter) if unicodedata.category(letter) == "Cs" else letter for letter in whole)
    return whole.encode("utf-8")[:RAW_BYTES].decode("utf-8", "ignore")


def kept_value(value: Any, characters: int = 300, depth: int = 4) -> Any:
    """What is kept of a model's JSON: every text visible and cut, long lists and deep nesting cut, numbers that are finite."""
    if isinstance(value, str):
        return kept_text(value, characters)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value if abs(value) < 2**53 else repr(value)[:40]  # also False for NaN and infinities
    if depth == 0:
        return "[nested deeper]"
    if isinstance(value, Mapping):
        pairs = list(value.items())[:20]
        return {kept_text(str(key), 80): kept_value(inner, characters, depth - 1) for key, inner in pairs}
    if isinstance(value, list | tuple):
        return [kept_value(inner, characters, depth - 1) for inner in value[:20]]
    return kept_text(repr(value), characters)


def _is_hidden(letter: str) -> bool:
    return letter not in "\n\t" and unicodedata.category(letter) in HIDDEN


def _named(letter: str) -> str:
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(letter: str) -> str:
    return json.dumps(letter)[1:-1] if ord(letter) > 0x7F else f"\\u{ord(letter):04x}"
