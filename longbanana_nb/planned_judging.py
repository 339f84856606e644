"""What a model judge's answers will take: calls, pictures, tokens and dollars, floors apart, for each way of sending."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from longbanana_nb.errors import CallError
from longbanana_nb.generation.engine import needs_making
from longbanana_nb.judging.costing import ASSUMED_SIDE, Costing, Question, StandIns, dollars, thinks, usage_of
from longbanana_nb.judging.forecasts import most_dollars
from longbanana_nb.judging.model_jobs import Maker
from longbanana_nb.judging.preflight import model_of, sending_faults
from longbanana_nb.judging.summary import Summary
from longbanana_nb.judging.units import OpenCandidate, Opening, Unit
from longbanana_nb.model_plans import ModelPlan, Share, Tokens
from longbanana_nb.providers.keys import key_of
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
        for spec in (one for one in self.experiment.all_systems() if self.experiment.holds(one.name, case.case_id)):
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
            tokens=Tokens(usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens, usage.output_tokens)
            if all(one.is_known for one in asked)
            else None,
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
        return most_dollars(price(self.model, on), asked) if all(one.is_known for one in asked) else None

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
        try:
            key_of(self.model)
        except CallError as missing:
            yield f"not yet: {missing}"
        yield from self.model.warnings
