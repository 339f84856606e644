"""Which agent model a command line can be driven with: how it speaks and how the model's server is spoken to must be one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from longbanana_nb.errors import CallError
from longbanana_nb.generation.agents.contracts import Dialect, Recipe
from longbanana_nb.generation.agents.pins import PINS
from longbanana_nb.generation.agents.recipes import RECIPES
from longbanana_nb.generation.gateway.dialects import SAMPLING

if TYPE_CHECKING:
    from longbanana_nb.runs import SystemSpec

SPOKEN_TO: Final[Mapping[str, tuple[Dialect, ...]]] = {
    "anthropic": ("anthropic-messages",),
    "openai": ("openai-responses", "openai-chat"),
    "openai-compatible": ("openai-chat",),
}
EXAMPLES: Final[Mapping[str, str]] = {
    "anthropic": "{provider: anthropic, id: claude-sonnet-5-5}",
    "openai": "{provider: openai, id: gpt-6.1-sol}",
    "openai-compatible": "{provider: openai-compatible, id: NAME, base_url: ADDRESS}",
}


def dialect_of(recipe: Recipe, provider: str) -> Dialect | None:
    """The dialect both speak, the provider's own first; None where there is none."""
    return next((dialect for dialect in SPOKEN_TO.get(provider, ()) if dialect in recipe.dialects), None)


def refuse_what_does_not_fit(spec: SystemSpec) -> Dialect:
    """The dialect of a system.

    Raises:
        CallError: where harness and agent model cannot speak with each other, with the nearest pairs that can; parameters
            that cannot be kept to; another version than the pinned one; no sandbox.
    """
    kind, model = spec.harness.kind, spec.agent_model
    if model is None:
        raise CallError(f"system {spec.name!r}: {kind} needs an agent model.")
    if spec.sandbox != "bubblewrap":
        raise CallError(
            f"system {spec.name!r}: sandbox {spec.sandbox!r}; an agent with a shell runs in one only. Write sandbox: bubblewrap."
        )
    pinned = PINS[kind].version
    if spec.harness.version not in (None, pinned):
        raise CallError(f"system {spec.name!r}: {kind} {spec.harness.version!r}; this package drives {pinned!r} and no other.")
    if spec.references.policy != "agent":
        raise CallError(f"system {spec.name!r}: {kind} with references.policy {spec.references.policy!r}; expected 'agent'.")
    unknown = sorted(set(model.params) - {"max_tokens"} - SAMPLING)
    if unknown:
        raise CallError(
            f"system {spec.name!r}: agent_model.params: {', '.join(unknown)}; with a command line max_tokens and sampling "
            f"parameters can be kept to ({', '.join(sorted(SAMPLING))}). Remove the others, or use harness native."
        )
    dialect = dialect_of(RECIPES[kind], model.provider)
    if dialect is None:
        raise CallError(f"system {spec.name!r}: {_mismatch(RECIPES[kind], model.provider)}")
    return dialect


def _mismatch(recipe: Recipe, provider: str) -> str:
    """What does not fit, and what is nearest: this harness with another model, or this model with another harness."""
    others = [name for name, other in RECIPES.items() if dialect_of(other, provider) is not None]
    fitting = [name for name in SPOKEN_TO if dialect_of(recipe, name) is not None]
    spoken = " and ".join(SPOKEN_TO.get(provider, ())) or "none of the dialects that agent command lines speak"
    told = f"{recipe.name} speaks {', '.join(recipe.dialects)}; models of {provider} are spoken to by {spoken}. It runs with "
    told += " or ".join(f"agent_model: {EXAMPLES[name]}" for name in fitting)
    return (
        f"{told}; these models run with {', '.join([*others, 'native'])}."
        if others
        else f"{told}; this model may run with native."
    )
