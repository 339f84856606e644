"""Scenes traced back: what a carried picture or a crop contributed is put down to the references it came from.

A simulated image model names the hash of each image it took pixels from. Carried pictures and crops are not in the release,
so a truth could not resolve them; their boxes are carried through to the references here. Format: `lb.scene.v1`, docs/demo.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from longbanana_nb.generation.contracts import Scene

Box = tuple[float, float, float, float]
WHOLE: Box = (0.0, 0.0, 1.0, 1.0)


@dataclass(slots=True)
class Origins:
    """Where pixels may come from: hashes of references, crops as (reference hash, box), earlier pictures with their scenes."""

    references: set[str] = field(default_factory=set)
    crops: dict[str, tuple[str, Box]] = field(default_factory=dict)
    pictures: dict[str, Scene] = field(default_factory=dict)


def new_scene(width: int, height: int, colour: str | None) -> Scene:
    """A complete scene with nothing in it; its `image_sha256` is set when the bytes are known."""
    return {
        "schema": "lb.scene.v1",
        "image_sha256": None,
        "width": width,
        "height": height,
        "complete": True,
        "backdrop": {"colour": colour},
        "objects": [],
        "words": [],
    }


def pasted(source_sha256: str, box: Iterable[float]) -> dict[str, Any]:
    """A scene object: the whole of a reference, unchanged, at `box`."""
    return {
        "source_sha256": source_sha256,
        "source_box": list(WHOLE),
        "box": [round(edge, 6) for edge in box],
        "angle": 0.0,
        "visible": 1.0,
        "recoloured_to": None,
        "relettered_to": None,
        "drift": 0.0,
        "flipped": False,
    }


def traced(scene: Scene, image_sha256: str, origins: Origins) -> Scene:
    """The scene of the picture `image_sha256` with every object put down to a reference.

    `complete` becomes false where an object's source is none of the known ones: its pixels are of unknown origin.
    """
    result = {
        **scene,
        "schema": "lb.scene.v1",
        "image_sha256": image_sha256,
        "objects": [],
        "words": list(scene.get("words", [])),
    }
    complete = bool(scene.get("complete", True))
    for found in scene.get("objects", []):
        source = found["source_sha256"]
        if source in origins.references:
            result["objects"].append(found)
        elif source in origins.crops:
            result["objects"].append(_out_of_crop(found, *origins.crops[source]))
        elif source in origins.pictures:
            earlier = origins.pictures[source]
            complete = complete and bool(earlier.get("complete", True))
            result["objects"] += [moved for inner in earlier.get("objects", []) if (moved := _through(inner, found)) is not None]
            result["words"] += [
                {**word, "box": list(place(word["box"], found))}
                for word in earlier.get("words", [])
                if _shown(word["box"], found["source_box"]) > 0
            ]
        else:
            complete = False
            result["objects"].append(found)
    result["complete"] = complete
    return result


def place(inner: Iterable[float], paste: Mapping[str, Any]) -> Box:
    """Where the box `inner` of a source picture lies after its `source_box` was pasted (perhaps mirrored) to `box`."""
    sx0, sy0, sx1, sy1 = paste["source_box"]
    bx0, by0, bx1, by1 = paste["box"]
    x0, y0, x1, y1 = inner
    left, right = ((x - sx0) / (sx1 - sx0) for x in (max(x0, sx0), min(x1, sx1)))
    top, bottom = ((y - sy0) / (sy1 - sy0) for y in (max(y0, sy0), min(y1, sy1)))
    if paste.get("flipped", False):
        left, right = 1 - right, 1 - left
    wide, high = bx1 - bx0, by1 - by0
    return (bx0 + left * wide, by0 + top * high, bx0 + right * wide, by0 + bottom * high)


def _out_of_crop(found: Mapping[str, Any], reference: str, crop: Box) -> dict[str, Any]:
    x0, y0, x1, y1 = found["source_box"]
    wide, high = crop[2] - crop[0], crop[3] - crop[1]
    box = [crop[0] + x0 * wide, crop[1] + y0 * high, crop[0] + x1 * wide, crop[1] + y1 * high]
    return {**found, "source_sha256": reference, "source_box": box}


def _through(inner: Mapping[str, Any], paste: Mapping[str, Any]) -> dict[str, Any] | None:
    """An object of an earlier picture as it shows after that picture was pasted, or None if it was cut away."""
    shown = _shown(inner["box"], paste["source_box"])
    if shown <= 0:
        return None

    def later(key: str) -> Any:
        return paste.get(key) if paste.get(key) is not None else inner.get(key)

    return {
        **inner,
        "box": list(place(inner["box"], paste)),
        "angle": inner.get("angle", 0.0) + paste.get("angle", 0.0),
        "visible": inner.get("visible", 1.0) * paste.get("visible", 1.0) * shown,
        "recoloured_to": later("recoloured_to"),
        "relettered_to": later("relettered_to"),
        "drift": 1 - (1 - inner.get("drift", 0.0)) * (1 - paste.get("drift", 0.0)),
        "flipped": inner.get("flipped", False) != paste.get("flipped", False),
    }


def _shown(box: Iterable[float], window: Iterable[float]) -> float:
    """The share of `box` that lies in `window`."""
    x0, y0, x1, y1 = box
    wx0, wy0, wx1, wy1 = window
    area = (x1 - x0) * (y1 - y0)
    wide, high = min(x1, wx1) - max(x0, wx0), min(y1, wy1) - max(y0, wy0)
    return wide * high / area if area > 0 and wide > 0 and high > 0 else 0.0
