"""The tools of our own loop by which an agent leaves artefacts, and the events that compliance is counted from."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from longbanana_nb.generation.workflows.artefacts import (
    MOST_BYTES,
    Artefact,
    BadArtefactError,
    Choice,
    Evidence,
    Plan,
    Review,
    as_bytes,
    shaped,
)
from longbanana_nb.generation.workflows.compliance import Event, Left


@dataclass(slots=True)
class Notes:
    """What one agent has left so far, and what has happened so far."""

    ids: Collection[str]
    artefacts: dict[str, Artefact] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    def leave(self, part: str, arguments: Mapping[str, Any], picture: int | None) -> dict[str, Any]:
        """Keep an artefact, or one more review of `picture`, and say what is kept.

        Raises:
            BadArtefactError: where the arguments are not of its form; nothing is then kept.
        """
        found = shaped(part, self._whole(part, arguments, picture), self.ids)
        if len(as_bytes(found)) > MOST_BYTES:
            raise BadArtefactError(f"it would make {len(as_bytes(found)):,} bytes; at most {MOST_BYTES:,} are kept. Be briefer")
        self.artefacts[part] = found
        self.events.append(Event("noted", (part,)))
        return {"kept": part, "entries": _entries(found)}

    def left(self, candidate: int | None, image_calls_left: int) -> Left:
        """Everything, for `compliance.counted`."""
        contents = {part: as_bytes(artefact) for part, artefact in self.artefacts.items()}
        return Left(contents, tuple(self.events), candidate, image_calls_left)

    def _whole(self, part: str, arguments: Mapping[str, Any], picture: int | None) -> Any:
        if part != "review":
            return dict(arguments)
        before = self.artefacts.get(part)
        rounds = before.rounds if isinstance(before, Review) else []
        return {"rounds": [*(_plain(one) for one in rounds), {**arguments, "picture": picture}]}


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)


def _entries(artefact: Artefact) -> int:
    if isinstance(artefact, Evidence):
        return len(artefact.findings)
    if isinstance(artefact, Plan):
        return len(artefact.stages)
    return len(artefact.attempts) if isinstance(artefact, Choice) else len(artefact.rounds)
