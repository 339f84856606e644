"""The record of one candidate (`lb.record.v1`): outcome, image, steps, references, calls, cost."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from longbanana_nb.errors import DataError, Fault

Outcome = Literal["image", "blocked", "no_image", "failed", "timeout", "budget", "interrupted"]
OUTCOMES: tuple[str, ...] = ("image", "blocked", "no_image", "failed", "timeout", "budget", "interrupted")


class Reason(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why there is no image: a code, where it arose, and what was said there."""

    code: str
    where: str
    raw: str = ""


class ImageFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The candidate's file, beside the record."""

    file: str
    sha256: str
    pixel_sha256: str
    bytes: int
    format: str
    width: int
    height: int


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One intermediate image; `file` is relative to the record, `references_sent` are ids in order."""

    n: int
    file: str
    sha256: str
    parent_sha256: str | None
    references_sent: list[str]
    prompt_sha256: str


class ReferencesUsed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ids of references by what became of them."""

    opened: list[str] = []
    sent: list[str] = []
    never_sent: list[str] = []
    resized: list[str] = []


class ArtefactFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing a workflow has its agent leave. `file` lies beside the record; None where nothing was left, or too much to keep.

    `followed` is None where there was nothing to follow; `fault` says why the artefact is not valid.
    """

    file: str | None = None
    sha256: str | None = None
    present: bool = False
    valid: bool = False
    timely: bool = False
    followed: bool | None = None
    fault: str | None = None


class WorkflowFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a workflow left, null for what it does not have, and how many reviews were made; `choice` is for best of several."""

    evidence: ArtefactFacts | None = None
    plan: ArtefactFacts | None = None
    review: ArtefactFacts | None = None
    rounds: int = 0
    choice: ArtefactFacts | msgspec.UnsetType | None = msgspec.UNSET

    def parts(self) -> dict[str, ArtefactFacts]:
        """The artefacts that the workflow has, by name."""
        found = {"evidence": self.evidence, "plan": self.plan, "review": self.review, "choice": self.choice}
        return {name: facts for name, facts in found.items() if isinstance(facts, ArtefactFacts)}


class CallCounts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Calls to the agent model and to the image model."""

    agent: int = 0
    image: int = 0


class Tokens(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"input": "in", "output": "out"}):
    """Tokens as billed; written as `in`, `cached`, `out`."""

    input: int = 0
    cached: int = 0
    output: int = 0


class ModelUsed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model as requested and as it named itself in its answer."""

    role: str
    requested: str
    answered: str | None = None
    route: str | None = None


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a system left for one case and sample. `image` is present exactly when `outcome` is "image"."""

    schema: Literal["lb.record.v1"] = "lb.record.v1"
    system: str
    system_sha256: str
    case_id: str
    sample: int
    outcome: Outcome
    reason: Reason | None = None
    image: ImageFacts | None = None
    steps: list[Step] = []
    references: ReferencesUsed = ReferencesUsed()
    workflow: WorkflowFacts = WorkflowFacts()
    calls: CallCounts = CallCounts()
    tokens: Tokens = Tokens()
    cost_usd: float = 0.0
    models: list[ModelUsed] = []
    sandbox: str | None = None
    privileges: list[str] = []
    simulated: bool = False
    seed: int | None = None
    attempt: int = 1
    started_at: str = ""
    ended_at: str = ""
    package: str = ""

    def __post_init__(self) -> None:
        if (self.image is not None) != (self.outcome == "image"):
            raise ValueError(f"outcome {self.outcome!r} {'with' if self.image else 'without'} an image")
        if self.outcome != "image" and self.reason is None:
            raise ValueError(f"outcome {self.outcome!r} without a reason")


_decoder = msgspec.json.Decoder(Record)


def named_files(record: Record) -> dict[str, str]:
    """The files a record names, image, steps and what the workflow left, with their hashes."""
    named = {step.file: step.sha256 for step in record.steps}
    named |= {one.file: one.sha256 for one in record.workflow.parts().values() if one.file is not None and one.sha256 is not None}
    if record.image is not None:
        named[record.image.file] = record.image.sha256
    return named


def encode_record(record: Record) -> bytes:
    """The record as indented JSON with a final newline, keys in the order of the schema."""
    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"


def read_record(path: Path) -> Record:
    """Read a record.

    Raises:
        DataError: naming the file and what is wrong in it; unknown keys are wrong.
        FileNotFoundError: where there is none.
    """
    data = path.read_bytes()
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, ValueError) as error:
        fault = Fault(str(path), "record", str(error), "an lb.record.v1 record", "Remove the file; the case is then made again.")
        raise DataError("A candidate's record cannot be read.", [fault]) from None
