"""Tables that people open in spreadsheets: foreign text that starts no formula, and files as spreadsheets save them."""

from __future__ import annotations

from pathlib import Path

from longbanana_nb.errors import DataError, Fault

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
DELIMITERS = ",;\t"


def escape(text: str) -> str:
    """Foreign text as a cell: a leading sign that starts a formula gets an apostrophe before it."""
    return f"'{text}" if _starts_formula(text) else text


def unescape(text: str) -> str:
    """A cell as it was before `escape`."""
    return text[1:] if text.startswith("'") and _starts_formula(text[1:]) else text


def _starts_formula(text: str) -> bool:
    return text.startswith(FORMULA) or text.lstrip(" ").startswith(FORMULA)


def read_text(path: Path) -> str:
    """The text of a saved table: UTF-8 with or without its mark, or UTF-16 with one.

    Raises:
        DataError: where it cannot be read, or is neither.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        fault = Fault(str(path), "unreadable", error.strerror or str(error), "a readable file", "Check the path.")
        raise DataError(f"{path} cannot be read.", [fault]) from None
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        found = f"bytes that are not {encoding} ({error.reason})"
        fault = Fault(str(path), "encoding", found, "UTF-8", "Save it as CSV (UTF-8).")
        raise DataError(f"{path} cannot be read.", [fault]) from None


def delimiter_of(text: str) -> str:
    """What parts the cells of a table: the one of comma, semicolon and tab that its heading holds most of."""
    return max(DELIMITERS, key=text.partition("\n")[0].count)
