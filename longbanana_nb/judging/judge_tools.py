"""The tools of a critic: the candidate and bound references, looked at closer or measured; nothing else is within reach.

Every call is recorded, refused ones too. What a tool cannot do is told to the model; a tool that this machine does not have ends
the answer as `tool_unavailable`. Results are JSON: what was read in a picture stands in it as a quoted text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import CallError
from longbanana_nb.judging import measuring, packets
from longbanana_nb.judging.measuring import Instruments, ToolFault
from longbanana_nb.judging.model_protocols import ModelJob, Unaskable
from longbanana_nb.judging.packets import LabelledImage
from longbanana_nb.judging.quoting import as_data, kept_text, kept_value
from longbanana_nb.names import nearest
from longbanana_nb.providers.contracts import Picture, Text, Tool, ToolCall, ToolResult
from longbanana_nb.runs import Evidence, EvidenceImage, JudgeSpec

if TYPE_CHECKING:
    from longbanana_nb.judging.looks import Box
    from longbanana_nb.release import Check

VERSION = "judge-tools-1"
CANDIDATE = "CANDIDATE"
CALLS_A_TURN = 8
_BOX = {"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4}
_IMAGE = {"type": "string", "description": 'The image: "CANDIDATE" or the id of a bound reference.'}
_REFERENCE = {"type": "string", "description": "The id of a bound reference."}
_IN_REFERENCE = {**_BOX, "description": "[x0, y0, x1, y1] in the reference, tight around the thing meant."}
_PART = {**_BOX, "description": "[x0, y0, x1, y1] as fractions of that image; [0, 0, 1, 1] is all of it."}


def _tool(name: str, description: str, **arguments: Mapping[str, Any]) -> Tool:
    schema = {"type": "object", "properties": arguments, "required": list(arguments), "additionalProperties": False}
    return Tool(name, description, schema)


TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        _tool("open", "Show a reference that the check binds.", reference_id=_REFERENCE),
        _tool("crop", "Show a part of an image, enlarged.", image=_IMAGE, box=_PART),
        _tool(
            "ocr",
            "Read lettering in a part of an image: texts (letters and digits, upper case) with boxes.",
            image=_IMAGE,
            box=_PART,
        ),
        _tool(
            "count",
            "Count in the CANDIDATE the things shaped like the one in a box of a reference, whatever their colour or lettering.",
            reference_id=_REFERENCE,
            box=_IN_REFERENCE,
        ),
        _tool(
            "layout",
            "How two boxes in the CANDIDATE stand to each other: a number for each relation, positive where it holds.",
            a={**_BOX, "description": "[x0, y0, x1, y1] around the first thing."},
            b={**_BOX, "description": "[x0, y0, x1, y1] around the second thing."},
        ),
        _tool("colour", "Shares of named colours in a part of an image.", image=_IMAGE, box=_PART),
        _tool(
            "match",
            "How much things within a box of the CANDIDATE look like the one in a box of a reference: shape, colour, lettering.",
            reference_id=_REFERENCE,
            box=_IN_REFERENCE,
            within=_PART,
        ),
    )
}


def tools_of(profile: JudgeSpec) -> tuple[Tool, ...]:
    """The tools of a profile in a fixed order; `open` is always one.

    Raises:
        CallError: for tools there are not, with the nearest there is.
    """
    wanted = set(profile.agentic.tools if profile.agentic is not None else ())
    if unknown := sorted(wanted - set(TOOLS)):
        near = [f"{name!r}{f' (nearest: {close!r})' if (close := nearest(name, TOOLS)) else ''}" for name in unknown]
        raise CallError(f"judge {profile.name!r}: no tool {', '.join(near)}; there are: {', '.join(TOOLS)}.")
    return tuple(tool for name, tool in TOOLS.items() if name == "open" or name in wanted)


class Toolbox:
    """The tools of one answer, with all they showed and measured."""

    def __init__(self, job: ModelJob, check: Check, shown: Sequence[LabelledImage]) -> None:
        self._job, self._bound = job, tuple(dict.fromkeys(check.reference_ids))
        self._names = {tool.name: tool for tool in tools_of(job.profile)}
        self._instruments = Instruments(job.candidate, {id_: job.references[id_] for id_ in self._bound if id_ in job.references})
        self.shown = list(shown)
        self.evidence: list[Evidence] = []

    def run_all(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """A result for each call, in order; at most so many are carried out.

        Raises:
            ToolMissing: where this machine lacks what a tool needs.
            DataError: where a picture cannot be read.
        """
        return [self._run(call, n) for n, call in enumerate(calls)]

    def note(self, tool: str, args: Mapping[str, Any], result: Any, image: EvidenceImage | None = None) -> None:
        """Record one thing that was done."""
        self.evidence.append(Evidence(len(self.evidence) + 1, kept_text(tool, 40), kept_value(args), kept_value(result), image))

    def findings(self) -> str:
        """All that was done, as data."""
        return as_data([{"tool": one.tool, "arguments": one.args, "result": one.result} for one in self.evidence])

    def _run(self, call: ToolCall, n: int) -> ToolResult:
        args: Mapping[str, Any] = call.arguments if isinstance(call.arguments, Mapping) else {"arguments": call.arguments}
        try:
            if n >= CALLS_A_TURN:
                raise ToolFault(f"not carried out: at most {CALLS_A_TURN} calls a turn")
            checked = self._checked(call.name, args)
            result, image, parts = _RUN[call.name](self, checked)
        except ToolFault as fault:
            self.note(call.name, args, {"error": str(fault)})
            return ToolResult(call.id, call.name, (Text(as_data({"error": str(fault)})),), is_error=True)
        except measuring.ToolMissing as missing:
            self.note(call.name, args, {"error": str(missing)})
            raise
        self.note(call.name, args, result, image)
        return ToolResult(call.id, call.name, parts or (Text(as_data(result)),))

    def _checked(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments, each of its type; ids bound, boxes within the image."""
        if name not in self._names:
            raise ToolFault(f"there is no such tool; there are: {', '.join(self._names)}")
        wanted = self._names[name].schema["properties"]
        if set(args) != set(wanted):
            raise ToolFault(f"the arguments are {', '.join(wanted)}, and no others")
        return {key: self._argument(key, args[key]) for key in wanted}

    def _argument(self, key: str, value: Any) -> Any:
        if key in ("image", "reference_id"):
            return self._id(key, value)
        return measuring.box_of(value, key)

    def _id(self, key: str, value: Any) -> str | None:
        if not isinstance(value, str):
            raise ToolFault(f"{key} is a text")
        if key == "image" and value == CANDIDATE:
            return None
        if value not in self._bound:
            raise ToolFault(f"{key}: the check does not bind that reference; it binds {as_data(list(self._bound))}")
        return value

    def _show(self, id_: str | None, box: Box | None) -> tuple[Any, EvidenceImage, tuple[Text | Picture, ...]]:
        image = packets.labelled(self._job, id_, box)
        fact = EvidenceImage(image.id, image.sent.source_sha256, None if box is None else list(box))
        if any(one.label == image.label for one in self.shown):
            told = {"shown": image.label, "note": "it was shown before"}
            return told, fact, (Text(as_data(told)),)
        try:
            packets.require_fits(self._job, [*self.shown, image])
        except Unaskable as why:
            raise ToolFault(f"it cannot be shown: {why}") from None
        self.shown.append(image)
        return {"shown": image.label, "sent_sha256": image.picture.sha256}, fact, image.parts()

    def _open(self, args: dict[str, Any]) -> tuple[Any, EvidenceImage, tuple[Text | Picture, ...]]:
        return self._show(args["reference_id"], None)

    def _crop(self, args: dict[str, Any]) -> tuple[Any, EvidenceImage, tuple[Text | Picture, ...]]:
        return self._show(args["image"], args["box"])

    def _measure(self, id_: str | None, box: Box | None, result: Any) -> tuple[Any, EvidenceImage, tuple[Text | Picture, ...]]:
        _, file = packets.picture_of(self._job, id_)
        name = packets.CANDIDATE if id_ is None else id_
        return result, EvidenceImage(name, file.sha256, None if box is None else list(box)), ()

    def _ocr(self, args: dict[str, Any]) -> tuple[Any, EvidenceImage, tuple[Text | Picture, ...]]:
        found = self._instruments.read(args["image"], args["box"])
        return self._measure(args["image"], args["box"], {"lettering": found})

    def _colour(self, args: dict[str, Any]) -> tuple[Any, EvidenceImage, tuple[Text | Picture, ...]]:
        return self._measure(args["image"], args["box"], {"shares": self._instruments.colours(args["image"], args["box"])})

    def _layout(self, args: dict[str, Any]) -> tuple[Any, EvidenceImage, tuple[Text | Picture, ...]]:
        return self._measure(None, args["a"], {"a_to_b": measuring.relations(args["a"], args["b"])})

    def _count(self, args: dict[str, Any]) -> tuple[Any, EvidenceImage, tuple[Text | Picture, ...]]:
        return self._measure(None, None, self._instruments.count(args["reference_id"], args["box"]))

    def _match(self, args: dict[str, Any]) -> tuple[Any, EvidenceImage, tuple[Text | Picture, ...]]:
        found = self._instruments.match(args["reference_id"], args["box"], args["within"])
        return self._measure(None, args["within"], {"things": found})


_Outcome = tuple[Any, EvidenceImage, tuple[Text | Picture, ...]]
_RUN: dict[str, Callable[[Toolbox, dict[str, Any]], _Outcome]] = {
    "open": Toolbox._open,
    "crop": Toolbox._crop,
    "ocr": Toolbox._ocr,
    "count": Toolbox._count,
    "layout": Toolbox._layout,
    "colour": Toolbox._colour,
    "match": Toolbox._match,
}
