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
from longbanana_nb.demo.eye_kinds import turned
from longbanana_nb.demo.eye_letters import Label

Bytes = NDArray[Any]  # uint8; OpenCV's annotations do not keep element types
Floats = NDArray[Any]  # float32
Box = tuple[float, float, float, float]

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
    placed: dict[int, tuple[tuple[int, int, int, int], Floats, float]] = {}
    for n in order:
        picture = _fitted(layers[n], side)
        x, y = _corner(layers[n].box, picture, side)
        _shade(canvas, picture[..., 3], x, y, layers[n].depth)
    for n in order:
        picture = _fitted(layers[n], side)
        x, y = _corner(layers[n].box, picture, side)
        window, part = _clipped(picture, x, y, side)
        opacity = part[..., 3:]
        region = canvas[window[1] : window[3], window[0] : window[2]]
        region[:] = region * (1 - opacity) + part[..., :3] * opacity
        full = float((picture[..., 3] > 0.5).sum())
        placed[n] = (window, part[..., 3] > 0.5, full)
    visible = _visible(order, placed, side)
    boxes = tuple(_box_of(placed[n][0], side) for n in range(len(layers)))
    return Painted(_jpeg(canvas), boxes, tuple(visible[n] for n in range(len(layers))))


@lru_cache(maxsize=32)
def studio(colour: str | None, side: int) -> Floats:
    """A backdrop as float RGB (0 to 255): a wall lit from above that runs into a floor, in one colour throughout."""
    lightness, chroma, hue = PLAIN if colour is None else anchor_lch(colour)
    axis = np.linspace(0, 1, side)
    x, y = np.meshgrid(axis, axis)
    glow = np.exp(-(((x - 0.45) / 0.62) ** 2 + ((y - 0.30) / 0.55) ** 2))
    floor = 1 / (1 + np.exp(-(y - 0.68) * 26))
    light = lightness + 0.055 * glow - 0.02 - 0.045 * floor + 0.05 * floor * np.clip((y - 0.68) / 0.32, 0, 1)
    edge = np.clip(np.hypot(x - 0.5, y - 0.5) - 0.45, 0, None)
    light = np.clip(light - 0.16 * edge, 0.1, 0.97)
    strength = chroma * (0.93 - 0.10 * glow)
    lab = np.stack([light, strength * np.cos(hue), strength * np.sin(hue)], axis=-1)
    return (srgb(lab) * 255).astype(np.float32)


def _fitted(layer: Layer, side: int) -> Floats:
    """A layer's pixels turned and scaled to its box: float RGB (0 to 255) and opacity (0 to 1)."""
    rgba = turned(layer.rgba, layer.turn) if layer.turn else layer.rgba
    rows, columns = np.where(rgba[..., 3] > 12)
    rgba = rgba[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    wide, high = (layer.box[2] - layer.box[0]) * side, (layer.box[3] - layer.box[1]) * side
    scale = min(wide / rgba.shape[1], high / rgba.shape[0])
    size = (max(2, round(rgba.shape[1] * scale)), max(2, round(rgba.shape[0] * scale)))
    weighted = rgba.astype(np.float32)
    weighted[..., 3] /= 255.0
    weighted[..., :3] *= weighted[..., 3:]
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    picture = cv2.resize(weighted, size, interpolation=method)
    picture[..., 3] = np.clip(picture[..., 3], 0, 1)
    picture[..., :3] = np.clip(picture[..., :3] / np.maximum(picture[..., 3:], 1e-3), 0, 255)
    return np.asarray(picture, np.float32)


def _corner(box: Box, picture: Floats, side: int) -> tuple[int, int]:
    """Top left pixel of a picture that stands in the middle of its box's floor."""
    middle = (box[0] + box[2]) / 2 * side
    return round(middle - picture.shape[1] / 2), round(box[3] * side - picture.shape[0])


def _clipped(picture: Floats, x: int, y: int, side: int) -> tuple[tuple[int, int, int, int], Floats]:
    x0, y0 = max(x, 0), max(y, 0)
    x1, y1 = min(x + picture.shape[1], side), min(y + picture.shape[0], side)
    return (x0, y0, x1, y1), picture[y0 - y : y1 - y, x0 - x : x1 - x]


def _shade(canvas: Floats, opacity: Floats, x: int, y: int, depth: int) -> None:
    """Darken the canvas by a thing's contact shadow and its soft cast shadow, in place; things on others cast less."""
    height, width = opacity.shape
    margin = max(12, round(0.28 * max(height, width)))
    shade = np.zeros((height + 2 * margin, width + 2 * margin), np.float32)
    cast = cv2.GaussianBlur(
        cv2.copyMakeBorder(opacity, margin, margin, margin, margin, cv2.BORDER_CONSTANT), (0, 0), 0.06 * max(height, width)
    )
    shift = round(0.045 * height)
    shade[shift:, shift // 2 :] = cast[: shade.shape[0] - shift, : shade.shape[1] - shift // 2] * 0.22
    contact = np.zeros_like(shade)
    foot = opacity[int(height * 0.86) :].max(axis=0) > 0.5
    columns = np.flatnonzero(foot)
    if len(columns):
        left, right = int(columns[0]), int(columns[-1])
        centre = (margin + (left + right) // 2, margin + height - max(2, height // 40))
        axes = (max(3, (right - left) // 2), max(3, round(0.045 * height)))
        cv2.ellipse(contact, centre, axes, 0, 0, 360, 1.0, cv2.FILLED)
        contact = cv2.GaussianBlur(contact, (0, 0), max(2.0, 0.03 * height))
    strength = 1.0 if depth == 0 else 0.5
    darkness = np.clip(np.maximum(shade, contact * 0.40) * strength, 0, 0.6)
    window, part = _clipped(darkness[..., None], x - margin, y - margin, canvas.shape[0])
    canvas[window[1] : window[3], window[0] : window[2]] *= 1 - part


def _visible(
    order: Sequence[int], placed: dict[int, tuple[tuple[int, int, int, int], Floats, float]], side: int
) -> dict[int, float]:
    """Share of each layer's own pixels that neither the picture's rim nor a layer above hides."""
    covered = np.zeros((side, side), bool)
    shares = {}
    for n in reversed(order):
        (x0, y0, x1, y1), solid, full = placed[n]
        region = covered[y0:y1, x0:x1]
        shares[n] = float((solid & ~region).sum() / max(full, 1.0))
        region |= np.asarray(solid, bool)
    return shares


def _box_of(window: tuple[int, int, int, int], side: int) -> Box:
    return (window[0] / side, window[1] / side, window[2] / side, window[3] / side)


def _jpeg(canvas: Floats) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(np.clip(np.rint(canvas), 0, 255).astype(np.uint8)).save(out, "JPEG", quality=90)
    return out.getvalue()
