"""Names that become paths: systems, judges, raters, and the folder of a case."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import quote, unquote

from longbanana_nb.errors import CallError, DataError, Fault

NAME = re.compile(r"[a-z0-9][a-z0-9._+-]{0,47}")
DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})


def require_name(what: str, name: object) -> str:
    """Return `name` if it can name a system, judge or rater on every file system, else raise CallError."""
    if not isinstance(name, str):
        raise CallError(f"{what}: found {name!r} ({type(name).__name__}); expected a text. Put the name in quotes.")
    if not NAME.fullmatch(name) or name.split(".")[0] in DEVICES or name.endswith("."):
        raise CallError(
            f"{what}: found {name!r}; expected 1 to 48 of a-z, 0-9, '.', '_', '+', '-', starting with a letter or digit, "
            "and no device name such as 'con'. Choose another name."
        )
    return name


def case_folder(case_id: str) -> str:
    """The folder name of a case id: percent-encoded, with '.' as %2E; over 200 bytes is refused."""
    folder = quote(case_id, safe="").replace(".", "%2E")
    if not folder or len(folder.encode()) > 200:
        fault = Fault(
            f"case {case_id[:40]!r}...", "case_id", f"{len(folder)} bytes as a folder name", "1 to 200", "Shorten the id."
        )
        raise DataError("A case id cannot name a folder.", [fault])
    return folder


def case_of_folder(folder: str) -> str:
    """The case id of a folder made by `case_folder`."""
    return unquote(folder)


def folder_key(case_id: str) -> str:
    """What two case ids share when they are equal but for case or Unicode form: to people, and to some file systems, one name."""
    case_folder(case_id)
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", case_id).casefold())


def require_distinct_folders(case_ids: Iterable[str]) -> None:
    """Raise DataError where two case ids are equal but for case or Unicode form."""
    seen: dict[str, str] = {}
    faults = []
    for case_id in case_ids:
        folder = folder_key(case_id)
        if folder in seen:
            found = f"{seen[folder]!r} and {case_id!r}"
            faults.append(
                Fault("case ids", "case_id", found, "ids that differ by more than case or form", "Rename one.", case_id)
            )
        seen[folder] = case_id
    if faults:
        raise DataError("Case ids collide as folder names.", faults)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like `word`, or None if none is near."""
    matches = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return matches[0] if matches else None
