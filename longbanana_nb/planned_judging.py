"""What a model judge's answers will take: calls, pictures, tokens and dollars, floors apart, for each way of sending."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from longbanana_nb.generation.engine import needs_making
from longbanana_nb.judging.costing import ASSUMED_SIDE, Costing, Question, StandIns, dollars, thinks, usage_of
from longbanana_nb.judging.model_jobs import Maker
from longbanana_nb.judging.preflight import model_of, sending_faults
from longbanana_nb.judging.summary import Summary
from longbanana_nb.judging.units import OpenCandidate, Opening, Unit
from longbanana_nb.providers.prices import price
from longbanana_nb.runs import judge_sha256, reusable_answers
from longbanana_nb.runs.judge_spec import Sending
from longbanana_nb.runs.plan import plan_case, plan_checks
from longbanana_nb.runs.selection import select_checks

if TYPE_CHECKING:
    from longbanana_nb.judging.model_protocols import ModelProtocol
    from longbanana_nb.providers.catalogue import Model
    from longbanana_nb.release import Case, Evaluation, Release
    from longbanana_nb.runs import Experiment, JudgeSpec, Judgment, Record, Run, SystemSpec
    from longbanana_nb.runs.plan import PlannedCheck

WAYS: tuple[tuple[str, Sending], ...] = (
    ("each check alone", Sending()),
    ("cached for 5 minutes", Sending(cache="5m")),
    ("cached for an hour", Sending(cache="1h")),
    ("in batches", Sending(batch=True)),
)


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of all calls, as they would be charged."""

    input: int
    cached: int
    cache_written: int
    output: int


@dataclass(frozen=True, slots=True)
class Share:
    """What systems, or floors, take: questions still open, calls from least to most, pictures sent, dollars by way of sending.

    `most_usd` is what the open calls cost if each takes all its turns; for a judge that takes none it is `usd` as chosen.
    """

    open: int
    calls: int
    most_calls: int
    pictures: int
    tokens: Tokens
    usd: Mapping[str, float | None]
    chosen_usd: float | None
    most_usd: float | None


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """The money side of a model judge's plan. `price` says where the price is from; None: unknown, and so are all dollars."""

    model: str
    price: str | None
    systems: Share
    floors: Share
    uploads: int
    not_puttable: int
    assumed_candidates: int
    cannot: Mapping[str, str]
    notes: tuple[str, ...]

    @property
    def calls(self) -> int:
        """Calls at least, over systems and floors."""
        return self.systems.calls + self.floors.calls

    @property
    def tokens(self) -> int:
        """All tokens, in and out."""
        parts = (self.systems.tokens, self.floors.tokens)
        return sum(one.input + one.cached + one.cache_written + one.output for one in parts)

    @property
    def chosen_usd(self) -> float | None:
        """Dollars as the profile sends; None: unknown."""
        return _sum((self.systems.chosen_usd, self.floors.chosen_usd))

    def lines(self) -> list[str]:
        """For a person, under the judge's own line."""
        found = [f"{self.model}: price {self.price or 'unknown, so the cost is unknown'}"]
        for name, share in (("systems", self.systems), ("floors", self.floors)):
            calls = f"{share.calls}" if share.calls == share.most_calls else f"{share.calls} to {share.most_calls}"
            found.append(f"{name}: {share.open} checks open, {calls} calls, {share.pictures} pictures, {_tokens(share.tokens)}")
        for way in self.systems.usd:
            if way in self.cannot:
                continue
            parts = (self.systems.usd[way], self.floors.usd[way])
            found.append(f"{way}: {_usd(_sum(parts))} (systems {_usd(parts[0])}, floors {_usd(parts[1])})")
        most = _sum((self.systems.most_usd, self.floors.most_usd))
        if most is not None and most != self.chosen_usd:
            found.append(f"at most, with all turns taken: {_usd(most)}")
        found.append(f"as the profile sends: {_usd(self.chosen_usd)}")
        return [*found, *self.notes]


def plan_model_judge(
    judge: JudgeSpec, protocol: ModelProtocol, experiment: Experiment, release: Release, cases: Sequence[Case], run: Run | None
) -> tuple[ModelPlan, str]:
    """Look at what is open for a model judge; also gives the judge's hash. No key is needed and nothing is sent.

    Raises:
        CallError: a retired model, parameters, a way to send or a transcode that cannot be.
    """
    on = dt.datetime.now(dt.UTC).date()
    model, _ = model_of(judge, on=on)
    sha256 = judge_sha256(judge, protocol.versions(judge))
    with tempfile.TemporaryDirectory() as folder:
        look = _Look(judge, sha256, model, release, experiment, run, Costing(judge, model, protocol, StandIns(Path(folder))))
        for case in cases:
            look.at(case)
    return look.plan(on), sha256


class _Look:
    """What was seen of one judge's open questions."""

    def __init__(
        self,
        judge: JudgeSpec,
        sha256: str,
        model: Model,
        release: Release,
        experiment: Experiment,
        run: Run | None,
        costing: Costing,
    ) -> None:
        self.judge, self.sha256, self.model, self.release, self.costing = judge, sha256, model, release, costing
        self.experiment, self.run = experiment, run
        self.evaluation: Evaluation = release.evaluation()
        self.reusable: Mapping[str, Judgment] = reusable_answers(experiment.reuse)
        named = {spec.name for spec in experiment.all_systems()}
        entries = run.systems.items() if run is not None else ()
        self.others = {name: entry.system().is_floor for name, entry in entries if name not in named}
        self.groups: dict[bool, list[list[Question]]] = {False: [], True: []}  # by whether the system is a floor
        self.pictures: set[str] = set()
        self.not_puttable = self.assumed = 0

    def at(self, case: Case) -> None:
        """Look at one case."""
        planned = plan_case(0, case)
        checks = select_checks(plan_checks(case, self.evaluation), self.experiment.checks)
        maker = Maker(self.judge, self.model, case, {one.check_id: one for one in self.evaluation.checks[case.case_id]})
        opened: dict[tuple[str, int], OpenCandidate] = {}
        if self.run is not None and self.run.meta.release.revision == self.release.revision:
            opening = Opening(self.run, self.judge, self.sha256, self.reusable, Summary(self.judge.name), writes=False)
            opened = {(one.record.system, one.record.sample): one for one in opening.candidates(planned, checks)}
        for spec in self.experiment.all_systems():
            for candidate in self._candidates(spec, case, checks, opened):
                self._add(maker, candidate, is_floor=spec.is_floor)
        for (name, _), candidate in opened.items():
            if name in self.others:
                self._add(maker, candidate, is_floor=self.others[name])

    def _candidates(
        self, spec: SystemSpec, case: Case, checks: Sequence[PlannedCheck], opened: Mapping[tuple[str, int], OpenCandidate]
    ) -> Iterator[OpenCandidate]:
        """The candidates with open questions; one that is not made yet stands as a square picture."""
        for sample in range(spec.samples):
            if (found := opened.get((spec.name, sample))) is not None:
                yield found
                continue
            record = self.run.candidate(spec.name, case.case_id, sample).record() if self.run is not None else None
            if not needs_making(record):
                continue
            self.assumed += 1
            units = [Unit(check, n, f"{n}") for n in range(self.judge.samples) for check in checks]
            size = (ASSUMED_SIDE, ASSUMED_SIDE)
            yield OpenCandidate(cast("Record", None), self.costing.stand_ins.sized("candidate", size), units)

    def _add(self, maker: Maker, candidate: OpenCandidate, *, is_floor: bool) -> None:
        group = []
        for work in maker.works(candidate, candidate.units):
            if (asked := self.costing.question(work)) is None:
                self.not_puttable += len(work.units)
                continue
            group.append(asked)
            made = candidate.picture.sha256 if candidate.record is not None else f"not made yet {self.assumed}"
            self.pictures.add(made)
            self.pictures.update(work.job.references[name].sha256 for name in asked.shows if name in work.job.references)
        self.groups[is_floor].append(group)

    def plan(self, on: dt.date) -> ModelPlan:
        """Everything seen, in numbers."""
        found = price(self.model, on)
        cannot = {name: faults[0] for name, sending in WAYS if (faults := sending_faults(self.model, sending))}
        if self.judge.protocol == "agentic":
            cannot["in batches"] = "an agentic judge takes turns"
        return ModelPlan(
            model=f"{self.model.provider}/{self.model.id} (route {self.model.route})",
            price=found.source if found is not None else None,
            systems=self._share(self.groups[False], on, cannot),
            floors=self._share(self.groups[True], on, cannot),
            uploads=len(self.pictures),
            not_puttable=self.not_puttable,
            assumed_candidates=self.assumed,
            cannot=cannot,
            notes=tuple(self._notes()),
        )

    def _share(self, groups: Sequence[Sequence[Question]], on: dt.date, cannot: Mapping[str, str]) -> Share:
        asked = [one for group in groups for one in group]
        chosen = self.judge.sending or Sending()
        usage = usage_of(groups, cached=chosen.cache != "off", model=self.model)
        least, most = len(asked), sum(one.most_calls for one in asked)
        usd = {name: self._usd(groups, sending, on) if name not in cannot else None for name, sending in WAYS}
        chosen_usd = self._usd(groups, chosen, on)
        return Share(
            open=sum(one.checks for one in asked),
            calls=least,
            most_calls=most,
            pictures=sum(len(one.pictures) for one in asked),
            tokens=Tokens(usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens, usage.output_tokens),
            usd=usd,
            chosen_usd=chosen_usd,
            most_usd=self._most_usd(asked, on) if most > least else chosen_usd,
        )

    def _usd(self, groups: Sequence[Sequence[Question]], sending: Sending, on: dt.date) -> float | None:
        usage = usage_of(groups, cached=sending.cache != "off", model=self.model)
        calls = sum(len(group) for group in groups)
        if not all(one.is_known for group in groups for one in group):
            return None
        return dollars(price(self.model, on, batch=sending.batch), usage, calls, hour=sending.cache == "1h")

    def _most_usd(self, asked: Sequence[Question], on: dt.date) -> float | None:
        found = price(self.model, on)
        if found is None or not all(one.is_known for one in asked):
            return None
        return sum(found.most(one.most_tokens // one.most_calls, one.answer) * one.most_calls for one in asked)

    def _notes(self) -> Iterator[str]:
        thought = "and about 250 thought a call" if thinks(self.judge) else "and no thinking"
        yield f"assumed: about 120 tokens an answer {thought}; token counts are estimates by the provider's formulas."
        if self.others:
            yield f"the run holds other systems, and what is open on them is counted too: {', '.join(self.others)}."
        if self.assumed:
            yield f"{self.assumed} candidates are not made yet and counted as {ASSUMED_SIDE} x {ASSUMED_SIDE} pixels."
        if self.not_puttable:
            yield f"{self.not_puttable} checks cannot be put to this model (its limits): not counted."
        if not all(one.is_known for groups in self.groups.values() for group in groups for one in group):
            yield "how many tokens this model makes of pictures or texts is unknown, and so is the cost."
        if self.model.capabilities.cache == "automatic":
            yield "the provider caches by itself; what that saves is not counted."
        if (self.judge.sending or Sending()).images == "uploaded":
            yield f"{len(self.pictures)} pictures are uploaded once each; uploads cost no tokens."
        yield from self.model.warnings


def _sum(parts: Sequence[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _usd(amount: float | None) -> str:
    return "unknown" if amount is None else f"about ${amount:.2f}" if amount >= 1 or amount == 0 else f"about ${amount:.4f}"


def _tokens(tokens: Tokens) -> str:
    cached = f", {tokens.cached:,} from the cache, {tokens.cache_written:,} into it" if tokens.cache_written else ""
    return f"tokens: {tokens.input:,} in{cached}, {tokens.output:,} out"
