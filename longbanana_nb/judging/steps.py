"""Judging of pictures on the way, by judges that answer probes: where was an obligation met, and where was it lost again?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from longbanana_nb.errors import CallError, Incomplete
from longbanana_nb.files import utc_now
from longbanana_nb.judging.protocols import CandidateAnswers, CandidateJob, CaseJob, PictureFile, Protocol, Question, judge_case
from longbanana_nb.judging.units import asked_cases
from longbanana_nb.runs import Failure, current_record, each, graceful_stop, judge_sha256, usual_workers
from longbanana_nb.runs.step_answers import StepAnswer, add_step_answers, read_step_answers

if TYPE_CHECKING:
    from longbanana_nb.release import Evaluation, Release
    from longbanana_nb.runs import JudgeSpec, Run
    from longbanana_nb.runs.plan import PlannedCase, PlannedCheck

PICTURES_A_JOB = 8


@dataclass(frozen=True, slots=True)
class _OpenStep:
    """One picture on the way, and the checks that have no current answer on it."""

    system: str
    sample: int
    step: int
    picture: PictureFile
    checks: tuple[PlannedCheck, ...]


@dataclass(frozen=True, slots=True)
class StepSummary:
    """What judging the steps came to: pictures on the way, answers given now, answers that were there."""

    pictures: int
    given: int
    found: int

    def text(self) -> str:
        """In a sentence."""
        return f"{self.pictures} pictures on the way: {self.given} answers given, {self.found} were there."


def judge_steps(
    run: Run,
    release: Release,
    profile: JudgeSpec,
    *,
    protocols: Mapping[str, Protocol],
    systems: Sequence[str] = (),
    workers: int | None = None,
) -> StepSummary:
    """Answer every planned check on every step's picture that is not the candidate itself, with a judge that needs no model.

    Answers lie apart from judgments and enter no score. What was answered under the same judge, check and picture stands.

    Args:
        protocols: by name. systems: whose steps; empty for all.

    Raises:
        CallError: a judge that asks a model, a system the run does not have. Incomplete: after an interruption.
    """
    protocol = protocols.get(profile.protocol)
    if protocol is None:
        raise CallError(
            f"judge {profile.name!r}: pictures on the way are judged by protocols that need no model "
            f"({', '.join(sorted(protocols))}); {profile.protocol!r} would ask one, for money, about what no score counts."
        )
    if lost := [name for name in systems if name not in run.systems]:
        raise CallError(f"systems: found {', '.join(lost)}; there are: {', '.join(run.systems)}.")
    sha256, evaluation = judge_sha256(profile, protocol.versions()), release.evaluation()
    graphs = release.privileged() if protocol.needs_scene else {}
    counts = {"pictures": 0, "given": 0, "found": 0}
    with run.owner():
        planned = []
        for case, checks in asked_cases(run, release, evaluation):
            opened = list(_open_steps(run, profile.name, sha256, case, checks, systems or list(run.systems), counts))
            planned += list(_jobs(run, release, evaluation, protocol, case, opened, graphs))
        _work(run, profile.name, sha256, planned, workers or usual_workers(), counts)
    return StepSummary(**counts)


def _open_steps(
    run: Run,
    judge: str,
    sha256: str,
    case: PlannedCase,
    checks: Sequence[PlannedCheck],
    systems: Sequence[str],
    counts: dict[str, int],
) -> Iterator[_OpenStep]:
    for system in systems:
        known = {
            (one.image_sha256, one.check_id, one.check_sha256, one.probe_sha256)
            for one in read_step_answers(run, judge, system, case.case_id)
            if one.judge_sha256 == sha256
        }
        for sample in range(run.systems[system].system().samples):
            record = current_record(run, system, case.case_id, sample)
            if record is None:
                continue
            final = record.image.sha256 if record.image is not None else None
            for step in record.steps:
                if step.sha256 == final:
                    continue
                counts["pictures"] += 1
                wanted = tuple(
                    check
                    for check in checks
                    if (step.sha256, check.check_id, check.check_sha256, check.probe_sha256) not in known
                )
                counts["found"] += len(checks) - len(wanted)
                if wanted:
                    file = run.candidate(system, case.case_id, sample).folder / step.file
                    yield _OpenStep(system, sample, step.n, PictureFile("candidate", file, step.sha256), wanted)


def _jobs(
    run: Run,
    release: Release,
    evaluation: Evaluation,
    protocol: Protocol,
    planned: PlannedCase,
    opened: Sequence[_OpenStep],
    graphs: Mapping[str, Mapping[str, object]],
) -> Iterator[tuple[CaseJob, list[_OpenStep]]]:
    case = release.cases[planned.case_id]
    references = tuple(PictureFile(one.id, one.file, one.sha256) for one in case.inputs)
    probes = tuple(probe for (case_id, _), probe in evaluation.probes.items() if case_id == case.case_id)
    for start in range(0, len(opened), PICTURES_A_JOB):
        part = list(opened[start : start + PICTURES_A_JOB])
        candidates = []
        for one in part:
            questions = tuple(
                Question(check.check_id, evaluation.probes.get((case.case_id, check.check_id))) for check in one.checks
            )
            scene = run.scene_file(one.picture.sha256)
            kept = scene if protocol.needs_scene and scene.is_file() else None
            candidates.append(CandidateJob((one.system, one.sample), one.picture, questions, kept))
        yield CaseJob(protocol, case.case_id, references, tuple(candidates), graphs.get(case.case_id), probes), part


def _work(
    run: Run, judge: str, sha256: str, planned: list[tuple[CaseJob, list[_OpenStep]]], workers: int, counts: dict[str, int]
) -> None:
    by_job, failures = {id(job): part for job, part in planned}, []
    with graceful_stop() as stop:
        for job, result in each(judge_case, [job for job, _ in planned], workers=workers, label=f"steps by {judge}", stop=stop):
            if isinstance(result, Failure):
                failures.append(f"case {job.case_id!r}: {result.reason}")
                continue
            for one, given in zip(by_job[id(job)], result, strict=True):
                if given.failure is not None:
                    failures.append(f"system {one.system!r}, case {job.case_id!r}, step {one.step}: {given.failure}")
                    continue
                answers = _answers(sha256, job.case_id, one, given)
                add_step_answers(run, judge, answers)
                counts["given"] += len(answers)
        stop.require_complete(counts["given"], sum(len(one.checks) for _, part in planned for one in part), "answers on steps")
    if failures:
        raise Incomplete("\n".join(["Some pictures on the way could not be judged; the other answers are kept.", *failures]))


def _answers(sha256: str, case_id: str, one: _OpenStep, given: CandidateAnswers) -> list[StepAnswer]:
    return [
        StepAnswer(
            judge_sha256=sha256,
            system=one.system,
            case_id=case_id,
            sample=one.sample,
            step=one.step,
            image_sha256=one.picture.sha256,
            check_id=check.check_id,
            check_sha256=check.check_sha256,
            probe_sha256=check.probe_sha256,
            label=answer.label,
            at=utc_now(),
        )
        for check, answer in zip(one.checks, given.answers, strict=True)
    ]
