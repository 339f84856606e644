"""Agent models of real providers: a turn of our tool loop as a request, a reply as actions, a failure as an outcome."""

from __future__ import annotations

import asyncio
import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from longbanana_nb.errors import CallError
from longbanana_nb.generation import agent_views
from longbanana_nb.generation.agent_contracts import Action, Stop, ToolCalls, Turn
from longbanana_nb.generation.agent_contracts import ToolCall as Call
from longbanana_nb.generation.agent_talk import MARGIN, ContextFullError, Policy, Talk
from longbanana_nb.generation.contracts import ModelChoice, Reason, Usage
from longbanana_nb.generation.tools import tools_of
from longbanana_nb.names import nearest
from longbanana_nb.providers.catalogue import Model, resolve
from longbanana_nb.providers.connecting import connect
from longbanana_nb.providers.contracts import ModelMessage, ProviderError, Reply, Request, Tool, ToolCall
from longbanana_nb.providers.keys import key_of
from longbanana_nb.providers.prices import Price, price
from longbanana_nb.providers.retry import Attempt, Retry, asked

if TYPE_CHECKING:
    from longbanana_nb.providers.contracts import Adapter

VERSION = "agent-model-1"
OWN: dict[str, Any] = {"max_tokens": 4096, "max_input_tokens": 150_000, "context": "forget-pictures", "cache": None}
"""Parameters that are ours, with what holds where they are not given; all others are the model's own."""
POLICIES = ("stop", "forget-pictures")
WORDLESS = 3  # replies in a row without a tool call, or that cannot be read, after which the agent is given up
MOST_LOST = 1  # tries of one turn that may have been paid without a reply and are made again


@dataclass(frozen=True, slots=True)
class Settings:
    """The parameters of an agent model, taken apart. `cache` "off" sends no marks."""

    max_tokens: int
    max_input_tokens: int
    context: Policy
    cache: Literal["off", "5m", "1h"]
    params: dict[str, Any]


class ProviderAgent:
    """One agent model for one candidate. It keeps the whole conversation, thoughts in the provider's own form included."""

    simulated = False

    def __init__(
        self, model: Model, settings: Settings, *, on: dt.date, retry: Retry | None = None, timeout_s: float = 300.0
    ) -> None:
        self.model, self._settings = model, settings
        self._retry, self._timeout_s = retry or Retry(), timeout_s
        self.price: Price | None = price(model, on)
        self._talk: Talk | None = None
        self._calls: tuple[ToolCall, ...] = ()
        self._answered = 0  # results that were said already
        self._wordless = 0
        self._runner: asyncio.Runner | None = None
        self._adapter: Adapter | None = None

    @property
    def version(self) -> str:
        """What we do with the model; the model itself is in the system."""
        return (
            f"{VERSION} {agent_views.VERSION} {self._settings.context} {self._settings.max_input_tokens} {self._settings.cache}"
        )

    @property
    def price_is_unknown(self) -> bool:
        """Whether nobody knows what a call costs; that is not the same as nothing."""
        return self.price is None

    @property
    def max_usd_per_call(self) -> float:
        """The most one turn may cost: the largest request with the longest answer, and the tries that may be lost on the way."""
        return self._most() * (1 + MOST_LOST)

    def ready(self) -> None:
        """CallError where something is missing that the first call will need: the key, or the provider's package."""
        key_of(self.model)

    def next(self, turn: Turn) -> Action:
        """Ask the model what to do next."""
        talk = self._told(turn)
        try:
            request = talk.request(self._settings.params, self._settings.cache)
        except ContextFullError as full:
            return Stop("failed", Reason("context_full", f"turn {turn.number}", str(full)))
        log: list[Attempt] = []
        try:
            reply = self._run(request, log)
        except ProviderError as error:
            return self._stopped(error, turn, log)
        return self._acted(reply, turn, talk, log)

    def close(self) -> None:
        """Close the connections; the conversation is over."""
        if self._runner is not None:
            if self._adapter is not None:
                self._runner.run(self._adapter.close())
            self._runner.close()
            self._runner = self._adapter = None

    def _most(self) -> float:
        if self.price is None:
            return 0.0
        return self.price.most(int(self._settings.max_input_tokens * MARGIN), self._settings.max_tokens, self._settings.cache)

    def _told(self, turn: Turn) -> Talk:
        """The conversation, with everything said that is new."""
        if self._talk is None:
            offered = tools_of(turn.workflow, turn.best_of).values()
            tools = tuple(Tool(one.name, one.description, one.schema) for one in offered)
            own = self._settings
            self._talk = Talk(self.model, turn.instruction, tools, own.max_tokens, own.max_input_tokens, own.context)
            self._talk.begin(turn)
        elif isinstance(self._talk.messages[-1], ModelMessage):
            self._talk.answer(self._calls, turn.results[self._answered :], turn)
        self._answered = len(turn.results)
        return self._talk

    def _run(self, request: Request, log: list[Attempt]) -> Reply:
        """One question with its tries, in an event loop that lives as long as the candidate."""
        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner.run(self._asked(request, log))

    async def _asked(self, request: Request, log: list[Attempt]) -> Reply:
        if self._adapter is None:
            self._adapter = connect(self.model, key=key_of(self.model), timeout_s=self._timeout_s, connections=1)

        def note(attempt: Attempt) -> None:
            log.append(attempt)
            if attempt.error is not None and sum(one.maybe_paid for one in log) > MOST_LOST:
                raise attempt.error  # another try could cost more than was set aside

        return await asked(self._adapter, request, self._retry, note)

    def _acted(self, reply: Reply, turn: Turn, talk: Talk, log: list[Attempt]) -> Action:
        """What a reply wants done."""
        usage, tries = self._usage(reply, log), _tries(log)
        where = f"turn {turn.number}"
        if reply.stop in ("refused", "filtered"):
            return Stop("blocked", Reason(reply.stop, where, reply.detail or reply.text), usage, tries)
        is_broken = reply.stop == "truncated" or (not reply.tool_calls and bool(reply.detail))
        self._wordless = 0 if reply.tool_calls and not is_broken else self._wordless + 1
        if self._wordless >= WORDLESS:
            code = "truncated" if reply.stop == "truncated" else "no_tool_call"
            return Stop("failed", Reason(code, where, reply.detail or reply.text or f"{WORDLESS} answers in a row"), usage, tries)
        if is_broken:
            fault = "it was cut off; be briefer" if reply.stop == "truncated" else str(reply.detail)
            talk.again(fault)
            return ToolCalls((), f"[could not be read: {fault}]", usage, tries)
        talk.messages.append(ModelMessage(reply.native))
        self._calls = reply.tool_calls
        forgot = f"[pictures of {talk.forgotten} results were taken out of the conversation] " if talk.forgotten else ""
        calls = tuple(Call(call.name, call.arguments) for call in reply.tool_calls)
        return ToolCalls(calls, forgot + reply.text, usage, tries)

    def _stopped(self, error: ProviderError, turn: Turn, log: list[Attempt]) -> Stop:
        """The outcome of a call that brought no reply; what no other candidate could get past either is raised."""
        if error.kind == "auth" or error.is_quota:
            raise CallError(f"{self.model.provider}/{self.model.id}: {error}")
        if error.is_filtered:
            return Stop("blocked", Reason("filtered", f"turn {turn.number}", str(error)), self._lost(log), _tries(log))
        code = "too_large" if error.is_too_large else error.kind
        return Stop("failed", Reason(code, f"turn {turn.number}", str(error)), self._lost(log), _tries(log))

    def _usage(self, reply: Reply, log: list[Attempt]) -> Usage:
        used, lost = reply.usage, sum(one.maybe_paid for one in log)
        return Usage(
            input_tokens=used.input_tokens + used.cache_write_tokens,
            cached_tokens=used.cached_tokens,
            output_tokens=used.output_tokens,
            cost_usd=self.price.of(used) if self.price is not None else 0.0,
            answered=reply.model,
            maybe_usd=lost * self._most(),
        )

    def _lost(self, log: list[Attempt]) -> Usage:
        return Usage(maybe_usd=sum(one.maybe_paid for one in log) * self._most())


def agent_model(choice: ModelChoice) -> ProviderAgent:
    """The factory for every provider of the catalogue that answers questions; nothing is sent, and no key is needed yet.

    Raises:
        CallError: a retired id (its successor is named), a model that calls no tools or sees no pictures, wrong parameters.
    """
    on = dt.datetime.now(dt.UTC).date()
    model = resolve(choice.provider, choice.id, choice.route, base_url=choice.base_url, key_env=choice.key_env, on=on)
    lacks = [
        word
        for has, word in ((model.capabilities.tools, "calls no tools"), (model.capabilities.vision, "sees no pictures"))
        if has is False
    ]
    if lacks or (model.roles and "agent" not in model.roles):
        raise CallError(f"{model.provider}/{model.id} is no agent model: it {' and '.join(lacks) or 'is for other work'}.")
    return ProviderAgent(model, _settings(choice, model), on=on)


def _settings(choice: ModelChoice, model: Model) -> Settings:
    given = {**OWN, **{name: value for name, value in choice.params.items() if name in OWN}}
    rest = {name: value for name, value in choice.params.items() if name not in OWN}
    who = f"{model.provider}/{model.id}"
    for name in ("max_tokens", "max_input_tokens"):
        if isinstance(given[name], bool) or not isinstance(given[name], int) or given[name] < 1:
            raise CallError(f"{who}: {name} is {given[name]!r}; expected a whole number from 1.")
    if given["context"] not in POLICIES:
        near = nearest(str(given["context"]), POLICIES)
        hint = f" Did you mean {near!r}?" if near else ""
        raise CallError(f"{who}: context is {given['context']!r}; expected {' or '.join(POLICIES)}.{hint}")
    times = model.capabilities.cache_times
    cache = given["cache"] or ("5m" if "5m" in times else "off")
    if cache != "off" and cache not in times:
        raise CallError(f"{who}: cache is {cache!r}; expected {' or '.join(['off', *times])}.")
    model.check_params({**rest, **({"max_tokens": given["max_tokens"]} if "max_tokens" in model.params else {})})
    own = model.limits.context_tokens
    most = given["max_input_tokens"] if own is None else min(given["max_input_tokens"], own - given["max_tokens"])
    return Settings(given["max_tokens"], most, cast("Policy", given["context"]), cast("Any", cache), rest)


def _tries(log: list[Attempt]) -> tuple[str, ...]:
    """Failed tries in words, for the transcript."""
    return tuple(
        f"try {one.number} after {one.seconds:.1f} s: {one.error}; {_waited(one.wait_s)}" for one in log if one.error is not None
    )


def _waited(wait_s: float | None) -> str:
    return "given up" if wait_s is None else f"tried again after {wait_s:.1f} s"
