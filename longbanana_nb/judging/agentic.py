"""The protocol `agentic`: a check goes to the critic of its dimension, who may open bound references, crop and measure."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from longbanana_nb.errors import CallError
from longbanana_nb.judging import asking, critics, judge_tools, measuring, packets, prompting, transcodes
from longbanana_nb.judging.asking import Answerless, Conversation
from longbanana_nb.judging.critics import Route
from longbanana_nb.judging.judge_tools import Toolbox
from longbanana_nb.judging.measuring import ToolMissing
from longbanana_nb.judging.model_protocols import Ask, ModelAnswer, ModelJob, ModelProtocol, Unaskable
from longbanana_nb.judging.packets import EvidencePacket
from longbanana_nb.judging.quoting import as_data
from longbanana_nb.judging.replies import VERDICT_SCHEMA, Read, read_verdict
from longbanana_nb.providers.contracts import ModelMessage, Reply, Request, Text, ToolResult, UserMessage
from longbanana_nb.runs import JudgeSpec
from longbanana_nb.runs.judge_spec import Agentic

if TYPE_CHECKING:
    from longbanana_nb.release import Check

VERSION = "agentic-1"


class AgenticProtocol(ModelProtocol):
    """One conversation a check: at most `max_turns` replies with tools, then one answer without."""

    def versions(self, profile: JudgeSpec) -> dict[str, str]:
        """Prompts, critics, tools, transcode, packet and reader."""
        asking.require_known(profile)
        if profile.checks_per_call != 1:
            raise CallError(f"judge {profile.name!r}: an agentic judge takes one check at a time. Set checks_per_call to 1.")
        judge_tools.tools_of(profile)
        texts = prompting.versions(["rules", "answer-one", "agentic", "final", "reask"])
        tools = {"tools": judge_tools.VERSION, "crops": transcodes.CROP_VERSION, **measuring.versions()}
        return {"protocol": VERSION, **asking.shared_versions(profile), **texts, **critics.versions(), **tools}

    def first_request(self, job: ModelJob) -> Request:
        """The critic's first request, or the question which critic it is."""
        check = job.checks[0]
        route = critics.known_route(job, check)
        if route is None:
            return critics.router_request(job, check)
        return _Critic(job, check, route, _start(job)).request()

    async def judge(self, job: ModelJob, ask: Ask) -> list[ModelAnswer]:
        """One answer a check of the job, in order."""
        return [answer for check in job.checks for answer in await _judge_one(replace(job, checks=(check,)), ask)]


async def _judge_one(job: ModelJob, ask: Ask) -> list[ModelAnswer]:
    talk, check = Conversation(ask), job.checks[0]
    try:
        start = await asyncio.to_thread(_start, job)
    except Unaskable as why:
        return asking.unasked(job, why)
    route = critics.known_route(job, check)
    if route is None:
        try:
            reply = await talk.say(critics.router_request(job, check))
        except Answerless as why:
            return [asking.with_images(talk.answer(check.check_id, Read(None, why.invalid), str(why)), job, ())]
        route, invalid = critics.read_route(reply)
        if route is None:
            return [asking.with_images(talk.answer(check.check_id, Read(None, invalid)), job, ())]
    critic = _Critic(job, check, route, start)
    read, found = await critic.judge(talk)
    return [asking.with_images(talk.answer(check.check_id, read, found), job, critic.box.shown, critic.box.evidence)]


def _start(job: ModelJob) -> EvidencePacket:
    if job.model.capabilities.tools is False:
        raise Unaskable("tool_unavailable", f"{job.model.id} calls no tools; judge with the direct protocol")
    for id_ in packets.bound_references(job):
        packets.picture_of(job, id_)  # what is bound can be opened
    return packets.packet(job, ())


@dataclass(slots=True)
class _Critic:
    """One critic at work on one check."""

    job: ModelJob
    check: Check
    route: Route
    start: EvidencePacket
    box: Toolbox = field(init=False)

    def __post_init__(self) -> None:
        self.box = Toolbox(self.job, self.check, self.start.images)
        told = {"critic": self.route.dimension, "by": self.route.by}
        self.box.note("route", {}, {**told, "cues": list(self.route.cues)} if self.route.cues else told)

    async def judge(self, talk: Conversation) -> tuple[Read, str | None]:
        """What the critic's answer says, and what was wrong where no reply shows it."""
        turns = (self.job.profile.agentic or Agentic()).max_turns
        messages: list[UserMessage | ModelMessage] = []
        try:
            for turn in range(turns):
                reply = await talk.say(self.request(messages))
                if not _calls_tools(reply):
                    return read_verdict(reply, self.check.options), None
                results = await asyncio.to_thread(self.box.run_all, reply.tool_calls)
                messages += [ModelMessage(reply.native), UserMessage(_with_turns_left(results, turns - turn - 1))]
            return read_verdict(await talk.say(self._final()), self.check.options), None
        except Answerless as why:
            return Read(None, why.invalid), str(why)
        except ToolMissing as why:
            return Read(None, "tool_unavailable"), str(why)

    def request(self, messages: Sequence[UserMessage | ModelMessage] = ()) -> Request:
        """The next request of the conversation."""
        question = Text(packets.check_text(self.check), ends_prefix=True)
        first = UserMessage((*self.start.parts(), question, *asking.reask(self.job)))
        return Request(
            prompting.text("rules", critics.CRITICS[self.route.dimension], "agentic", "answer-one"),
            (first, *messages),
            asking.max_tokens(self.job),
            schema=asking.schema(self.job, VERDICT_SCHEMA),
            tools=judge_tools.tools_of(self.job.profile),
            params=asking.params(self.job),
        )

    def _final(self) -> Request:
        """A last question without tools, in a conversation of its own: all that was shown, and all that was found as data."""
        shown = [part for image in self.box.shown for part in image.parts()]
        told = [
            Text(packets.check_text(self.check)),
            Text(f"FINDINGS: {self.box.findings()}"),
            Text(prompting.text("final")),
        ]
        return Request(
            prompting.text("rules", critics.CRITICS[self.route.dimension], "answer-one"),
            (UserMessage((*shown, *told, *asking.reask(self.job))),),
            asking.max_tokens(self.job),
            schema=asking.schema(self.job, VERDICT_SCHEMA),
            params=asking.params(self.job),
        )


def _calls_tools(reply: Reply) -> bool:
    return bool(reply.tool_calls) and reply.stop in ("tool", "end")


def _with_turns_left(results: Sequence[ToolResult], left: int) -> tuple[ToolResult, ...]:
    last = results[-1]
    return (*results[:-1], replace(last, parts=(*last.parts, Text(as_data({"turns_left": left})))))
