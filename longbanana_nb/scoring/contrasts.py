"""Tests of contrasts declared before the verdicts: sign flips for scores, McNemar for pass rates, Holm over the family."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longbanana_nb.errors import CallError
from longbanana_nb.names import nearest
from longbanana_nb.taxonomy import FACTORS

FEWEST_DRAWS = 10_000
DRAWS_A_MEMBER = 400  # 20 / 0.05: the smallest p that Holm can reach stays a twentieth of 5 %
MARK = "="
METRICS = ("score", "pass_rate")


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a declared contrast: a system, or (with a factor) all systems that have a value of it."""

    name: str
    factor: str | None = None
    value: str | None = None

    @classmethod
    def of(cls, text: str) -> Side:
        """Read `fp-direct-strong`, or `workflow=rpr`."""
        factor, mark, value = text.partition(MARK)
        return cls(text, factor, value) if mark else cls(text)


@dataclass(frozen=True, slots=True)
class Contrast:
    """`a` against `b`, tested on these metrics; groups of systems are tested on scores alone."""

    a: Side
    b: Side
    metrics: tuple[str, ...]


def read_contrasts(compare: Sequence[tuple[str, str]], claims: Sequence[tuple[str, str, str]] = ()) -> list[Contrast]:
    """The declared contrasts in order, each once: the pairs of `compare`, then what claims compare overall.

    Args:
        compare: two systems, or two values of one factor. claims: (a, b, metric).

    Raises:
        CallError: for a factor that is none, sides of different factors, a side against itself, a pair declared twice.
    """
    found: dict[frozenset[str], Contrast] = {}
    for pair in compare:
        if frozenset(pair) in found:
            raise CallError(f"contrast {list(pair)} is declared twice; a family holds each contrast once. Remove one.")
        a, b = _sides(pair)
        found[frozenset(pair)] = Contrast(a, b, METRICS if a.factor is None else METRICS[:1])
    for a_name, b_name, metric in claims:
        a, b = _sides((a_name, b_name))
        known = found.setdefault(frozenset((a_name, b_name)), Contrast(a, b, (metric,)))
        metrics = tuple(one for one in METRICS if one in (*known.metrics, metric))
        found[frozenset((a_name, b_name))] = Contrast(known.a, known.b, metrics)
    return list(found.values())


def _sides(pair: tuple[str, str]) -> tuple[Side, Side]:
    a, b = (Side.of(text) for text in pair)
    for side in (a, b):
        if side.factor is not None and side.factor not in FACTORS:
            near = nearest(side.factor, FACTORS) or FACTORS[0]
            raise CallError(f"contrast {list(pair)}: {side.factor!r} is no factor; did you mean {near!r}?")
    if a.factor != b.factor or a == b:
        expected = "two systems, or two values of one factor (workflow=rpr, workflow=minimal)"
        raise CallError(f"contrast {list(pair)}: expected {expected}.")
    return a, b


def sign_flip_p(paired: NDArray[np.float64], *, family: int, seed: int) -> float:
    """Two-sided p of paired case differences being centred at 0; NaN without cases.

    Under the hypothesis that two systems can be exchanged case by case, every difference could as well have the other sign;
    cases keep their strata, for a sign changes nothing else. All sign patterns are gone through where there are few enough, else
    so many are drawn that Holm over `family` tests can still reach a twentieth of 5 %, and p = (1 + as extreme) / (1 + drawn).

    Source: Fisher, The Design of Experiments (1935), section 21; computed by `scipy.stats.permutation_test`.
    """
    from scipy.stats import permutation_test

    if len(paired) == 0:
        return math.nan
    if len(paired) == 1 or not paired.any():
        return 1.0
    draws = max(FEWEST_DRAWS, DRAWS_A_MEMBER * family)
    found = permutation_test(
        (paired,), _mean, permutation_type="samples", vectorized=True, n_resamples=draws, rng=np.random.default_rng(seed)
    )
    return float(found.pvalue)


def _mean(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    return np.asarray(np.mean(values, axis=axis))


def mcnemar_p(only_a: int, only_b: int) -> float:
    """Exact two-sided p of McNemar's test: cases that one of two systems passes alone fall to either side like coins.

    1 where no case is passed by one alone. Source: McNemar, Psychometrika 12 (1947); the exact form is a binomial test.
    """
    from scipy.stats import binomtest

    return 1.0 if only_a + only_b == 0 else float(binomtest(only_a, only_a + only_b, 0.5).pvalue)


def holm(p: Sequence[float]) -> list[float]:
    """Holm's adjusted p of a family, in the order given; a test that could not be made (NaN) stays NaN and counts in the family.

    Source: Holm, Scandinavian Journal of Statistics 6 (1979) 65-70.
    """
    order = sorted((value, place) for place, value in enumerate(p) if not math.isnan(value))
    adjusted, least = [math.nan] * len(p), 0.0
    for rank, (value, place) in enumerate(order):
        least = max(least, min(1.0, (len(p) - rank) * value))
        adjusted[place] = least
    return adjusted
