"""What a judging came to, in numbers and in one text for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from longbanana_nb.runs import Judgment
    from longbanana_nb.runs.judging_plans import JudgingPlan


@dataclass(frozen=True, slots=True)
class Money:
    """What a model judge took in this call; `cost_usd` is None where the price is unknown."""

    calls: int
    tokens: Mapping[str, int]
    cost_usd: float | None
    uploads: int = 0

    def text(self) -> str:
        """One line for people."""
        cost = "cost unknown" if self.cost_usd is None else f"${self.cost_usd:.4f}"
        counts = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in self.tokens.items())
        return f"spent: {self.calls} calls; tokens: {counts}; {cost}" + (
            f"; {self.uploads} pictures uploaded" if self.uploads else ""
        )


@dataclass(slots=True)
class Summary:
    """Counts of one judge's answers over everything that should exist.

    `asked` were answered now, `reused` taken from other runs, `found` had a current answer before; `no_candidate` have no
    picture. `valid` and `invalid` (by reason) count the answers that now stand.
    """

    judge: str
    expected: int = 0
    asked: int = 0
    reused: int = 0
    found: int = 0
    no_candidate: int = 0
    valid: int = 0
    invalid: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    planned: JudgingPlan | None = None  # made before the first call
    money: Money | None = None

    @property
    def is_complete(self) -> bool:
        """Whether every check of every candidate with a picture has a valid answer."""
        return self.valid + self.no_candidate == self.expected

    @property
    def answered(self) -> int:
        """How many answers stand, valid or not."""
        return self.valid + sum(self.invalid.values())

    def count(self, judgment: Judgment) -> None:
        """Count an answer that stands."""
        if judgment.label is not None:
            self.valid += 1
        else:
            self.invalid[str(judgment.invalid)] += 1

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        names = ("judge", "expected", "asked", "reused", "found", "no_candidate", "valid")
        found = {**{name: getattr(self, name) for name in names}, "invalid": dict(self.invalid), "failures": self.failures}
        if self.planned is not None:
            found["planned"] = msgspec.to_builtins(self.planned)
        if self.money is not None:
            found["money"] = asdict(self.money)
        return found

    def text(self) -> str:
        """A few lines for people."""
        lines = [
            f"{self.judge}: {self.asked} answers given, {self.found} were there, {self.reused} reused; "
            f"{self.valid} of {self.expected} valid."
        ]
        if self.no_candidate:
            lines.append(f"  {self.no_candidate} checks have no picture to look at.")
        if self.invalid:
            reasons = ", ".join(f"{number} {reason}" for reason, number in sorted(self.invalid.items()))
            lines.append(f"  invalid: {reasons}")
        if self.planned is not None:
            lines.append(f"  planned: {self.planned.text()}")
        if self.money is not None:
            lines.append(f"  {self.money.text()}")
        return "\n".join([*lines, *(f"  {failure}" for failure in self.failures)])

    def __str__(self) -> str:
        return self.text()
