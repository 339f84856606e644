"""Asking a judge about the sides of pairs, each question once: keys, what stands already, and judges that answer probes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec

from longbanana_nb.errors import DataError, Fault, Incomplete
from longbanana_nb.files import canonical_json, sha256_bytes, utc_now
from longbanana_nb.judging.answers import Answer
from longbanana_nb.judging.audit.pairs import Side
from longbanana_nb.judging.protocols import CandidateJob, CaseJob, PictureFile, Protocol, Question, judge_case
from longbanana_nb.judging.units import by_key, is_asked_again, newest_answer
from longbanana_nb.release import parse_probe
from longbanana_nb.release.probes import reference_ids
from longbanana_nb.runs import (
    Failure,
    ImageSent,
    JudgeSpec,
    Judgment,
    JudgmentJournal,
    adopt_answer,
    each,
    graceful_stop,
    usual_workers,
)
from longbanana_nb.runs.plan import Keys, PlannedCheck, plan_case, plan_checks

if TYPE_CHECKING:
    from longbanana_nb.release import Case, Check, Evaluation, Release
    from longbanana_nb.runs import Run

AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: a check, a picture, the references as they are shown, and which sample of the judge it is."""

    key: str
    case: Case
    check: Check
    planned: PlannedCheck
    probe: Mapping[str, Any] | None
    picture: PictureFile
    shown: Mapping[str, str]
    judge_sample: int
    invalid_before: tuple[str, ...] = ()

    @property
    def attempt(self) -> int:
        """The number of the next answer, from 1."""
        return len(self.invalid_before) + 1


Keep = Callable[[Sequence[Judgment]], None]
Asker = Callable[[Sequence[Asked], Keep], None]
"""Answers questions and hands over judgments as they come; Incomplete where it was stopped or the budget is reached."""


@dataclass(slots=True)
class Questions:
    """Turns sides of pairs into questions of one judge on one release."""

    run: Run
    release: Release
    evaluation: Evaluation
    profile: JudgeSpec
    judge_sha256: str
    _planned: dict[str, dict[str, PlannedCheck]] = field(default_factory=dict)
    _checks: dict[tuple[str, str], Check] = field(default_factory=dict)

    def asked(self, case_id: str, check_id: str, side: Side, judge_sample: int) -> Asked:
        """The question of one side under one sample.

        Raises:
            DataError: where the release has no such check any more.
        """
        case = self.release.cases.get(case_id)
        planned = self._rows(case_id).get(check_id) if case is not None else None
        if case is None or planned is None:
            where, fix = f"audit of {self.profile.name!r}", "Make the audit anew with the release as it is now."
            raise DataError(
                "A pair cannot be asked.",
                [Fault(where, "unknown_check", check_id, "a check of the release", fix, case_id, check_id)],
            )
        check = self._checks[case_id, check_id]
        probe = side.probe if side.probe is not None else self.evaluation.probes.get((case_id, check_id))
        if side.references or side.probe is not None:
            planned = _exchanged(planned, case, side, probe)
        keys = Keys.of(self.profile, self.judge_sha256, self.release.revision, plan_case(0, case))
        if side.references:
            shown = {name: keys.pictures[side.references.get(name, name)] for name in keys.pictures}
            keys = Keys(keys.revision, keys.judge_sha256, keys.asks_model, keys.has_critics, shown)
        picture = PictureFile("candidate", self.run.path / side.file, side.picture)
        key = keys.key(planned, side.picture, judge_sample)
        return Asked(key, case, check, planned, probe, picture, dict(side.references), judge_sample)

    def _rows(self, case_id: str) -> dict[str, PlannedCheck]:
        if case_id not in self._planned:
            case = self.release.cases[case_id]
            self._planned[case_id] = {one.check_id: one for one in plan_checks(case, self.evaluation)}
            self._checks.update({(case_id, one.check_id): one for one in self.evaluation.checks[case_id]})
        return self._planned[case_id]


def ask_all(
    questions: Iterable[Asked], journal: JudgmentJournal, profile: JudgeSpec, asker: Asker, reusable: Mapping[str, Judgment]
) -> None:
    """Answer every question that has no standing answer, from the run's own answers where they have its key, else by asking.

    Invalid answers are asked again for passing reasons, as often as the profile's `reask` says. What is answered is on disk
    before it counts.
    """
    before = by_key(journal.read())
    opened: dict[str, Asked] = {}
    for one in questions:
        given = before.get(one.key, [])
        if one.key in opened or not _is_open(given, profile):
            continue
        if not given and one.key in reusable:
            journal.append_many([_adopted(reusable[one.key], one, profile)])
            before[one.key] = [reusable[one.key]]
            continue
        opened[one.key] = replace(one, invalid_before=tuple(str(line.invalid) for line in given))
    if opened:
        asker(list(opened.values()), journal.append_many)


def _is_open(given: Sequence[Judgment], profile: JudgeSpec) -> bool:
    found = newest_answer(given)
    return found is None or (found.label is None and is_asked_again(profile, [str(line.invalid) for line in given]))


def _adopted(found: Judgment, one: Asked, profile: JudgeSpec) -> Judgment:
    return adopt_answer(
        found,
        judge=profile.name,
        system="audit",
        case_id=one.case.case_id,
        sample=0,
        judge_sample=one.judge_sample,
        check_id=one.check.check_id,
    )


def _exchanged(planned: PlannedCheck, case: Case, side: Side, probe: Mapping[str, Any] | None) -> PlannedCheck:
    """The check as it is asked with other references: its probe and the pictures its exemplars lie in."""
    if probe is None:
        return planned
    named = sorted(reference_ids(parse_probe(probe, f"probe of {planned.check_id!r}")))
    files = {one.id: one.sha256 for one in case.inputs}
    return msgspec.structs.replace(
        planned,
        probe_sha256=sha256_bytes(canonical_json(probe)),
        exemplars={name: files[name] for name in named if name in files},
    )


@dataclass(slots=True)
class ProbeAsker:
    """Asks a judge that answers probes; pictures are looked at in worker processes.

    Exchanged references reach such a judge through the probe alone: its exemplars name the pictures themselves.
    """

    profile: JudgeSpec
    judge_sha256: str
    protocol: Protocol
    evaluation: Evaluation
    workers: int | None = None

    def __call__(self, questions: Sequence[Asked], keep: Keep) -> None:
        """Answer all questions, one picture at a time."""
        jobs = [job for case_questions in _by_case(questions) for job in self._jobs(case_questions)]
        waiting = {id(job): asked for job, asked in jobs}
        failures, done = [], 0
        with graceful_stop() as stop:
            work = [job for job, _ in jobs]
            label = f"audit {self.profile.name}"
            for job, result in each(judge_case, work, workers=self.workers or usual_workers(), label=label, stop=stop):
                if isinstance(result, Failure):
                    failures.append(f"case {job.case_id!r}: {result.reason}")
                    continue
                done += 1
                for group, given in zip(waiting[id(job)], result, strict=True):
                    failures += [given.failure] if given.failure is not None else []
                    keep([self._judgment(one, answer) for one, answer in zip(group, given.answers, strict=False)])
            stop.require_complete(done + len(failures), len(work), "parts of the audit")
        if failures:
            raise Incomplete("\n".join(["Some pictures could not be judged; the other answers are kept.", *failures]))

    def _jobs(self, questions: Sequence[Asked]) -> Iterable[tuple[CaseJob, list[list[Asked]]]]:
        """Jobs of a few pictures; each picture carries the questions on it."""
        case = questions[0].case
        references = tuple(PictureFile(one.id, one.file, one.sha256) for one in case.inputs)
        own = [self.evaluation.probes.get((case.case_id, check.check_id)) for check in self.evaluation.checks[case.case_id]]
        probes = tuple(probe for probe in own if probe is not None)
        by_picture: dict[tuple[str, str], list[Asked]] = defaultdict(list)
        for one in questions:
            exchanged = "" if one.probe in own or one.probe is None else one.key
            by_picture[one.picture.sha256, exchanged].append(one)
        plain = [group for (_, exchanged), group in by_picture.items() if not exchanged]
        for start in range(0, len(plain), AT_ONCE):
            part = plain[start : start + AT_ONCE]
            yield self._job(case.case_id, references, probes, part), part
        for (_, exchanged), group in by_picture.items():
            if exchanged:
                yield self._job(case.case_id, references, (*probes, group[0].probe or {}), [group]), [group]

    def _job(
        self, case_id: str, references: tuple[PictureFile, ...], probes: tuple[Mapping[str, Any], ...], groups: list[list[Asked]]
    ) -> CaseJob:
        candidates = tuple(
            CandidateJob(
                ("audit", n),
                group[0].picture,
                tuple(Question(one.check.check_id, one.probe) for one in group),
            )
            for n, group in enumerate(groups)
        )
        return CaseJob(self.protocol, case_id, references, candidates, None, probes)

    def _judgment(self, one: Asked, answer: Answer) -> Judgment:
        looked = [ImageSent("candidate", "candidate", one.picture.sha256, one.picture.sha256)]
        looked += [ImageSent("reference", name, sha256, sha256) for name, sha256 in one.planned.exemplars.items()]
        return Judgment(
            key=one.key,
            judge=self.profile.name,
            judge_sha256=self.judge_sha256,
            system="audit",
            case_id=one.case.case_id,
            sample=0,
            judge_sample=one.judge_sample,
            check_id=one.check.check_id,
            check_sha256=one.check.sha256,
            candidate_sha256=one.picture.sha256,
            label=answer.label,
            invalid=answer.invalid,
            attempt=one.attempt,
            rationale=answer.rationale or None,
            evidence=answer.evidence,
            images=looked,
            opened=[image.id for image in looked[1:]],
            at=utc_now(),
        )


def _by_case(questions: Sequence[Asked]) -> Collection[list[Asked]]:
    grouped: dict[str, list[Asked]] = defaultdict(list)
    for one in questions:
        grouped[one.case.case_id].append(one)
    return grouped.values()
