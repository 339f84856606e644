"""The names people use, as functions: each works the same in a script, in a notebook cell and under papermill."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from longbanana_nb.embedded import AGENTS, BACKENDS, demo_manifest, model_protocols, protocols
from longbanana_nb.errors import CallError
from longbanana_nb.files import write_atomic
from longbanana_nb.release import Release
from longbanana_nb.release import load_release as load_from_manifest
from longbanana_nb.runs import (
    Experiment,
    JudgeSpec,
    Limits,
    Run,
    create_run,
    load_experiment,
    select_cases,
    selection_notes,
    writing_results,
)
from longbanana_nb.runs import open_run as open_folder
from longbanana_nb.runs.profiles import read_profile

if TYPE_CHECKING:
    from collections.abc import Collection

    from longbanana_nb.errors import Fault
    from longbanana_nb.generation import Summary as GenerationSummary
    from longbanana_nb.judging import Summary as JudgingSummary
    from longbanana_nb.plans import Plan
    from longbanana_nb.reporting import Gallery, Table
    from longbanana_nb.runs.experiment import CheckSample
    from longbanana_nb.scoring import Scores

PathLike = str | Path


def load_release(manifest: PathLike | None = None) -> Release:
    """Open a release's public room and verify its hashes.

    Args:
        manifest: path of a manifest.json, or "demo_v1" for the embedded release (built on first use); None means
            `$DATASET_MANIFEST`.

    Raises:
        CallError: where nothing says which release. DataError: with every fault of the release.
    """
    named = os.environ.get("DATASET_MANIFEST") if manifest is None else manifest
    if not named:
        raise CallError('No release: DATASET_MANIFEST is not set. Name a manifest.json, or "demo_v1" for the embedded release.')
    return load_from_manifest(demo_manifest() if str(named) == "demo_v1" else Path(named))


def open_run(run_dir: PathLike = "", *, quiet: bool = False) -> Run:
    """Open a run for reading and print what it measures, who judged, and with which versions.

    An empty `run_dir` means the demo run: `reports/demo` where the demo was run, else `reports/first-look` (one case a category),
    made on first use.
    """
    if not str(run_dir):
        from longbanana_nb.demonstration import default_run

        run_dir = default_run()
    run = open_folder(run_dir)
    if not quiet:
        print(_heading(run))
    return run


def plan(experiment: PathLike | Experiment) -> Plan:
    """What an experiment will do and cost, and what in it cannot run; spends nothing."""
    from longbanana_nb.planning import make_plan

    read = _experiment(experiment)
    return make_plan(
        read, _release_of(read), backends=BACKENDS, agents=AGENTS, protocols=protocols(), model_protocols=model_protocols()
    )


def generate(experiment: PathLike | Experiment) -> GenerationSummary:
    """Make every missing candidate of an experiment; finished ones are not made again.

    Raises:
        CallError: before anything is made, naming every system that cannot run. Incomplete: interruption or budget.
    """
    from longbanana_nb.generation import generate_run

    read = _experiment(experiment)
    release = _release_of(read)
    run = create_run(read.run, release, analysis=read.analysis.model_dump(mode="json"), shard=read.shard)
    return generate_run(
        run,
        release,
        read.all_systems(),
        backends=BACKENDS,
        agents=AGENTS,
        case_ids=_selected(read, release),
        limits=read.limits,
        reuse=[open_folder(path) for path in read.reuse],
    )


def import_candidates(run_dir: PathLike, system: str, folder: PathLike, *, release: PathLike | None = None) -> GenerationSummary:
    """Take in images made elsewhere as the candidates of a system, by case id; makes the run if need be.

    Args:
        release: manifest of the release a new run measures; None means `$DATASET_MANIFEST`. A run that exists knows its own.
    """
    from longbanana_nb.generation import import_candidates as import_into

    path = Path(run_dir)
    exists = (path / "run.json").is_file()
    loaded = load_release(open_folder(path).manifest if exists and release is None else release)
    return import_into(create_run(path, loaded), system, folder, loaded)


def judge(
    target: PathLike | Experiment,
    *,
    profile: PathLike | None = None,
    retry: Collection[str] = (),
    max_usd: float | None = None,
) -> list[JudgingSummary]:
    """Judge every check that has no current valid answer, by each judge of an experiment, or of a run.

    Args:
        target: an experiment file, or a run folder (then its own judges, or `profile`).
        profile: a judge profile file; replaces the judges of the target.
        retry: reasons of invalid answers (refused, filtered, ...) that are asked again, whatever the profiles' `reask` says.
        max_usd: dollars that the run may have cost in all when this ends; None takes the experiment's limit.
    """
    from longbanana_nb.judging_work import WorkOrder, judge_all

    run, release, judges, case_ids, reuse, limits, sample = _to_judge(target, profile)
    if not judges:
        raise CallError(f"{run.path}: no judge. Name one with --profile, for instance presets/judges/tools.yaml.")
    if max_usd is not None:
        limits = limits.model_copy(update={"max_usd": max_usd})
    with run.owner():
        run.index_checks(release, release.evaluation(), case_ids, sample)
        _declare(run)
        return judge_all(WorkOrder(run, release, tuple(judges), limits, tuple(reuse), tuple(retry)))


def score(
    target: PathLike | Run, *, release: PathLike | None = None, missing: str | None = None, weights: str | None = None
) -> Scores:
    """Score a run, or a bare table of verdicts (CSV, JSONL, judgment journals).

    Args:
        release: take the list of checks from this release; a run has its own.
        missing, weights: replace the run's policy.
    """
    from longbanana_nb import scored

    if isinstance(target, Run) or Path(target).is_dir():
        run = target if isinstance(target, Run) else open_folder(target)
        return scored.score_run(run, release=_totals_from(release), missing=missing, weights=weights)
    _require_there("score", target, "a run folder, or a .csv or .jsonl table of verdicts")
    return scored.score_table(Path(target), release=_totals_from(release), missing=missing, weights=weights)


def save_scores(run: Run, scores: Scores) -> Path:
    """Write `scores/scores.json` (`lb.scores.v1`) into the run."""
    path = run.path / "scores" / "scores.json"
    text = json.dumps(scores.as_json(), ensure_ascii=False, allow_nan=False, indent=1)
    with writing_results(run.path):
        write_atomic(path, f"{text}\n".encode())
    return path


def main_judge(run: Run) -> str:
    """The first judge that looks at pixels; without one, the first."""
    if not run.judges:
        raise CallError(f"{run.path}: no judge has been asked yet. Run `longbanana-nb judge` on it first.")
    pixels = [name for name, entry in run.judges.items() if entry.judge().protocol != "truth"]
    return (pixels or list(run.judges))[0]


def run_of(experiment: PathLike) -> Path:
    """The run folder an experiment file names."""
    return load_experiment(experiment).run


def tables(run: Run) -> dict[str, Table]:
    """The tables of a run by name, written to `tables/` as CSV, LaTeX, HTML and Markdown."""
    from longbanana_nb.reporting import write_tables
    from longbanana_nb.reporting.measured import measure

    known = measure(run)
    return write_tables(run, known.scores, known.grid, known.facts)


def figures(run: Run) -> Gallery:
    """The figures of a run by name; each is drawn, and written to `figures/` as PDF, SVG and PNG, when it is first asked for."""
    from longbanana_nb.reporting import Gallery
    from longbanana_nb.reporting.measured import measure

    known = measure(run)
    return Gallery(run.path, known.scores, known.grid, known.facts)


def report(run_dir: PathLike) -> Path:
    """Tables, figures, executed notebooks and report.html of a run; never generates or judges. Returns the page."""
    from longbanana_nb.demonstration import report_run

    return report_run(open_folder(run_dir))


def verify(run_dir: PathLike) -> list[Fault]:
    """Every fault of a run: files against their hashes, journals, and each table cell and audit recomputed from the journals."""
    from longbanana_nb.reporting.recompute import table_faults
    from longbanana_nb.retelling import audit_faults
    from longbanana_nb.runs import verify_run

    run = open_folder(run_dir)
    faults = verify_run(run)
    return faults or [*table_faults(run), *audit_faults(run)]


def score_text(scores: Scores) -> str:
    """Overall scores for a terminal, one line a system and judge."""
    from longbanana_nb.scored import as_text

    return as_text(scores)


def _totals_from(release: PathLike | None) -> Release | None:
    return load_release(release) if release is not None else None


def _experiment(experiment: PathLike | Experiment) -> Experiment:
    return experiment if isinstance(experiment, Experiment) else load_experiment(experiment)


def _release_of(experiment: Experiment) -> Release:
    return load_release(experiment.release)


def _require_there(verb: str, target: PathLike, expected: str) -> None:
    if not Path(target).exists():
        raise CallError(f"{verb}: found nothing at {str(target)!r}; expected {expected}. Check the path.")


def _selected(experiment: Experiment, release: Release) -> list[str]:
    """The cases an experiment takes; what is worth knowing about the choice goes to standard error."""
    for note in selection_notes(release.cases, experiment.cases):
        print(f"note: {note}", file=sys.stderr)
    return select_cases(release.cases, experiment.cases)


def _to_judge(
    target: PathLike | Experiment, profile: PathLike | None
) -> tuple[Run, Release, list[JudgeSpec], list[str] | None, list[Path], Limits, CheckSample | None]:
    """The run, its release, the judges to ask, the cases (None: all of the plan's release), runs to reuse answers of, limits, and
    which checks of each case are asked (None: all)."""
    given = [read_profile(profile)] if profile is not None else None
    if not isinstance(target, Experiment) and Path(target).is_dir():
        run = open_folder(target)
        own = [entry.judge() for entry in run.judges.values()]
        planned = [case.case_id for case in run.cases()] if (run.path / "cases.jsonl").is_file() else None
        return run, load_from_manifest(run.manifest), given or own, planned, [], Limits(), run.check_sample
    if not isinstance(target, Experiment) and Path(target).parts[:1] != ("presets",):
        _require_there("judge", target, "a run folder, or an experiment file")
    experiment = _experiment(target)
    release = _release_of(experiment)
    run = create_run(experiment.run, release, analysis=experiment.analysis.model_dump(mode="json"), shard=experiment.shard)
    cases, reuse = _selected(experiment, release), list(experiment.reuse)
    return run, release, given or list(experiment.judges), cases, reuse, experiment.limits, experiment.checks


def _declare(run: Run) -> None:
    """Enter the claims and contrasts that the run's experiment names, before anything more is judged."""
    if run.meta.analysis.get("claims") or run.meta.analysis.get("compare"):
        from longbanana_nb.reporting.claimed import declare_now

        declare_now(run)


def _heading(run: Run) -> str:
    """What a notebook's first cell prints about its run."""
    facts = run.meta.release
    part = f" (shard {run.meta.shard} of its experiment)" if run.meta.shard is not None else ""
    lines = [f"run       {run.path}{part}", f"release   {facts.name}, revision {facts.revision}"]
    for kind, entries in (("system", run.systems), ("judge", run.judges)):
        names = [name + (" (simulated)" if entry.simulated else "") for name, entry in entries.items()]
        lines.append(f"{kind + 's':<9} {', '.join(names) or 'none yet'}")
    lines.append(f"package   {run.meta.package}")
    return "\n".join(lines)
