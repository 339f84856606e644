"""Which cases of a release, and which of their checks, an experiment takes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from longbanana_nb.errors import CallError, Fault
from longbanana_nb.names import nearest
from longbanana_nb.runs.experiment import CaseSample, CheckSample
from longbanana_nb.runs.plan import PlannedCheck


class HasCategory(Protocol):
    """A case, as far as the selection looks."""

    @property
    def category(self) -> str:
        """The case's category."""


def select_cases(cases: Mapping[str, HasCategory], chosen: Literal["all"] | CaseSample | tuple[str, ...]) -> list[str]:
    """The chosen case ids in the release's order.

    A sample draws from the sorted ids of each category with a seed of its own, so that a category's draw does not
    depend on the others; a category with fewer cases gives all it has.

    Raises:
        CallError: naming every chosen id the release does not have.
    """
    if chosen == "all":
        return list(cases)
    if isinstance(chosen, CaseSample):
        return _draw(cases, chosen)
    unknown = [case_id for case_id in chosen if case_id not in cases]
    if unknown:
        faults = []
        for case_id in unknown:
            near = nearest(case_id, cases)
            fix = f"Did you mean {near!r}?" if near else "Remove it."
            faults.append(Fault("cases", "unknown_case", "an id the release does not have", "one of its ids", fix, case_id))
        raise CallError("The experiment asks for cases the release does not have.", faults)
    return [case_id for case_id in cases if case_id in set(chosen)]


def selection_notes(cases: Mapping[str, HasCategory], chosen: Literal["all"] | CaseSample | tuple[str, ...]) -> list[str]:
    """What a person should know about the choice: the categories that have fewer cases than a sample asks for."""
    if not isinstance(chosen, CaseSample):
        return []
    there = Counter(case.category for case in cases.values())
    short = [f"{category} {number}" for category, number in there.items() if number < chosen.per_category]
    if not short:
        return []
    return [
        f"cases.per_category asks for {chosen.per_category} a category; fewer are there, and all are taken: {', '.join(short)}."
    ]


def _draw(cases: Mapping[str, HasCategory], sample: CaseSample) -> list[str]:
    drawn: set[str] = set()
    for category in {case.category for case in cases.values()}:
        ids = sorted(case_id for case_id, case in cases.items() if case.category == category)
        chance = random.Random(f"{sample.seed}:{category}")
        drawn.update(chance.sample(ids, min(sample.per_category, len(ids))))
    return [case_id for case_id in cases if case_id in drawn]


def select_checks(checks: Sequence[PlannedCheck], sample: CheckSample | None) -> list[PlannedCheck]:
    """The chosen checks of one case, in their order; None takes all, and so does a sample that asks for more than there are.

    Strata are dimension and polarity where known. Each check gets a place in a queue in which every stratum is spread evenly
    from a random start, and the first of the queue are taken: so strata are drawn in proportion, every check of a case is
    about as likely as any other, and a larger sample with the same seed holds the smaller one.
    """
    if sample is None or sample.per_case >= len(checks):
        return list(checks)
    strata: dict[tuple[str, str], list[PlannedCheck]] = {}
    for check in sorted(checks, key=lambda one: one.check_id):
        strata.setdefault((check.dimension or "", check.polarity or ""), []).append(check)
    places: dict[str, float] = {}
    for name, members in sorted(strata.items()):
        chance = random.Random(f"{sample.seed}:{members[0].case_id}:{name}")
        chance.shuffle(members)
        start = chance.random()
        places.update({check.check_id: (n + start) / len(members) for n, check in enumerate(members)})
    taken = set(sorted(places, key=lambda check_id: (places[check_id], check_id))[: sample.per_case])
    return [check for check in checks if check.check_id in taken]
