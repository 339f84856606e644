"""What became of one run of an agent: from what the sandbox saw, what the gateway saw, what was left, and last what it claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from longbanana_nb.generation.agents.contracts import Claim, End
from longbanana_nb.generation.contracts import Outcome, Reason

if TYPE_CHECKING:
    from longbanana_nb.generation.sandbox.contracts import Finished

LIMITS: Final[Mapping[str, tuple[Outcome, str]]] = {
    "timeout": ("timeout", "timeout"),
    "stopped": ("interrupted", "stopped"),
    "too_large": ("failed", "limit_passed"),
}
CLAIMED: Final[Mapping[End, tuple[Outcome, str]]] = {
    "auth": ("failed", "auth"),
    "rate_limited": ("failed", "rate_limited"),
    "overloaded": ("failed", "overloaded"),
    "bad_request": ("failed", "bad_request"),
    "max_turns": ("budget", "max_turns"),
    "refused": ("blocked", "agent_refused"),
    "failed": ("failed", "agent_failed"),
    "silent": ("failed", "agent_crashed"),
}


@dataclass(frozen=True, slots=True)
class Seen:
    """What the gateway saw of the candidate, which no agent can forge.

    Attributes:
        drawn: bytes of the picture drawn last, None where nothing was drawn.
        limit: the budget, the number of turns or of image calls that ended it, where one did.
        trouble: why the last request to the agent model was not answered, where it was not.
        undrawn: why the last image call gave no picture, where it did not.
    """

    drawn: bytes | None = None
    limit: Reason | None = None
    trouble: tuple[Outcome, Reason] | None = None
    undrawn: tuple[Outcome, Reason] | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """The outcome; `image` where it is "image", else `reason`."""

    outcome: Outcome
    reason: Reason | None = None
    image: bytes | None = None


def ending(finished: Finished, seen: Seen, left: bytes | Reason | None, claim: Claim) -> Ending:
    """Decide what became of a run.

    A limit of the sandbox comes first: what was cut off is not finished. Then a picture that the agent left as its answer,
    whatever the exit code says; one that cannot be taken is a failure, for it says that no other picture is the answer. Then
    limits and troubles of the agent model, as the gateway saw them. The picture drawn last counts where none of these is in the
    way and the program says it finished; its own words about anything else come last.

    Args:
        left: the picture left as the answer, or why it cannot be taken; None where nothing was left.
    """
    if finished.ended in LIMITS:
        outcome, code = LIMITS[finished.ended]
        return Ending(outcome, Reason(code, "agent", finished.detail))
    if isinstance(left, bytes):
        return Ending("image", None, left)
    if left is not None:
        return Ending("failed", left)
    if seen.limit is not None:
        return Ending("budget", seen.limit)
    if seen.trouble is not None:
        return Ending(*seen.trouble)
    if claim.end == "finished":
        return _finished(seen)
    outcome, code = CLAIMED[claim.end]
    return Ending(outcome, Reason(code, "agent", _said(finished, claim)))


def _finished(seen: Seen) -> Ending:
    if seen.drawn is not None:
        return Ending("image", None, seen.drawn)
    if seen.undrawn is not None:
        return Ending(*seen.undrawn)
    return Ending("no_image", Reason("finished_without_drawing", "agent", "the agent finished and had drawn nothing"))


def _said(finished: Finished, claim: Claim) -> str:
    """Exit code and what the program said, its end at most."""
    error = finished.stderr.decode("utf-8", "replace").strip()[-1500:]
    return "\n".join(part for part in (f"exit code {finished.returncode}", claim.detail[:2000], error) if part)
