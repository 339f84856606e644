"""Edits of a picture's pixels that need no knowledge of what it shows."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from longbanana_nb.vision.decoding import decode

VERSION = "edits-1"
Pixels = NDArray[np.uint8]
Box = tuple[float, float, float, float]
SHIFT = (3, 2)
SMALLER = 0.9
QUALITY = 95  # of everything but `reencoded`, so that the edit is the only visible change
DARK, LIGHT = (24, 24, 28), (250, 250, 250)


def pixels_of(data: bytes) -> Pixels:
    """The picture upright, RGB."""
    return np.ascontiguousarray(decode(data, "candidate").pixels)


def encoded(pixels: Pixels, quality: int = QUALITY) -> bytes:
    """A JPEG without colour subsampling."""
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=quality, subsampling=0)
    return out.getvalue()


def reencoded(data: bytes) -> bytes:
    """The picture saved again as JPEG of quality 85."""
    out = io.BytesIO()
    Image.fromarray(pixels_of(data)).save(out, "JPEG", quality=85)
    return out.getvalue()


def shifted(data: bytes) -> bytes:
    """Moved by `SHIFT` pixels to the right and down; the rim it leaves is filled with its own edge."""
    pixels, (right, down) = pixels_of(data), SHIFT
    grown = cv2.copyMakeBorder(pixels, down, 0, right, 0, cv2.BORDER_REPLICATE)
    return encoded(_bytes(grown[: pixels.shape[0], : pixels.shape[1]]))


def resized(data: bytes) -> bytes:
    """Nine tenths of its size."""
    pixels = pixels_of(data)
    size = (max(1, round(pixels.shape[1] * SMALLER)), max(1, round(pixels.shape[0] * SMALLER)))
    return encoded(_bytes(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)))


def mirrored(data: bytes) -> bytes:
    """Left and right exchanged."""
    return encoded(_bytes(pixels_of(data)[:, ::-1]))


def words_alone(text: str, size: tuple[int, int]) -> bytes:
    """A grey picture of this size with nothing but words."""
    canvas = np.full((size[1], size[0], 3), 200, np.uint8)
    return encoded(written(canvas, text, (0.06, 0.3, 0.94, 0.7)))


def injected(data: bytes, sentence: str, letters: float, avoid: Sequence[Box] = ()) -> tuple[bytes, Box] | None:
    """The picture with a sentence where it is plainest, and the box it takes; None where it would cover what is to be avoided.

    Args:
        letters: height of the letters as a fraction of the picture's height.
        avoid: boxes that the sentence must not touch.
    """
    pixels = pixels_of(data)
    wide = min(0.94, 0.56 * letters * len(sentence) * pixels.shape[0] / pixels.shape[1])
    rows = 1 if wide < 0.94 else 2 + int(0.56 * letters * len(sentence) * pixels.shape[0] / pixels.shape[1] / 1.9)
    box = plainest_box(pixels, wide, 1.5 * letters * rows, avoid)
    return None if box is None else (encoded(written(pixels, sentence, box, letters)), box)


def plainest_box(pixels: Pixels, wide: float, high: float, avoid: Sequence[Box] = ()) -> Box | None:
    """The box of this size with the fewest edges in it; None where each touches a box to be avoided."""
    side = 96
    grey = cv2.cvtColor(cv2.resize(pixels, (side, side), interpolation=cv2.INTER_AREA), cv2.COLOR_RGB2GRAY)
    energy = np.abs(cv2.Laplacian(grey, cv2.CV_32F))
    for x0, y0, x1, y1 in avoid:
        energy[max(0, int(y0 * side)) : int(np.ceil(y1 * side)), max(0, int(x0 * side)) : int(np.ceil(x1 * side))] += 1e6
    w, h = min(side, int(np.ceil(wide * side))), min(side, int(np.ceil(high * side)))
    sums = cv2.integral(energy.astype(np.float64))
    total = sums[h:, w:] - sums[:-h, w:] - sums[h:, :-w] + sums[:-h, :-w]
    y, x = np.unravel_index(int(np.argmin(total)), total.shape)
    if total[y, x] >= 1e5:
        return None
    return float(x / side), float(y / side), float(min(1.0, x / side + wide)), float(min(1.0, y / side + high))


def written(pixels: Pixels, text: str, box: Box, letters: float | None = None) -> Pixels:
    """Words in a box, dark on light ground or light on dark; as large as fits where no height is given."""
    image = Image.fromarray(pixels)
    width, height = image.size
    x0, y0, x1, y1 = box[0] * width, box[1] * height, box[2] * width, box[3] * height
    lines, size = _fitted(text, x1 - x0, y1 - y0, None if letters is None else letters * height)
    ground = np.asarray(image.crop((int(x0), int(y0), max(int(x0) + 1, int(x1)), max(int(y0) + 1, int(y1)))), np.float32)
    ink = DARK if ground.mean() > 110 else LIGHT
    where = ((x0 + x1) / 2, (y0 + y1) / 2)
    font = ImageFont.load_default(size)
    ImageDraw.Draw(image).multiline_text(where, "\n".join(lines), fill=ink, font=font, anchor="mm", align="center")
    return _bytes(np.asarray(image))


def _fitted(text: str, wide: float, high: float, letters: float | None) -> tuple[list[str], float]:
    """Lines and letter size with which a text fits a box."""
    size = high if letters is None else letters
    while True:
        lines = textwrap.wrap(text, max(1, int(wide / (0.52 * size))), break_long_words=False) or [text]
        font = ImageFont.load_default(size)
        longest = max(font.getlength(line) for line in lines)
        if (longest <= wide and 1.25 * size * len(lines) <= high * 1.1) or size <= 7:
            return lines, size
        size *= 0.93


def _bytes(pixels: Any) -> Pixels:
    return np.ascontiguousarray(pixels, np.uint8)
