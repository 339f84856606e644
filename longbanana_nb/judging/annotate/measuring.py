"""How often derived values are right, measured on a release whose units and probes are known."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longbanana_nb.judging.annotate.drafts import Draft, all_checks, draft_from_words

if TYPE_CHECKING:
    from longbanana_nb.release import Evaluation


@dataclass(frozen=True, slots=True)
class Measured:
    """Of `checks` with a known value, how many were proposed one, and how many of those are right."""

    what: str
    checks: int
    proposed: int
    right: int

    @property
    def text(self) -> str:
        """One line for people."""
        share = f"{self.right / self.proposed:.1%} of them right" if self.proposed else "none to compare"
        return f"{self.what:<10} {self.proposed} of {self.checks} proposed, {share}"


def measure_rules(evaluation: Evaluation) -> list[Measured]:
    """Dimension, polarity and probes as the rules propose them, against what the release states."""
    counts: Counter[tuple[str, str]] = Counter()
    for check in all_checks(evaluation):
        draft, key = draft_from_words(check), (check.case_id, check.check_id)
        if unit := evaluation.units.get(key):
            for what in ("dimension", "polarity"):
                proposed = getattr(draft, what)
                counts.update({(what, "known"): 1, (what, "proposed"): proposed is not None})
                counts[what, "right"] += proposed == getattr(unit, what)
        if (probe := evaluation.probes.get(key)) is not None:
            counts.update({("probe", "known"): 1, ("probe", "proposed"): draft.probe is not None})
            counts["probe", "right"] += _same_question(draft, probe)
    return [
        Measured(what, counts[what, "known"], counts[what, "proposed"], counts[what, "right"])
        for what in ("dimension", "polarity", "probe")
    ]


def _same_question(draft: Draft, known: dict[str, Any]) -> bool:
    """Whether two probes ask the same; how large a share of the backdrop is wanted stands in no question."""
    return draft.probe is not None and _without_share(draft.probe) == _without_share(known)


def _without_share(probe: Any) -> Any:
    if isinstance(probe, dict):
        return {key: _without_share(value) for key, value in probe.items() if key != "share"}
    return probe
