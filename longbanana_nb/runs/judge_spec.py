"""What a judge is: protocol, model, packet, re-asking."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from longbanana_nb.runs.shapes import StrictShape, inconsistent, parse_shape, usable_name
from longbanana_nb.runs.system_spec import Count, ModelSpec, Texts

InvalidReason = Literal[
    "parse_error", "missing_field", "bad_value", "out_of_range", "ambiguous", "truncated", "refused", "filtered",
    "too_large", "transport", "tool_unavailable", "unanswerable", "no_scene",
]  # fmt: skip
TRANSIENT = ("parse_error", "missing_field", "bad_value", "out_of_range", "ambiguous", "truncated", "transport")


MODEL_PROTOCOLS = ("direct", "agentic")


class JudgeModel(ModelSpec):
    """The model of a judge."""


class Transcode(StrictShape):
    """The named way images are made ready for a judge."""

    name: str
    version: Count = 1


class Packet(StrictShape):
    """What a judge is shown for a check."""

    order: Literal["candidate-first", "references-first"] = "candidate-first"
    references: Literal["bound", "none"] = "bound"
    crops: Literal["off", "bound"] = "off"
    transcode: Transcode | None = None


class Agentic(StrictShape):
    """What a critic of the agentic protocol may do."""

    max_turns: Count = 6
    may_open: Literal["bound"] = "bound"
    tools: Texts = ()


class Sending(StrictShape):
    """How requests travel: it changes what they cost and how long they take, never what they say, so it is not hashed.

    `cache` asks the provider to keep what requests share, for five minutes or an hour; `images` are laid down with the provider
    once and named by handle, or sent within each request; `batch` hands requests in together, to be answered within a day.
    """

    cache: Literal["off", "5m", "1h"] = "off"
    images: Literal["inline", "uploaded"] = "inline"
    batch: bool = False

    @field_validator("cache", mode="before")
    @classmethod
    def _unquoted_off(cls, value: Any) -> Any:
        """YAML reads an unquoted `off` as false; here it can mean nothing else."""
        return "off" if value is False else value


class JudgeSpec(StrictShape):
    """One judge. `model`, `packet`, `agentic` and `sending` are null for `tools` and `truth`, which ask no model."""

    name: str
    protocol: Literal["direct", "agentic", "tools", "truth"]
    model: JudgeModel | None = None
    packet: Packet | None = None
    checks_per_call: Count = 1
    agentic: Agentic | None = None
    sending: Sending | None = None
    reask: dict[InvalidReason, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    samples: Count = 1

    @model_validator(mode="before")
    @classmethod
    def _resolve_parts(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("protocol") in MODEL_PROTOCOLS:
            return {**value, **{part: {} for part in ("packet", "sending") if value.get(part) is None}}
        return value

    @field_validator("name")
    @classmethod
    def _name_is_usable(cls, name: str) -> str:
        return usable_name("a judge's name", name)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        found: list[tuple[str, str]] = []
        if self.asks_model and self.model is None:
            found.append((f"A {self.protocol} judge without a model", "Add model."))
        found += [
            (f"A {self.protocol} judge with {field}, which it does not use", f"Remove {field}.")
            for field in ("model", "packet", "sending")
            if not self.asks_model and getattr(self, field) is not None
        ]
        if self.agentic is not None and self.protocol != "agentic":
            found.append((f"A {self.protocol} judge with agentic settings", "Remove agentic."))
        if self.protocol == "agentic" and self.sending is not None and self.sending.batch:
            found.append(("An agentic judge in batches: each turn waits for the one before", "Set sending.batch to false."))
        if not self.asks_model and self.checks_per_call != 1:
            found.append((f"A {self.protocol} judge with checks_per_call", "Remove it."))
        inconsistent(found)
        return self

    @property
    def asks_model(self) -> bool:
        """Whether a language model answers; `tools` and `truth` answer probes."""
        return self.protocol in MODEL_PROTOCOLS


def parse_judge(value: Any, where: str = "judge") -> JudgeSpec:
    """Read a mapping as a judge profile; CallError with every fault, `where` naming the place."""
    return parse_shape(JudgeSpec, value, where)
