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


class JudgeSpec(StrictShape):
    """One judge. `model`, `packet` and `agentic` are null for `tools` and `truth`, which ask no model."""

    name: str
    protocol: Literal["direct", "agentic", "tools", "truth"]
    model: ModelSpec | None = None
    packet: Packet | None = None
    checks_per_call: Count = 1
    agentic: Agentic | None = None
    reask: dict[InvalidReason, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    samples: Count = 1

    @model_validator(mode="before")
    @classmethod
    def _resolve_packet(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("protocol") in MODEL_PROTOCOLS and value.get("packet") is None:
            return {**value, "packet": {}}
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
            for field in ("model", "packet")
            if not self.asks_model and getattr(self, field) is not None
        ]
        if self.agentic is not None and self.protocol != "agentic":
            found.append((f"A {self.protocol} judge with agentic settings", "Remove agentic."))
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
