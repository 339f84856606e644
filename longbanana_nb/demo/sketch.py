"""The embedded image model `sketch`: composes real pixels of the given references from the prompt, and errs at known rates."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from longbanana_nb.demo import brief
from longbanana_nb.demo.eye import EYE_VERSION, Eye, Percept
from longbanana_nb.demo.sketch_brief import commission_of
from longbanana_nb.demo.sketch_compose import Drawing, compose
from longbanana_nb.demo.sketch_errors import ERRORS_VERSION, STRENGTHS, Dice, load_factor
from longbanana_nb.demo.sketch_paint import Layer, Painted, paint_picture
from longbanana_nb.errors import CallError
from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation import (
    Capabilities,
    ImageRequest,
    ImageResult,
    InputImage,
    ModelChoice,
    Reason,
    Usage,
)
from longbanana_nb.names import nearest

SKETCH_VERSION = "sketch-1"
IMAGES_PER_CALL = 10
SIDE = 768
REMEMBERED = 64

_EYE = Eye()  # percepts are facts about bytes, so all sketches of a process share them


class SketchBackend:
    """An image model for demonstrations: simulated, deterministic, no network.

    The same request, in a session that made the same requests before, gives the same bytes. A session remembers the layers of the
    pictures it drew, by their hash; a carried picture it did not draw is looked at like any other and its things are cut from it.
    """

    def __init__(self, strength: str = "medium") -> None:
        """Take a strength: "weak", "medium" or "strong".

        Raises:
            CallError: for an unknown strength.
        """
        if strength not in STRENGTHS:
            near = nearest(strength, STRENGTHS)
            raise CallError(
                f"sketch: found strength {strength!r}; expected one of {', '.join(STRENGTHS)}."
                + (f" Did you mean {near!r}?" if near else "")
            )
        self.strength = strength
        self._drawn: OrderedDict[str, Drawing] = OrderedDict()

    @property
    def capabilities(self) -> Capabilities:
        """Ten images a call, carried picture and background included; square JPEG of 768 px; seeded."""
        version = f"{SKETCH_VERSION}+{EYE_VERSION}+{ERRORS_VERSION}"
        return Capabilities(IMAGES_PER_CALL, ("jpeg", "png", "webp"), (SIDE,), seed=True, simulated=True, version=version)

    def draw(self, request: ImageRequest) -> ImageResult:
        """Draw one picture, or say why not: too_many_references, unparsable_prompt, unreadable_image, unsupported_size."""
        if len(request.images) > IMAGES_PER_CALL:
            return _refused("too_many_references", f"{len(request.images)} images; at most {IMAGES_PER_CALL} in one call")
        if request.size != SIDE:
            return _refused("unsupported_size", f"{request.size} px; only {SIDE} px")
        try:
            parsed = brief.parse(request.prompt)
        except brief.UnparsablePrompt as error:
            return _refused("unparsable_prompt", str(error))
        try:
            percepts = [(image, _EYE.look(image.data)) for image in request.images if image.role != "carried"]
            carried = self._carried([image for image in request.images if image.role == "carried"])
        except ValueError as error:
            return _refused("unreadable_image", str(error))
        commission = commission_of(parsed)
        given = [percept for image, percept in percepts if image.role == "reference"]
        background = next((percept for image, percept in percepts if image.role == "background"), None)
        dice = self._dice(request, len(percepts), sum(wish.count or 1 for wish in commission.wishes))
        drawing = compose(commission, given, background, carried, dice)
        painted = paint_picture(drawing.layers, drawing.backdrop, SIDE)
        self._remember(painted, drawing)
        usage = Usage(input_tokens=len(request.images) * 258, output_tokens=1290, answered=f"sketch-{self.strength}")
        return ImageResult("image", painted.jpeg, "jpeg", scene=scene_of(painted, drawing), usage=usage)

    def _dice(self, request: ImageRequest, images: int, objects: int) -> Dice:
        parts = (str(request.seed), request.prompt, *(image.sha256 for image in request.images))
        return Dice(self.strength, load_factor(images, objects), parts)

    def _carried(self, images: list[InputImage]) -> Drawing:
        """What the picture so far is made of: remembered if this session drew it, else seen."""
        if not images:
            return Drawing()
        digest = sha256_bytes(images[-1].data)
        return self._drawn[digest] if digest in self._drawn else _drawing_seen(_EYE.look(images[-1].data))

    def _remember(self, painted: Painted, drawing: Drawing) -> None:
        self._drawn[sha256_bytes(painted.jpeg)] = drawing
        while len(self._drawn) > REMEMBERED:
            self._drawn.popitem(last=False)


def sketch_backend(choice: ModelChoice) -> SketchBackend:
    """The factory the engines are given: ids `sketch-weak`, `sketch-medium`, `sketch-strong`; no parameters.

    Raises:
        CallError: for another id, or any parameter.
    """
    known = {f"sketch-{strength}": strength for strength in STRENGTHS}
    if choice.id not in known:
        near = nearest(choice.id, known)
        hint = f" Did you mean {near!r}?" if near else ""
        raise CallError(f"backend id: found {choice.id!r}; expected one of {', '.join(known)}.{hint}")
    if choice.params:
        raise CallError(f"backend params: found {', '.join(sorted(choice.params))}; expected none for {choice.id}. Remove them.")
    return SketchBackend(known[choice.id])


def scene_of(painted: Painted, drawing: Drawing) -> dict[str, Any]:
    """The scene (`lb.scene.v1`) of a painted drawing: where each piece of pixels came from and what was done to it."""
    objects = [
        _piece(layer, box, visible) for layer, box, visible in zip(drawing.layers, painted.boxes, painted.visible, strict=True)
    ]
    return {
        "schema": "lb.scene.v1",
        "image_sha256": sha256_bytes(painted.jpeg),
        "width": SIDE,
        "height": SIDE,
        "complete": True,
        "backdrop": {"colour": drawing.backdrop},
        "objects": objects,
        "words": [],
    }


def _piece(layer: Layer, box: tuple[float, ...], visible: float) -> dict[str, Any]:
    return {
        "source_sha256": layer.source_sha256,
        "source_box": [round(edge, 5) for edge in layer.source_box],
        "box": [round(edge, 5) for edge in box],
        "angle": round(layer.turn, 2),
        "visible": round(visible, 4),
        "recoloured_to": layer.recoloured_to,
        "relettered_to": layer.relettered_to,
        "drift": layer.drift,
        "flipped": False,
    }


def _drawing_seen(percept: Percept) -> Drawing:
    """A drawing made of what is seen in a picture somebody else made; its things keep their places."""
    layers = []
    for seen in percept.seen:
        layer = Layer("", seen.kind, seen.cut.rgba, percept.sha256, seen.box, seen.box)
        layer.colour, layer.text, layer.label = seen.colour, seen.text, seen.label
        layers.append(layer)
    return Drawing(layers, percept.backdrop)


def _refused(code: str, raw: str) -> ImageResult:
    return ImageResult("failed", reason=Reason(code, "sketch", raw))
