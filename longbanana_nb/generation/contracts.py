"""What harnesses and image models say to each other, and what a harness leaves: plain values, no behaviour."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from longbanana_nb.files import sha256_bytes, utc_now
from longbanana_nb.runs.records import WorkflowFacts

if TYPE_CHECKING:
    from pathlib import Path

    from longbanana_nb.generation.agent_contracts import AgentModel
    from longbanana_nb.generation.paying import Purse

Role = Literal["background", "reference", "carried"]
DrawOutcome = Literal["image", "blocked", "no_image", "failed", "timeout"]
DRAW_OUTCOMES: tuple[str, ...] = get_args(DrawOutcome)
Outcome = Literal["image", "blocked", "no_image", "failed", "timeout", "budget", "interrupted"]
Scene = dict[str, Any]  # lb.scene.v1, see docs/demo.md


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which model an experiment asks for; given to a backend or agent factory, which refuses unknown `params` with CallError."""

    provider: str
    id: str
    route: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    base_url: str | None = None
    key_env: str | None = None  # the name of a variable, never a key


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an image model can do; `references_per_call` counts every image of a request, background and carried ones included.

    `version` enters the system's hash: change it when the same request would draw another picture.
    """

    references_per_call: int
    formats: tuple[str, ...]  # what it accepts and returns: "png", "jpeg", "webp"
    sizes: tuple[int, ...]  # square edge lengths in pixels it can be asked for; harnesses ask for the first
    seed: bool  # whether the same request gives the same picture
    simulated: bool
    version: str


@dataclass(frozen=True, slots=True)
class InputImage:
    """One image of a request: role and untouched bytes; no id, no file name, so nothing but pixels can inform the model."""

    role: Role
    data: bytes
    sha256: str

    @classmethod
    def of(cls, role: Role, data: bytes) -> InputImage:
        """An input image with the hash of its bytes."""
        return cls(role, data, sha256_bytes(data))


@dataclass(frozen=True, slots=True)
class ImageRequest:
    """One drawing call: images in this order (carried, background, references), and the wanted edge length in pixels."""

    prompt: str
    images: tuple[InputImage, ...]
    seed: int
    size: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What one call consumed; `cost_usd` is 0.0 where nothing is paid, or where the price is unknown.

    `maybe_usd` is the most that tries without a reply may have cost besides.
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    answered: str | None = None  # the model id the provider says it used
    maybe_usd: float = 0.0


def shortened(text: str) -> str:
    """At most 4 KB of valid UTF-8, cut between characters (SCHEMAS: `raw` and the texts of a transcript)."""
    return text.encode("utf-8", "replace")[:4096].decode("utf-8", "ignore")


def trace_line(
    n: int, actor: str, kind: str, name: str, text: str, *, images: Sequence[str] = (), seconds: float = 0.0
) -> dict[str, Any]:
    """One line of a transcript; texts are cut at 4 KB, images are hashes."""
    return {
        "n": n,
        "at": utc_now(),
        "actor": actor,
        "kind": kind,
        "name": shortened(name),
        "text": shortened(text),
        "images": list(images),
        "tokens": None,
        "ms": round(1000 * seconds),
    }


@dataclass(frozen=True, slots=True)
class Reason:
    """Why there is no image: a closed `code`, `where` it arose (a call, a tool, a file), and the raw words (at most 4 KB)."""

    code: str
    where: str
    raw: str

    def as_json(self) -> dict[str, str]:
        """The record's form."""
        return {"code": self.code, "where": self.where, "raw": shortened(self.raw)}


@dataclass(frozen=True, slots=True)
class ImageResult:
    """What an image model answered.

    `outcome` is "image" with `image` bytes, or another outcome with a `reason` and no image. A prompt or an image that the model
    cannot take is an outcome ("failed", e.g. code "unparsable_prompt"), never an exception. `scene` (simulated models only) may
    name the hash of any image it was given as `source_sha256`: the harness traces carried images and crops back to
    the references they came from. `resized` are hashes of images that were sent smaller or encoded anew, by the system's own
    policy; `remarks` go into the transcript: failed tries, drafts that were put aside.
    """

    outcome: DrawOutcome
    image: bytes | None = None
    format: str | None = None
    reason: Reason | None = None
    scene: Scene | None = None
    usage: Usage = field(default_factory=Usage)
    resized: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


class Backend(Protocol):
    """An image model. One instance serves all calls of one candidate, in one process, one call at a time.

    One whose calls are paid also states `max_usd_per_call` (`paying.Paid`); so does a paid agent model.
    """

    @property
    def capabilities(self) -> Capabilities:
        """What it can do; constant for one ModelChoice."""
        ...

    def draw(self, request: ImageRequest) -> ImageResult:
        """Draw one picture. The same request gives the same result where `capabilities.seed` is true."""
        ...


BackendFactory = Callable[[ModelChoice], Backend]  # a top-level callable: it travels to worker processes by import path


@dataclass(frozen=True, slots=True)
class Models:
    """The models one job has at hand, and the purse that pays their calls; floors have none, free models need no purse.

    `stop` is true once the job should end soon; `hidden` are folders that no program under test may see. `graph` is the case's
    privileged graph, given only to systems that declare it.
    """

    backend: Backend | None = None
    agent: AgentModel | None = None
    purse: Purse | None = None
    stop: Callable[[], bool] = field(default=lambda: False)
    hidden: tuple[Path, ...] = ()
    graph: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One picture on the way, the last one included: what it was made from and by which prompt."""

    n: int  # image calls count from 1
    image: bytes
    sha256: str
    format: str
    parent_sha256: str | None
    references_sent: tuple[str, ...]  # ids in the order sent, carried image left out; a crop counts as its reference
    prompt_sha256: str
    scene: Scene | None = None


@dataclass(slots=True)
class Draft:
    """What a harness made of one case: an image or another outcome, and how it came about. The engine turns it into files."""

    outcome: Outcome
    reason: Reason | None = None
    image: bytes | None = None
    format: str | None = None
    size_asked: int | None = None
    steps: list[Step] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)  # reference ids an agent looked at or cropped, first time order
    sent: list[str] = field(default_factory=list)  # reference ids that went into an image call, first time order
    resized: list[str] = field(default_factory=list)  # reference ids that a model was given smaller or encoded anew
    agent_calls: int = 0
    image_calls: int = 0
    usage: list[Usage] = field(default_factory=list)
    answered: dict[str, str] = field(default_factory=dict)  # "backend" and "agent": how the model named itself
    trace: list[dict[str, Any]] = field(default_factory=list)
    workflow: WorkflowFacts = field(default_factory=WorkflowFacts)  # see workflows.compliance.counted
    notes: dict[str, bytes] = field(default_factory=dict)  # files that workflow names: workflows.compliance.kept
    scene: Scene | None = None  # of the final image
