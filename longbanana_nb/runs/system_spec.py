"""What a system is: harness, workflow, agent model, backend, references, limits."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from longbanana_nb.runs.keyscan import looks_like_key
from longbanana_nb.runs.shapes import StrictShape, inconsistent, parse_shape, usable_name

FLOORS = ("blank", "single-reference", "collage", "words")
DIRECT = ("fp-direct", "pd-direct")
AGENTS = ("native", "openclaw", "opencode", "hermes", "claude-code", "codex")
HARNESS_KINDS = (*DIRECT, *AGENTS, "command", "imported", *FLOORS)
WORKFLOWS = ("minimal", "react", "plan-exec", "reflect", "rpr")
POLICY_OF = {"fp-direct": "window", "pd-direct": "staged", "single-reference": "first", "blank": "none", "words": "none"}

Kind = Literal[
    "fp-direct", "pd-direct", "native", "openclaw", "opencode", "hermes", "claude-code", "codex",
    "command", "imported", "blank", "single-reference", "collage", "words",
]  # fmt: skip
Texts = Annotated[tuple[str, ...], Field(strict=False)]
Seconds = Annotated[float, Field(gt=0)]
Dollars = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,127}")
_CREDENTIALS = re.compile(r"//[^/@]*@|[?#]")


class HarnessSpec(StrictShape):
    """How a backend is driven; `timeout_s` is per case. `argv` and `env` (names, never values) are for `command`."""

    kind: Kind
    version: str | None = None
    timeout_s: Seconds | None = None
    max_turns: Count | None = None
    argv: Texts = ()
    env: Texts = ()


class ModelSpec(StrictShape):
    """A language model: who serves it, its id there, and its parameters.

    An endpoint of one's own has a `base_url`; `key_env` names the variable that holds its key, and never the key.
    """

    provider: str
    id: str
    route: str | None = None
    params: dict[str, JsonValue] = Field(default_factory=dict)
    base_url: str | None = None
    key_env: str | None = None

    @field_validator("base_url", "key_env")
    @classmethod
    def _holds_no_key(cls, value: str | None, info: ValidationInfo) -> str | None:
        is_name = info.field_name != "key_env" or value is None or _VARIABLE.fullmatch(value)
        if value is not None and (not is_name or looks_like_key(value) or _CREDENTIALS.search(value)):
            fix = "Put the key into an environment variable and its name into key_env."
            expected = "the name of a variable (A-Z, 0-9, _)" if info.field_name == "key_env" else "an address without a key"
            inconsistent([(f"{info.field_name} that is or holds a key", fix)], expected)
        return value

    @model_serializer(mode="wrap")
    def _without_what_is_not_said(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A model without an endpoint of one's own is written, and hashed, as if there were no such fields."""
        written: dict[str, Any] = dump(self)
        return {key: value for key, value in written.items() if value is not None or key not in ("base_url", "key_env")}


class BackendSpec(ModelSpec):
    """An image model, named the same way."""


class ReferencePolicy(StrictShape):
    """Which references reach the backend: windows over the inventory, stages, the agent's choice, the first, all, none."""

    policy: Literal["window", "staged", "agent", "first", "all", "none"]
    size: Count = 8
    stride: Count = 8
    background: Literal["first", "omit"] = "first"
    carry_last: bool = True


class SystemLimits(StrictShape):
    """What one case may cost."""

    max_usd_per_case: Dollars | None = None
    max_image_calls: Count | None = None


class SystemSpec(StrictShape):
    """One system under test. Fields left out are resolved here, so that the hash covers what really runs.

    A system without `references` gets the policy of its harness: `window` (size 8, stride 8) for `fp-direct`, `staged` for
    `pd-direct`, `first` for `single-reference`, `none` for `blank` and `words`, `all` for `collage`, `command` and
    `imported`, `agent` for the rest.
    """

    name: str
    harness: HarnessSpec
    workflow: Literal["minimal", "react", "plan-exec", "reflect", "rpr"] | None = None
    agent_model: ModelSpec | None = None
    backend: BackendSpec | None = None
    references: ReferencePolicy
    limits: SystemLimits = SystemLimits()
    samples: Count = 1
    privileges: Annotated[tuple[Literal["graph"], ...], Field(strict=False)] = ()
    sandbox: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _resolve_references(cls, value: Any) -> Any:
        if not isinstance(value, dict) or value.get("references") is not None:
            return value
        harness = value.get("harness")
        kind = harness.get("kind") if isinstance(harness, dict) else getattr(harness, "kind", None)
        usual = "all" if kind in ("collage", "command", "imported") else "agent"
        return {**value, "references": {"policy": POLICY_OF.get(str(kind), usual)}}

    @field_validator("name")
    @classmethod
    def _name_is_usable(cls, name: str) -> str:
        return usable_name("a system's name", name)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        inconsistent(_problems(self))
        return self

    @property
    def is_floor(self) -> bool:
        """Whether this is one of the four floors, which need no model."""
        return self.harness.kind in FLOORS


def parse_system(value: Any, where: str = "system") -> SystemSpec:
    """Read a mapping as a system; CallError with every fault, `where` naming the place."""
    return parse_shape(SystemSpec, value, where)


def floor_system(kind: str) -> SystemSpec:
    """The floor of this kind as a system of the same name."""
    return parse_system({"name": kind, "harness": {"kind": kind}}, f"floor {kind}")


def _problems(spec: SystemSpec) -> list[tuple[str, str]]:
    """What does not fit together in a system, as (found, what to do)."""
    kind = spec.harness.kind
    found: list[tuple[str, str]] = []
    wants_agent = kind in AGENTS
    wants_backend = wants_agent or kind in DIRECT
    for field, wanted in (("workflow", wants_agent), ("agent_model", wants_agent), ("backend", wants_backend)):
        given = getattr(spec, field) is not None
        if wanted and not given:
            found.append((f"A {kind} system without {field}", f"Add {field}."))
        if given and not wanted and kind not in ("command", "imported"):  # those two only describe what ran elsewhere
            found.append((f"A {kind} system with {field}, which it does not use", f"Remove {field}."))
    if kind == "pd-direct" and "graph" not in spec.privileges:
        found.append(("A pd-direct system without the privileged graph", "Add privileges: [graph]."))
    if spec.privileges and kind != "pd-direct":
        found.append((f"A {kind} system with privileges, which only pd-direct uses", "Remove privileges."))
    if kind == "command" and not spec.harness.argv:
        found.append(("A command system without argv", "Add harness.argv, for example ['python', 'draw.py', '{task}', '{out}']."))
    if kind != "command" and (spec.harness.argv or spec.harness.env):
        found.append((f"A {kind} system with argv or env, which only command uses", "Remove them."))
    return found
