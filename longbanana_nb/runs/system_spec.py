"""What a system is: harness, workflow, agent model, backend, references, limits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    JsonValue,
    PrivateAttr,
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
COMMAND_LINES = ("openclaw", "opencode", "hermes", "claude-code", "codex")
AGENTS = ("native", *COMMAND_LINES)
PROGRAMS = ("command", *COMMAND_LINES)  # run as programs of others, in a sandbox unless the system says otherwise
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
    """How a backend is driven; `timeout_s` is per case.

    `argv`, `env` (names, never values) and `files` (what the program may read beside its arguments) are for `command`; `disk_mb`
    and `memory_mb` bound any program that is run in a sandbox.
    """

    kind: Kind
    version: str | None = None
    timeout_s: Seconds | None = None
    max_turns: Count | None = None
    argv: Texts = ()
    env: Texts = ()
    files: Texts = ()
    disk_mb: Count | None = None
    memory_mb: Count | None = None

    @model_serializer(mode="wrap")
    def _without_what_is_not_said(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Written, and hashed, without the fields that only some programs need, where they are not given."""
        written: dict[str, Any] = dump(self)
        return {key: value for key, value in written.items() if value or key not in ("files", "disk_mb", "memory_mb")}


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
    `imported`, `agent` for the rest. One that runs a program of others, and does not say `sandbox`, runs it in `bubblewrap`.
    """

    name: str
    harness: HarnessSpec
    workflow: Literal["minimal", "react", "plan-exec", "reflect", "rpr"] | None = None
    agent_model: ModelSpec | None = None
    backend: BackendSpec | None = None
    references: ReferencePolicy
    limits: SystemLimits = SystemLimits()
    best_of: Annotated[int, Field(ge=2, le=64)] | None = None  # separate pictures, of which the agent itself chooses one
    samples: Count = 1
    privileges: Annotated[tuple[Literal["graph"], ...], Field(strict=False)] = ()
    sandbox: Literal["bubblewrap", "none"] | None = None
    _folder: Path | None = PrivateAttr(default=None)  # where it was written: paths of a program's files begin there

    @model_validator(mode="before")
    @classmethod
    def _resolve_defaults(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        harness = value.get("harness")
        kind = harness.get("kind") if isinstance(harness, dict) else getattr(harness, "kind", None)
        if kind in PROGRAMS and value.get("sandbox") is None:
            value = {**value, "sandbox": "bubblewrap"}
        if value.get("references") is not None:
            return value
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

    @model_serializer(mode="wrap")
    def _without_what_is_not_said(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Written, and hashed, without `best_of` where it is not given."""
        written: dict[str, Any] = dump(self)
        return {key: value for key, value in written.items() if value is not None or key != "best_of"}

    @property
    def folder(self) -> Path | None:
        """The folder of the file it was written in; None where it was made in code or read back from a run."""
        return self._folder

    def written_in(self, folder: Path) -> Self:
        """The same system, known to be written in a file of this folder; it takes no part in its identity."""
        placed = self.model_copy()
        placed._folder = folder
        return placed

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
    if spec.best_of is not None and (kind != "native" or spec.workflow != "minimal"):
        fix = "Remove best_of, or take harness native with workflow minimal."
        found.append((f"A {kind} system of workflow {spec.workflow} with best_of, the control of equal budget", fix))
    if kind == "pd-direct" and "graph" not in spec.privileges:
        found.append(("A pd-direct system without the privileged graph", "Add privileges: [graph]."))
    if spec.privileges and kind != "pd-direct":
        found.append((f"A {kind} system with privileges, which only pd-direct uses", "Remove privileges."))
    if kind == "command" and not spec.harness.argv:
        found.append(("A command system without argv", "Add harness.argv, for example ['python', 'draw.py', '{task}', '{out}']."))
    if kind != "command" and (spec.harness.argv or spec.harness.env or spec.harness.files):
        found.append((f"A {kind} system with argv, env or files, which only command uses", "Remove them."))
    if kind not in (*PROGRAMS, "imported"):
        if spec.sandbox is not None:
            found.append((f"A {kind} system with sandbox, which runs no program of others", "Remove sandbox."))
        if spec.harness.disk_mb or spec.harness.memory_mb:
            found.append((f"A {kind} system with disk_mb or memory_mb, which bound programs of others", "Remove them."))
    return found
