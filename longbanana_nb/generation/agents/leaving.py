"""What an agent left in its folder: the picture it gives as its answer, and the artefacts its workflow asks for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation.contracts import Reason
from longbanana_nb.generation.sandbox.pickup import NOT_LEFT, pick_up, read_plain
from longbanana_nb.generation.workflows.artefacts import FILES, MOST_BYTES, BadArtefactError, Part, read_artefact
from longbanana_nb.generation.workflows.compliance import Event

ANSWERS = ("final.png", "final.jpg", "final.jpeg", "final.webp")


def answer_left(workspace: Path, began: float) -> bytes | Reason | None:
    """The picture left under a name of `ANSWERS`, the first there is; why it cannot be taken; None where there is none.

    Args:
        began: seconds since the epoch when the program was started.
    """
    for name in ANSWERS:
        found = pick_up(workspace, name, began)
        if isinstance(found, bytes) or found.code != NOT_LEFT:
            return found
    return None


@dataclass(slots=True)
class Notes:
    """The artefacts of a workflow, looked at as files: `look` is called before each image call and at the end.

    An artefact whose bytes are new since the last look is an event "noted". A file that cannot be read as an artefact is kept as
    long as it is a plain one of bounded size; a link or a device counts as nothing.
    """

    workspace: Path
    parts: tuple[Part, ...]
    ids: Collection[str]
    began: float
    contents: dict[str, bytes] = field(default_factory=dict)
    _hashes: dict[str, str] = field(default_factory=dict)

    def look(self) -> list[Event]:
        """Events of the artefacts that were written since the last look, in the order of the workflow."""
        return [event for part in self.parts if (event := self._noted(part)) is not None]

    def _noted(self, part: Part) -> Event | None:
        data = read_plain(self.workspace, FILES[part], self.began, MOST_BYTES)
        if isinstance(data, Reason) or self._hashes.get(part) == sha256_bytes(data):
            return None
        self.contents[part], self._hashes[part] = data, sha256_bytes(data)
        try:
            read_artefact(part, data, self.ids)
        except BadArtefactError:
            return Event("noted", (part,), valid=False)
        return Event("noted", (part,))
