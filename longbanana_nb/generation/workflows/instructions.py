"""What an agent is told of its workflow: texts from files, each with version and hash, so a changed word is another system."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

from longbanana_nb.errors import CallError
from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation.workflows.artefacts import parts_of

FOLDER: Final = Path(__file__).parent / "texts"
_HEAD = re.compile(r"version: ([a-z0-9-]+-[0-9]+)\n\n")
_OF_PART = {"evidence": "react", "plan": "plan-exec", "review": "reflect"}
Way = Literal["tool", "file"]


@dataclass(frozen=True, slots=True)
class WorkflowText:
    """One text, its version as its file states it, and the SHA-256 of the text before anything is filled in."""

    name: str
    text: str
    version: str
    sha256: str


@cache
def text(name: str) -> WorkflowText:
    """The text of `texts/<name>.md`, without its version line; line ends are `\\n` on every system.

    Raises:
        CallError: where there is no such text, or it states no version.
    """
    file = FOLDER / f"{name}.md"
    if not file.is_file():
        raise CallError(
            f"There is no workflow text {name!r}; there are: {', '.join(sorted(f.stem for f in FOLDER.glob('*.md')))}."
        )
    whole = file.read_text("utf-8")  # universal newlines
    head = _HEAD.match(whole)
    if head is None:
        raise CallError(f"{file}: the first line is not `version: <name>-<number>` with an empty line after it.")
    body = whole[head.end() :].strip()
    return WorkflowText(name, body, head[1], sha256_bytes(body.encode("utf-8")))


def names_of(workflow: str | None, way: Way, best_of: int | None = None) -> list[str]:
    """Names of the texts that make up an instruction, in order.

    Args:
        way: how artefacts are left: by tools of our own loop, or as files in the folder of a command-line agent.
        best_of: how many separate pictures are drawn and chosen from; None for none.
    """
    parts = parts_of(workflow, best_of)
    names = [*([] if parts else ["minimal"]), *(["rpr"] if workflow == "rpr" else [])]
    names += [_OF_PART[part] for part in parts if part in _OF_PART]
    names += ["best-of"] if best_of is not None else []
    if parts:
        names += ["by-tool"] if way == "tool" else ["by-file", *(f"file-{part}" for part in parts)]
    return names


def instruction(workflow: str | None, way: Way, *, best_of: int | None = None, tools: tuple[str, ...] = ()) -> str:
    """What an agent is told of its workflow; `tools` are the names of those that leave artefacts, for the way "tool"."""
    filled = {"{best_of}": str(best_of), "{tools}": ", ".join(f"`{name}`" for name in tools)}
    whole = "\n\n".join(text(name).text for name in names_of(workflow, way, best_of))
    for gap, value in filled.items():
        whole = whole.replace(gap, value)
    return whole


def versions(workflow: str | None, way: Way, *, best_of: int | None = None, more: tuple[str, ...] = ()) -> dict[str, str]:
    """Version and hash of the texts of a workflow, for a system's hash; `more` are names of further texts that are used."""
    names = [*more, *names_of(workflow, way, best_of)]
    return {f"text {name}": f"{text(name).version} {text(name).sha256}" for name in names}
