"""What an agent left in its folder: the picture it gives as its answer, and the artefacts its workflow asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation.contracts import Reason
from longbanana_nb.generation.sandbox.pickup import NOT_LEFT, pick_up, read_plain
from longbanana_nb.generation.tools import GENERATE, Tool
from longbanana_nb.generation.workflows.artefacts import FILES, MOST_BYTES, BadArtefactError, Part, read_artefact
from longbanana_nb.generation.workflows.compliance import Event, Left
from longbanana_nb.generation.workspace import Workspace

if TYPE_CHECKING:
    from longbanana_nb.generation.agent_contracts import ToolCall, ToolResult
    from longbanana_nb.generation.drawing import DrawingBoard
    from longbanana_nb.release import Case

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
class Files:
    """The artefacts of a workflow, looked at as files.

    An artefact whose bytes are new since the last look is an event "noted". One that cannot be read is kept as long as it is a
    plain file of bounded size; a link or a device counts as nothing.
    """

    workspace: Path
    parts: tuple[Part, ...]
    began: float
    contents: dict[str, bytes] = field(default_factory=dict)
    _hashes: dict[str, str] = field(default_factory=dict)

    def look(self, ids: Mapping[str, object]) -> list[Event]:
        """Events of the artefacts that were written since the last look, in the order of the workflow."""
        return [event for part in self.parts if (event := self._noted(part, ids)) is not None]

    def _noted(self, part: Part, ids: Mapping[str, object]) -> Event | None:
        data = read_plain(self.workspace, FILES[part], self.began, MOST_BYTES)
        if isinstance(data, Reason) or self._hashes.get(part) == sha256_bytes(data):
            return None
        self.contents[part], self._hashes[part] = data, sha256_bytes(data)
        try:
            read_artefact(part, data, ids)
        except BadArtefactError:
            return Event("noted", (part,), valid=False)
        return Event("noted", (part,))


class WatchedWorkspace(Workspace):
    """The tools of one candidate whose agent leaves artefacts as files: they are looked at before each image call."""

    def __init__(self, case: Case, board: DrawingBoard, max_image_calls: int, tools: Mapping[str, Tool], files: Files) -> None:
        super().__init__(case, board, max_image_calls, tools)
        self._files = files
        self._ids = {reference.id: reference for reference in case.inputs}

    def use(self, call: ToolCall) -> ToolResult:
        """Carry out a call; before one that draws, note which artefacts are there."""
        if call.name == GENERATE:
            self.note_files()
        return super().use(call)

    def note_files(self) -> None:
        """Look at the artefacts, and write down which are new."""
        self.notes.events += self._files.look(self._ids)

    def left(self, candidate: int | None) -> Left:
        """What was left in the end, for `compliance.counted`; `candidate` is the number of the image call that made it."""
        self.note_files()
        return Left(dict(self._files.contents), tuple(self.notes.events), candidate, self.image_calls_left)
