"""From open units to what a model is asked together, in the order in which caches serve best."""

from __future__ import annotations

import functools
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from longbanana_nb.judging.model_protocols import ModelJob
from longbanana_nb.judging.protocols import PictureFile
from longbanana_nb.judging.units import OpenCandidate, Unit

if TYPE_CHECKING:
    from longbanana_nb.providers.catalogue import Model
    from longbanana_nb.release import Case, Check
    from longbanana_nb.runs import JudgeSpec


@dataclass(slots=True, eq=False)
class Work:
    """One job with the units it answers; `shares_references` says whether other work shows the same references after it."""

    opened: OpenCandidate
    units: tuple[Unit, ...]
    job: ModelJob
    shares_references: bool = False


@dataclass(frozen=True)
class Maker:
    """Makes the jobs of one judge on one case."""

    profile: JudgeSpec
    model: Model
    case: Case
    checks: Mapping[str, Check]

    def works(self, opened: OpenCandidate, units: Sequence[Unit]) -> list[Work]:
        """The units of a candidate as jobs: of one judge sample and one reason for asking again, `checks_per_call` at a time.

        Units that bind the same references follow each other.
        """
        together: dict[tuple[int, str | None], list[Unit]] = {}
        for unit in _by_references(units):
            together.setdefault((unit.judge_sample, unit.before[-1] if unit.before else None), []).append(unit)
        size = self.profile.checks_per_call
        chunks = [tuple(found[start : start + size]) for found in together.values() for start in range(0, len(found), size)]
        shown = Counter(_shown(chunk) for chunk in chunks)
        return [self.work(opened, chunk, shares_references=shown[_shown(chunk)] > 1) for chunk in chunks]

    def work(self, opened: OpenCandidate, units: tuple[Unit, ...], *, shares_references: bool = False) -> Work:
        """The job that asks these units together."""
        return Work(opened, units, self._job(opened, units), shares_references)

    @functools.cached_property
    def _pictures(self) -> dict[str, PictureFile]:
        return {one.id: PictureFile(one.id, one.file, one.sha256) for one in self.case.inputs}

    def _job(self, opened: OpenCandidate, units: tuple[Unit, ...]) -> ModelJob:
        before, pictures = units[0].before, self._pictures
        background = self.case.background
        return ModelJob(
            profile=self.profile,
            model=self.model,
            case_id=self.case.case_id,
            candidate=opened.picture,
            references=pictures,
            checks=tuple(self.checks[unit.check.check_id] for unit in units),
            dimension={unit.check.check_id: unit.check.dimension for unit in units},
            background=pictures[background.id] if background is not None else None,
            after=before[-1] if before else None,
            attempt=max(unit.attempt for unit in units),
        )


def _shown(units: Iterable[Unit]) -> tuple[str, ...]:
    return tuple(name for unit in units for name in unit.check.reference_ids)


def _by_references(units: Sequence[Unit]) -> Iterator[Unit]:
    groups: dict[tuple[str, ...], list[Unit]] = {}
    for unit in units:
        groups.setdefault(tuple(unit.check.reference_ids), []).append(unit)
    for group in groups.values():
        yield from group


@dataclass(slots=True)
class Line:
    """Work in line. With `primes` the first of each candidate goes alone, for the rest then finds its prefix in the cache."""

    primes: bool
    _ready: deque[Work] = field(default_factory=deque)
    _candidates: deque[deque[Work]] = field(default_factory=deque)
    _behind: dict[int, deque[Work]] = field(default_factory=dict)  # what waits for a work, by its identity

    def join(self, works: Sequence[Work]) -> None:
        """Line up the work of one candidate."""
        if self.primes and works:
            self._candidates.append(deque(works))
        else:
            self._ready.extend(works)

    def next(self) -> Work | None:
        """The next work that may begin; None where there is none now."""
        if self._ready:
            return self._ready.popleft()
        if self._candidates:
            works = self._candidates.popleft()
            first = works.popleft()
            self._behind[id(first)] = works
            return first
        return None

    def ended(self, work: Work) -> None:
        """Let go what waited for this work."""
        self._ready.extend(self._behind.pop(id(work), ()))
