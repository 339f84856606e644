"""What an owner of a run asks of the gateway for one case, and the words in which it says what it refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from longbanana_nb.generation.agents.contracts import Dialect
from longbanana_nb.generation.tools import CHOOSE, CROP, GENERATE, GO_BACK, LIST_REFERENCES, LOOK, LOOK_AT_RESULT, TOOLS, Tool

if TYPE_CHECKING:
    from longbanana_nb.generation.drawing import DrawingBoard
    from longbanana_nb.generation.paying import Purse
    from longbanana_nb.generation.workspace import Workspace
    from longbanana_nb.providers.catalogue import Model
    from longbanana_nb.providers.prices import Price
    from longbanana_nb.release import Case

MAX_TOKENS: Final = 8192  # of one answer, where the system names no number
MOST_BODY: Final = 64 << 20  # bytes of one request, where the model's own limit is not known
MOST_CALLS_A_TURN: Final = 4  # requests a turn may take, retries and requests without tools included
IMAGE_TOOLS: Final = (LIST_REFERENCES, LOOK, CROP, GENERATE, LOOK_AT_RESULT, GO_BACK, CHOOSE)
"""Tools of the workspace that reach an agent program through the image tool; artefacts it leaves as files."""

Match = Literal["exact", "same_pixels", "resized", "crop", "picture", "unknown"]
RefusedCode = Literal[
    "endpoint", "json", "field", "tool", "image_source", "part", "model", "size", "max_turns", "max_calls", "budget", "closed"
]


class RefusedError(Exception):
    """A request that the gateway does not pass on; `text` goes back to the agent in its dialect, with `status`."""

    def __init__(self, code: RefusedCode, text: str, status: int = 400) -> None:
        self.code, self.text, self.status = code, text, status
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Permit:
    """What the agent of one case may do.

    Attributes:
        model: the agent model, resolved; requests that name another id are refused.
        dialect: how the agent speaks; the model's provider speaks it too.
        key: of the model's provider. It stays in this process.
        board, workspace: where image calls are made; the same the native harness uses.
        tools: what the image tool offers.
        purse: pays all calls of the case. None only where nothing is paid.
        price: of the model; None where it is unknown, which no budget allows.
        params: of the agent model as the system has them: `max_tokens` is the most of one answer, the others are sampling
            parameters by the names of the dialect. What an agent asks for itself is replaced by them.
        max_turns: answered requests with tools.
        deadline: of `time.monotonic`; no request outlives it.
        request_timeout_s: how long the provider may send nothing.
    """

    case: Case
    model: Model
    dialect: Dialect
    key: str | None = field(repr=False)
    board: DrawingBoard
    workspace: Workspace
    purse: Purse | None
    price: Price | None
    tools: Mapping[str, Tool] = field(default_factory=lambda: image_tools(TOOLS))
    params: Mapping[str, Any] = field(default_factory=dict)
    max_turns: int = 60
    deadline: float | None = None
    request_timeout_s: float = 300.0


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that was not passed on: a closed code, and what was wrong with it."""

    code: RefusedCode
    text: str


@dataclass(frozen=True, slots=True)
class SeenPicture:
    """A picture that reached the agent model: its hash, and what it is.

    `id` is a reference, a crop ("crop_1") or a picture drawn here ("picture_2"); None for "unknown". "exact" has the release's
    bytes, "same_pixels" other bytes of the same pixels, "resized" is like one reference and clearly less like all others.
    """

    sha256: str
    match: Match
    id: str | None
    width: int
    height: int


def image_tools(tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """Those of a workflow's tools that an agent program is offered."""
    return {name: tool for name, tool in tools.items() if name in IMAGE_TOOLS}
