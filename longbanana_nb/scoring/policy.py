"""The choices a score depends on, named, checked and carried into every output."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from longbanana_nb.errors import CallError
from longbanana_nb.names import nearest

MISSING_POLICIES = ("delivered", "zero")
ZERO_OUTCOMES = ("no_image", "failed", "timeout")
"""Outcomes that are the system's own; under `zero` their checks count 0. Others (blocked, budget, interrupted) stay missing."""
OUTCOMES = ("image", "blocked", "no_image", "failed", "timeout", "budget", "interrupted")


@dataclass(frozen=True, slots=True)
class Policy:
    """How missing verdicts, thin cases and passing are treated.

    Attributes:
        missing: "delivered" scores what was judged; "zero" counts 0 where the system failed to leave an image.
        min_case_coverage: valid share (0-1) a case needs to be scored; at 0 one valid check is enough (the card's rule).
        weights: name of the weights inside a case for the pass rate; only `uniform-v1` exists.
        threshold: score (0-100) from which on a case passes.
        rule: how the threshold is compared; always ">=".
        checks: "all", or in words which sample of each case's checks was asked; said with every number, and changes none.

    Raises:
        CallError: for a value outside these, with the nearest that is allowed.
    """

    missing: str = "delivered"
    min_case_coverage: float = 0.0
    weights: str = "uniform-v1"
    threshold: float = 70
    rule: str = ">="
    checks: str = "all"

    def __post_init__(self) -> None:
        if self.missing not in MISSING_POLICIES:
            hint = nearest(str(self.missing), MISSING_POLICIES)
            suggestion = f" Did you mean {hint!r}?" if hint else ""
            raise CallError(f"missing policy: found {self.missing!r}; expected one of {', '.join(MISSING_POLICIES)}.{suggestion}")
        _require_number("min_case_coverage", self.min_case_coverage, 1)
        _require_number("threshold", self.threshold, 100)
        if self.rule != ">=":
            raise CallError(f"pass rule: found {self.rule!r}; expected '>='. No other rule exists.")

    @property
    def exact_threshold(self) -> Fraction:
        """The threshold as the decimal number that was written (0.1 is one tenth, not its nearest float)."""
        return Fraction(str(self.threshold))

    @property
    def exact_coverage(self) -> Fraction:
        """`min_case_coverage` as the decimal number that was written."""
        return Fraction(str(self.min_case_coverage))


def require_level(level: float) -> float:
    """Return a confidence level strictly between 0 and 1, else raise CallError."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise CallError(f"level: found {level!r}; expected a number between 0 and 1, such as 0.95.")
    return float(level)


def _require_number(name: str, value: object, top: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= top:
        raise CallError(f"{name}: found {value!r}; expected a number from 0 to {top}.")
