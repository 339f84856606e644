"""A run as reporting sees it: its facts, its scores, its candidates, read from the run folder alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from longbanana_nb.reporting.audits import audit_lines
from longbanana_nb.reporting.facts import Derived, JudgeFacts, RunFacts, SystemFacts
from longbanana_nb.runs.claims_file import declarations
from longbanana_nb.runs.declared_contrasts import contrasts_of, declaration_of
from longbanana_nb.runs.kept_weights import require_weights
from longbanana_nb.scoring.contrasts import Contrast, read_contrasts
from longbanana_nb.scoring.policy import Policy
from longbanana_nb.scoring.weights import UNIFORM, Weights, fitting_weights

if TYPE_CHECKING:
    import pandas as pd

    from longbanana_nb.runs import Run, SystemSpec
    from longbanana_nb.scoring import Scores


def facts_of_run(run: Run) -> RunFacts:
    """The facts every footer states, from run.json; systems and judges in the order they were added."""
    release, policy, level = run.meta.release, policy_of_run(run), level_of_run(run)
    return RunFacts(
        release=release.name,
        revision=release.revision,
        systems=tuple(_system(entry.system(), simulated=entry.simulated) for entry in run.systems.values()),
        judges=tuple(
            JudgeFacts(spec.name, spec.protocol, spec.model.id if spec.model else None, entry.simulated)
            for entry in run.judges.values()
            for spec in (entry.judge(),)
        ),
        license=release.license,
        package=run.meta.package or None,
        level=level,
        derived=_derived(run),
        shard=str(run.meta.shard) if run.meta.shard is not None else None,
        audits=audit_lines(run),
        policy={name: value for name, value in asdict(policy).items() if name != "rule" and (name, value) != ("checks", "all")},
    )


def _derived(run: Run) -> Derived | None:
    """Nothing to say of a run without a plan, or whose release and reviewers state everything."""
    if not (run.path / "checks.jsonl").is_file():
        return None
    checks = run.checks()
    found = Derived(
        sum(check.dimension_source == "derived" for check in checks), sum(check.probe_is_derived for check in checks), len(checks)
    )
    return found if found.units or found.probes else None


def policy_of_run(run: Run) -> Policy:
    """The policy that the run's experiment asks for; the card's where it says nothing."""
    known = {field.name for field in fields(Policy)}
    asked = {name: value for name, value in run.meta.analysis.items() if name in known and value is not None}
    sample = run.check_sample
    return Policy(**asked | ({"checks": f"{sample.per_case} a case (seed {sample.seed})"} if sample is not None else {}))


def level_of_run(run: Run) -> float:
    """The confidence level of the run's intervals."""
    return float(run.meta.analysis.get("level") or 0.95)


def weights_of_run(run: Run, name: str | None = None) -> Weights:
    """The weights a run is scored with, or others that it keeps under a name.

    Raises:
        CallError: where the run keeps none of that name. DataError: where the kept file is damaged or belongs to another release.
    """
    from longbanana_nb.scoring.weights_file import read_weights

    asked = name or policy_of_run(run).weights
    if asked == UNIFORM:
        return Weights(UNIFORM)
    path = require_weights(run, asked)
    return fitting_weights(read_weights(path), run.meta.release.name, run.meta.release.revision, str(path))


def contrasts_of_run(run: Run) -> list[Contrast]:
    """The contrasts that the run's experiment declares, and those that its claims make overall."""
    kept = declarations(run)
    made = kept[-1].claims["claims"] if kept and run.meta.analysis.get("claims") else []
    claims = [(one["a"], one["b"], one["metric"]) for one in made if one["b"] is not None and one["scope"] == "overall"]
    return read_contrasts([(a, b) for a, b in contrasts_of(run)], claims)


def declared_text(run: Run) -> str:
    """When the run's contrasts were declared, in a sentence; empty where there are none."""
    pairs = contrasts_of(run)
    if not pairs:
        return "Declared by the run's claims."
    known = declaration_of(run, pairs)
    if known is None:
        return "Declared in the experiment; no date was kept."
    seen = known.verdicts_before
    return f"Declared {known.at}, " + (f"in sight of {seen} verdicts." if seen else "before any verdict.")


def scores_of_run(
    run: Run,
    grid: pd.DataFrame,
    *,
    policy: Policy | None = None,
    totals: pd.DataFrame | None = None,
    weights: Weights | None = None,
) -> Scores:
    """The scores of a run's verdict grid, under the run's policy and held to its planned checks unless others are given."""
    import pandas as pd

    from longbanana_nb.scoring import score_grid

    names = ("case_id", "check_id", "category", "dimension", "polarity")
    if totals is None:
        totals = pd.DataFrame([{name: getattr(check, name) for name in names} for check in run.checks()], columns=names)
    described = facts_of_run(run).systems
    columns = ("harness", "workflow", "agent_model", "backend", "simulated")
    systems = pd.DataFrame([{"system": one.name} | {name: getattr(one, name) for name in columns} for one in described])
    policy, level = policy or policy_of_run(run), level_of_run(run)
    return score_grid(
        grid,
        totals=totals,
        systems=systems,
        policy=policy,
        level=level,
        release=run.meta.release.name,
        weights=weights or weights_of_run(run, policy.weights),
        contrasts=contrasts_of_run(run),
        seed=int(run.meta.analysis.get("seed") or 1),
    )


def candidates_of_run(run: Run) -> list[Mapping[str, Any]]:
    """One mapping a finished candidate, as `coverage_table` reads it."""
    return [
        {
            "system": record.system,
            "outcome": record.outcome,
            "calls": {"agent": record.calls.agent, "image": record.calls.image},
            "cost_usd": record.cost_usd,
        }
        for record in run.records()
    ]


def _system(spec: SystemSpec, *, simulated: bool) -> SystemFacts:
    return SystemFacts(
        name=spec.name,
        harness=spec.harness.kind,
        workflow=spec.workflow if spec.best_of is None else f"{spec.workflow}, best of {spec.best_of}",
        agent_model=_model(spec.agent_model),
        backend=_model(spec.backend),
        simulated=simulated,
        privileges=tuple(spec.privileges),
        sandbox=spec.sandbox,
    )


def _model(model: Any) -> str | None:
    """A model's id; with its provider where the id alone does not say it."""
    if model is None:
        return None
    strength = model.params.get("strength")
    name = model.id if model.provider in model.id else f"{model.provider}/{model.id}"
    return f"{name} {strength}" if isinstance(strength, str) else str(name)
