"""The tools an agent is given: their names, arguments and what they answer. Nothing else of the case is within reach.

- `list_references`: no arguments. Value: `references`, a list of {`id`, `role`, `width`, `height`, `bytes`}, background first.
- `look`: `references`, 1 to 40 ids. Value: `shown`, the ids. Images: the release's own bytes, in the order asked.
- `crop`: `reference`, an id; `box`, [x0, y0, x1, y1]. Value: `id` ("crop_1"...), `reference`, `box` (as cut, on pixel borders).
  Images: the cut as PNG, under its new id.
- `generate`: `prompt`; `references`, ids of references or crops; `keep_current`, true or false. Value: `outcome`, `calls_left`,
  and `picture` (the number of the image call), `width`, `height` if the outcome is "image", else `code` and `raw`.
- `look_at_result`: `picture`, optional: the number of an image call, the current picture without it. Value: `picture`, `width`,
  `height`. Images: that picture, id "current", or "picture_2" where it is an earlier one.
- `finish`: `note`, optional. The loop ends; the same as the action `Finish`.

`generate` sends, in this order: the current picture if `keep_current` (with the sentence `KEEP` put before the prompt, unless the
prompt holds it already), the background if it is named, then references and crops as named. More images than the model takes in
one call is an error result with the numbers; nothing is left out on the agent's behalf. The new picture becomes current.
A call the image model answered without an image is a good tool result whose `outcome` is not "image"; the current picture stays.
Boxes are fractions of the upright picture.

Some workflows have more (docs/workflows.md); a tool that a workflow does not have is not offered in it:
- `note_evidence`, `write_plan`, `write_review`: the fields of the artefact, of one round for a review. Value: `kept`, `entries`.
- `choose` (best of several): the fields of a choice. Value: `current`. The chosen picture becomes current.
- `go_back` (where there are reviews): `picture`, the number of an earlier image call, which becomes current. Value: `current`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from longbanana_nb.generation.workflows.artefacts import parts_of, schema_of

LIST_REFERENCES: Final = "list_references"
LOOK: Final = "look"
CROP: Final = "crop"
GENERATE: Final = "generate"
LOOK_AT_RESULT: Final = "look_at_result"
FINISH: Final = "finish"
NOTE_EVIDENCE: Final = "note_evidence"
WRITE_PLAN: Final = "write_plan"
WRITE_REVIEW: Final = "write_review"
CHOOSE: Final = "choose"
GO_BACK: Final = "go_back"
TOOL_OF_PART: Final = {"evidence": NOTE_EVIDENCE, "plan": WRITE_PLAN, "review": WRITE_REVIEW, "choice": CHOOSE}

CURRENT: Final = "current"
MOST_LOOKED_AT_ONCE: Final = 40
KEEP: Final = "The first image is the picture so far; keep what it shows."


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: name, a sentence for the model, and a JSON schema of its arguments; `part` is the artefact it leaves, if any."""

    name: str
    description: str
    arguments: Mapping[str, Any]
    required: tuple[str, ...]
    part: str | None = None

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments as one object."""
        return {
            "type": "object",
            "properties": dict(self.arguments),
            "required": list(self.required),
            "additionalProperties": False,
        }


_IDS = {"type": "array", "items": {"type": "string"}}
_BOX = {"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4}
_PICTURE = {"type": "integer", "minimum": 1}

TOOLS: Final[dict[str, Tool]] = {
    tool.name: tool
    for tool in (
        Tool(LIST_REFERENCES, "List the pictures of this task in order, the background first.", {}, ()),
        Tool(LOOK, "Look at pictures by id.", {"references": _IDS}, ("references",)),
        Tool(
            CROP,
            "Cut a box [x0, y0, x1, y1] (fractions of the upright picture) out of one picture; the cut has an id of its own.",
            {"reference": {"type": "string"}, "box": _BOX},
            ("reference", "box"),
        ),
        Tool(
            GENERATE,
            "Draw a picture from a prompt and pictures by id; with keep_current the picture so far is sent first.",
            {"prompt": {"type": "string"}, "references": _IDS, "keep_current": {"type": "boolean"}},
            ("prompt", "references", "keep_current"),
        ),
        Tool(LOOK_AT_RESULT, "Look at the current picture, or at that of an earlier image call.", {"picture": _PICTURE}, ()),
        Tool(FINISH, "Say that the current picture is the answer.", {"note": {"type": "string"}}, ()),
    )
}
_SAYS: Final = {
    "evidence": "Leave what the references show that the task needs; a later call replaces it.",
    "plan": "Leave the image calls you are going to make, in order; a later call replaces it.",
    "review": "Leave one review of the current picture: which demands it satisfies, which not, and what is to be done.",
    "choice": "Choose one of the pictures you drew and looked at; it becomes the current one.",
}


@cache
def tools_of(workflow: str | None, best_of: int | None = None) -> Mapping[str, Tool]:
    """The tools of a workflow by name: `TOOLS`, and those that leave its artefacts."""
    parts = parts_of(workflow, best_of)
    more = [_leaving(part) for part in parts]
    if "review" in parts:
        more.append(Tool(GO_BACK, "Make the picture of an earlier image call current.", {"picture": _PICTURE}, ("picture",)))
    return {**TOOLS, **{tool.name: tool for tool in more}}


def _leaving(part: str) -> Tool:
    schema = schema_of(part)
    if part == "review":
        schema = schema["properties"]["rounds"]["items"]
    fields = {name: value for name, value in schema["properties"].items() if (part, name) != ("review", "picture")}
    return Tool(TOOL_OF_PART[part], _SAYS[part], fields, tuple(schema["required"]), part)
