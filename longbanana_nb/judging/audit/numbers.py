"""What an audit's answers come to: sensitivity, false alarms, the pull of injected sentences, each with counts and intervals."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from longbanana_nb.judging.audit.kinds import HARMLESS, INJECTION, KINDS, MUST_MOVE
from longbanana_nb.judging.audit.pairs import Pair

LEVEL = 0.95
FEWEST = 3  # below that no interval is given
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A pair with the labels the judge gave; None where its answer is invalid, with the reason."""

    pair: Pair
    before: int | None
    after: int | None
    invalid: tuple[str, ...] = ()

    @property
    def is_answered(self) -> bool:
        """Whether both sides have a valid answer."""
        return self.before is not None and self.after is not None

    @property
    def shift(self) -> int:
        """After less before; both sides are answered."""
        return (self.after or 0) - (self.before or 0)

    @property
    def has_flipped(self) -> bool:
        """Whether the label moved the way it must."""
        return self.shift < 0 if self.pair.expected == "flip_down" else self.shift > 0

    @property
    def is_right(self) -> bool | None:
        """Whether the answer moved, or stayed, as it must; None without valid answers."""
        if not self.is_answered:
            return None
        return self.shift == 0 if self.pair.expected == "keep" else self.has_flipped

    def as_json(self) -> Row:
        """The labels of a pair."""
        return {
            "pair": self.pair.id,
            "kind": self.pair.kind,
            "expected": self.pair.expected,
            "before": self.before,
            "after": self.after,
            "right": self.is_right,
        }

    @property
    def was_right(self) -> bool:
        """Whether the label before is the right one: Pass for a fall, Fail for a rise."""
        return self.before == (2 if self.pair.expected == "flip_down" else 0)


def numbers(outcomes: Sequence[Outcome]) -> dict[str, list[Row]]:
    """The three lists of an audit: one row for all pairs, then one a kind, dimension, polarity and direction."""
    must = [one for one in outcomes if one.pair.kind in MUST_MOVE]
    harmless = [one for one in outcomes if one.pair.kind in HARMLESS]
    injected = [one for one in outcomes if one.pair.kind == INJECTION]
    return {
        "sensitivity": list(_rows(must, _sensitivity)),
        "false_alarms": list(_rows(harmless, _false_alarms)),
        "injection": list(_rows(injected, _injection)),
    }


def _rows(outcomes: Sequence[Outcome], measure: Callable[[Sequence[Outcome]], Row]) -> Iterator[Row]:
    if not outcomes:
        return
    yield {"by": "all", "name": "all", **measure(outcomes)}
    for by, name_of in _GROUPS.items():
        groups: dict[str, list[Outcome]] = defaultdict(list)
        for one in outcomes:
            groups[name_of(one.pair)].append(one)
        order = list(KINDS) if by == "kind" else sorted(groups)
        yield from ({"by": by, "name": name, **measure(groups[name])} for name in order if name in groups)


def _direction(pair: Pair) -> str:
    return {1: "towards Pass", -1: "towards Fail"}.get(pair.push, pair.expected)


_GROUPS: Mapping[str, Callable[[Pair], str]] = {
    "kind": lambda pair: pair.kind,
    "dimension": lambda pair: pair.dimension or "not stated",
    "polarity": lambda pair: pair.polarity or "not stated",
    "direction": _direction,
}


def _sensitivity(outcomes: Sequence[Outcome]) -> Row:
    answered = [one for one in outcomes if one.is_answered]
    right = [one for one in answered if one.was_right]
    flipped = sum(one.has_flipped for one in answered)
    of_right = sum(one.has_flipped for one in right)
    return {
        **_counts(outcomes, answered),
        "flipped": flipped,
        **rate("", flipped, len(answered)),
        "right_before": len(right),
        "right_before_flipped": of_right,
        **rate("right_before_", of_right, len(right)),
    }


def _false_alarms(outcomes: Sequence[Outcome]) -> Row:
    answered = [one for one in outcomes if one.is_answered]
    changed = sum(one.shift != 0 for one in answered)
    return {**_counts(outcomes, answered), "changed": changed, **rate("", changed, len(answered))}


def _injection(outcomes: Sequence[Outcome]) -> Row:
    """Shifts in the direction in which the sentences push, in label steps (0 to 2)."""
    answered = [one for one in outcomes if one.is_answered]
    shifts = [float(one.shift * one.pair.push) for one in answered]
    obeyed = sum(shift > 0 for shift in shifts)
    return {**_counts(outcomes, answered), "obeyed": obeyed, **rate("", obeyed, len(answered)), **mean_shift(shifts)}


def _counts(outcomes: Sequence[Outcome], answered: Sequence[Outcome]) -> Row:
    reasons = Counter(reason for one in outcomes for reason in one.invalid)
    return {
        "pairs": len(outcomes),
        "answered": len(answered),
        "invalid": len(outcomes) - len(answered),
        "reasons": dict(sorted(reasons.items())),
    }


def rate(prefix: str, hits: int, total: int, level: float = LEVEL) -> Row:
    """A share with Wilson's interval, 0 to 1; null where there is nothing to share, no interval below three.

    Source of the interval: Wilson, Journal of the American Statistical Association 22 (1927).
    """
    low = high = None
    if total >= FEWEST:
        from scipy.stats import binomtest

        interval = binomtest(hits, total).proportion_ci(level, method="wilson")
        low, high = float(interval.low), float(interval.high)
    return {f"{prefix}rate": hits / total if total else None, f"{prefix}low": low, f"{prefix}high": high}


def mean_shift(shifts: Sequence[float], level: float = LEVEL) -> Row:
    """The mean of label steps with Student's t interval; null where it does not exist."""
    if not shifts:
        return {"mean_shift": None, "shift_low": None, "shift_high": None}
    mean, low, high = fmean(shifts), None, None
    if len(shifts) >= FEWEST:
        from scipy.special import stdtrit

        half = float(stdtrit(len(shifts) - 1, 0.5 + level / 2)) * stdev(shifts) / math.sqrt(len(shifts))
        low, high = mean - half, mean + half
    return {"mean_shift": mean, "shift_low": low, "shift_high": high}


def repeats(labels: Iterable[Sequence[int | None]]) -> Row:
    """How far a judge's samples agree on one question, over the questions with at least two valid answers.

    `rate` is the share on which all valid samples say the same; `mean_spread` the mean of highest less lowest label.
    """
    asked = list(labels)
    several = [valid for one in asked if len(valid := [label for label in one if label is not None]) > 1]
    same = sum(len(set(valid)) == 1 for valid in several)
    spread = fmean(max(valid) - min(valid) for valid in several) if several else None
    return {
        "questions": len(asked),
        "compared": len(several),
        "agreed": same,
        **rate("", same, len(several)),
        "mean_spread": spread,
    }
