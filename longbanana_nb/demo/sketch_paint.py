"""How the sketch puts a picture together: a studio backdrop, soft shadows, cut-outs over one another, what stays visible."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from longbanana_nb.demo.colours import anchor_lch, srgb
from longbanana_nb.demo.eye_kinds import turned_plane
from longbanana_nb.demo.eye_letters import Label

Bytes = NDArray[Any]  # uint8; OpenCV's annotations do not keep element types
Floats = NDArray[Any]  # float32
Box = tuple[float, float, float, float]
Window = tuple[int, int, int, int]

PLAIN = (0.90, 0.006, 1.3)
"""OKLab lightness, chroma and hue of the backdrop nobody asked a colour for: a warm white."""


@dataclass(slots=True)
class Layer:
    """One thing on the picture: its pixels and where they come from, where it stands, and what was done to it."""

    wish: str
    kind: str
    rgba: Bytes
    source_sha256: str
    source_box: Box
    box: Box
    turn: float = 0.0
    depth: int = 0
    colour: str | None = None
    text: str | None = None
    label: Label | None = None
    recoloured_to: str | None = None
    relettered_to: str | None = None
    drift: float = 0.0
    lookalike: bool = False

    @property
    def origin(self) -> tuple[str, Box]:
        """Which pixels it is made of: hash of the picture and box in it."""
        return self.source_sha256, self.source_box


@dataclass(frozen=True, slots=True)
class Painted:
    """A finished picture: JPEG bytes, and for each layer its true box (fractions) and visible share (0 to 1)."""

    jpeg: bytes
    boxes: tuple[Box, ...]
    visible: tuple[float, ...]


def paint_picture(layers: Sequence[Layer], backdrop: str | None, side: int) -> Painted:
    """Lay all layers, in order of depth, over a studio backdrop of a named colour and give the JPEG (quality 90)."""
    canvas = studio(backdrop, side).copy()
    order = sorted(range(len(layers)), key=lambda n: (layers[n].depth, layers[n].box[3], n))
    pictures = {n: _fitted(layers[n], side) for n in order}
    corners = {n: _corner(layers[n].box, pictures[n], side) for n in order}
    placed: dict[int, tuple[Window, Bytes, float]] = {}
    for n in order:
        _shade(canvas, pictures[n][..., 3], *corners[n], layers[n].depth)
    for n in order:
        window, part = _clipped(pictures[n], *corners[n], side)
        region = canvas[window[1] : window[3], window[0] : window[2]]
        clear = cv2.cvtColor(cv2.bitwise_not(np.ascontiguousarray(part[..., 3])), cv2.COLOR_GRAY2RGB)
        region[:] = cv2.add(cv2.multiply(region, clear, scale=1 / 255), np.ascontiguousarray(part[..., :3]))
        placed[n] = (window, part[..., 3] > 127, float(np.count_nonzero(pictures[n][..., 3] > 127)))
    visible = _visible(order, placed, side)
    boxes = tuple(_box_of(placed[n][0], side) for n in range(len(layers)))
    return Painted(_jpeg(canvas), boxes, tuple(visible[n] for n in range(len(layers))))


@lru_cache(maxsize=16)
def studio(colour: str | None, side: int) -> Bytes:
    """A backdrop (RGB, 0 to 255): a wall lit from above that runs into a floor, in one colour throughout."""
    lightness, chroma, hue = PLAIN if colour is None else anchor_lch(colour)
    axis = np.linspace(0, 1, side // 2, dtype=np.float32)
    x, y = np.meshgrid(axis, axis)
    glow = np.exp(-(((x - 0.45) / 0.62) ** 2 + ((y - 0.30) / 0.55) ** 2))
    floor = 1 / (1 + np.exp(-(y - 0.68) * 26))
    light = lightness + 0.055 * glow - 0.02 - 0.045 * floor + 0.05 * floor * np.clip((y - 0.68) / 0.32, 0, 1)
    edge = np.clip(np.hypot(x - 0.5, y - 0.5) - 0.45, 0, None)
    light = np.clip(light - 0.16 * edge, 0.1, 0.97)
    strength = chroma * (0.93 - 0.10 * glow)
    lab = np.stack([light, strength * np.cos(hue), strength * np.sin(hue)], axis=-1)
    smooth = cv2.resize(np.asarray(srgb(lab) * 255, np.float32), (side, side), interpolation=cv2.INTER_LINEAR)
    return np.asarray(np.rint(smooth), np.uint8)


def _fitted(layer: Layer, side: int) -> Bytes:
    """A layer's pixels turned and scaled to its box, RGBA with colours weighted by opacity."""
    *colours, opacity = cv2.split(layer.rgba)
    weighted = cv2.merge([*(cv2.multiply(plane, opacity, scale=1 / 255) for plane in colours), opacity])
    if layer.turn:
        weighted = turned_plane(weighted, layer.turn)
    x, y, wide, high = cv2.boundingRect(cv2.threshold(np.ascontiguousarray(weighted[..., 3]), 12, 255, cv2.THRESH_BINARY)[1])
    weighted = weighted[y : y + high, x : x + wide]
    scale = min((layer.box[2] - layer.box[0]) * side / wide, (layer.box[3] - layer.box[1]) * side / high)
    size = (max(2, round(wide * scale)), max(2, round(high * scale)))
    return np.asarray(cv2.resize(weighted, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR), np.uint8)


def _corner(box: Box, picture: Bytes, side: int) -> tuple[int, int]:
    """Top left pixel of a picture that stands in the middle of its box's floor."""
    middle = (box[0] + box[2]) / 2 * side
    return round(middle - picture.shape[1] / 2), round(box[3] * side - picture.shape[0])


def _clipped(picture: Bytes, x: int, y: int, side: int) -> tuple[Window, Bytes]:
    x0, y0 = max(x, 0), max(y, 0)
    x1, y1 = min(x + picture.shape[1], side), min(y + picture.shape[0], side)
    return (x0, y0, x1, y1), picture[y0 - y : y1 - y, x0 - x : x1 - x]


def _shade(canvas: Bytes, opacity: Bytes, x: int, y: int, depth: int) -> None:
    """Darken the canvas by a thing's contact shadow and its soft cast shadow, in place; things on others cast less.

    Shadows are soft, so they are drawn at a quarter of the size.
    """
    small = cv2.resize(opacity, (max(2, opacity.shape[1] // 4), max(2, opacity.shape[0] // 4)), interpolation=cv2.INTER_AREA)
    height, width = small.shape
    margin = max(4, round(0.28 * max(height, width)))
    solid = cv2.copyMakeBorder(small, margin, margin, margin, margin, cv2.BORDER_CONSTANT, value=0).astype(np.float32) / 255
    cast = cv2.GaussianBlur(solid, (0, 0), 0.06 * max(height, width))
    shift = round(0.045 * height)
    shade: Floats = np.zeros_like(cast)
    shade[shift:, shift // 2 :] = cast[: cast.shape[0] - shift, : cast.shape[1] - shift // 2] * 0.22
    contact: Floats = np.zeros_like(shade)
    columns = np.flatnonzero(small[int(height * 0.86) :].max(axis=0) > 127)
    if len(columns):
        left, right = int(columns[0]), int(columns[-1])
        centre = (margin + (left + right) // 2, margin + height - max(1, height // 40))
        cv2.ellipse(contact, centre, (max(1, (right - left) // 2), max(1, round(0.045 * height))), 0, 0, 360, 1.0, cv2.FILLED)
        contact = cv2.GaussianBlur(contact, (0, 0), max(0.6, 0.03 * height))
    light: Floats = 1 - np.clip(np.maximum(shade, contact * 0.40) * (1.0 if depth == 0 else 0.5), 0, 0.6)
    stretched = (
        opacity.shape[1] + 2 * round(margin * opacity.shape[1] / width),
        opacity.shape[0] + 2 * round(margin * opacity.shape[0] / height),
    )
    light = cv2.resize(np.asarray(light * 255, np.float32), stretched, interpolation=cv2.INTER_LINEAR)
    corner = (x - (stretched[0] - opacity.shape[1]) // 2, y - (stretched[1] - opacity.shape[0]) // 2)
    window, part = _clipped(np.rint(light).astype(np.uint8), *corner, canvas.shape[0])
    region = canvas[window[1] : window[3], window[0] : window[2]]
    region[:] = cv2.multiply(region, cv2.cvtColor(np.ascontiguousarray(part), cv2.COLOR_GRAY2RGB), scale=1 / 255)


def _visible(order: Sequence[int], placed: dict[int, tuple[Window, Bytes, float]], side: int) -> dict[int, float]:
    """Share of each layer's own pixels that neither the picture's rim nor a layer above hides."""
    covered = np.zeros((side, side), bool)
    shares = {}
    for n in reversed(order):
        (x0, y0, x1, y1), solid, full = placed[n]
        region = covered[y0:y1, x0:x1]
        shares[n] = float((solid & ~region).sum() / max(full, 1.0))
        region |= np.asarray(solid, bool)
    return shares


def _box_of(window: Window, side: int) -> Box:
    return (window[0] / side, window[1] / side, window[2] / side, window[3] / side)


def _jpeg(canvas: Bytes) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(canvas).save(out, "JPEG", quality=90)
    return out.getvalue()
