"""A plan as it is shown: systems, judges, what each takes in calls, dollars and time, and what cannot run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.planned_time import Time, in_words, total

if TYPE_CHECKING:
    from longbanana_nb.model_plans import ModelPlan


@dataclass(frozen=True, slots=True)
class SystemPlan:
    """One system: candidates asked for and still to make, image calls at most (None: no bound is set), dollars at most.

    `time_s` is wall clock on this machine at the experiment's concurrency, None where unknown; `time_basis` says how it is known.
    """

    system: str
    candidates: int
    to_make: int
    image_calls: int | None
    images_sent: int | None
    cost_usd: float | None
    time_s: float | None
    time_basis: str
    cannot_run: str | None = None
    notes: tuple[str, ...] = ()  # what is to be known of its models: one that ends soon, an unknown limit


@dataclass(frozen=True, slots=True)
class JudgePlan:
    """One judge: answers asked for over all systems, those already given, model calls, tokens, dollars and time."""

    judge: str
    answers: int
    answered: int
    calls: int
    tokens: int | None
    cost_usd: float | None
    time_s: float | None
    time_basis: str
    cannot_run: str | None = None
    model: ModelPlan | None = None  # of a judge that asks a model


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole plan; `can_run` is False while any part cannot."""

    experiment: Path
    run: Path
    release: str
    revision: str
    cases: int
    processes: int
    concurrency: int
    notes: tuple[str, ...]
    systems: tuple[SystemPlan, ...]
    judges: tuple[JudgePlan, ...]

    @property
    def can_run(self) -> bool:
        """Whether every system and judge can run as written."""
        return not any(part.cannot_run for part in self.systems) and not any(part.cannot_run for part in self.judges)

    @property
    def generate_time(self) -> Time:
        """All candidates that are to be made; unknown while a system cannot run."""
        return total(Time(part.time_s, part.time_basis) for part in self.systems)

    @property
    def judge_time(self) -> Time:
        """All answers that are to be given; unknown while a judge cannot run."""
        return total(Time(part.time_s, part.time_basis) for part in self.judges)

    def as_json(self) -> dict[str, Any]:
        """Plain values (`lb.plan.v1`); `cost_usd` is null where a price is unknown, times are where nothing was measured."""
        return {
            "schema": "lb.plan.v1",
            "experiment": str(self.experiment),
            "run": str(self.run),
            "release": self.release,
            "revision": self.revision,
            "cases": self.cases,
            "can_run": self.can_run,
            "processes": self.processes,
            "concurrency": self.concurrency,
            "time_s": {"generate": self.generate_time.seconds, "judge": self.judge_time.seconds},
            "notes": list(self.notes),
            "systems": [asdict(part) for part in self.systems],
            "judges": [asdict(part) for part in self.judges],
        }

    def text(self) -> str:
        """The plan for a person."""
        width = max((len(name) for name in self._names()), default=0)
        lines = [f"{self.release} (revision {self.revision}), {self.cases} cases, into {self.run}", "systems:"]
        for system in self.systems:
            lines += [f"  {_system_line(system, width)}", *(f"{'':<{width + 3}}{note}" for note in system.notes)]
        lines.append("judges:")
        lines += [line for part in self.judges for line in _judge_lines(part, width)]
        lines += ["time on this machine:", f"  {_total('generate', self.generate_time)}; {_total('judge', self.judge_time)};"]
        lines.append(f"  {self.processes} processes, and {self.concurrency} candidates at once where calls are paid")
        lines += [f"note: {note}" for note in self.notes]
        lines.append("Nothing was spent." if self.can_run else "Some of it cannot run as written; nothing was spent.")
        return "\n".join(lines)

    __str__ = text

    def _names(self) -> list[str]:
        return [part.system for part in self.systems] + [part.judge for part in self.judges]


def _system_line(part: SystemPlan, width: int) -> str:
    if part.cannot_run:
        return f"{part.system:<{width}} CANNOT RUN: {part.cannot_run}"
    calls = "image calls not bounded" if part.image_calls is None else f"at most {part.image_calls} image calls"
    images = "references chosen as it runs" if part.images_sent is None else f"{part.images_sent} references sent"
    return (
        f"{part.system:<{width}} {part.to_make} of {part.candidates} candidates to make; {calls}; {images}; "
        f"{_dollars(part.cost_usd)}; {_time(Time(part.time_s, part.time_basis))}"
    )


def _judge_lines(part: JudgePlan, width: int) -> list[str]:
    more = part.model.lines() if part.model is not None and not part.cannot_run else []
    return [f"  {_judge_line(part, width)}", *(f"{'':<{width + 3}}{line}" for line in more)]


def _judge_line(part: JudgePlan, width: int) -> str:
    if part.cannot_run:
        return f"{part.judge:<{width}} CANNOT RUN: {part.cannot_run}"
    time = _time(Time(part.time_s, part.time_basis))
    calls = f"{part.calls} model calls" if part.model is None else f"{part.model.calls_in_words} model calls"
    answers = f"{part.answers} answers, {part.answered} given; {calls}"
    cost = _dollars(part.cost_usd) if part.model is None else part.model.cost_in_words
    return f"{part.judge:<{width}} {answers}; {cost}; {time}"


def _total(verb: str, time: Time) -> str:
    return f"{verb} {_time(time)}" if not time.seconds else f"{verb} {in_words(time.seconds)}"


def _time(time: Time) -> str:
    if time.seconds == 0:
        return time.basis
    return f"time unknown ({time.basis})" if time.seconds is None else f"{in_words(time.seconds)} ({time.basis})"


def _dollars(cost: float | None, how: str = "at most") -> str:
    return "price unknown" if cost is None else f"{how} ${cost:.2f}"
