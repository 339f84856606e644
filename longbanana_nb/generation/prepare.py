"""Before anything is drawn: every system looked at, its models found, its hash made, and all that cannot run refused at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import CallError, Fault
from longbanana_nb.generation.agent_contracts import AgentFactory
from longbanana_nb.generation.contracts import BackendFactory, Capabilities, ModelChoice
from longbanana_nb.generation.harnesses import FITTING, READY, VERSIONS, harness_of
from longbanana_nb.generation.jobs import choice, resolve
from longbanana_nb.generation.paying import is_unpriced, most_of
from longbanana_nb.names import nearest
from longbanana_nb.runs import system_sha256

if TYPE_CHECKING:
    from longbanana_nb.release import Case
    from longbanana_nb.runs import Limits, SystemSpec
    from longbanana_nb.runs.system_spec import ModelSpec

Factories = Mapping[str, Callable[[ModelChoice], Any] | str]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A system that can run: its hash, what was hashed beside its spec, where its models come from, and what a call may cost."""

    spec: SystemSpec
    sha256: str
    versions: dict[str, str]
    simulated: bool
    backend: BackendFactory | str | None
    agent: AgentFactory | str | None
    image_usd: float = 0.0  # the most one image call may cost
    turn_usd: float = 0.0  # the most one turn of the agent model may cost
    unpriced: tuple[str, ...] = ()  # "provider/id" of models whose calls cost what nobody knows
    notes: tuple[str, ...] = ()  # sentences on its models for whoever runs it

    @property
    def is_paid(self) -> bool:
        """Whether any of its calls cost money."""
        return self.image_usd > 0 or self.turn_usd > 0 or bool(self.unpriced)


def prepare(systems: Sequence[SystemSpec], cases: Iterable[Case], *, backends: Factories, agents: Factories) -> list[Prepared]:
    """Prepare systems in their order.

    Raises:
        CallError: naming every system that cannot run as written: a harness or workflow that is not there yet, a provider nobody
            handed in, parameters a model refuses, more images in a call than the model takes (once a system).
    """
    prepared, faults = [], []
    known_cases = list(cases)
    for spec in systems:
        try:
            prepared.append(_prepared(spec, known_cases, backends, agents))
        except CallError as error:
            who = f"system {spec.name!r}"
            found = str(error) if who in str(error) else f"{who}: {error}"
            faults.append(Fault(f"system {spec.name}", "cannot_run", found, "a system that can run", ""))
    if faults:
        raise CallError("\n".join(["These systems cannot run as written:", *(f"  {fault.found}" for fault in faults)]))
    return prepared


def _prepared(spec: SystemSpec, cases: Sequence[Case], backends: Factories, agents: Factories) -> Prepared:
    harness_of(spec)
    kind = spec.harness.kind
    versions = {"harness": f"{kind}/{VERSIONS[kind]}"}
    if kind in READY:
        versions |= READY[kind](spec)
    backend = _factory(spec, "backend", spec.backend, backends)
    agent = _factory(spec, "agent model", spec.agent_model, agents)
    simulated, image_usd, turn_usd = False, 0.0, 0.0
    unpriced: list[str] = []
    notes: list[str] = []
    if backend is not None and spec.backend is not None:
        image_model = resolve(backend)(choice(spec.backend))
        capabilities: Capabilities = image_model.capabilities
        image_usd = most_of(image_model)
        unpriced += [f"{spec.backend.provider}/{spec.backend.id}"] if is_unpriced(image_model) else []
        notes += _warnings(image_model)
        versions["backend"] = capabilities.version
        simulated = simulated or capabilities.simulated
        if kind in FITTING:
            for case in cases:
                FITTING[kind](spec, case, capabilities)
    if agent is not None and spec.agent_model is not None:
        model = resolve(agent)(choice(spec.agent_model))
        versions["agent"] = model.version
        turn_usd = most_of(model)
        unpriced += [f"{spec.agent_model.provider}/{spec.agent_model.id}"] if is_unpriced(model) else []
        notes += _warnings(model)
        simulated = simulated or model.simulated
    if unpriced and spec.limits.max_usd_per_case is not None:
        raise CallError(
            f"system {spec.name!r}: the price of {' and '.join(unpriced)} is unknown, so limits.max_usd_per_case cannot be kept. "
            "Set it to null to run at an unknown cost, or choose a model with a known price."
        )
    sha256 = system_sha256(spec, versions)
    return Prepared(
        spec, sha256, versions, simulated, backend, agent, image_usd, turn_usd, tuple(unpriced), tuple(dict.fromkeys(notes))
    )


def require_graphs(systems: Sequence[Prepared], cases: Iterable[Case], graphs: Mapping[str, object]) -> None:
    """Raise CallError naming every system that declares the privileged graph, where a case has none."""
    lost = [case.case_id for case in cases if case.case_id not in graphs]
    asking = [system.spec.name for system in systems if "graph" in system.spec.privileges]
    if asking and lost:
        shown = ", ".join(lost[:5]) + (f" and {len(lost) - 5} more" if len(lost) > 5 else "")
        raise CallError(
            f"{', '.join(asking)}: the release has no graph of {shown}. Published releases keep their graphs back; pd-direct "
            "runs where privileged/graphs.jsonl is there, as in the demo release."
        )


def require_ready(systems: Sequence[Prepared], limits: Limits) -> None:
    """Hold what only making candidates needs: keys, and prices where the run has a limit in dollars.

    Raises:
        CallError: naming everything that is missing.
    """
    faults = []
    for system in systems:
        for factory, model in ((system.backend, system.spec.backend), (system.agent, system.spec.agent_model)):
            ready = getattr(resolve(factory)(choice(model)), "ready", None) if factory is not None and model is not None else None
            try:
                if ready is not None:
                    ready()
            except CallError as error:
                faults.append(f"system {system.spec.name!r}: {error}")
        if system.unpriced and limits.max_usd is not None:
            faults.append(
                f"system {system.spec.name!r}: the price of {' and '.join(system.unpriced)} is unknown, so limits.max_usd cannot "
                "be kept. Set it to null to run at an unknown cost, or choose a model with a known price."
            )
    if faults:
        raise CallError("\n".join(["These systems cannot run now:", *(f"  {fault}" for fault in dict.fromkeys(faults))]))


def _warnings(model: Any) -> list[str]:
    """What the catalogue has to say of a provider's model: that it ends, that something is unknown."""
    return list(getattr(getattr(model, "model", None), "warnings", ()))


def _factory(
    spec: SystemSpec, role: str, model: ModelSpec | None, factories: Factories
) -> Callable[[ModelChoice], Any] | str | None:
    """The factory of a model's provider; None where the system has no such model."""
    if model is None:
        return None
    if model.provider not in factories:
        near = nearest(model.provider, factories)
        there = ", ".join(sorted(factories)) or "none"
        hint = (
            f" Did you mean {near!r}?"
            if near
            else " Real providers are not there yet."
            if factories and role == "backend"
            else ""
        )
        raise CallError(
            f"system {spec.name!r}: {role} provider {model.provider!r} is not among those that can be used here ({there}).{hint}"
        )
    return factories[model.provider]
