"""Judging of a run: what has no current answer becomes jobs, one case each; the owner of the run writes what comes back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import CallError, Incomplete
from longbanana_nb.files import utc_now
from longbanana_nb.judging.answers import Answer
from longbanana_nb.judging.protocols import CandidateAnswers, CandidateJob, CaseJob, PictureFile, Protocol, Question, judge_case
from longbanana_nb.judging.summary import Summary
from longbanana_nb.judging.units import OpenCandidate, Opening, Unit, asked_cases
from longbanana_nb.runs import (
    Failure,
    JudgeSpec,
    Judgment,
    each,
    graceful_stop,
    judge_sha256,
    reusable_answers,
    usual_workers,
)
from longbanana_nb.runs.plan import PlannedCase, PlannedCheck

if TYPE_CHECKING:
    from longbanana_nb.release import Evaluation, Release
    from longbanana_nb.runs import Run

CANDIDATES_A_JOB = 8


@dataclass(slots=True)
class _Bench:
    """A judge at work on a run."""

    run: Run
    release: Release
    evaluation: Evaluation
    profile: JudgeSpec
    protocol: Protocol
    sha256: str
    opening: Opening
    graphs: Mapping[str, Mapping[str, Any]]


def judge_run(
    run: Run,
    release: Release,
    profile: JudgeSpec,
    *,
    protocols: Mapping[str, Protocol],
    workers: int | None = None,
    reuse: Iterable[str | Path] = (),
    retry: Collection[str] = (),
) -> Summary:
    """Answer, with one judge, every planned check of every candidate that has no current valid answer.

    An answer is current if its key is: release revision, text and probe of the check, bytes of candidate and references, judge
    hash and judge sample. Invalid answers are asked again only for transient reasons, as often as the profile's `reask` says;
    others when the judge, the check or its probe changes, or when asked for. Answers are on disk before they count.

    Args:
        protocols: the protocols there are, by name.
        workers: processes; None takes one a processor, at least two.
        reuse: other runs whose valid answers are taken by key.
        retry: reasons of invalid answers that are asked again whatever `reask` says.

    Raises:
        CallError: where the profile's protocol is not there.
        DataError: where the judge's name stands for another judge in this run, or the run has no plan.
        Incomplete: after an interruption, or where a candidate could not be judged; what was answered is kept.
    """
    if profile.protocol not in protocols:
        there = ", ".join(sorted(protocols)) or "none"
        raise CallError(f"judge {profile.name!r}: the protocol {profile.protocol!r} is not there yet; there are: {there}.")
    protocol = protocols[profile.protocol]
    versions = protocol.versions()
    sha256 = judge_sha256(profile, versions)
    graphs = release.privileged() if protocol.needs_scene else {}
    summary = Summary(profile.name)
    with run.owner():
        run.add_judge(profile, sha256, versions=versions, simulated=protocol.needs_scene)
        opening = Opening(run, profile, sha256, reusable_answers(reuse), summary, retry)
        bench = _Bench(run, release, release.evaluation(), profile, protocol, sha256, opening, graphs)
        _work(bench, workers or usual_workers())
    return summary


def _work(bench: _Bench, workers: int) -> None:
    summary = bench.opening.summary
    cases = asked_cases(bench.run, bench.release, bench.evaluation)
    planned = [(job, opened) for case, checks in cases for job, opened in _jobs(bench, case, checks)]
    by_job = {id(job): opened for job, opened in planned}
    failures = summary.failures
    with graceful_stop() as stop:
        jobs = [job for job, _ in planned]
        for job, result in each(judge_case, jobs, workers=workers, label=f"judge {bench.profile.name}", stop=stop):
            if isinstance(result, Failure):
                failures.append(f"case {job.case_id!r}: {result.reason}")
                continue
            for opened, given in zip(by_job[id(job)], result, strict=True):
                _keep(bench, job, opened, given)
        stop.require_complete(summary.answered, summary.expected - summary.no_candidate, "answers")
    if failures:
        raise Incomplete("\n".join([summary.text(), "Some candidates could not be judged; the other answers are kept."]))


def _keep(bench: _Bench, job: CaseJob, opened: OpenCandidate, given: CandidateAnswers) -> None:
    """Append a candidate's answers; they are on disk when this returns."""
    record, summary = opened.record, bench.opening.summary
    if given.failure is not None:
        summary.failures.append(f"system {record.system!r}, case {record.case_id!r}: {given.failure}")
        return
    by_check = {question.check_id: one for question, one in zip(_questions(bench, opened), given.answers, strict=True)}
    judgments = [_judgment(bench, opened, unit, by_check[unit.check.check_id]) for unit in opened.units]
    bench.run.judgments(bench.profile.name, record.system, job.case_id).append_many(judgments)
    summary.asked += len(judgments)
    for judgment in judgments:
        summary.count(judgment)


def _jobs(bench: _Bench, planned: PlannedCase, checks: Sequence[PlannedCheck]) -> Iterator[tuple[CaseJob, list[OpenCandidate]]]:
    """The jobs of one case, in parts of a few candidates, so that the case is prepared as seldom as possible."""
    opened = list(bench.opening.candidates(planned, checks))
    case = bench.release.cases[planned.case_id]
    references = tuple(PictureFile(one.id, one.file, one.sha256) for one in case.inputs)
    probes = tuple(probe for check in checks if (probe := _probe(bench, check)) is not None)
    for start in range(0, len(opened), CANDIDATES_A_JOB):
        part = opened[start : start + CANDIDATES_A_JOB]
        candidates = tuple(
            CandidateJob((one.record.system, one.record.sample), one.picture, tuple(_questions(bench, one)), _scene(bench, one))
            for one in part
        )
        yield CaseJob(bench.protocol, case.case_id, references, candidates, bench.graphs.get(case.case_id), probes), part


def _probe(bench: _Bench, check: PlannedCheck) -> Mapping[str, Any] | None:
    return bench.evaluation.probes.get((check.case_id, check.check_id))


def _questions(bench: _Bench, opened: OpenCandidate) -> list[Question]:
    """Each open check once, whatever its judge samples: these judges give one answer to one question."""
    checks = {unit.check.check_id: unit.check for unit in opened.units}
    return [Question(check.check_id, _probe(bench, check)) for check in checks.values()]


def _scene(bench: _Bench, opened: OpenCandidate) -> Path | None:
    if not bench.protocol.needs_scene:
        return None
    file = bench.run.scene_file(opened.picture.sha256)
    return file if file.is_file() else None


def _judgment(bench: _Bench, opened: OpenCandidate, unit: Unit, answer: Answer) -> Judgment:
    record, check = opened.record, unit.check
    exemplars = {} if bench.protocol.needs_scene else check.exemplars
    return Judgment(
        key=unit.key,
        judge=bench.profile.name,
        judge_sha256=bench.sha256,
        system=record.system,
        case_id=record.case_id,
        sample=record.sample,
        judge_sample=unit.judge_sample,
        check_id=check.check_id,
        check_sha256=check.check_sha256,
        candidate_sha256=opened.picture.sha256,
        label=answer.label,
        invalid=answer.invalid,
        attempt=unit.attempt,
        rationale=answer.rationale or None,
        evidence=answer.evidence,
        images=[],  # nothing is sent anywhere: the key and `candidate_sha256` name the pictures that were measured
        opened=list(exemplars),
        simulated=bench.protocol.needs_scene or record.simulated,
        at=utc_now(),
    )
