"""FP-Direct: a window slides over the references in contract order, full prompt each time, last picture carried on.

Each call sends, in this order: the picture so far (from the second window on, if `carry_last`), the background (if any, and
`background` is "first"), the window's references. The candidate is the picture of the last window. A window without a picture
ends the case with that window's outcome; what was drawn before is kept as steps.
Source: DESIGN 8; LongBanana's FP-Direct slides a window of 8 over the inventory with the full prompt.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from longbanana_nb.errors import CallError
from longbanana_nb.generation.contracts import Capabilities, Draft, Models, Reason
from longbanana_nb.generation.drawing import DrawingBoard, Input
from longbanana_nb.generation.inventory import input_image

if TYPE_CHECKING:
    from longbanana_nb.release import Case, Reference
    from longbanana_nb.runs import SystemSpec


def windows(references: tuple[Reference, ...], size: int, stride: int) -> list[tuple[Reference, ...]]:
    """The windows in order: starts 0, stride, 2 stride... until the last reference is in one; the last may be shorter.

    A case without references has one empty window, so that its prompt is drawn.
    """
    starts = [0]
    while starts[-1] + size < len(references):
        starts.append(starts[-1] + stride)
    return [references[start : start + size] for start in starts]


def refuse_what_does_not_fit(spec: SystemSpec, case: Case, capabilities: Capabilities) -> None:
    """Raise CallError if a window of this case holds more images than the model takes, or windows would pass references over."""
    policy = spec.references
    if policy.policy != "window":
        raise CallError(
            f"system {spec.name!r}: fp-direct with references.policy {policy.policy!r}; expected 'window', the only one it knows."
        )
    if policy.stride > policy.size:
        raise CallError(
            f"system {spec.name!r}: windows of {policy.size} references every {policy.stride} would never send some references. "
            f"Set references.stride to {policy.size} or less."
        )
    parts = windows(case.references, policy.size, policy.stride)
    background = 1 if case.background is not None and policy.background == "first" else 0
    carried = 1 if policy.carry_last and len(parts) > 1 else 0
    largest = max(len(part) for part in parts)
    needed = largest + background + carried
    if needed > capabilities.references_per_call:
        room = capabilities.references_per_call - background - carried
        advice = f"Set references.size to {room} or less" if room > 0 else "Choose a backend that takes more images"
        raise CallError(
            f"system {spec.name!r}, case {case.case_id!r}: a call would send {needed} images ({largest} references + "
            f"{background} background + {carried} carried picture); "
            f"the backend takes {capabilities.references_per_call}. {advice}."
        )


def fp_direct(case: Case, spec: SystemSpec, models: Models, seed: int) -> Draft:
    """Draw the case window by window."""
    if models.backend is None:
        raise CallError(f"system {spec.name!r}: fp-direct needs a backend.")
    refuse_what_does_not_fit(spec, case, models.backend.capabilities)
    policy = spec.references
    board = DrawingBoard(case, models.backend, seed, models.purse)
    parts = windows(case.references, policy.size, policy.stride)
    ends = None if spec.harness.timeout_s is None else time.monotonic() + spec.harness.timeout_s
    most = spec.limits.max_image_calls
    for number, part in enumerate(parts, start=1):
        where = f"window {number} of {len(parts)}"
        if most is not None and number > most:
            return board.end("budget", Reason("max_image_calls", where, f"{most} image calls were allowed"))
        if ends is not None and time.monotonic() >= ends:
            return board.end("timeout", Reason("timeout", where, f"{spec.harness.timeout_s:g} s were allowed for the case"))
        first = (case.background,) if case.background is not None and policy.background == "first" else ()
        inputs = [Input(input_image(reference), reference.id) for reference in (*first, *part)]
        drawn = board.draw(case.prompt, inputs, keep_current=policy.carry_last)
        if drawn.outcome != "image":
            return board.end(drawn.outcome, drawn.reason)
    return board.end("image")
