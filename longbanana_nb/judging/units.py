"""What a judge is asked on a run: each unit is answered already, answered in another run, or open; the same for every judge."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from longbanana_nb.judging.protocols import PictureFile
from longbanana_nb.judging.summary import Summary
from longbanana_nb.runs import JudgeSpec, Judgment, JudgmentJournal, adopt_answer, current_record
from longbanana_nb.runs.judge_spec import TRANSIENT
from longbanana_nb.runs.ledger import calls_of_judge
from longbanana_nb.runs.plan import Keys, PlannedCase, PlannedCheck, plan_case, plan_checks

if TYPE_CHECKING:
    from longbanana_nb.release import Evaluation, Release
    from longbanana_nb.runs import Record, Run


@dataclass(slots=True)
class Unit:
    """One check of one candidate under one judge sample, still to answer; `before` are the reasons of invalid answers."""

    check: PlannedCheck
    judge_sample: int
    key: str
    before: list[str] = field(default_factory=list)
    failed_now: bool = False  # whether the last answer was given just now, and is invalid

    @property
    def attempt(self) -> int:
        """The number of the next answer, from 1."""
        return len(self.before) + 1


@dataclass(slots=True)
class OpenCandidate:
    """One candidate with what is open on it, in the order of judge samples and checks."""

    record: Record
    picture: PictureFile
    units: list[Unit] = field(default_factory=list)


@dataclass(slots=True)
class Opening:
    """A judge before a run: finds what stands, takes what other runs answered, and gives out what is open.

    Args:
        retry: reasons of invalid answers that are asked again now, whatever the profile's `reask` says.
        writes: whether answers of other runs are taken into the journals; a plan only looks.
    """

    run: Run
    profile: JudgeSpec
    judge_sha256: str
    reusable: Mapping[str, Judgment]
    summary: Summary
    retry: Collection[str] = ()
    writes: bool = True

    @property
    def calls(self) -> Path:
        """Where the judge's paid calls are written down."""
        return calls_of_judge(self.run, self.profile.name)

    def journal(self, system: str, case_id: str) -> JudgmentJournal:
        """Where its answers on one system and case are kept."""
        return self.run.judgments(self.profile.name, system, case_id)

    def candidates(self, case: PlannedCase, checks: Sequence[PlannedCheck]) -> Iterator[OpenCandidate]:
        """The candidates of a case on which something is open, system by system; counts go to the summary."""
        keys = Keys.of(self.profile, self.judge_sha256, self.run.meta.release.revision, case)
        for system, entry in self.run.systems.items():
            if not self.run.holds(system, case.case_id):
                continue
            lines = self.journal(system, case.case_id).read()
            for sample in range(entry.system().samples):
                self.summary.expected += len(checks) * self.profile.samples
                record = current_record(self.run, system, case.case_id, sample)
                if record is None or record.image is None:
                    self.summary.no_candidate += len(checks) * self.profile.samples
                    continue
                file = self.run.candidate(system, case.case_id, sample).folder / record.image.file
                opened = OpenCandidate(record, PictureFile("candidate", file, record.image.sha256))
                self._sort(opened, keys, checks, [line for line in lines if line.sample == sample])
                if opened.units:
                    yield opened

    def is_asked_again(self, before: Sequence[str], *, retry: bool = False) -> bool:
        """Whether a unit with these invalid answers is asked again: for a passing reason as often as `reask` says.

        Args:
            retry: whether the reasons that a person named count too, as they do once a call.
        """
        return (retry and before[-1] in self.retry) or is_asked_again(self.profile, before)

    def _sort(self, opened: OpenCandidate, keys: Keys, checks: Sequence[PlannedCheck], lines: Sequence[Judgment]) -> None:
        earlier = by_key(lines)
        adopted = []
        for judge_sample in range(self.profile.samples):
            for check in checks:
                unit = Unit(check, judge_sample, keys.key(check, opened.picture.sha256, judge_sample))
                given = earlier.get(unit.key, [])
                if (stands := self._standing(given)) is not None:
                    self.summary.found += 1
                    self.summary.count(stands)
                elif (found := self.reusable.get(unit.key)) is not None:
                    adopted.append(self._adopted(found, opened, unit))
                else:
                    unit.before = [str(line.invalid) for line in given]
                    opened.units.append(unit)
        if adopted:
            record = opened.record
            if self.writes:
                self.journal(record.system, record.case_id).append_many(adopted)
            self.summary.reused += len(adopted)
            for judgment in adopted:
                self.summary.count(judgment)

    def _standing(self, given: Sequence[Judgment]) -> Judgment | None:
        """The answer that stands under a key: the newest valid one, else an invalid one that is not to be asked again."""
        found = newest_answer(given)
        if found is None or found.label is not None:
            return found
        return None if self.is_asked_again([str(line.invalid) for line in given], retry=True) else found

    def _adopted(self, found: Judgment, opened: OpenCandidate, unit: Unit) -> Judgment:
        record = opened.record
        return adopt_answer(
            found,
            judge=self.profile.name,
            system=record.system,
            case_id=record.case_id,
            sample=record.sample,
            judge_sample=unit.judge_sample,
            check_id=unit.check.check_id,
        )


def by_key(lines: Iterable[Judgment]) -> dict[str, list[Judgment]]:
    """Answers by key, in the order they were given."""
    found: dict[str, list[Judgment]] = {}
    for line in lines:
        found.setdefault(line.key, []).append(line)
    return found


def newest_answer(given: Sequence[Judgment]) -> Judgment | None:
    """Of the answers under one key the newest valid one, else the newest; None where there is none."""
    valid = [line for line in given if line.label is not None]
    return valid[-1] if valid else given[-1] if given else None


def is_asked_again(profile: JudgeSpec, before: Sequence[str]) -> bool:
    """Whether a question with these invalid answers is asked again: for a passing reason as often as `reask` says."""
    last = before[-1]
    return last in TRANSIENT and before.count(last) <= profile.reask.get(last, 0)  # type: ignore[call-overload]


def is_open(opening: Opening, release: Release) -> bool:
    """Whether any candidate has an open question; nothing is written, and nothing counted."""
    look = replace(opening, summary=Summary(opening.summary.judge), writes=False)
    cases = asked_cases(look.run, release, release.evaluation())
    return any(True for case, checks in cases for _ in look.candidates(case, checks))


def asked_cases(run: Run, release: Release, evaluation: Evaluation) -> Iterator[tuple[PlannedCase, list[PlannedCheck]]]:
    """The planned cases with their planned checks, as the release states them now."""
    planned: dict[str, set[str]] = {}
    for check in run.checks():
        planned.setdefault(check.case_id, set()).add(check.check_id)
    for case in run.cases():
        now = release.cases[case.case_id]
        checks = [one for one in plan_checks(now, evaluation) if one.check_id in planned.get(case.case_id, ())]
        yield plan_case(case.n, now), checks
