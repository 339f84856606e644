"""The texts that model judges are told, from files: each with its version and hash, so that a changed word is another judge."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from longbanana_nb.errors import CallError
from longbanana_nb.files import sha256_bytes

FOLDER = Path(__file__).parent / "prompts"
_HEAD = re.compile(r"version: ([a-z0-9-]+-[0-9]+)\n\n")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One text, its version as its file states it, and the SHA-256 of the text."""

    name: str
    text: str
    version: str
    sha256: str


@cache
def prompt(name: str) -> Prompt:
    """The text of `prompts/<name>.md`, without its version line; line ends are `\\n` on every system.

    Raises:
        CallError: where there is no such text, or it states no version.
    """
    file = FOLDER / f"{name}.md"
    if not file.is_file():
        raise CallError(f"There is no prompt {name!r}; there are: {', '.join(names())}.")
    whole = file.read_text("utf-8")  # universal newlines
    head = _HEAD.match(whole)
    if head is None:
        raise CallError(f"{file}: the first line is not `version: <name>-<number>` with an empty line after it.")
    text = whole[head.end() :].strip()
    return Prompt(name, text, head[1], sha256_bytes(text.encode("utf-8")))


def text(*names_: str) -> str:
    """Some texts, one below the other."""
    return "\n\n".join(prompt(name).text for name in names_)


def versions(names_: Iterable[str]) -> dict[str, str]:
    """Version and hash of some texts, for a judge's hash."""
    return {f"prompt {name}": f"{prompt(name).version} {prompt(name).sha256}" for name in names_}


def names() -> list[str]:
    """Names of all texts."""
    return sorted(file.stem for file in FOLDER.glob("*.md"))
