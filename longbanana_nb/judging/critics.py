"""Which critic a check goes to: by its dimension where units state it, else by rule, else by one question to the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from longbanana_nb.judging import asking, packets, prompting
from longbanana_nb.judging.annotate import rules
from longbanana_nb.judging.replies import read_choice
from longbanana_nb.providers.contracts import Reply, Request, Text, UserMessage
from longbanana_nb.taxonomy import DIMENSIONS

if TYPE_CHECKING:
    from longbanana_nb.judging.model_protocols import ModelJob
    from longbanana_nb.release import Check
    from longbanana_nb.runs.judge_spec import InvalidReason

CRITICS = {dimension: f"critic-{dimension.lower().replace(' ', '-')}" for dimension in DIMENSIONS}
ROUTER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"critic": {"type": "string", "enum": list(DIMENSIONS)}},
    "required": ["critic"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Route:
    """The dimension whose critic judges a check, and what says so."""

    dimension: str
    by: Literal["units", "rule", "model"]
    cues: tuple[str, ...] = ()


def known_route(job: ModelJob, check: Check) -> Route | None:
    """The route of a check without asking; None where neither units nor a sure rule know it."""
    stated = job.dimension.get(check.check_id)
    if stated in CRITICS:
        return Route(str(stated), "units")
    guess = rules.guess_dimension(check)
    return Route(guess.value, "rule", guess.cues) if guess.is_sure else None


def router_request(job: ModelJob, check: Check) -> Request:
    """The one question that sorts a check: its text, and no picture."""
    return Request(
        prompting.text("router"),
        (UserMessage((Text(packets.check_text(check)),)),),
        asking.max_tokens(job),
        schema=asking.schema(job, ROUTER_SCHEMA),
        params=asking.params(job),
    )


def read_route(reply: Reply) -> tuple[Route | None, InvalidReason | None]:
    """The route a reply names, else why there is none."""
    dimension, invalid = read_choice(reply, "critic", DIMENSIONS)
    return (Route(dimension, "model"), None) if dimension is not None else (None, invalid)


def versions() -> dict[str, str]:
    """Versions of the router, its rules and the critics."""
    return {"router rules": rules.VERSION, **prompting.versions(["router", *CRITICS.values()])}
