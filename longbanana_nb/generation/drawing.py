"""One image call done properly: order, capacity, seed, the checks on what comes back, and the step it leaves."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from longbanana_nb.errors import WorkbenchError
from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation.contracts import (
    DRAW_OUTCOMES,
    Backend,
    Draft,
    ImageRequest,
    ImageResult,
    InputImage,
    Outcome,
    Reason,
    Scene,
    Step,
    Usage,
    trace_line,
)
from longbanana_nb.generation.images import NotAPictureError, PictureFacts, examine
from longbanana_nb.generation.paying import OverBudgetError, Purse, Receipt, paid_call
from longbanana_nb.generation.scenes import Origins, traced
from longbanana_nb.generation.seeds import call_seed
from longbanana_nb.generation.tools import KEEP

if TYPE_CHECKING:
    from longbanana_nb.release import Case


@dataclass(frozen=True, slots=True)
class Input:
    """One picture to send and the id of the reference it shows; crops carry the id of the reference they were cut from."""

    image: InputImage
    reference_id: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """What came of one image call: a checked picture, or an outcome with its reason."""

    outcome: Outcome
    reason: Reason | None = None
    facts: PictureFacts | None = None


class DrawingBoard:
    """The picture in progress of one candidate: makes image calls, keeps every result as a step of the draft."""

    def __init__(self, case: Case, backend: Backend, seed: int, purse: Purse | None = None) -> None:
        self.draft = Draft(outcome="no_image", size_asked=backend.capabilities.sizes[0])
        self.origins = Origins(references={reference.sha256 for reference in case.inputs})
        self._backend = backend
        self._seed = seed
        self._purse = purse
        self.out_of_money: Reason | None = None  # why the last image call was not made
        self.current: Step | None = None  # the picture drawn last, unless an earlier one was taken

    def picture(self, number: int) -> Step | None:
        """The picture that image call `number` (from 1) drew; None where it drew none."""
        return next((step for step in self.draft.steps if step.n == number), None)

    def images_of_call(self, inputs: Sequence[Input], *, keep_current: bool) -> int:
        """How many images a call would send."""
        return len(inputs) + (1 if keep_current and self.current else 0)

    @property
    def capacity(self) -> int:
        """How many images the model takes in one call."""
        return self._backend.capabilities.references_per_call

    def draw(self, prompt: str, inputs: Sequence[Input], *, keep_current: bool) -> Drawn:
        """Make one image call: the carried picture first, then `inputs` in their order.

        The caller has seen to it that the images fit the model's capacity. A call that could pass a budget is not made: it
        is no call, sends nothing, and its outcome is "budget".
        """
        parent = self.current if keep_current else None
        if parent is not None and KEEP not in prompt:
            prompt = f"{KEEP} {prompt}"
        carried = (InputImage("carried", parent.image, parent.sha256),) if parent else ()
        images = (*carried, *(one.image for one in inputs))
        call = self.draft.image_calls + 1
        request = ImageRequest(prompt, images, call_seed(self._seed, call), self._backend.capabilities.sizes[0])
        started = time.monotonic()
        try:
            with paid_call(self._purse, "backend", self._backend) as receipt:
                result = self._asked(request, call, receipt)
        except OverBudgetError as error:
            self.out_of_money = Reason(error.code, f"image call {call}", str(error))
            return Drawn("budget", self.out_of_money)
        self.draft.image_calls = call
        self.draft.sent += [name for name in dict.fromkeys(one.reference_id for one in inputs) if name not in self.draft.sent]
        encoded_anew = [one.reference_id for one in inputs if one.image.sha256 in result.resized]
        self.draft.resized += [name for name in dict.fromkeys(encoded_anew) if name not in self.draft.resized]
        self.count("backend", result.usage)
        drawn = self._checked(result, call)
        self._trace_call(request, drawn, result, time.monotonic() - started)
        if drawn.facts is not None and result.image is not None:
            self._keep_step(result, drawn.facts, call, request, parent, tuple(one.reference_id for one in inputs))
        return drawn

    def count(self, role: str, usage: Usage) -> None:
        """Add what a call of the "backend" or the "agent" consumed."""
        self.draft.usage.append(usage)
        if usage.answered is not None:
            self.draft.answered[role] = usage.answered

    def end(self, outcome: Outcome, reason: Reason | None = None) -> Draft:
        """Close the draft: the current picture is the candidate if the outcome is "image"."""
        self.draft.outcome, self.draft.reason = outcome, reason
        if outcome == "image" and self.current is not None:
            self.draft.image, self.draft.format = self.current.image, self.current.format
            self.draft.scene = self.current.scene
        return self.draft

    def trace(self, actor: str, kind: str, name: str, text: str, *, images: Sequence[str] = (), seconds: float = 0.0) -> None:
        """Add a line to the transcript; texts are cut at 4 KB, images are hashes."""
        line = trace_line(len(self.draft.trace) + 1, actor, kind, name, text, images=images, seconds=seconds)
        self.draft.trace.append(line)

    def _asked(self, request: ImageRequest, call: int, receipt: Receipt) -> ImageResult:
        """The model's answer; an exception in its code is an outcome of this candidate, with the end of the traceback."""
        try:
            result = self._backend.draw(request)
        except WorkbenchError:
            raise
        except Exception:
            return ImageResult("failed", reason=Reason("backend_exception", f"image call {call}", traceback.format_exc()[-2000:]))
        receipt.usage, receipt.outcome = result.usage, result.outcome
        return result

    def _checked(self, result: ImageResult, call: int) -> Drawn:
        where = f"image call {call}"
        if result.outcome not in DRAW_OUTCOMES:
            return Drawn("failed", Reason("unknown_outcome", where, repr(result.outcome)))
        if result.outcome != "image":
            return Drawn(result.outcome, result.reason or Reason("no_reason_given", where, ""))
        if result.image is None:
            return Drawn("no_image", Reason("empty_image", where, "the model reported an image and gave none"))
        try:
            return Drawn("image", None, examine(result.image))
        except NotAPictureError as error:
            return Drawn("no_image" if error.code == "empty_image" else "failed", Reason(error.code, where, error.found))

    def _keep_step(
        self,
        result: ImageResult,
        facts: PictureFacts,
        call: int,
        request: ImageRequest,
        parent: Step | None,
        sent: tuple[str, ...],
    ) -> None:
        data = result.image or b""
        digest = sha256_bytes(data)
        scene: Scene | None = None
        if result.scene is not None:
            scene = traced(result.scene, digest, self.origins)
            self.origins.pictures[digest] = scene
        self.current = Step(
            n=call,
            image=data,
            sha256=digest,
            format=facts.format,
            parent_sha256=parent.sha256 if parent else None,
            references_sent=sent,
            prompt_sha256=sha256_bytes(request.prompt.encode("utf-8", "surrogatepass")),
            scene=scene,
        )
        self.draft.steps.append(self.current)

    def _trace_call(self, request: ImageRequest, drawn: Drawn, result: ImageResult, seconds: float) -> None:
        self.trace("harness", "image_call", "prompt", request.prompt, images=[image.sha256 for image in request.images])
        for remark in result.remarks:
            self.trace("backend", "remark", "image_call", remark)
        if drawn.facts is None:
            reason = drawn.reason
            self.trace("backend", "outcome", drawn.outcome, f"{reason.code}: {reason.raw}" if reason else "", seconds=seconds)
            return
        size = f"{drawn.facts.width} x {drawn.facts.height}"
        asked = f"{request.size} x {request.size}"
        text = f"{drawn.facts.format}, {size}" + ("" if size == asked else f"; asked for {asked}")
        self.trace("backend", "outcome", "image", text, images=[sha256_bytes(result.image or b"")], seconds=seconds)
