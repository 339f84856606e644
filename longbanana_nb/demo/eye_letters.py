"""How the sketch's eye reads: white labels and tags with dark capitals are found, straightened, and matched with drawn glyphs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from longbanana_nb.demo.assets import bold

Bytes = NDArray[Any]  # uint8; OpenCV's annotations do not keep element types
Floats = NDArray[Any]  # float32

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
GLYPH = (16, 24)
HEIGHT = 56
LEAST_LIKENESS = 0.62
NARROW, FILLED = 0.42, 0.75
ALIKE = str.maketrans("01258", "OIZSB")


@dataclass(frozen=True, slots=True)
class Label:
    """Lettering found: its words, mean glyph likeness (0 to 1), pixel box, and the turn of the label in degrees."""

    text: str
    likeness: float
    box: tuple[int, int, int, int]
    turn: float


def same_word(a: str, b: str) -> bool:
    """Whether two readings are one word, look-alike digits taken as letters (0 as O, 1 as I, 2 as Z, 5 as S, 8 as B)."""
    return a.replace(" ", "").translate(ALIKE) == b.replace(" ", "").translate(ALIKE)


def read_labels(rgb: Bytes) -> list[Label]:
    """All labels of a crop, best first."""
    closed = cv2.morphologyEx(_white(rgb), cv2.MORPH_CLOSE, np.ones((7, 7), np.uint8))
    closed = cv2.morphologyEx(closed, cv2.MORPH_OPEN, np.ones((5, 5), np.uint8))
    contours, _ = cv2.findContours(closed, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    read = [_read_one(rgb, contour) for contour in contours if cv2.contourArea(contour) >= 220]
    return sorted([label for label in read if label is not None], key=lambda label: -label.likeness)


def white_share(rgb: Bytes, mask: Bytes) -> float:
    """How much of what a mask (255 inside) leaves of a crop is white, 0 to 1."""
    return float(np.count_nonzero(_white(rgb) & mask)) / max(1, int(np.count_nonzero(mask)))


def _white(rgb: Bytes) -> Bytes:
    """255 where a label's white may be."""
    red, green, blue = cv2.split(rgb)
    low, high = cv2.min(cv2.min(red, green), blue), cv2.max(cv2.max(red, green), blue)
    return np.where((low > 165) & (cv2.subtract(high, low) < 45), np.uint8(255), np.uint8(0))


def read_sticker(rgb: Bytes, turn: float, place: tuple[float, float, float, float]) -> Label | None:
    """The sticker in a crop of a thing turned by `turn` degrees; `place`: where its kind, upright, has room for one."""
    height, width = rgb.shape[:2]
    scale = 2.0 if max(height, width) < 320 else 1.0
    middle = (width / 2, height / 2)
    matrix = cv2.getRotationMatrix2D(middle, -turn, scale)
    angle = np.radians(abs(turn))
    cos, sin = float(np.cos(angle)), float(np.sin(angle))
    spread = max(cos * cos - sin * sin, 0.3)
    wide, high = (width * cos - height * sin) / spread, (height * cos - width * sin) / spread
    size = (max(8, round(wide * scale)), max(8, round(high * scale)))
    matrix[:, 2] += np.array([size[0] / 2 - middle[0], size[1] / 2 - middle[1]])
    x0, y0, x1, y1 = place
    left, right = round(x0 * size[0]), round(x1 * size[0])
    top, bottom = round(y0 * size[1]), round(y1 * size[1])
    if min(right - left, bottom - top) < 8:
        return None
    shifted = matrix - np.array([[0, 0, left], [0, 0, top]])
    part = cv2.warpAffine(rgb, shifted, (right - left, bottom - top), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    if float((part.min(axis=2) > 150).mean()) < 0.25:
        return None
    part = cv2.resize(part, (round(part.shape[1] * HEIGHT / part.shape[0]), HEIGHT), interpolation=cv2.INTER_CUBIC)
    text, likeness = _words(cv2.cvtColor(part, cv2.COLOR_RGB2GRAY))
    if len(text.replace(" ", "")) < 2 or likeness < LEAST_LIKENESS:
        return None
    inverse = cv2.invertAffineTransform(matrix)
    centre = inverse @ np.array([(left + right) / 2, (top + bottom) / 2, 1.0])
    half = ((right - left) / 2 / scale, (bottom - top) / 2 / scale)
    box = (round(centre[0] - half[0]), round(centre[1] - half[1]), round(centre[0] + half[0]), round(centre[1] + half[1]))
    return Label(text.replace(" ", ""), likeness, box, turn)


def _read_one(rgb: Bytes, contour: NDArray[Any]) -> Label | None:
    centre, (wide, high), angle = cv2.minAreaRect(contour)
    if wide < high:
        wide, high, angle = high, wide, angle + 90
    angle = (angle + 90) % 180 - 90
    if abs(angle) > 35 or high < 9 or wide < 1.1 * high or cv2.contourArea(contour) < 0.7 * wide * high:
        return None
    scale = HEIGHT / high
    matrix = cv2.getRotationMatrix2D(centre, angle, scale)
    size = (round(wide * scale), HEIGHT)
    matrix[:, 2] += np.array([size[0] / 2 - centre[0], size[1] / 2 - centre[1]])
    straight = cv2.warpAffine(rgb, matrix, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    text, likeness = _words(cv2.cvtColor(straight, cv2.COLOR_RGB2GRAY))
    if len(text.replace(" ", "")) < 2 or likeness < LEAST_LIKENESS:
        return None
    x, y, w, h = cv2.boundingRect(contour)
    return Label(text, likeness, (x, y, x + w, y + h), -float(angle))


def _words(grey: Bytes) -> tuple[str, float]:
    """Characters of a straightened label from left to right, with spaces at wide gaps, and their mean likeness."""
    level, dark = cv2.threshold(grey, 0, 255, cv2.THRESH_BINARY_INV | cv2.THRESH_OTSU)
    if level > 190 or level < 40:
        return "", 0.0
    count, marks, stats, _ = cv2.connectedComponentsWithStats(dark, connectivity=8)
    found = []
    for n in range(1, count):
        x, y, w, h, _ = (int(v) for v in stats[n])
        touches = y <= 0 or y + h >= grey.shape[0]
        if 0.3 * HEIGHT <= h <= 0.95 * HEIGHT and not touches and w <= 4 * h:
            parts = 1 if w <= 1.62 * h else max(2, round(w / (1.05 * h)))  # neighbours that touch are cut apart evenly
            found += [(x + k * w // parts, y, w // parts, h, n) for k in range(parts)]
    found.sort()
    if not found:
        return "", 0.0
    typical = float(np.median([h for *_, h, _ in found]))
    found = [each for each in found if 0.75 * typical < each[3] < 1.42 * typical]
    text, likenesses, end = "", [], None
    for x, y, w, h, n in found:
        letter, likeness = _letter((marks[y : y + h, x : x + w] == n).astype(np.float32), w / h)
        text += (" " if end is not None and x - end > 0.32 * typical else "") + letter
        likenesses.append(likeness)
        end = x + w
    return text, float(np.mean(likenesses)) if likenesses else 0.0


def _letter(glyph: Floats, aspect: float) -> tuple[str, float]:
    if aspect < NARROW and float(glyph.mean()) > FILLED:
        return "I", 0.9  # a bar that fills its box has no inside to compare
    vectors, aspects = _templates()
    flat = _normal(glyph)
    likeness = vectors @ flat - 0.35 * np.abs(np.log(aspects / max(aspect, 0.05)))
    best = int(np.argmax(likeness))
    return ALPHABET[best], float(likeness[best])


def _normal(glyph: Floats) -> Floats:
    small = cv2.resize(glyph, GLYPH, interpolation=cv2.INTER_AREA if glyph.shape[0] > GLYPH[1] else cv2.INTER_LINEAR)
    flat = cv2.GaussianBlur(small, (0, 0), 0.7).ravel()
    flat = flat - flat.mean()
    return np.asarray(flat / max(float(np.linalg.norm(flat)), 1e-6), np.float32)


@lru_cache(maxsize=1)
def _templates() -> tuple[Floats, Floats]:
    from PIL import Image, ImageDraw

    font = bold(64)
    vectors, aspects = [], []
    for letter in ALPHABET:
        canvas = Image.new("L", (110, 110), 0)
        ImageDraw.Draw(canvas).text((20, 10), letter, fill=255, font=font)
        box = canvas.getbbox()
        glyph = np.asarray(canvas.crop(box), np.float32) / 255.0
        vectors.append(_normal(glyph))
        aspects.append(glyph.shape[1] / glyph.shape[0])
    return np.stack(vectors), np.array(aspects, np.float32)


def letter_label(rgba: Bytes, box: tuple[int, int, int, int], turn: float, text: str) -> Bytes:
    """A copy of a cut-out whose label in `box` reads `text`: the old letters are painted over in the label's white."""
    from PIL import Image, ImageDraw

    x0, y0, x1, y1 = box
    part = rgba[y0:y1, x0:x1, :3].reshape(-1, 3)
    white = tuple(int(v) for v in np.percentile(part, 80, axis=0))
    wide, high = (x1 - x0) * 2, (y1 - y0) * 2
    left, top, right, bottom = bold(100).getbbox(text)
    size = max(8, int(100 * min(0.86 * wide / (right - left), 0.72 * high / (bottom - top))))
    plate = Image.new("RGBA", (wide, high), (*white, 0))
    pen = ImageDraw.Draw(plate)
    pen.rounded_rectangle((2, 2, wide - 3, high - 3), radius=high // 6, fill=(*white, 255))
    pen.text((wide / 2, high / 2), text, font=bold(size), fill=(30, 30, 34, 255), anchor="mm")
    small = plate.rotate(turn, resample=Image.Resampling.BICUBIC).resize((x1 - x0, y1 - y0), Image.Resampling.BOX)
    result = Image.fromarray(rgba)
    result.paste(small.convert("RGB"), (x0, y0), small.getchannel("A"))
    lettered = np.array(result)
    lettered[..., 3] = rgba[..., 3]
    return lettered
