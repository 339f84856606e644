"""Raters that are no people: the truth with stated rates of confusion, so that the whole protocol runs without people."""

from __future__ import annotations

import random
from dataclasses import dataclass

from longbanana_nb.runs.labels import SIMULATED


@dataclass(frozen=True, slots=True)
class RaterQuality:
    """How a simulated rater errs: for each true label, the chances of answering 0, 1 and 2."""

    name: str
    confusion: tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]

    def answer(self, truth: int, seed: str) -> int:
        """The rater's answer on a unit whose truth is known; the same seed gives the same answer, whatever came before."""
        return random.Random(seed).choices((0, 1, 2), self.confusion[truth])[0]


QUALITIES = {
    quality.name: quality
    for quality in (
        RaterQuality("expert", ((0.97, 0.02, 0.01), (0.06, 0.88, 0.06), (0.01, 0.02, 0.97))),
        RaterQuality("careful", ((0.94, 0.04, 0.02), (0.10, 0.80, 0.10), (0.02, 0.04, 0.94))),
        RaterQuality("hasty", ((0.82, 0.10, 0.08), (0.20, 0.60, 0.20), (0.05, 0.10, 0.85))),
        RaterQuality("lenient", ((0.80, 0.12, 0.08), (0.05, 0.60, 0.35), (0.00, 0.02, 0.98))),
    )
}
"""Expert and careful err evenly; hasty errs often; lenient errs towards Pass. The rates are chosen, not measured on people."""
FIRST, SECOND, THIRD = (f"{SIMULATED}{name}" for name in ("first", "second", "third"))
