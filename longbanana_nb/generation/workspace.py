"""What an agent can reach of a case, in process: the prompt, pictures by id, crops it made, what was drawn; nothing else.

Ids are looked up in a list made from the case, never used as paths. What a tool answers is data for the agent model.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from longbanana_nb.generation.agent_contracts import ListedReference, SeenImage, ToolCall, ToolResult
from longbanana_nb.generation.contracts import InputImage, Step
from longbanana_nb.generation.drawing import DrawingBoard, Input
from longbanana_nb.generation.images import examine
from longbanana_nb.generation.inventory import input_image, reference_picture
from longbanana_nb.generation.tools import (
    CROP,
    CURRENT,
    GENERATE,
    GO_BACK,
    LIST_REFERENCES,
    LOOK,
    LOOK_AT_RESULT,
    MOST_LOOKED_AT_ONCE,
    TOOLS,
    Tool,
)
from longbanana_nb.generation.workflows.artefacts import BadArtefactError
from longbanana_nb.generation.workflows.compliance import Event
from longbanana_nb.generation.workflows.notes import Notes
from longbanana_nb.names import nearest

if TYPE_CHECKING:
    from longbanana_nb.release import Case, Reference

LEAST_CROP = 4  # pixels


class BadCallError(Exception):
    """A tool call that cannot be carried out; the text goes back to the agent."""


class Workspace:
    """The tools of one candidate."""

    def __init__(self, case: Case, board: DrawingBoard, max_image_calls: int, tools: Mapping[str, Tool] = TOOLS) -> None:
        self.inventory = tuple(ListedReference(reference.id, reference.role) for reference in case.inputs)
        self._references: dict[str, Reference] = {reference.id: reference for reference in case.inputs}
        self._board = board
        self._crops: dict[str, Input] = {}
        self._max_image_calls = max_image_calls
        self._offered = tools
        self.notes = Notes(self._references)

    @property
    def image_calls_left(self) -> int:
        """How many more image calls this candidate may make."""
        return self._max_image_calls - self._board.draft.image_calls

    def use(self, call: ToolCall) -> ToolResult:
        """Carry out a call, or say to the agent what is wrong with it."""
        tools = {
            LIST_REFERENCES: self._list,
            LOOK: self._look,
            CROP: self._crop,
            GENERATE: self._generate,
            LOOK_AT_RESULT: self._look_at_result,
            GO_BACK: self._go_back,
        }
        try:
            part = _checked(call, self._offered).part
            value, images = self._leave(part, call) if part is not None else tools[call.name](call.arguments)
        except BadCallError as error:
            return ToolResult(call, False, {"error": str(error)})
        return ToolResult(call, True, value, images)

    def _leave(self, part: str, call: ToolCall) -> tuple[dict[str, Any], tuple[SeenImage, ...]]:
        current = self._board.current
        if part == "review" and current is None:
            raise BadCallError("Nothing is drawn yet, so there is nothing to review.")
        chosen = self._drawn(call.arguments["chosen"]) if part == "choice" and "chosen" in call.arguments else None
        try:
            value = self.notes.leave(part, call.arguments, current.n if current else None)
        except BadArtefactError as error:
            raise BadCallError(f"{call.name}: {error}.") from None
        if chosen is not None:
            self._board.current = chosen
        return {**value, **({"current": chosen.n} if chosen is not None else {})}, ()

    def _go_back(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[SeenImage, ...]]:
        self._board.current = self._drawn(arguments["picture"])
        return {"current": self._board.current.n}, ()

    def _drawn(self, number: Any) -> Step:
        step = self._board.picture(number) if isinstance(number, int) else None
        if step is None:
            there = ", ".join(str(one.n) for one in self._board.draft.steps) or "none yet"
            raise BadCallError(f"There is no picture {str(number)[:20]}; there are: {there}.")
        return step

    def _list(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[SeenImage, ...]]:
        listed = []
        for reference in self._references.values():
            picture = reference_picture(reference)
            size = {"width": picture.width, "height": picture.height, "bytes": reference.file.stat().st_size}
            listed.append({"id": reference.id, "role": reference.role, **size})
        return {"references": listed}, ()

    def _look(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[SeenImage, ...]]:
        ids = arguments["references"]
        if not 1 <= len(ids) <= MOST_LOOKED_AT_ONCE:
            raise BadCallError(f"references: {len(ids)} ids; give 1 to {MOST_LOOKED_AT_ONCE}.")
        shown = []
        for reference in [self._reference(name) for name in ids]:
            picture = reference_picture(reference)
            image = input_image(reference)
            shown.append(SeenImage(reference.id, image.data, image.sha256, picture.width, picture.height))
            self._opened(reference.id)
        self.notes.events.append(Event("opened", tuple(ids)))
        return {"shown": list(ids)}, tuple(shown)

    def _crop(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[SeenImage, ...]]:
        reference = self._reference(arguments["reference"])
        picture = reference_picture(reference)
        x0, y0, x1, y1 = _pixels(arguments["box"], picture.width, picture.height)
        cut = picture.crop((x0, y0, x1, y1))
        out = io.BytesIO()
        cut.convert("RGBA" if cut.mode in ("RGBA", "LA", "PA", "P") else "RGB").save(out, "PNG")
        image = InputImage.of(reference.role, out.getvalue())
        name = f"crop_{len(self._crops) + 1}"
        box = (x0 / picture.width, y0 / picture.height, x1 / picture.width, y1 / picture.height)
        self._crops[name] = Input(image, reference.id)
        self._board.origins.crops[image.sha256] = (reference.sha256, box)
        self._opened(reference.id)
        self.notes.events.append(Event("opened", (reference.id,)))
        seen = SeenImage(name, image.data, image.sha256, x1 - x0, y1 - y0)
        return {"id": name, "reference": reference.id, "box": list(box)}, (seen,)

    def _generate(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[SeenImage, ...]]:
        prompt, keep = arguments["prompt"], arguments["keep_current"]
        if not prompt.strip():
            raise BadCallError("prompt: it is empty.")
        if self.image_calls_left <= 0:
            raise BadCallError(f"All {self._max_image_calls} image calls of this task are used. Finish.")
        if keep and self._board.current is None:
            raise BadCallError("keep_current: nothing is drawn yet; set it to false.")
        inputs = self._inputs(arguments["references"])
        count = self._board.images_of_call(inputs, keep_current=keep)
        if count > self._board.capacity:
            raise BadCallError(
                f"This call would send {count} images ({len(inputs)} named{', 1 picture so far' if keep else ''}); "
                f"the image model takes {self._board.capacity} in one call."
            )
        drawn = self._board.draw(prompt, inputs, keep_current=keep)
        call = self._board.draft.image_calls
        if drawn.outcome != "budget":
            self.notes.events.append(Event("drawn", tuple(dict.fromkeys(one.reference_id for one in inputs)), call))
        value: dict[str, Any] = {"outcome": drawn.outcome, "calls_left": self.image_calls_left}
        if drawn.facts is not None:
            return {**value, "picture": call, "width": drawn.facts.width, "height": drawn.facts.height}, ()
        reason = drawn.reason
        return {**value, "code": reason.code if reason else "", "raw": reason.raw if reason else ""}, ()

    def _look_at_result(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[SeenImage, ...]]:
        shown = self._drawn(arguments["picture"]) if "picture" in arguments else self._board.current
        if shown is None:
            raise BadCallError("Nothing is drawn yet.")
        facts = examine(shown.image)
        name = CURRENT if shown is self._board.current else f"picture_{shown.n}"
        self.notes.events.append(Event("looked", picture=shown.n))
        seen = SeenImage(name, shown.image, shown.sha256, facts.width, facts.height)
        return {"picture": shown.n, "width": facts.width, "height": facts.height}, (seen,)

    def _inputs(self, names: Sequence[str]) -> list[Input]:
        """The named pictures, the background first, the others as named."""
        if len(set(names)) != len(names):
            raise BadCallError("references: an id occurs twice.")
        inputs = []
        for name in names:
            if name in self._crops:
                inputs.append(self._crops[name])
            else:
                reference = self._reference(name)
                inputs.append(Input(input_image(reference), reference.id))
        return sorted(inputs, key=lambda one: one.image.role != "background")

    def _reference(self, name: str) -> Reference:
        if name not in self._references:
            near = nearest(name, [*self._references, *self._crops])
            raise BadCallError(f"{name[:80]!r} is no id of this task." + (f" Did you mean {near!r}?" if near else ""))
        return self._references[name]

    def _opened(self, reference_id: str) -> None:
        if reference_id not in self._board.draft.opened:
            self._board.draft.opened.append(reference_id)


def _checked(call: ToolCall, tools: Mapping[str, Tool]) -> Tool:
    """The tool of a call whose arguments have the names and JSON types of its schema; BadCallError with all that is wrong.

    What an artefact holds is checked by its own form.
    """
    tool = tools.get(call.name) if isinstance(call.name, str) else None
    if tool is None:
        raise BadCallError(f"There is no tool {str(call.name)[:80]!r}. There are: {', '.join(tools)}.")
    if not isinstance(call.arguments, Mapping):
        raise BadCallError(f"{call.name}: the arguments are {type(call.arguments).__name__}, expected an object.")
    wrong = [f"{name}: unknown argument" for name in call.arguments if name not in tool.arguments]
    wrong += [f"{name}: missing" for name in tool.required if name not in call.arguments]
    for name, schema in tool.arguments.items():
        if tool.part is None and name in call.arguments and not _fits(call.arguments[name], schema):
            wrong.append(f"{name}: found {type(call.arguments[name]).__name__}, expected {_spelled(schema)}")
    if wrong:
        raise BadCallError(f"{call.name}: {'; '.join(wrong)}.")
    return tool


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    if schema["type"] == "array":
        return isinstance(value, list | tuple) and all(_fits(inner, schema["items"]) for inner in value)
    if schema["type"] == "number":
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if schema["type"] == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if schema["type"] == "string":
        return isinstance(value, str) and value.encode("utf-8", "replace").decode() == value  # half a surrogate pair is no text
    return isinstance(value, bool)


def _spelled(schema: Mapping[str, Any]) -> str:
    return (
        f"a list of {schema['items']['type']}s"
        if schema["type"] == "array"
        else f"{'an' if schema['type'] == 'integer' else 'a'} {schema['type']}"
    )


def _pixels(box: Sequence[float], width: int, height: int) -> tuple[int, int, int, int]:
    """The box on pixel borders, outwards."""
    if len(box) != 4 or not (0 <= box[0] < box[2] <= 1 and 0 <= box[1] < box[3] <= 1):
        raise BadCallError(f"box: found {list(box)}; expected [x0, y0, x1, y1] with 0 <= x0 < x1 <= 1 and 0 <= y0 < y1 <= 1.")
    x0, y0 = math.floor(box[0] * width), math.floor(box[1] * height)
    x1, y1 = min(width, math.ceil(box[2] * width)), min(height, math.ceil(box[3] * height))
    if x1 - x0 < LEAST_CROP or y1 - y0 < LEAST_CROP:
        raise BadCallError(f"box: it is {x1 - x0} x {y1 - y0} pixels; a crop needs at least {LEAST_CROP} x {LEAST_CROP}.")
    return x0, y0, x1, y1
