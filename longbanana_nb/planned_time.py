"""How long the work of a plan takes on this machine: from what was measured on its kind of work, or said to be unknown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from longbanana_nb.paths import data_folder
from longbanana_nb.runs import JudgmentJournal
from longbanana_nb.runs.shapes import StrictShape, parse_shape
from longbanana_nb.runs.strict_yaml import read_yaml

if TYPE_CHECKING:
    from longbanana_nb.runs import JudgeSpec, Run, SystemSpec
    from longbanana_nb.runs.system_spec import ModelSpec

PAUSE_S = 60.0  # a gap between answers longer than this, and than ten usual gaps, is a pause and no work
TOGETHER_S = 0.02  # answers closer than this are of one job
Kind = tuple[str, ...]
Moment = tuple[str, str]  # when an answer came, and its key: a copied answer counts once


@dataclass(frozen=True, slots=True)
class Time:
    """Wall-clock seconds of one part of the work (None: unknown) and where the figure comes from."""

    seconds: float | None
    basis: str


NOTHING_TO_DO = Time(0.0, "nothing to do")
UNKNOWN = Time(None, "nothing of its kind was measured")
CANNOT_RUN = Time(None, "it cannot run")


class CandidatePace(StrictShape):
    """Seconds of one process for one candidate of a kind."""

    harness: str
    provider: str | None = None
    seconds: Annotated[float, Field(gt=0)]


class AnswerPace(StrictShape):
    """Seconds of one process for one answer of a protocol that asks no model."""

    protocol: str
    seconds: Annotated[float, Field(gt=0)]


class Paces(StrictShape):
    """The shipped measurement (`data/measured/paces.yaml`): of what, on which day and machine."""

    schema_: Literal["lb.paces.v1"] = Field(alias="schema")
    measured_on: str
    machine: str
    candidates: list[CandidatePace]
    answers: list[AnswerPace]


@cache
def shipped_paces() -> Paces:
    """The measurement that comes with the workbench."""
    path = data_folder() / "measured" / "paces.yaml"
    return parse_shape(Paces, read_yaml(path), str(path))


@dataclass(slots=True)
class Measured:
    """What was measured on earlier work: seconds of candidates by system hash and by kind, moments of answers by judge's kind."""

    by_system: dict[str, list[float]] = field(default_factory=dict)
    by_kind: dict[Kind, list[float]] = field(default_factory=dict)
    answers: dict[Kind, set[Moment]] = field(default_factory=dict)

    def generation(self, spec: SystemSpec, sha256: str | None, candidates: int, lanes: int) -> Time:
        """Time to make `candidates` of a system, up to `lanes` of them at once."""
        if candidates == 0:
            return NOTHING_TO_DO
        turns = candidates / min(lanes, candidates)
        for taken, of_what in ((self.by_system.get(sha256 or ""), "this system"), (self.by_kind.get(_kind_of(spec)), "its kind")):
            if taken:
                return Time(turns * sum(taken) / len(taken), f"measured on {len(taken)} candidates of {of_what}")
        if spec.agent_model is not None and (
            spec.agent_model.provider != "embedded" or spec.workflow != "minimal" or spec.best_of
        ):
            return UNKNOWN  # the shipped measurement is of the embedded agent at its least
        provider = spec.backend.provider if spec.backend is not None else None
        for pace in shipped_paces().candidates:
            if (pace.harness, pace.provider) == (spec.harness.kind, provider):
                return Time(turns * pace.seconds, _estimated())
        return UNKNOWN

    def judging(self, judge: JudgeSpec, answers: int, lanes: int) -> Time:
        """Time to give `answers`: at the pace at which answers of its kind came, whatever the lanes were then."""
        if answers == 0:
            return NOTHING_TO_DO
        given = self.answers.get(_kind_of_judge(judge), set())
        if (pace := _seconds_an_answer(given)) is not None:
            return Time(answers * pace, f"at the pace of {len(given)} answers of its kind")
        for shipped in shipped_paces().answers:
            if shipped.protocol == judge.protocol:
                return Time(answers * shipped.seconds / min(lanes, answers), _estimated())
        return UNKNOWN


def measured_in(runs: Iterable[Run]) -> Measured:
    """Read what candidates and answers of these runs took.

    Raises:
        DataError: where a record or journal cannot be read.
    """
    found = Measured()
    for run in runs:
        for record in run.records():
            seconds = _seconds_between(record.started_at, record.ended_at)
            if record.outcome == "interrupted" or seconds is None or record.system not in run.systems:
                continue
            kind = _kind_of(run.systems[record.system].system())
            found.by_system.setdefault(record.system_sha256, []).append(seconds)
            found.by_kind.setdefault(kind, []).append(seconds)
        for judge, moments in _moments(run):
            found.answers.setdefault(_kind_of_judge(judge), set()).update(moments)
    return found


def total(times: Iterable[Time]) -> Time:
    """The parts one after another; unknown while any is, with what is known in the basis."""
    parts = list(times)
    known = sum(one.seconds for one in parts if one.seconds is not None)
    if all(one.seconds is not None for one in parts):
        return Time(known, "the sum of its parts") if known else NOTHING_TO_DO
    first = next(one for one in parts if one.seconds is None)
    return Time(None, f"{in_words(known)} for what is known" if known else first.basis)


def in_words(seconds: float | None) -> str:
    """A time for a person, no finer than it can be known."""
    if seconds is None:
        return "unknown"
    if seconds < 1:
        return "under 1 s"
    if seconds < 90:
        return f"about {seconds:.0f} s"
    minutes = seconds / 60
    return f"about {minutes:.0f} min" if minutes < 90 else f"about {minutes / 60:.1f} h"


def _moments(run: Run) -> Iterator[tuple[JudgeSpec, set[Moment]]]:
    for path in sorted(run.path.glob("judgments/*/*/*.jsonl")):
        if (entry := run.judges.get(path.parent.parent.name)) is not None:
            yield entry.judge(), {(line.at, line.key) for line in JudgmentJournal(path).read() if line.at}


def _seconds_an_answer(given: set[Moment]) -> float | None:
    """Wall-clock seconds an answer: from the first job that was answered to the last one, without pauses.

    The answers of the first job are left out, for nothing says when it began; so there is no pace before a second job.
    """
    moments = sorted(datetime.fromisoformat(at) for at, _ in given)
    gaps = [(after - before).total_seconds() for before, after in pairwise(moments)]
    first = next((n for n, gap in enumerate(gaps) if gap > TOGETHER_S), len(gaps))
    usual = median([gap for gap in gaps if gap > 1] or [0])
    worked = [gap for gap in gaps[first:] if gap <= max(PAUSE_S, 10 * usual)]
    return sum(worked) / len(worked) if worked else None


def _seconds_between(started_at: str, ended_at: str) -> float | None:
    """Seconds a candidate took; None where its record does not say."""
    if not started_at or not ended_at or started_at == ended_at:
        return None
    return max(0.0, (datetime.fromisoformat(ended_at) - datetime.fromisoformat(started_at)).total_seconds())


def _kind_of(spec: SystemSpec) -> Kind:
    """What decides how long a candidate takes: how the models are driven, and which they are."""
    return (spec.harness.kind, spec.workflow or "", *_model(spec.agent_model), *_model(spec.backend))


def _kind_of_judge(judge: JudgeSpec) -> Kind:
    return (judge.protocol, *_model(judge.model))


def _model(model: ModelSpec | None) -> Kind:
    return ("", "", "") if model is None else (model.provider, model.route or "", model.id)


def _estimated() -> str:
    paces = shipped_paces()
    return f"estimate of {paces.measured_on}, {paces.machine}"
