"""A prompt's words written on a plain picture: stop list, wrapping, and which characters the font really has."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL import Image, ImageFont

# The commonest English function words and the verbs of instruction; fixed, because it is part of what the floor is.
_STOPPED = """
    a about all also an and any are as at be been both but by can do does each every few for from had has have he her his how i
    if in into is it its itself just may me more most much must my no nor not of off on once one only onto or other our out over
    own same shall she should show shown shows so some such than that the their them then there these they this those through to
    too under until up upon use very was we were what when where which while who whose will with within would you your
    compose create draw generate make place put keep let ensure picture image images pictures pictured single square following
    exactly everything nothing else"""
STOP_LIST = frozenset(_STOPPED.split())
SIZES = (72, 60, 48, 40, 34, 28, 24, 20, 17, 14)  # pixels; the first at which all words fit
INK = (16, 16, 16)
MISSING = "\ufffd"  # what the scene says where the font has no such character


def telling_words(prompt: str) -> list[str]:
    """The words of `prompt` in order, each once (ignoring case), without surrounding punctuation, less the stop list."""
    seen: set[str] = set()
    result = []
    for raw in prompt.split():
        word = "".join(character for character in raw if character.isprintable()).strip(".,;:!?\"'()[]{}<>`*_“”‘’«»…-–—")
        key = word.casefold()
        if word and key not in STOP_LIST and key not in seen:
            seen.add(key)
            result.append(word)
    return result


def written(prompt: str, edge: int, ground: tuple[int, int, int]) -> tuple[Image.Image, list[dict[str, Any]]]:
    """Write the telling words, left to right in lines, as large as fits a square of `edge` pixels.

    Returns:
        The picture (taller than wide if even the smallest size does not fit), and a scene word (text, box) for each word or part
        of a word; a character the font lacks is U+FFFD in the text, because a box is what it looks like.
    """
    from PIL import Image, ImageDraw

    margin = edge // 32
    tokens = telling_words(prompt)
    for size in SIZES:
        font = _font(size)
        lines = _wrapped(tokens, font, edge - 2 * margin)
        height = len(lines) * _leading(size) + 2 * margin
        if height <= edge:
            break
    picture = Image.new("RGB", (edge, max(edge, height)), ground)
    pen = ImageDraw.Draw(picture)
    lettering = []
    for row, line in enumerate(lines):
        x, y = float(margin), margin + row * _leading(size)
        for word in line:
            pen.text((x, y), word, fill=INK, font=font)
            box = pen.textbbox((x, y), word, font=font)
            lettering.append({"text": _as_shown(word), "box": _fractions(box, picture.size)})
            x += font.getlength(word) + size // 2
    return picture, lettering


def _wrapped(tokens: Sequence[str], font: ImageFont.FreeTypeFont, width: int) -> list[list[str]]:
    lines: list[list[str]] = [[]]
    used = 0.0
    gap = int(font.size) // 2
    for token in tokens:
        for part in _parts(token, font, width):
            length = font.getlength(part)
            if lines[-1] and used + length > width:
                lines.append([])
                used = 0.0
            lines[-1].append(part)
            used += length + gap
    return lines


def _parts(token: str, font: ImageFont.FreeTypeFont, width: int) -> list[str]:
    """The word itself, or pieces that fit the width."""
    parts = [""]
    for character in token:
        if parts[-1] and font.getlength(parts[-1] + character) > width:
            parts.append("")
        parts[-1] += character
    return parts


def _leading(size: int) -> int:
    return round(size * 1.35)


def _fractions(box: tuple[float, float, float, float], size: tuple[int, int]) -> list[float]:
    x0, y0, x1, y1 = box
    return [round(edge, 6) for edge in (x0 / size[0], y0 / size[1], x1 / size[0], y1 / size[1])]


def _as_shown(word: str) -> str:
    return "".join(character if _has_glyph(character) else MISSING for character in word)


@cache
def _has_glyph(character: str) -> bool:
    """Whether the font has this character: it does not look like a code point that can never be assigned."""
    font = _font(SIZES[0])
    return bytes(font.getmask(character)) != bytes(font.getmask("\uffff")) or character.isspace()


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    """DejaVu Sans as matplotlib ships it (found without importing it), with the plain layout, which is the same everywhere."""
    from PIL import ImageFont

    spec = importlib.util.find_spec("matplotlib")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("matplotlib is not installed; its DejaVu Sans writes the words. Install the project again.")
    path = Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"
    return ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)
