"""Which cases of a release an experiment takes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from typing import Literal, Protocol

from longbanana_nb.errors import CallError, Fault
from longbanana_nb.names import nearest
from longbanana_nb.runs.experiment import CaseSample


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
