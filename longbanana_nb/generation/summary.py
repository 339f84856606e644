"""What a generation or an import came to, in numbers and in one text for people."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from longbanana_nb.generation.jobs import Made

NOTES_SHOWN = 10


@dataclass(slots=True)
class Summary:
    """Counts of candidates by system and outcome, those made now and those there before, and what deserves a look.

    `outcomes` covers everything asked for that has a record now; `expected` is systems x cases x samples asked for.
    """

    expected: int = 0
    made: int = 0
    found_finished: int = 0
    reused: int = 0
    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    missing: dict[str, list[str]] = field(default_factory=dict)  # system: case ids without a candidate (imports)
    ignored: list[str] = field(default_factory=list)  # files of an import folder that belong to no case
    notes: list[str] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether everything asked for has a finished record."""
        return self.made + self.found_finished + self.reused >= self.expected and not any(self.missing.values())

    def count(self, system: str, outcome: str) -> None:
        """Count one candidate."""
        self.outcomes.setdefault(system, Counter())[outcome] += 1

    def note_size(self, system: str, case_id: str, made: Made) -> None:
        """Note a picture of another size than was asked for; it is kept as it is."""
        asked, facts = made.draft.size_asked, made.facts
        if asked is not None and facts is not None and (facts.width, facts.height) != (asked, asked):
            self.notes.append(f"{system}, case {case_id!r}: {facts.width} x {facts.height} pixels, asked for {asked} x {asked}.")

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "expected": self.expected,
            "made": self.made,
            "found_finished": self.found_finished,
            "reused": self.reused,
            "outcomes": {system: dict(sorted(counts.items())) for system, counts in self.outcomes.items()},
            "missing": self.missing,
            "ignored": self.ignored,
            "notes": self.notes,
        }

    def text(self) -> str:
        """The same for people: one line of totals, one a system, then what deserves a look."""
        lines = [
            f"{self.made} candidates made, {self.found_finished} were there, {self.reused} reused; {self.expected} expected."
        ]
        for system, counts in self.outcomes.items():
            lines.append(f"  {system}: " + ", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items())))
        for system, case_ids in self.missing.items():
            if case_ids:
                lines.append(f"  {system}: no candidate for {len(case_ids)} cases: {_listed(case_ids)}")
        if self.ignored:
            lines.append(f"  {len(self.ignored)} files belong to no case and were left alone: {_listed(self.ignored)}")
        more = [f"  and {len(self.notes) - NOTES_SHOWN} more notes"] if len(self.notes) > NOTES_SHOWN else []
        return "\n".join([*lines, *(f"  {note}" for note in self.notes[:NOTES_SHOWN]), *more])

    __str__ = text


def _listed(names: list[str], most: int = 10) -> str:
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(name) for name in names[:most]) + rest
