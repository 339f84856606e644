"""Asking a model judge about the sides of pairs: the same engine, ledger and budget as `judge`, with a journal of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from longbanana_nb.judging.audit.asking import Asked, Keep
from longbanana_nb.judging.handles import open_handles
from longbanana_nb.judging.model_engine import Judging, Patience
from longbanana_nb.judging.model_jobs import Maker
from longbanana_nb.judging.model_protocols import ModelJob, ModelProtocol
from longbanana_nb.judging.preflight import ready_to_ask
from longbanana_nb.judging.summary import Summary
from longbanana_nb.judging.units import OpenCandidate, Opening, Unit
from longbanana_nb.runs import Budget, ImageFacts, JudgeSpec, JudgmentJournal, Record, graceful_stop
from longbanana_nb.runs.experiment import Limits
from longbanana_nb.runs.judge_spec import Sending
from longbanana_nb.runs.ledger import spent_on
from longbanana_nb.runs.own_loop import in_own_loop

if TYPE_CHECKING:
    from longbanana_nb.release import Evaluation, Release
    from longbanana_nb.runs import Run


@dataclass(slots=True)
class AuditOpening(Opening):
    """An opening whose answers and calls are kept in the folder of the audit."""

    answers: Path = field(default=Path())
    ledger: Path = field(default=Path())

    @property
    def calls(self) -> Path:
        """Where the audit's paid calls are written down."""
        return self.ledger

    def journal(self, system: str, case_id: str) -> JudgmentJournal:
        """Where the audit's answers are kept, whatever the case."""
        return JudgmentJournal(self.answers)


@dataclass(frozen=True, slots=True)
class ExchangingMaker(Maker):
    """Makes jobs in which other references are shown under the ids of bound ones: the one shown, by the id it is shown under."""

    shown: Mapping[str, str] = field(default_factory=dict)

    def _job(self, opened: OpenCandidate, units: tuple[Unit, ...]) -> ModelJob:
        job = Maker._job(self, opened, units)
        files = {name: replace(job.references[self.shown.get(name, name)], id=name) for name in job.references}
        background = files[job.background.id] if job.background is not None else None
        return replace(job, references=files, background=background)


@dataclass(slots=True)
class AuditJudging(Judging):
    """A model judge at work on an audit; what is asked is given, and nothing is sent in batches, for little is asked."""

    questions: Sequence[Asked] = ()

    @property
    def sending(self) -> Sending:
        """How requests travel."""
        asked = self.opening.profile.sending or Sending()
        return asked.model_copy(update={"batch": False})

    def _opened(self) -> Iterator[tuple[Maker, OpenCandidate]]:
        groups: dict[tuple[str, str, str], list[Asked]] = defaultdict(list)
        for one in self.questions:
            groups[one.case.case_id, one.picture.sha256, str(sorted(one.shown.items()))].append(one)
        for asked in groups.values():
            first = asked[0]
            texts = {check.check_id: check for check in self.evaluation.checks[first.case.case_id]}
            maker = ExchangingMaker(self.opening.profile, self.ready.model, first.case, texts, first.shown)
            units = [Unit(one.planned, one.judge_sample, one.key, list(one.invalid_before)) for one in asked]
            yield maker, OpenCandidate(_record(first), first.picture, units)


def _record(one: Asked) -> Record:
    """A record as the engine wants one; only names and the hash of the picture are read from it."""
    image = ImageFacts(one.picture.file.name, one.picture.sha256, one.picture.sha256, 0, "", 0, 0)
    return Record(system="audit", system_sha256="", case_id=one.case.case_id, sample=0, outcome="image", image=image)


@dataclass(slots=True)
class ModelAsker:
    """Asks a model judge, within a budget of the audit's own.

    Args:
        answers, calls: the journal of answers and the ledger of the audit.
    """

    run: Run
    release: Release
    evaluation: Evaluation
    profile: JudgeSpec
    judge_sha256: str
    protocol: ModelProtocol
    answers: Path
    calls: Path
    limits: Limits = field(default_factory=Limits)
    patience: Patience = field(default_factory=Patience)

    def __call__(self, questions: Sequence[Asked], keep: Keep) -> None:
        """Ask all questions. The engine itself keeps the answers, in the audit's journal; `keep` is not needed.

        Raises:
            CallError: before the first call, as `judge_with_model`. Incomplete: interruption, budget, no connection.
        """
        ready = ready_to_ask(self._unbatched(), max_usd=self.limits.max_usd)
        ready.require_key()
        summary = Summary(self.profile.name, expected=len(questions))
        opening = AuditOpening(self.run, self.profile, self.judge_sha256, {}, summary, answers=self.answers, ledger=self.calls)
        spent = spent_on(self.calls)
        budget = Budget(self.limits.max_usd, spent.usd + spent.open_usd)
        handles = open_handles(self.run.path, [], ready.account)
        with graceful_stop() as stop:
            parts = (
                self.release,
                self.evaluation,
                self.protocol,
                opening,
                ready,
                self.limits,
                budget,
                handles,
                self.patience,
                stop,
            )
            judging = AuditJudging(*parts, questions=questions)
            in_own_loop(judging.all)
            stop.require_complete(summary.answered, summary.expected, "answers")

    def _unbatched(self) -> JudgeSpec:
        """The profile as it is sent here, so that the price is that of single calls."""
        sending = self.profile.sending
        return (
            self.profile
            if sending is None
            else self.profile.model_copy(update={"sending": sending.model_copy(update={"batch": False})})
        )
