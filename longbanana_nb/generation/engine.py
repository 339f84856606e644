"""Generation of a run: every (system, case, sample) without a finished record becomes a job; the owner writes what comes back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from longbanana_nb.errors import CallError, DataError, Fault, Incomplete
from longbanana_nb.generation.command import notes_on
from longbanana_nb.generation.contracts import Reason
from longbanana_nb.generation.jobs import Job, Made, Refused, Surroundings, carry_out
from longbanana_nb.generation.keeping import keep, without_image
from longbanana_nb.generation.paying import RUN_BUDGET, Purse
from longbanana_nb.generation.prepare import Factories, Prepared, prepare, require_graphs, require_ready
from longbanana_nb.generation.seeds import case_seed
from longbanana_nb.generation.summary import Summary
from longbanana_nb.generation.workers import Result, grouped, work_off
from longbanana_nb.names import nearest
from longbanana_nb.paths import annotations_folder, releases_folder, reports_folder
from longbanana_nb.runs import Budget, Failure, Ledger, Limits, each_waiting, graceful_stop, open_run, spent_in, usual_workers
from longbanana_nb.runs.reuse import ReusableCandidates, adopt_candidate, adopt_scenes
from longbanana_nb.runs.system_spec import PROGRAMS

if TYPE_CHECKING:
    from longbanana_nb.release import Case, Release
    from longbanana_nb.runs import CandidateSlot, Record, Run, SystemSpec

TRANSIENT = frozenset({"rate_limited", "overloaded", "transport"})  # reasons of "failed" that another attempt may overcome
MOST_ATTEMPTS = 3  # of a candidate that failed for a transient reason


@dataclass(frozen=True, slots=True)
class Settings:
    """How a generation runs: processes for work on this machine, limits for what is paid, and what programs must not see."""

    workers: int
    limits: Limits = field(default_factory=Limits)
    hidden: tuple[Path, ...] = ()


def generate_run(
    run: Run,
    release: Release,
    systems: Sequence[SystemSpec],
    *,
    backends: Factories,
    agents: Factories,
    case_ids: Iterable[str] | None = None,
    limits: Limits | None = None,
    workers: int | None = None,
    reuse: Iterable[Run | str | Path] = (),
) -> Summary:
    """Make every candidate that is missing; finished ones are left alone, whatever their outcome.

    Made again, with the next attempt number: candidates whose outcome is "interrupted", and those that "failed" for a transient
    reason (rate limit, overload, transport), up to three attempts, and those that the budget of the run cut short. `imported`
    systems are passed over. Systems whose models are paid, and those that run programs of others, work in threads of this
    process, all others in worker processes.

    Args:
        backends, agents: factories by provider, each a top-level callable or "module:callable" taking a ModelChoice.
        case_ids: the selection; None takes all cases of the release. Of a shard only its own pairs are made.
        limits: of the experiment; a call that could pass `max_usd`, calls in flight included, is not made and ends the work;
            `concurrency` is how many paid candidates are worked on at once.
        workers: processes; None takes one a processor, at least two.
        reuse: earlier runs, or their folders; an image of the same system hash, release, revision, case and sample is copied
            instead of made.

    Raises:
        CallError: before anything is made, naming every system that cannot run and every unknown case.
        DataError: at the end, where a reference proved damaged or a name stands for another system in this run.
        Incomplete: after an interruption, or when the budget is used up; what was made is kept.
    """
    cases = _chosen(release, case_ids)
    made_here = [spec for spec in systems if spec.harness.kind != "imported"]
    prepared = prepare(made_here, cases, backends=backends, agents=agents)
    graphs = release.privileged() if any("graph" in system.spec.privileges for system in prepared) else {}
    require_graphs(prepared, cases, graphs)
    require_ready(prepared, limits or Limits())
    settings = Settings(workers or usual_workers(), limits or Limits(), _hidden(run, release))
    earlier = _earlier(reuse, release)
    passed_over = [f"{spec.name} is imported and was passed over." for spec in systems if spec not in made_here]
    summary = Summary(notes=[*passed_over, *notes_on(made_here)])
    with run.owner():
        for system in prepared:
            run.add_system(system.spec, system.sha256, versions=system.versions, simulated=system.simulated)
        found = _missing(run, prepared, cases, earlier, summary)
        jobs = [replace(job, graph=graphs[job.case.case_id]) if "graph" in job.spec.privileges else job for job in found]
        _make(run, prepared, jobs, settings, summary)
    return summary


def needs_making(record: Record | None) -> bool:
    """Whether a candidate is missing, was cut short, or failed for a reason that another attempt may overcome."""
    if record is None or record.outcome == "interrupted":
        return True
    code = record.reason.code if record.reason is not None else ""
    if record.outcome == "budget":
        return code == RUN_BUDGET
    return record.outcome == "failed" and code in TRANSIENT and record.attempt < MOST_ATTEMPTS


def _chosen(release: Release, case_ids: Iterable[str] | None) -> list[Case]:
    """The chosen cases in the release's order."""
    if case_ids is None:
        return list(release.cases.values())
    wanted = list(case_ids)
    faults = []
    for case_id in wanted:
        if case_id not in release.cases:
            near = nearest(str(case_id), release.cases)
            fix = f"Did you mean {near!r}?" if near else "Correct it; ids are texts, in quotes."
            faults.append(Fault("case_ids", "unknown_case", repr(case_id), f"a case of {release.name}", fix))
    if faults:
        raise CallError("Cases that the release does not have.", faults)
    return [case for case_id, case in release.cases.items() if case_id in set(wanted)]


def _hidden(run: Run, release: Release) -> tuple[Path, ...]:
    """What a program under test may not see: the release, this run, and whatever else of the kind lies here."""
    folders = (release.root, run.path, releases_folder(), annotations_folder(), reports_folder())
    return tuple(folder for folder in folders if folder.exists())


def _earlier(reuse: Iterable[Run | str | Path], release: Release) -> ReusableCandidates:
    """What earlier runs of the same release hold."""
    runs = [open_run(place) if isinstance(place, str | Path) else place for place in reuse]
    return ReusableCandidates([run.path for run in runs if run.meta.release.name == release.name], release.revision)


def _missing(
    run: Run, prepared: Sequence[Prepared], cases: Sequence[Case], earlier: ReusableCandidates, summary: Summary
) -> Iterator[Job]:
    """The jobs to do; what is finished, here or in an earlier run, is counted."""
    for system in prepared:
        for case in (case for case in cases if run.holds(system.spec.name, case.case_id)):
            for sample in range(system.spec.samples):
                summary.expected += 1
                slot = run.candidate(system.spec.name, case.case_id, sample)
                record = slot.record()
                if record is not None and record.system_sha256 != system.sha256:
                    raise _foreign(system, record)
                if record is not None and not needs_making(record):
                    summary.found_finished += 1
                    summary.count(system.spec.name, record.outcome)
                    continue
                if (found := earlier.find(system.sha256, case.case_id, sample)) is not None:
                    _adopt(run, found, slot, system.spec.name)
                    summary.reused += 1
                    summary.count(system.spec.name, "image")
                    continue
                seed = case_seed(case.case_id, sample)
                yield Job(case, system.spec, sample, slot.next_attempt(), seed, system.backend, system.agent)


def _adopt(run: Run, found: tuple[Run, CandidateSlot], slot: CandidateSlot, system: str) -> None:
    """Copy a candidate of an earlier run, its scenes first, so that the record is last."""
    home, source = found
    record = source.record()
    if record is not None:
        adopt_scenes(record, home, run)
    adopt_candidate(source, slot, system)


def _make(run: Run, prepared: Sequence[Prepared], jobs: Sequence[Job], settings: Settings, summary: Summary) -> None:
    """Do the jobs and write what they give, until they are done, a stop is asked for, or the budget is reached."""
    by_name = {system.spec.name: system for system in prepared}
    budget = _budget(run, [job for job in jobs if by_name[job.spec.name].is_paid], settings)
    refused: list[Refused] = []
    cut = 0
    with graceful_stop() as stop:
        results = _results(run, by_name, jobs, settings, budget, lambda: stop() or budget.is_reached)
        with closing(results):  # ends its processes on any error here
            for job, result in results:
                if isinstance(result, Refused):
                    refused.append(result)
                    continue
                made = _without_draft(job, result) if isinstance(result, Failure) else result
                cut += (is_cut := _is_cut(made))
                if is_cut and made.draft.agent_calls == made.draft.image_calls == 0:
                    continue  # it was not begun
                record = keep(run, by_name[job.spec.name], job, made)
                summary.made += not is_cut
                summary.count(record.system, record.outcome)
                summary.note_size(record.system, record.case_id, made)
        if refused:
            raise _refusal(refused)
        stop.require_complete(summary.made, len(jobs), "candidates")
    if budget.is_reached and summary.made < len(jobs):
        raise Incomplete(
            f"The budget of ${budget.max_usd:g} is used up (${budget.spent_usd:.2f} spent): {summary.made} of {len(jobs)} "
            f"candidates are made and kept, {cut} could not go on. Raise limits.max_usd and run the same command again.\n"
            f"{summary}"
        )
    if interrupted := sum(counts["interrupted"] for counts in summary.outcomes.values()):
        raise Incomplete(f"{interrupted} candidates were interrupted; the same command makes them again.\n{summary}")


def _budget(run: Run, paid: Sequence[Job], settings: Settings) -> Budget:
    """The budget of the run, less what was spent in it; a call whose end is not known counts with its most."""
    if not paid or settings.limits.max_usd is None:
        return Budget(None)
    spent = spent_in(run)
    return Budget(settings.limits.max_usd, spent.usd + spent.open_usd)


def _results(
    run: Run,
    by_name: Mapping[str, Prepared],
    jobs: Sequence[Job],
    settings: Settings,
    budget: Budget,
    stop: Callable[[], bool],
) -> Generator[tuple[Job, Result]]:
    """What is free in worker processes, then what is paid in threads of this one, which alone may write ledgers.

    Programs of others run from threads too: what they start ends with the thread's process, whatever ends that.
    """
    programs = [job for job in jobs if job.spec.harness.kind in PROGRAMS]
    others = [job for job in jobs if job.spec.harness.kind not in PROGRAMS]
    paid = [job for job in others if by_name[job.spec.name].is_paid]
    free = [job for job in others if not by_name[job.spec.name].is_paid]
    yield from work_off(grouped(free, by_name), settings.workers, stop)
    cut = threading.Event()
    around = Surroundings(cut.is_set, settings.hidden)

    def work(job: Job) -> Made | Refused:
        return carry_out(job, purse_of(job) if by_name[job.spec.name].is_paid else None, around)

    def purse_of(job: Job) -> Purse:
        models = {"backend": job.spec.backend, "agent": job.spec.agent_model}
        names = {role: model.id for role, model in models.items() if model is not None}
        ledger = Ledger(run.candidate(job.spec.name, job.case.case_id, job.sample).calls)
        return Purse(ledger, budget, Budget(job.spec.limits.max_usd_per_case), names)

    lanes = settings.limits.concurrency
    for label, part, workers in (
        ("generate, paid", paid, lanes),
        ("generate, programs", programs, min(lanes, settings.workers)),
    ):
        if part:
            yield from each_waiting(work, part, workers=workers, label=label, stop=stop, cut=cut.set)


def _is_cut(made: Made) -> bool:
    """Whether the budget of the run ended this candidate."""
    return made.draft.outcome == "budget" and made.draft.reason is not None and made.draft.reason.code == RUN_BUDGET


def _without_draft(job: Job, failure: Failure) -> Made:
    """A job that left no draft: where its process died it counts as interrupted and is made again, else the code is at fault."""
    where = f"harness {job.spec.harness.kind}"
    if failure.kind in ("WorkerDied", "NotRun"):
        return without_image("interrupted", Reason("worker_died", where, failure.reason))
    return without_image("failed", Reason("harness_exception", where, failure.traceback[-2000:] or failure.reason))


def _refusal(refused: Sequence[Refused]) -> DataError:
    """One error for all refused jobs, each fault once."""
    faults = list(dict.fromkeys(fault for one in refused for fault in one.faults))
    if not faults:
        return DataError("\n".join(dict.fromkeys(one.text for one in refused)))
    return DataError(f"{len(refused)} candidates could not be made; the others are made and kept.", faults)


def _foreign(system: Prepared, record: Record) -> DataError:
    fault = Fault(
        f"candidates of {record.system!r}",
        "system_sha256",
        record.system_sha256,
        system.sha256,
        "The record belongs to another system of that name; take it away, or choose a new name.",
        record.case_id,
    )
    return DataError("A candidate belongs to another system.", [fault])
