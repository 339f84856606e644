"""What a recipe is: how one agent command line is told what to do, and how what it says of itself is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

Dialect = Literal["anthropic-messages", "openai-responses", "openai-chat"]
End = Literal["finished", "auth", "rate_limited", "overloaded", "bad_request", "max_turns", "refused", "failed", "silent"]
ReadHome = Callable[[str], bytes | None]  # a file of the agent's home by its relative name; None where there is no plain one

TOOL_SERVER = "imagetool"  # the name under which an agent finds the image tool


@dataclass(frozen=True, slots=True)
class Setting:
    """Everything a recipe writes into configuration, environment and arguments; paths are those the program will see.

    `base_url` leads to the gateway and ends without a slash and without `/v1`; `permit` is what the program sends as its key: it
    opens the gateway for this candidate and is worth nothing elsewhere. `image_tool` starts the MCP server of the image tool.
    `max_turns` is held by the gateway; a program that can be told is told as well.
    """

    program: tuple[str, ...]
    folder: str  # of the installation
    workspace: str
    home: str
    path: str  # folders with programs, for PATH
    instruction: str
    dialect: Dialect
    model: str
    base_url: str
    permit: str
    image_tool: tuple[str, ...]
    max_turns: int
    max_tokens: int
    context_tokens: int
    timeout_s: float  # of the whole case
    request_timeout_s: float  # of one request to the model, and of one use of the image tool

    @property
    def environment(self) -> dict[str, str]:
        """What every program is given."""
        return {"HOME": self.home, "PATH": self.path, "TERM": "dumb", "LANG": "C.UTF-8"}


@dataclass(frozen=True, slots=True)
class Rendered:
    """One start of a program: arguments, whole environment, files of its home (by relative name), and standard input."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    files: Mapping[str, bytes] = field(default_factory=dict)
    stdin: bytes = b""


@dataclass(frozen=True, slots=True)
class Claim:
    """What the program said of its own run. It is a claim: whatever runs with the agent can forge it.

    `usage` has the keys "in", "cached", "out" where the program said so. "silent" means that it said nothing that ends a run.
    """

    end: End
    text: str = ""  # its last words to the user
    detail: str = ""  # what it said went wrong
    usage: Mapping[str, int] = field(default_factory=dict)


class Recipe(Protocol):
    """One agent command line. `version` enters the hash of each system: raise it when the agent would be told something else."""

    @property
    def name(self) -> str:
        """The harness."""
        ...

    @property
    def version(self) -> str:
        """Of this recipe."""
        ...

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """How the program can be made to speak to a model; the first is its usual one."""
        ...

    def render(self, setting: Setting) -> Rendered:
        """How to start the program."""
        ...

    def parse(self, stdout: bytes, returncode: int | None, read_home: ReadHome) -> Claim:
        """What it said of its run."""
        ...
