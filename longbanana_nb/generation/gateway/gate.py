"""The record of one case at the gateway: what was asked, answered, refused, seen and drawn. No program under test writes it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import WorkbenchError
from longbanana_nb.generation.agent_contracts import ToolCall, ToolResult
from longbanana_nb.generation.contracts import Outcome, Reason, Usage
from longbanana_nb.generation.gateway.answers import Answer
from longbanana_nb.generation.gateway.checking import Checked, checked
from longbanana_nb.generation.gateway.contracts import MOST_CALLS_A_TURN, Permit, Refusal, RefusedError, SeenPicture
from longbanana_nb.generation.gateway.costing import most_usd, used
from longbanana_nb.generation.gateway.matching import Matcher
from longbanana_nb.generation.gateway.transcript import Transcript
from longbanana_nb.generation.paying import OverBudgetError, Receipt
from longbanana_nb.generation.tools import GENERATE
from longbanana_nb.generation.workflows.compliance import Event

if TYPE_CHECKING:
    from longbanana_nb.generation.contracts import Step


class Gate:
    """One case's way to its agent model and its image tool.

    Attributes:
        calls: requests that were sent to the model, those that failed included.
        turns: requests with tools that were answered.
        refusals: requests that were not sent, in order.
        seen: pictures that reached the model, each once, in order.
        limit: the budget or number that ended it, where one did.
        trouble: why the last request with tools was not answered, where it was not.
        undrawn: why the last image call gave no picture, where it did not.
        fault: an error of the workbench itself, for the owner of the run; raised when the gate is closed.
    """

    def __init__(self, permit: Permit) -> None:
        self.permit = permit
        self.calls = self.turns = 0
        self.refusals: list[Refusal] = []
        self.seen: list[SeenPicture] = []
        self.limit: Reason | None = None
        self.trouble: tuple[Outcome, Reason] | None = None
        self.undrawn: tuple[Outcome, Reason] | None = None
        self.fault: WorkbenchError | None = None
        self.is_closed = False
        self._matcher = Matcher(permit.case, permit.board)
        self._transcript = Transcript(permit.board)
        self._drawing = asyncio.Lock()
        self._uses: set[asyncio.Task[ToolResult]] = set()

    # what came of the case

    @property
    def usage(self) -> list[Usage]:
        """What each call of the agent model and of the image model consumed."""
        return list(self.permit.board.draft.usage)

    @property
    def cost_usd(self) -> float:
        """What the calls of the case cost, image calls included."""
        return sum(one.cost_usd for one in self.usage)

    @property
    def image_calls(self) -> int:
        """How many image calls were made."""
        return self.permit.board.draft.image_calls

    @property
    def current(self) -> Step | None:
        """The picture drawn last, unless an earlier one was taken."""
        return self.permit.board.current

    @property
    def opened(self) -> list[str]:
        """Ids of references that reached the agent model or were cut from, first time order."""
        return list(self.permit.board.draft.opened)

    @property
    def never_opened(self) -> list[str]:
        """Ids of references the agent model never saw, in the order of the case."""
        opened = set(self.opened)
        return [reference.id for reference in self.permit.case.inputs if reference.id not in opened]

    @property
    def resized(self) -> list[str]:
        """Ids of references that the agent model saw smaller or encoded anew, first time order."""
        return list(dict.fromkeys(one.id for one in self.seen if one.match == "resized" and one.id is not None))

    @property
    def transcript(self) -> list[dict[str, Any]]:
        """The lines of trace.jsonl."""
        return [{**line, "n": n} for n, line in enumerate(list(self.permit.board.draft.trace), 1)]

    # requests to the agent model

    def check(self, path: str, raw: bytes) -> Checked:
        """Hold a request against the permit and the limits, and name its pictures. Done in a thread: bodies are large.

        Raises:
            RefusedError: it must not be sent.
        """
        request = checked(self.permit, path, raw)
        self._require_room(request)
        pictures = {picture: self._matcher.match(picture) for picture in dict.fromkeys(request.pictures)}
        self._transcript.request(request, pictures)
        for found in pictures.values():
            self._note_picture(found)
        return request

    def refused(self, error: RefusedError, *, has_tools: bool = True) -> None:
        """Write down a request that was not sent."""
        self.refusals.append(Refusal(error.code, error.text))
        self.permit.board.trace("gateway", "refused", error.code, error.text)
        if has_tools and self.limit is None and error.code not in ("endpoint", "closed"):
            self.trouble = ("failed", Reason("refused_by_gateway", f"turn {self.turns + 1}", f"{error.code}: {error.text}"))

    @contextmanager
    def paid(self, request: Checked) -> Iterator[Receipt]:
        """One request to the model: reserved and written down before, settled after.

        Raises:
            RefusedError: where it could pass a budget; it must not be sent.
        """
        purse = self.permit.purse
        if request.is_counting or purse is None:
            yield Receipt()
            return
        sizes = [self._matcher.match(picture) for picture in request.pictures]
        try:
            with purse.call("agent", most_usd(self.permit, request, sizes)) as receipt:
                yield receipt
        except OverBudgetError as error:
            self.limit = Reason(error.code, f"turn {self.turns + 1}", str(error))
            raise RefusedError("budget", f"The budget of this task is used up: {error}", 403) from None

    def sent(self, request: Checked) -> None:
        """A request is about to be sent."""
        if not request.is_counting:
            self.calls += 1
            self.permit.board.draft.agent_calls += 1

    def answered(self, request: Checked, answer: Answer, receipt: Receipt, seconds: float) -> None:
        """The model answered in whole. An answer without tokens may have cost the most: its receipt stays empty."""
        if request.is_counting:
            return
        self._transcript.answer(answer, seconds)
        receipt.outcome = "refused" if answer.is_refused else "answered"
        if answer.usage is not None:
            receipt.usage = used(self.permit, answer)
            self.permit.board.count("agent", receipt.usage)
        if not request.has_tools:
            return
        self.turns += 1
        self.trouble = None
        if answer.is_refused:
            self.trouble = ("blocked", Reason("agent_refused", f"turn {self.turns}", answer.text))

    def failed(self, request: Checked, code: str, text: str, receipt: Receipt, *, maybe_paid: bool, seconds: float) -> None:
        """The model did not answer, or not in whole."""
        self.permit.board.trace("model", "failed", code, text, seconds=seconds)
        receipt.outcome = code
        if not maybe_paid:
            receipt.usage = Usage()
        if request.has_tools:
            self.trouble = ("timeout" if code == "timeout" else "failed", Reason(code, f"turn {self.turns + 1}", text))

    # the image tool

    async def use(self, call: ToolCall) -> ToolResult:
        """Carry out one use of the image tool; one after another, in a thread. It goes on when whoever asked is gone.

        Raises:
            RefusedError: the case is at its end, or a budget is used up.
        """
        use = asyncio.ensure_future(self._carry_out(call))
        self._uses.add(use)
        use.add_done_callback(self._uses.discard)
        return await asyncio.shield(use)

    async def drawing_ended(self) -> None:
        """Wait for what the image tool is doing; what waits for its turn is refused once the gate is closed."""
        await asyncio.gather(*self._uses, return_exceptions=True)

    async def _carry_out(self, call: ToolCall) -> ToolResult:
        async with self._drawing:
            self._require_open()
            if call.name not in self.permit.tools:
                offered = ", ".join(self.permit.tools)
                return ToolResult(call, False, {"error": f"There is no tool {str(call.name)[:80]!r}. There are: {offered}."})
            started = time.monotonic()
            self._transcript.image_tool(call)
            try:
                result = await asyncio.to_thread(self.permit.workspace.use, call)
            except WorkbenchError as error:
                self.fault = error
                raise RefusedError("closed", "This task cannot go on.", 503) from None
            self._drawn(result)
            self._transcript.tool_result(result, time.monotonic() - started)
        if self.permit.board.out_of_money is not None:
            self._require_open()
        return result

    def _drawn(self, result: ToolResult) -> None:
        board = self.permit.board
        if board.out_of_money is not None:
            self.limit = board.out_of_money
        elif result.call.name == GENERATE and result.ok:
            value = result.value
            where = f"image call {board.draft.image_calls}"
            is_drawn = value["outcome"] == "image"
            self.undrawn = None if is_drawn else (value["outcome"], Reason(str(value["code"]), where, str(value["raw"])))

    def _note_picture(self, found: SeenPicture) -> None:
        if found in self.seen:
            return
        self.seen.append(found)
        self._transcript.picture(found)
        if found.id is None:
            return
        events, opened = self.permit.workspace.notes.events, self.permit.board.draft.opened
        if found.match == "picture":
            events.append(Event("looked", picture=int(found.id.removeprefix("picture_"))))
            return
        events.append(Event("opened", (found.id,)))
        if found.id not in opened:
            opened.append(found.id)

    def _require_open(self) -> None:
        if self.is_closed or self.fault is not None:
            raise RefusedError("closed", "This task is at its end.", 403)
        if self.permit.deadline is not None and time.monotonic() >= self.permit.deadline:
            raise RefusedError("closed", "The time of this task is used up.", 403)
        if self.limit is not None:
            raise RefusedError("budget", f"This task is at its limit: {self.limit.raw}", 403)

    def _require_room(self, request: Checked) -> None:
        self._require_open()
        turns = self.permit.max_turns
        if request.has_tools and not request.is_counting and self.turns >= turns:
            self.limit = Reason("max_turns", f"turn {self.turns}", f"{turns} turns were allowed and the agent did not finish")
            raise RefusedError("max_turns", self.limit.raw, 403)
        if self.calls >= MOST_CALLS_A_TURN * turns:
            text = f"{self.calls} requests were made in {self.turns} turns; at most {MOST_CALLS_A_TURN} a turn are taken"
            self.limit = Reason("max_calls", f"turn {self.turns}", text)
            raise RefusedError("max_calls", text, 403)
