"""What an experiment will do and cost, and what in it cannot run; looking spends nothing and writes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from longbanana_nb.errors import CallError
from longbanana_nb.generation import prepare
from longbanana_nb.generation.command import notes_on
from longbanana_nb.generation.engine import needs_making
from longbanana_nb.generation.fp_direct import windows
from longbanana_nb.generation.native import MAX_IMAGE_CALLS, MAX_TURNS
from longbanana_nb.generation.prepare import require_graphs
from longbanana_nb.planned_judging import plan_model_judge
from longbanana_nb.planned_time import CANNOT_RUN, NOTHING_TO_DO, Time, measured_in
from longbanana_nb.plans import JudgePlan, Plan, SystemPlan
from longbanana_nb.runs import judge_sha256, open_run, select_cases, selection_notes, usual_workers, verdict_grid
from longbanana_nb.runs.plan import plan_checks
from longbanana_nb.runs.selection import select_checks
from longbanana_nb.runs.shard import require_same_shard
from longbanana_nb.runs.system_spec import AGENTS, COMMAND_LINES, PROGRAMS

if TYPE_CHECKING:
    from longbanana_nb.generation.prepare import Factories, Prepared
    from longbanana_nb.judging import Protocol
    from longbanana_nb.judging.model_protocols import ModelProtocol
    from longbanana_nb.planned_time import Measured
    from longbanana_nb.release import Case, Release
    from longbanana_nb.runs import Entry, Experiment, JudgeSpec, Run, SystemSpec


def make_plan(
    experiment: Experiment,
    release: Release,
    *,
    backends: Factories,
    agents: Factories,
    protocols: Mapping[str, Protocol] = MappingProxyType({}),
    model_protocols: Mapping[str, ModelProtocol] = MappingProxyType({}),
) -> Plan:
    """Look at an experiment, its release and what its run already holds.

    Raises:
        CallError, DataError: where the experiment names cases the release lacks, or the run belongs to another release.
    """
    chosen = [release.cases[case_id] for case_id in select_cases(release.cases, experiment.cases)]
    run = _existing(experiment, release)
    earlier = measured_in([*([run] if run is not None else []), *(open_run(path) for path in experiment.reuse)])
    paid_lanes = experiment.limits.concurrency
    graphs = release.privileged() if any("graph" in spec.privileges for spec in experiment.systems) else {}
    systems = tuple(
        _system_plan(
            spec,
            _part(experiment, spec, chosen),
            run,
            backends,
            agents,
            earlier,
            paid_lanes,
            experiment.limits.max_usd,
            graphs,
        )
        for spec in experiment.all_systems()
    )
    judges = tuple(
        _model_judge_plan(judge, experiment, release, chosen, run, model_protocols, earlier)
        if judge.asks_model
        else _judge_plan(judge, experiment, release, chosen, run, protocols, earlier)
        for judge in experiment.judges
    )
    return Plan(
        experiment=experiment.path,
        run=experiment.run,
        release=release.name,
        revision=release.revision,
        cases=len(chosen),
        processes=usual_workers(),
        concurrency=paid_lanes,
        notes=(*_shard_notes(experiment), *selection_notes(release.cases, experiment.cases), *notes_on(experiment.all_systems())),
        systems=systems,
        judges=judges,
    )


def _shard_notes(experiment: Experiment) -> list[str]:
    """That this is the plan of a shard, where it is."""
    if experiment.shard is None:
        return []
    money = f"; its share of limits.max_usd is ${experiment.limits.max_usd:g}" if experiment.limits.max_usd is not None else ""
    return [f"shard {experiment.shard}: a part of the experiment's pairs of a system and a case{money}."]


def _part(experiment: Experiment, spec: SystemSpec, cases: Sequence[Case]) -> list[Case]:
    """The cases of a system that this part of the experiment takes."""
    return [case for case in cases if experiment.holds(spec.name, case.case_id)]


def _existing(experiment: Experiment, release: Release) -> Run | None:
    if not (experiment.run / "run.json").is_file():
        return None
    run = open_run(experiment.run)
    run.require_release(release)
    require_same_shard(run.path, run.meta.shard, experiment.shard)
    return run


def _renamed(entries: Mapping[str, Entry], kind: str, name: str, sha256: str) -> str | None:
    """Why a name cannot be used in a run that knows it for something else."""
    if name not in entries or entries[name].sha256 == sha256:
        return None
    return f"{kind} {name!r} stands for another {kind} in this run; choose a new name or a new run."


def _system_plan(
    spec: SystemSpec,
    cases: Sequence[Case],
    run: Run | None,
    backends: Factories,
    agents: Factories,
    earlier: Measured,
    paid_lanes: int,
    max_usd: float | None,
    graphs: Mapping[str, object],
) -> SystemPlan:
    asked = len(cases) * spec.samples
    reason, prepared = None, None
    if spec.harness.kind != "imported":
        try:
            prepared = prepare([spec], cases, backends=backends, agents=agents)[0]
            require_graphs([prepared], cases, graphs)
        except CallError as error:
            reason = str(error).splitlines()[-1].strip()
    if prepared is not None and run is not None:
        reason = _renamed(run.systems, "system", spec.name, prepared.sha256)
    missing = [
        case
        for case in cases
        for n in range(spec.samples)
        if run is None or needs_making(run.candidate(spec.name, case.case_id, n).record())
    ]
    calls = _total([_image_calls(spec, case) for case in missing])
    images = _total([_images_sent(spec, case) for case in missing])
    if prepared is not None and reason is None and prepared.unpriced and max_usd is not None:
        names = " and ".join(prepared.unpriced)
        reason = f"system {spec.name!r}: the price of {names} is unknown, so limits.max_usd cannot be kept; set it to null."
    cost = _cost(spec, prepared, calls, len(missing)) if reason is None else None
    time = _generation_time(spec, prepared, len(missing), earlier, paid_lanes) if reason is None else CANNOT_RUN
    notes = prepared.notes if prepared is not None else ()
    return SystemPlan(spec.name, asked, len(missing), calls, images, cost, time.seconds, time.basis, reason, notes)


def _generation_time(spec: SystemSpec, prepared: Prepared | None, candidates: int, earlier: Measured, paid_lanes: int) -> Time:
    """Free candidates share this machine's processors, paid ones wait for a network; imported ones are not made here."""
    if prepared is None:
        return NOTHING_TO_DO
    lanes = paid_lanes if prepared.is_paid else usual_workers()
    if spec.harness.kind in PROGRAMS:
        lanes = min(paid_lanes, usual_workers())
    return earlier.generation(spec, prepared.sha256, candidates, lanes)


def _image_calls(spec: SystemSpec, case: Case) -> int | None:
    """Image calls of one candidate at most; None where nothing bounds them."""
    most = spec.limits.max_image_calls
    if spec.is_floor or spec.harness.kind == "imported":
        return 0
    if spec.harness.kind == "command" and spec.backend is None:
        return 0 if spec.sandbox == "bubblewrap" else None  # without a sandbox, it may call whom it likes
    if spec.harness.kind == "fp-direct":
        return min(_windows(spec, case), most) if most is not None else _windows(spec, case)
    return most or (MAX_IMAGE_CALLS if spec.harness.kind in AGENTS else None)


def _images_sent(spec: SystemSpec, case: Case) -> int | None:
    """Reference images one candidate sends to the backend; None where an agent chooses."""
    if spec.is_floor or spec.harness.kind == "imported":
        return 0
    if spec.harness.kind == "fp-direct":
        return min(len(case.references), spec.references.size) if _windows(spec, case) == 1 else len(case.references)
    return len(case.references) if spec.harness.kind == "command" and spec.backend is None else None


def _windows(spec: SystemSpec, case: Case) -> int:
    return len(windows(case.references, spec.references.size, spec.references.stride))


def _total(numbers: list[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _cost(spec: SystemSpec, prepared: Prepared | None, image_calls: int | None, candidates: int) -> float | None:
    """Dollars at most: 0 for what is free, else the least that its calls and its own limit allow; None where neither is known.

    An agent model may take all its turns, each as large as its conversation is allowed to grow; a command line grows its own.
    """
    if spec.harness.kind == "command" and spec.sandbox == "none":
        return None  # what it pays by itself is not seen here
    if prepared is None or not prepared.is_paid:
        return 0.0
    if prepared.unpriced:
        return None
    bounds = [spec.limits.max_usd_per_case * candidates] if spec.limits.max_usd_per_case is not None else []
    is_ours = spec.harness.kind not in COMMAND_LINES
    turns = (spec.harness.max_turns or (MAX_TURNS if spec.harness.kind == "native" else None)) if is_ours else None
    if image_calls is not None and (prepared.turn_usd == 0 or turns is not None):
        bounds.append(image_calls * prepared.image_usd + candidates * (turns or 0) * prepared.turn_usd)
    return min(bounds, default=None)


def _judge_plan(
    judge: JudgeSpec,
    experiment: Experiment,
    release: Release,
    cases: Sequence[Case],
    run: Run | None,
    protocols: Mapping[str, Protocol],
    earlier: Measured,
) -> JudgePlan:
    evaluation, answers = release.evaluation(), _answers(judge, experiment, release, cases)
    reason, cost = None, 0.0
    if judge.protocol == "tools" and not evaluation.probes:
        reason = f"judge {judge.name!r}: the release has no probes, and the protocol tools answers probes only."
    elif judge.protocol == "truth" and not release.privileged():
        reason = f"judge {judge.name!r}: the release has no graphs, so nothing says what its references show."
    elif run is not None and judge.protocol in protocols:
        sha256 = judge_sha256(judge, protocols[judge.protocol].versions())
        reason = _renamed(run.judges, "judge", judge.name, sha256)
    answered = _answered(run, judge.name)
    time = earlier.judging(judge, max(0, answers - answered), usual_workers()) if reason is None else CANNOT_RUN
    return JudgePlan(judge.name, answers, answered, 0, 0, cost if reason is None else None, time.seconds, time.basis, reason)


def _answers(judge: JudgeSpec, experiment: Experiment, release: Release, cases: Sequence[Case]) -> int:
    """How many answers there should be in all: sampled checks x samples of all systems x samples of the judge."""
    evaluation = release.evaluation()
    answers = 0
    for case in cases:
        samples = sum(spec.samples for spec in experiment.all_systems() if experiment.holds(spec.name, case.case_id))
        answers += samples * len(select_checks(plan_checks(case, evaluation), experiment.checks))
    return answers * judge.samples


def _model_judge_plan(
    judge: JudgeSpec,
    experiment: Experiment,
    release: Release,
    cases: Sequence[Case],
    run: Run | None,
    protocols: Mapping[str, ModelProtocol],
    earlier: Measured,
) -> JudgePlan:
    answers, answered = _answers(judge, experiment, release, cases), _answered(run, judge.name)
    try:
        found, sha256 = plan_model_judge(judge, protocols[judge.protocol], experiment, release, cases, run)
    except CallError as error:
        return JudgePlan(judge.name, answers, answered, 0, 0, None, None, CANNOT_RUN.basis, str(error))
    reason = _renamed(run.judges, "judge", judge.name, sha256) if run is not None else None
    if reason is None and found.price is None and experiment.limits.max_usd is not None:
        reason = (
            f"judge {judge.name!r}: its price is unknown, so limits.max_usd cannot be kept; set it to null, or change the model."
        )
    time = earlier.judging(judge, found.systems.open + found.floors.open, experiment.limits.concurrency)
    cost = found.chosen_usd
    return JudgePlan(judge.name, answers, answered, found.calls, found.tokens, cost, time.seconds, time.basis, reason, found)


def _answered(run: Run | None, judge: str) -> int:
    if run is None or judge not in run.judges or not (run.path / "checks.jsonl").is_file():
        return 0
    return int((verdict_grid(run, judges=[judge])["state"] == "valid").sum())
