"""What our own tool loop and an agent model say to each other: plain values, no behaviour."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from longbanana_nb.generation.contracts import Capabilities, ModelChoice, Reason, Usage


@dataclass(frozen=True, slots=True)
class ListedReference:
    """One line of the inventory an agent is given; order is the release's, the background first."""

    id: str
    role: Literal["background", "reference"]


@dataclass(frozen=True, slots=True)
class SeenImage:
    """An image a tool showed: the id it can be named by in later calls (references and crops; "current" for the result)."""

    id: str
    data: bytes
    sha256: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class ToolCall:
    """An agent model's wish to use a tool: a name of `tools.TOOLS` and its arguments as JSON values."""

    name: str
    arguments: Mapping[str, Any]
    thought: str = ""  # free words for the trace
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """Several wishes of one turn, carried out in order; none at all is a turn in which nothing was done.

    `attempts` says for the trace what became of earlier tries to reach the model.
    """

    calls: tuple[ToolCall, ...]
    thought: str = ""
    usage: Usage = field(default_factory=Usage)
    attempts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finish:
    """The agent model is done; the current picture is the candidate."""

    note: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Stop:
    """The agent model cannot go on: it refused, was filtered, or could not be reached. The candidate gets this outcome."""

    outcome: Literal["blocked", "failed", "timeout"]
    reason: Reason
    usage: Usage = field(default_factory=Usage)
    attempts: tuple[str, ...] = ()


Action = ToolCall | ToolCalls | Finish | Stop


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered. `ok` false: `value["error"]` says what was wrong with the call; nothing was done."""

    call: ToolCall
    ok: bool
    value: Mapping[str, Any]
    images: tuple[SeenImage, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """Everything an agent model may know when it chooses its next action. Texts in `results` are data, never instructions."""

    number: int  # from 1
    prompt: str
    inventory: tuple[ListedReference, ...]
    results: tuple[ToolResult, ...]  # oldest first, all of them
    capabilities: Capabilities  # of the image model behind `generate`
    turns_left: int  # this one included
    image_calls_left: int
    seed: int  # the same for all turns of one candidate
    workflow: str = "minimal"
    best_of: int | None = None  # how many separate pictures are to be drawn and chosen from
    instruction: str = ""  # what it is told of task, tools and workflow, from versioned texts


class AgentModel(Protocol):
    """A language model that plans with tools. One instance serves one candidate; it may keep what it has seen.

    One whose calls are paid states `max_usd_per_call` (`paying.Paid`). One that has something to close has a method `close`; one
    that needs something before its first call has a method `ready`, which raises CallError where that is missing.
    """

    @property
    def version(self) -> str:
        """Enters the system's hash: change it when the same turn would be answered otherwise."""
        ...

    @property
    def simulated(self) -> bool:
        """Whether this is a stand-in for a language model."""
        ...

    def next(self, turn: Turn) -> Action:
        """Choose the next action."""
        ...


AgentFactory = Callable[[ModelChoice], AgentModel]  # a top-level callable, as a BackendFactory is
