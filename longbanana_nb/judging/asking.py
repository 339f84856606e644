"""What the model protocols share: one conversation with its usage and last reply, and which faults are answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import CallError
from longbanana_nb.judging import packets, prompting, replies, transcodes
from longbanana_nb.judging.model_protocols import Ask, ModelAnswer, ModelJob, Unaskable
from longbanana_nb.judging.packets import LabelledImage
from longbanana_nb.judging.quoting import kept_raw
from longbanana_nb.judging.replies import Read
from longbanana_nb.providers.contracts import ProviderError, Reply, Request, Text, Usage
from longbanana_nb.runs import Evidence, JudgeSpec
from longbanana_nb.vision import decoding

if TYPE_CHECKING:
    from longbanana_nb.runs.judge_spec import InvalidReason

MAX_TOKENS = 4096  # of one answer, thinking included, unless the profile's parameters say otherwise
TOKENS_A_CHECK = 300  # more of them for each further check
UNREADABLE = ("parse_error", "missing_field", "bad_value", "out_of_range", "ambiguous")


class Answerless(Exception):  # noqa: N818 - a state of a question
    """A call brought no reply, for a reason that concerns this question alone."""

    def __init__(self, invalid: InvalidReason, found: str) -> None:
        super().__init__(found)
        self.invalid: InvalidReason = invalid


@dataclass(slots=True)
class Conversation:
    """The calls of one job: asks, adds up what they used (`usage.reported` lists them as `calls`), and keeps the last reply."""

    ask: Ask
    usage: Usage = field(default_factory=Usage)
    calls: int = 0
    last: Reply | None = None

    async def say(self, request: Request) -> Reply:
        """Ask once.

        Raises:
            Answerless: where a fault concerns this question alone.
            ProviderError: where it concerns every question.
        """
        try:
            reply = await self.ask(request)
        except ProviderError as error:
            self.calls += 1
            if (invalid := invalid_of(error)) is None:
                raise
            raise Answerless(invalid, str(error)) from error
        self.calls += 1
        told = [*self.usage.reported.get("calls", []), *([dict(reply.usage.reported)] if reply.usage.reported else [])]
        self.usage, self.last = replace(self.usage + reply.usage, reported={"calls": told} if told else {}), reply
        return reply

    def answer(self, check_id: str, read: Read, found: str | None = None) -> ModelAnswer:
        """An answer with what is known of the calls; `found` says what was wrong where no reply is left to show it."""
        last = self.last
        said = found or (None if last is None else last.text or last.detail)
        return ModelAnswer(
            check_id,
            read.label,
            read.invalid,
            read.rationale,
            raw=kept_raw(said) if said else None,
            request_id=last.request_id if last is not None else None,
            model=last.model if last is not None else None,
            usage=self.usage,
            calls=self.calls,
        )


def invalid_of(error: ProviderError) -> InvalidReason | None:
    """The invalid reason of a fault that concerns one question; None where it concerns every question."""
    if error.is_filtered:
        return "filtered"
    if error.is_too_large:
        return "too_large"
    return "transport" if error.is_transient else None


def max_tokens(job: ModelJob) -> int:
    """The most tokens of one answer: the profile's or the usual; twice as many where the last answer was cut off."""
    usual = MAX_TOKENS + TOKENS_A_CHECK * (len(job.checks) - 1)
    asked = job.profile.model.params.get("max_tokens", usual) if job.profile.model is not None else usual
    if not isinstance(asked, int) or asked < 1:
        raise CallError(f"judge {job.profile.name!r}: max_tokens is {asked!r}; expected a whole number from 1.")
    most = asked * (2 if job.after == "truncated" else 1)
    return most if job.model.limits.output_tokens is None else min(most, job.model.limits.output_tokens)


def params(job: ModelJob) -> Mapping[str, Any]:
    """The profile's parameters without those that have a place of their own in a request."""
    told = job.profile.model.params if job.profile.model is not None else {}
    return {name: value for name, value in told.items() if name != "max_tokens"}


def schema(job: ModelJob, wanted: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema, unless the model is known to take none; the texts ask for the same form either way."""
    return None if job.model.capabilities.structured_output is False else wanted


def reask(job: ModelJob) -> list[Text]:
    """What is added to a question whose last answer could not be read; a cut answer needs more room and no words."""
    if job.after not in UNREADABLE:
        return []
    return [Text(prompting.text("reask").replace("{reason}", job.after))]


def shared_versions(profile: JudgeSpec) -> dict[str, str]:
    """Versions of what every model protocol depends on beyond the profile."""
    name, version = transcodes.transcode_of(profile)
    return {
        "transcode": f"{name}@{version}",
        "decoding": decoding.VERSION,
        "packet": packets.VERSION,
        "replies": replies.VERSION,
        "max_tokens": f"{MAX_TOKENS}+{TOKENS_A_CHECK}",
    }


def require_known(profile: JudgeSpec) -> None:
    """CallError for what a profile may say and no protocol can do: references cropped although nothing says where."""
    if profile.packet is not None and profile.packet.crops == "bound":
        text = 'a check states no boxes to crop. Set crops to "off", or use the agentic protocol with the tool crop'
        raise CallError(f'judge {profile.name!r}: packet.crops is "bound", and {text}.')


def unasked(job: ModelJob, why: Unaskable) -> list[ModelAnswer]:
    """The answers of a job that cannot be put to this model."""
    return [
        ModelAnswer(check.check_id, None, why.invalid, raw=kept_raw(str(why)), not_opened=packets.bound_references(job))
        for check in job.checks
    ]


def with_images(
    answer: ModelAnswer, job: ModelJob, shown: Sequence[LabelledImage], evidence: Sequence[Evidence] = ()
) -> ModelAnswer:
    """The answer with the pictures that were shown for its check, and which of its bound references were among them."""
    check = next(check for check in job.checks if check.check_id == answer.check_id)
    bound = tuple(dict.fromkeys(check.reference_ids))
    seen = {image.id for image in shown if image.role != packets.CANDIDATE}
    return replace(
        answer,
        images=tuple(image.sent for image in shown),
        opened=tuple(id_ for id_ in bound if id_ in seen),
        not_opened=tuple(id_ for id_ in bound if id_ not in seen),
        evidence=tuple(evidence),
    )
