"""Judging of a run: what has no current answer becomes jobs, one case each; the owner of the run writes what comes back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import CallError, Incomplete
from longbanana_nb.files import utc_now
from longbanana_nb.judging.answers import Answer
from longbanana_nb.judging.protocols import CandidateAnswers, CandidateJob, CaseJob, PictureFile, Protocol, Question, judge_case
from longbanana_nb.judging.summary import Summary
from longbanana_nb.runs import (
    Failure,
    ImageSent,
    JudgeSpec,
    Judgment,
    adopt_answer,
    current_record,
    each,
    graceful_stop,
    judge_sha256,
    reusable_answers,
    usual_workers,
)
from longbanana_nb.runs.judge_spec import TRANSIENT
from longbanana_nb.runs.plan import PlannedCheck, plan_checks

if TYPE_CHECKING:
    from longbanana_nb.release import Evaluation, Release
    from longbanana_nb.runs import Record, Run

CANDIDATES_A_JOB = 8


@dataclass(frozen=True, slots=True)
class _Asked:
    """One check of a case as it is asked: its row of the plan, the question, and the references looked at."""

    check: PlannedCheck
    question: Question
    references: tuple[PictureFile, ...]


@dataclass(slots=True)
class _Open:
    """One candidate with what is open on it, by judge sample: (judge sample, check, key, attempt)."""

    record: Record
    picture: PictureFile
    units: list[tuple[int, _Asked, str, int]] = field(default_factory=list)


@dataclass(slots=True)
class _Bench:
    """A judge at work on a run."""

    run: Run
    release: Release
    evaluation: Evaluation
    profile: JudgeSpec
    protocol: Protocol
    sha256: str
    summary: Summary
    reusable: Mapping[str, Judgment]
    graphs: Mapping[str, Mapping[str, Any]]


def judge_run(
    run: Run,
    release: Release,
    profile: JudgeSpec,
    *,
    protocols: Mapping[str, Protocol],
    workers: int | None = None,
    reuse: Iterable[str | Path] = (),
) -> Summary:
    """Answer, with one judge, every planned check of every candidate that has no current valid answer.

    An answer is current if its key is: release revision, text and probe of the check, bytes of candidate and references, judge
    hash and judge sample. Invalid answers are asked again only for transient reasons, as often as the profile's `reask` says;
    others when the judge, the check or its probe changes. Answers are on disk before they count.

    Args:
        protocols: the protocols there are, by name.
        workers: processes; None takes one a processor, at least two.
        reuse: other runs whose valid answers are taken by key.

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
        bench = _Bench(run, release, release.evaluation(), profile, protocol, sha256, summary, reusable_answers(reuse), graphs)
        _work(bench, workers or usual_workers())
    return summary


def _work(bench: _Bench, workers: int) -> None:
    summary = bench.summary
    planned = [(job, opened) for case in bench.run.cases() for job, opened in _jobs(bench, case.case_id)]
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
        answered = summary.valid + sum(summary.invalid.values())
        stop.require_complete(answered, summary.expected - summary.no_candidate, "answers")
    if failures:
        raise Incomplete("\n".join([summary.text(), "Some candidates could not be judged; the other answers are kept."]))


def _keep(bench: _Bench, job: CaseJob, opened: _Open, given: CandidateAnswers) -> None:
    """Append a candidate's answers; they are on disk when this returns."""
    record = opened.record
    if given.failure is not None:
        bench.summary.failures.append(f"system {record.system!r}, case {record.case_id!r}: {given.failure}")
        return
    by_check = {question.check_id: one for question, one in zip(_questions(opened), given.answers, strict=True)}
    judgments = [_judgment(bench, opened, unit, by_check[unit[1].check.check_id]) for unit in opened.units]
    bench.run.judgments(bench.profile.name, record.system, job.case_id).append_many(judgments)
    bench.summary.asked += len(judgments)
    for judgment in judgments:
        _count(bench.summary, judgment)


def _count(summary: Summary, judgment: Judgment) -> None:
    if judgment.label is not None:
        summary.valid += 1
    else:
        summary.invalid[str(judgment.invalid)] += 1


def _jobs(bench: _Bench, case_id: str) -> Iterator[tuple[CaseJob, list[_Open]]]:
    """The jobs of one case, in parts of a few candidates, so that the case is prepared as seldom as possible."""
    asked = _asked(bench, case_id)
    opened = [one for one in _open_candidates(bench, case_id, asked) if one.units]
    case = bench.release.cases[case_id]
    references = tuple(PictureFile(one.id, one.file, one.sha256) for one in case.inputs)
    probes = tuple(one.question.probe for one in asked if one.question.probe is not None)
    for start in range(0, len(opened), CANDIDATES_A_JOB):
        part = opened[start : start + CANDIDATES_A_JOB]
        candidates = tuple(
            CandidateJob((one.record.system, one.record.sample), one.picture, tuple(_questions(one)), _scene(bench, one))
            for one in part
        )
        yield CaseJob(bench.protocol, case_id, references, candidates, bench.graphs.get(case_id), probes), part


def _questions(opened: _Open) -> list[Question]:
    """Each open check once, whatever its judge samples: these judges give one answer to one question."""
    return list({unit[1].check.check_id: unit[1].question for unit in opened.units}.values())


def _scene(bench: _Bench, opened: _Open) -> Path | None:
    if not bench.protocol.needs_scene:
        return None
    file = bench.run.scene_file(opened.picture.sha256)
    return file if file.is_file() else None


def _asked(bench: _Bench, case_id: str) -> list[_Asked]:
    case, evaluation = bench.release.cases[case_id], bench.evaluation
    asked = []
    for check in plan_checks(case, evaluation):
        probe = evaluation.probes.get((case_id, check.check_id))
        files = tuple(PictureFile(one.id, one.file, one.sha256) for name in check.exemplars if (one := case.reference(name)))
        asked.append(_Asked(check, Question(check.check_id, probe), files))
    return asked


def _open_candidates(bench: _Bench, case_id: str, asked: Sequence[_Asked]) -> Iterator[_Open]:
    for system, entry in bench.run.systems.items():
        lines = bench.run.judgments(bench.profile.name, system, case_id).read()
        for sample in range(entry.system().samples):
            bench.summary.expected += len(asked) * bench.profile.samples
            record = current_record(bench.run, system, case_id, sample)
            if record is None or record.image is None:
                bench.summary.no_candidate += len(asked) * bench.profile.samples
                continue
            file = bench.run.candidate(system, case_id, sample).folder / record.image.file
            opened = _Open(record, PictureFile("candidate", file, record.image.sha256))
            _sort_units(bench, opened, asked, [line for line in lines if line.sample == sample])
            yield opened


def _sort_units(bench: _Bench, opened: _Open, asked: Sequence[_Asked], lines: Sequence[Judgment]) -> None:
    """Put each unit where it belongs: answered already, answered in another run, or open."""
    earlier: dict[str, list[Judgment]] = {}
    for line in lines:
        earlier.setdefault(line.key, []).append(line)
    adopted = []
    for judge_sample in range(bench.profile.samples):
        for one in asked:
            key = one.check.probe_key(bench.release.revision, opened.picture.sha256, bench.sha256, judge_sample)
            before = earlier.get(key, [])
            if (stands := _standing(before, bench.profile)) is not None:
                bench.summary.found += 1
                _count(bench.summary, stands)
            elif (found := bench.reusable.get(key)) is not None:
                adopted.append(_adopted(bench, found, opened, judge_sample, one.check.check_id))
            else:
                opened.units.append((judge_sample, one, key, len(before) + 1))
    if adopted:
        record = opened.record
        bench.run.judgments(bench.profile.name, record.system, record.case_id).append_many(adopted)
        bench.summary.reused += len(adopted)
        for judgment in adopted:
            _count(bench.summary, judgment)


def _adopted(bench: _Bench, found: Judgment, opened: _Open, judge_sample: int, check_id: str) -> Judgment:
    record = opened.record
    return adopt_answer(
        found,
        judge=bench.profile.name,
        system=record.system,
        case_id=record.case_id,
        sample=record.sample,
        judge_sample=judge_sample,
        check_id=check_id,
    )


def _standing(before: Sequence[Judgment], profile: JudgeSpec) -> Judgment | None:
    """The answer that stands under a key: the newest valid one, else an invalid one that is not to be asked again."""
    if valid := [line for line in before if line.label is not None]:
        return valid[-1]
    if not before:
        return None
    last = before[-1]
    tries = sum(line.invalid == last.invalid for line in before)
    again = last.invalid in TRANSIENT and tries <= profile.reask.get(last.invalid, 0)
    return None if again else last


def _judgment(bench: _Bench, opened: _Open, unit: tuple[int, _Asked, str, int], answer: Answer) -> Judgment:
    judge_sample, asked, key, attempt = unit
    record = opened.record
    looked = [ImageSent("candidate", opened.picture.id, opened.picture.sha256, opened.picture.sha256)]
    if not bench.protocol.needs_scene:
        looked += [ImageSent("reference", one.id, one.sha256, one.sha256) for one in asked.references]
    return Judgment(
        key=key,
        judge=bench.profile.name,
        judge_sha256=bench.sha256,
        system=record.system,
        case_id=record.case_id,
        sample=record.sample,
        judge_sample=judge_sample,
        check_id=asked.check.check_id,
        check_sha256=asked.check.check_sha256,
        candidate_sha256=opened.picture.sha256,
        label=answer.label,
        invalid=answer.invalid,
        attempt=attempt,
        rationale=answer.rationale or None,
        evidence=answer.evidence,
        images=looked,
        opened=[] if bench.protocol.needs_scene else [one.id for one in asked.references],
        simulated=bench.protocol.needs_scene or record.simulated,
        at=utc_now(),
    )
