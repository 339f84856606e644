"""What a model judge is given and what it gives back: jobs, answers, and the one way to ask; `direct` and `agentic` keep to it.

A protocol decides what is said to the model and how its replies are read. Money, retries, uploads, batches, re-asking and
journals are the engine's: it hands down `Ask`, and asks again by giving the same job with `after` set.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from longbanana_nb.judging.protocols import PictureFile
from longbanana_nb.providers.contracts import Reply, Request, Usage
from longbanana_nb.runs import Evidence, ImageSent

if TYPE_CHECKING:
    from longbanana_nb.providers.catalogue import Model
    from longbanana_nb.release import Check
    from longbanana_nb.runs import JudgeSpec

Ask = Callable[[Request], Awaitable[Reply]]
"""Ask the model once: paid, retried and logged by whoever hands it down. ProviderError where that brought no reply.

The request may be changed in how it travels (uploads instead of bytes, caching), never in what it says.
"""


class Unaskable(Exception):  # noqa: N818 - a state of a question, not a fault of the program
    """The question cannot be put to this model: an invalid reason (`too_large`, `unanswerable`), and what was found."""

    def __init__(self, invalid: str, found: str) -> None:
        super().__init__(found)
        self.invalid = invalid


@dataclass(frozen=True, slots=True)
class ModelJob:
    """Checks of one candidate that are asked together: one, or `checks_per_call` of them.

    Attributes:
        references: every picture of the case that a check may bind, by id, in the order of the contract, the background too.
        background: the background of the case; it is the picture of that id in `references`.
        dimension: what units state of the checks; None where nothing does.
        after: why the earlier answer to this job was invalid, None the first time; it decides what is said anew.
        attempt: 1 for the first time.
    """

    profile: JudgeSpec
    model: Model
    case_id: str
    candidate: PictureFile
    references: Mapping[str, PictureFile]
    checks: tuple[Check, ...]
    dimension: Mapping[str, str | None] = field(default_factory=dict)
    background: PictureFile | None = None
    after: str | None = None
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """One check's answer: a label, or why there is none.

    Attributes:
        images: every picture the model was shown for it, in order, crops included.
        opened: ids of bound references that were shown; `not_opened` those that were not.
        raw: the last reply, redacted, at most 4 KB.
        usage: tokens of all calls of the job. Answers of one job share its calls, so each says the same.
        calls: how many calls that were.
    """

    check_id: str
    label: int | None
    invalid: str | None
    rationale: str | None = None
    evidence: tuple[Evidence, ...] = ()
    images: tuple[ImageSent, ...] = ()
    opened: tuple[str, ...] = ()
    not_opened: tuple[str, ...] = ()
    raw: str | None = None
    request_id: str | None = None
    model: str | None = None
    usage: Usage = field(default_factory=Usage)
    calls: int = 0


class ModelProtocol(ABC):
    """A way to judge by asking a language model."""

    @abstractmethod
    def versions(self, profile: JudgeSpec) -> dict[str, str]:
        """Versions and hashes of everything beyond the profile that decides an answer: prompts, reader, transcode, tools."""

    @abstractmethod
    def first_request(self, job: ModelJob) -> Request:
        """What is sent first, images decoded and transcoded: not to be called on an event loop. `judge` asks exactly this first.

        Raises:
            Unaskable: where it cannot be sent to this model.
            DataError: where a picture cannot be read.
        """

    @abstractmethod
    async def judge(self, job: ModelJob, ask: Ask) -> list[ModelAnswer]:
        """One answer a check of the job, in order.

        A reply that cannot be used, and a ProviderError that says so of this question alone (`transport`, `filtered`,
        `too_large`), are invalid answers.

        Raises:
            ProviderError: what concerns every question: a refused key, a used-up quota, a request the provider cannot take.
            DataError: where a picture cannot be read.
        """
