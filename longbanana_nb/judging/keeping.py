"""What a model judge answered, put into the journals; failures of the wire wait there until something works again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from longbanana_nb.errors import Incomplete
from longbanana_nb.files import utc_now
from longbanana_nb.judging.bills import Bill, tokens
from longbanana_nb.judging.model_jobs import Work
from longbanana_nb.judging.model_protocols import ModelAnswer
from longbanana_nb.runs import Judgment
from longbanana_nb.runs.journal import Journal
from longbanana_nb.runs.judgments import encode_judgment

if TYPE_CHECKING:
    from longbanana_nb.judging.units import Opening, Unit
    from longbanana_nb.runs.commits import Commits

STORM = 20  # jobs in a row that failed on the wire, with no success between


@dataclass(slots=True)
class Keeper:
    """Writes answers down. One that failed on the wire says nothing of its question while nothing else works either: such
    failures are kept back until a later answer shows that the provider can be reached, or until all the work is done.
    """

    opening: Opening
    commits: Commits
    failed_in_a_row: int = 0
    has_succeeded: bool = False
    _held: list[tuple[Work, list[Judgment]]] = field(default_factory=list)
    _journals: dict[tuple[str, str], Journal] = field(default_factory=dict)

    async def keep(self, work: Work, answers: Sequence[ModelAnswer], bill: Bill, *, may_be_storm: bool = True) -> None:
        """Write the answers of a job down; they are on disk and counted when this returns, or held.

        Args:
            may_be_storm: whether failures of the wire in a row say that the provider cannot be reached; those of a batch do not.

        Raises:
            Incomplete: where so many jobs in a row failed on the wire that more of them make no sense.
        """
        judgments = [self._judgment(work, n, answer, bill) for n, answer in enumerate(answers)]
        if may_be_storm and all(answer.invalid == "transport" for answer in answers):
            self.failed_in_a_row += 1
            self._held.append((work, judgments))
            if self.failed_in_a_row >= STORM:
                raise Incomplete(
                    f"{self.failed_in_a_row} questions in a row brought no reply; the last said: {answers[-1].raw}. Asking was "
                    "stopped; these questions stay open. What was answered is kept; run the same command again later."
                )
            return
        self.failed_in_a_row, self.has_succeeded = 0, True
        held, self._held = self._held, []
        await self._write([*held, (work, judgments)])

    async def release(self) -> None:
        """Write down what was held, when all the work is done."""
        held, self._held = self._held, []
        await self._write(held)

    async def _write(self, kept: Sequence[tuple[Work, list[Judgment]]]) -> None:
        waits = [self.commits.add(self._journal(work), *map(encode_judgment, judgments)) for work, judgments in kept]
        for wait in waits:
            await wait
        for work, judgments in kept:
            for unit, judgment in zip(work.units, judgments, strict=True):
                self._count(unit, judgment)

    def _count(self, unit: Unit, judgment: Judgment) -> None:
        """Count an answer that stands; one that is to be asked again waits for the next round."""
        self.opening.summary.asked += 1
        if judgment.invalid is not None:
            unit.before.append(judgment.invalid)
            unit.failed_now = True
        if judgment.invalid is None or not self.opening.is_asked_again(unit.before):
            self.opening.summary.count(judgment)

    def _journal(self, work: Work) -> Journal:
        record = work.opened.record
        place = (record.system, record.case_id)
        if place not in self._journals:
            self._journals[place] = Journal(self.opening.journal(*place).path)
        return self._journals[place]

    def _judgment(self, work: Work, n: int, answer: ModelAnswer, bill: Bill) -> Judgment:
        unit, record = work.units[n], work.opened.record
        if answer.check_id != unit.check.check_id:
            raise RuntimeError(f"an answer to {answer.check_id!r} where one to {unit.check.check_id!r} was asked")
        used = {**tokens(bill.usage), "calls": bill.calls}
        if len(work.units) > 1:
            used["checks"] = len(work.units)
        return Judgment(
            key=unit.key,
            judge=self.opening.profile.name,
            judge_sha256=self.opening.judge_sha256,
            system=record.system,
            case_id=record.case_id,
            sample=record.sample,
            judge_sample=unit.judge_sample,
            check_id=unit.check.check_id,
            check_sha256=unit.check.check_sha256,
            candidate_sha256=work.opened.picture.sha256,
            label=answer.label,  # type: ignore[arg-type]  # the reader gives 0, 1 or 2
            invalid=answer.invalid,  # type: ignore[arg-type]  # the reader gives a known reason
            attempt=unit.attempt,
            rationale=answer.rationale,
            evidence=list(answer.evidence),
            images=list(answer.images),
            opened=list(answer.opened),
            raw=answer.raw,
            request_id=answer.request_id,
            model=answer.model,
            usage=used,
            cost_usd=bill.cost_usd / len(work.units),
            simulated=record.simulated,
            at=utc_now(),
        )
