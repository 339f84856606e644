"""The tools an agent is given: their names, arguments and what they answer. Nothing else of the case is within reach.

- `list_references`: no arguments. Value: `references`, a list of {`id`, `role`, `width`, `height`, `bytes`}, background first.
- `look`: `references`, 1 to 40 ids. Value: `shown`, the ids. Images: the release's own bytes, in the order asked.
- `crop`: `reference`, an id; `box`, [x0, y0, x1, y1]. Value: `id` ("crop_1"...), `reference`, `box` (as cut, on pixel borders).
  Images: the cut as PNG, under its new id.
- `generate`: `prompt`; `references`, ids of references or crops; `keep_current`, true or false. Value: `outcome`, `calls_left`,
  and `width`, `height` if the outcome is "image", else `code` and `raw`.
- `look_at_result`: no arguments. Value: `width`, `height`. Images: the current picture, id "current".
- `finish`: `note`, optional. The loop ends; the same as the action `Finish`.

`generate` sends, in this order: the current picture if `keep_current` (with the sentence `KEEP` put before the prompt, unless the
prompt holds it already), the background if it is named, then references and crops as named. More images than the model takes in
one call is an error result with the numbers; nothing is left out on the agent's behalf. The new picture becomes current.
A call the image model answered without an image is a good tool result whose `outcome` is not "image"; the current picture stays.
Boxes are fractions of the upright picture.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

LIST_REFERENCES: Final = "list_references"
LOOK: Final = "look"
CROP: Final = "crop"
GENERATE: Final = "generate"
LOOK_AT_RESULT: Final = "look_at_result"
FINISH: Final = "finish"

CURRENT: Final = "current"
MOST_LOOKED_AT_ONCE: Final = 40
KEEP: Final = "The first image is the picture so far; keep what it shows."


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: name, a sentence for the model, and a JSON schema of its arguments."""

    name: str
    description: str
    arguments: Mapping[str, Any]
    required: tuple[str, ...]


_IDS = {"type": "array", "items": {"type": "string"}}
_BOX = {"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4}

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
        Tool(LOOK_AT_RESULT, "Look at the picture drawn last.", {}, ()),
        Tool(FINISH, "Say that the picture drawn last is the answer.", {"note": {"type": "string"}}, ()),
    )
}
