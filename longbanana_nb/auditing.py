"""The audit of a run's judge from end to end: who is audited, by which pairs, asked how, and what it came to in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from longbanana_nb.embedded import model_protocols, pair_maker, protocols
from longbanana_nb.errors import CallError
from longbanana_nb.names import nearest
from longbanana_nb.release import load_release
from longbanana_nb.runs import JudgeSpec, Run, judge_sha256
from longbanana_nb.runs.experiment import Limits

if TYPE_CHECKING:
    from longbanana_nb.judging.audit.running import Bench, SourceChoice
    from longbanana_nb.judging.model_engine import Patience


def audit_run(
    run: Run,
    profile: JudgeSpec,
    *,
    pairs: int,
    seed: int = 1,
    source: SourceChoice = "auto",
    max_usd: float | None = None,
    patience: Patience | None = None,
) -> dict[str, Any]:
    """Audit one judge on a run by minimal pairs; returns what `audits/<judge>/audit.json` holds (`lb.audit.v1`)."""
    from longbanana_nb.judging.audit.running import audit_judge

    bench = bench_of(run, profile, max_usd, patience, "audit")
    return audit_judge(bench, per_kind=pairs, seed=seed, source=source, graph_maker=pair_maker(bench.release.name))


def canary_run(
    run: Run, profile: JudgeSpec, *, units: int, seed: int = 1, max_usd: float | None = None, patience: Patience | None = None
) -> dict[str, Any]:
    """Ask the canary set of a run once more; returns what `audits/<judge>/canary.json` holds (`lb.canary-drift.v1`)."""
    from longbanana_nb.judging.audit.canary import ask_canary

    return ask_canary(bench_of(run, profile, max_usd, patience, "canary"), units=units, seed=seed)


def judge_of(run: Run, name: str | None) -> JudgeSpec:
    """A judge of the run by name; None means the first that looks at pixels.

    Raises:
        CallError: where there is none of that name.
    """
    if name is None:
        from longbanana_nb.workbench import main_judge

        name = main_judge(run)
    if name not in run.judges:
        near = nearest(name, run.judges)
        hint = f" Did you mean {near!r}?" if near else ""
        raise CallError(f"judge: found no {name!r} in {run.path}; there are: {', '.join(run.judges) or 'none'}.{hint}")
    return run.judges[name].judge()


def bench_of(
    run: Run, profile: JudgeSpec, max_usd: float | None = None, patience: Patience | None = None, what: str = "audit"
) -> Bench:
    """The judge with the way it is asked; `what` says whose journal its answers go to, "audit" or "canary"."""
    from longbanana_nb.judging.audit.asking import ProbeAsker
    from longbanana_nb.judging.audit.running import Bench
    from longbanana_nb.judging.audit.store import AuditFolder

    release = load_release(run.manifest)
    run.require_release(release)
    evaluation = release.evaluation()
    if not profile.asks_model:
        probing = protocols()[profile.protocol]
        sha256 = judge_sha256(profile, probing.versions())
        return Bench(run, release, evaluation, profile, sha256, ProbeAsker(profile, sha256, probing, evaluation))
    from longbanana_nb.judging.audit.asking_models import ModelAsker

    protocol, folder = model_protocols()[profile.protocol], AuditFolder(run, profile.name)
    sha256 = judge_sha256(profile, protocol.versions(profile))
    answers = folder.answers.path if what == "audit" else folder.canary_answers.path
    asker = ModelAsker(run, release, evaluation, profile, sha256, protocol, answers, folder.calls, Limits(max_usd=max_usd))
    if patience is not None:
        asker.patience = patience
    return Bench(run, release, evaluation, profile, sha256, asker)


def audit_text(told: dict[str, Any]) -> str:
    """An audit for a terminal: the line of the tables, then a line a kind."""
    from longbanana_nb.reporting.audits import audit_line, row_text

    lines = [audit_line(told["judge"], told, told["judge_sha256"])]
    for part in ("sensitivity", "false_alarms", "injection"):
        lines += [f"  {row_text(row, part)}" for row in told[part] if row["by"] == "kind"]
    lines += [f"  not made: {one['kind']}: {one['reason']} ({one['checks']} checks)" for one in told["left_out"] if one["checks"]]
    if told["repeats"]:
        one = told["repeats"]
        lines.append(f"  {one['samples']} samples say the same on {one['agreed']} of {one['compared']} questions")
    if told["cost_usd"]:
        lines.append(f"  cost ${told['cost_usd']:.4f}")
    return "\n".join(lines)


def canary_text(told: dict[str, Any]) -> str:
    """A canary for a terminal: a line a round, then what has drifted since the first."""
    lines = [f"{told['judge']}: canary of {told['units']} questions, {len(told['rounds'])} rounds"]
    lines += [
        f"  round {one['round']}: {one['answered']} answered, {one['invalid']} invalid, {one['from']}"
        + (f", served by {', '.join(one['models'])}" if one["models"] else "")
        for one in told["rounds"]
    ]
    for one in told["drift"]:
        test = "" if one["p_sign"] is None else f", sign test p = {one['p_sign']:.3g}"
        served = "" if one["same_models"] else "; another model answered"
        lines.append(
            f"  round {one['round']} against round 0: {one['changed']} of {one['compared']} answers changed "
            f"({one['up']} up, {one['down']} down{test}){served}"
        )
    return "\n".join(lines)
