"""The protocol `direct`: one look at candidate and bound references, one structured verdict a check."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from longbanana_nb.judging import asking, packets, prompting
from longbanana_nb.judging.asking import Answerless, Conversation
from longbanana_nb.judging.model_protocols import Ask, ModelAnswer, ModelJob, ModelProtocol, Unaskable
from longbanana_nb.judging.packets import EvidencePacket
from longbanana_nb.judging.replies import VERDICT_SCHEMA, VERDICTS_SCHEMA, Read, read_verdict, read_verdicts
from longbanana_nb.providers.contracts import Reply, Request, Text, UserMessage
from longbanana_nb.runs import JudgeSpec

if TYPE_CHECKING:
    from longbanana_nb.release import Check

VERSION = "direct-1"


class DirectProtocol(ModelProtocol):
    """One request a job. Of several checks together, the union of their references is shown once, in the order of the case."""

    def versions(self, profile: JudgeSpec) -> dict[str, str]:
        """Prompts, transcode, packet and reader."""
        asking.require_known(profile)
        texts = prompting.versions(_texts(profile))
        return {"protocol": VERSION, **asking.shared_versions(profile), **texts}

    def first_request(self, job: ModelJob) -> Request:
        """The one request of the job."""
        return _request(job, packets.packet(job, packets.shown_references(job)))

    async def judge(self, job: ModelJob, ask: Ask) -> list[ModelAnswer]:
        """One answer a check of the job, in order."""
        try:
            shown = await _shown(job)
        except Unaskable as why:
            return asking.unasked(job, why)
        talk = Conversation(ask)
        try:
            reply = await talk.say(_request(job, shown))
        except Answerless as why:
            answers = [talk.answer(check.check_id, Read(None, why.invalid), str(why)) for check in job.checks]
        else:
            read = zip(job.checks, _read(job, reply), strict=True)
            answers = [talk.answer(check.check_id, one) for check, one in read]
        return [asking.with_images(answer, job, shown.images) for answer in answers]


async def _shown(job: ModelJob) -> EvidencePacket:
    """The packet of the job; pictures that have to be opened for it are opened in a thread."""
    ids = packets.shown_references(job)
    if packets.is_at_hand(job, ids):
        return packets.packet(job, ids)
    return await asyncio.to_thread(packets.packet, job, ids)


def _texts(profile: JudgeSpec) -> tuple[str, ...]:
    return ("rules", "answer-one" if profile.checks_per_call == 1 else "answer-many", "reask")


def _request(job: ModelJob, shown: EvidencePacket) -> Request:
    is_single = job.profile.checks_per_call == 1
    checks = [Text(packets.check_text(check, None if is_single else name)) for name, check in _named(job)]
    return Request(
        prompting.text(*_texts(job.profile)[:2]),
        (UserMessage((*shown.parts(), *checks, *asking.reask(job))),),
        asking.max_tokens(job),
        schema=asking.schema(job, VERDICT_SCHEMA if is_single else VERDICTS_SCHEMA),
        params=asking.params(job),
    )


def _named(job: ModelJob) -> list[tuple[str, Check]]:
    """The checks under names of our own: what a release calls them is not shown."""
    return [(f"q{n}", check) for n, check in enumerate(job.checks, start=1)]


def _read(job: ModelJob, reply: Reply) -> list[Read]:
    if job.profile.checks_per_call == 1:
        return [read_verdict(reply, job.checks[0].options)]
    return read_verdicts(reply, _named(job))
