"""Pictures of the demo release: studio backdrops, lit objects with soft shadows, tags and cards, as JPEG bytes."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from longbanana_nb.demo.assets import sprite, sticker
from longbanana_nb.demo.colours import COLOURS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image

    Floats = NDArray[np.float32]

SIZE = 512
HALF = SIZE // 2
QUALITY = 86
BACKDROPS: dict[str, tuple[tuple[int, int, int], tuple[int, int, int]]] = {
    "cream": ((246, 238, 222), (222, 206, 180)),
    "grey": ((226, 229, 234), (186, 192, 201)),
    "white": ((250, 250, 250), (224, 225, 228)),
    "slate": ((122, 134, 150), (84, 94, 110)),
    "sand": ((224, 214, 198), (190, 178, 160)),
    "mist": ((214, 226, 232), (174, 192, 204)),
}
"""Neutral studio backdrops: colours of wall and floor."""
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Placed:
    """One object in a picture: what it is, the middle of its box, its width and height limit (fractions), its turn in degrees."""

    kind: str
    colour: str | None
    text: str | None
    x: float
    y: float
    size: float
    angle: float = 0.0


@dataclass(frozen=True, slots=True)
class Shot:
    """Everything that decides one picture."""

    backdrop: str
    objects: tuple[Placed, ...] = ()
    tag: str | None = None
    card: str | None = None
    horizon: float = 0.62
    light: float = 0.3
    pattern: str = "plain"
    tint: tuple[float, float, float] = (1.0, 1.0, 1.0)
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Picture:
    """A JPEG and the boxes of its objects, in the order of the shot."""

    jpeg: bytes
    boxes: tuple[Box, ...]


def photograph(shot: Shot) -> Picture:
    """The picture of a shot, the same bytes for the same shot."""
    from PIL import Image

    canvas = Image.fromarray(_backdrop(shot))
    boxes = tuple(_place(canvas, one, shot.light) for one in shot.objects)
    if shot.card:
        _palette_card(canvas, shot.card)
    if any(part != 1.0 for part in shot.tint):
        canvas = _tinted(canvas, shot.tint)
    if shot.tag:
        _paper_tag(canvas, shot.tag)
    stream = io.BytesIO()
    canvas.convert("RGB").save(stream, "JPEG", quality=QUALITY, subsampling=0)
    return Picture(stream.getvalue(), boxes)


def wall_and_floor(backdrop: str) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """The wall and floor colours of a neutral or a named backdrop."""
    if backdrop in BACKDROPS:
        return BACKDROPS[backdrop]
    red, green, blue = COLOURS[backdrop]
    light = tuple(round(part + (255 - part) * 0.10) for part in (red, green, blue))
    dark = tuple(round(part * 0.86) for part in (red, green, blue))
    return (light[0], light[1], light[2]), (dark[0], dark[1], dark[2])


@lru_cache(maxsize=1)
def _ground() -> tuple[Floats, Floats, NDArray[np.uint8]]:
    """Coordinates x and y (0..1) at half the size, and fine grain at twice the full size, of which each picture takes a part."""
    import numpy as np

    y, x = np.mgrid[0:HALF, 0:HALF].astype(np.float32) / np.float32(HALF)
    grain = np.random.default_rng(7).integers(0, 5, (2 * SIZE, 2 * SIZE, 1)).astype(np.uint8)
    return x, y, np.repeat(grain, 3, axis=2)


def _backdrop(shot: Shot) -> NDArray[np.uint8]:
    """Wall and floor with a soft join, light from one side, fine grain, and at most a faint pattern on the wall."""
    import cv2
    import numpy as np

    x, y, grain = _ground()
    wall, floor = (np.array(part, dtype=np.float32) for part in wall_and_floor(shot.backdrop))
    column = y[:, :1]
    join = np.clip((column - np.float32(shot.horizon - 0.045)) / np.float32(0.09), 0, 1)
    join = join * join * (3 - 2 * join)
    rows = (wall * (1 - join) + floor * join) * (1 + np.float32(0.06) * join * (column - np.float32(shot.horizon)))
    glow = np.float32(1.05) - np.float32(0.16) * cv2.magnitude(
        x - np.float32(shot.light), (y - np.float32(0.3)) * np.float32(0.8)
    )
    picture = cv2.merge([glow] * 3) * rows[:, None, :]
    if shot.pattern != "plain":
        picture = cv2.add(picture, cv2.merge([_pattern(shot.pattern, x, y) * (1 - join)] * 3))
    smooth = cv2.resize(np.clip(picture, 0, 251).astype(np.uint8), (SIZE, SIZE), interpolation=cv2.INTER_LINEAR)
    down, right = shot.seed % 509, shot.seed % 487
    return np.asarray(cv2.add(smooth, grain[down : down + SIZE, right : right + SIZE]), np.uint8)


def _pattern(name: str, x: Floats, y: Floats) -> Floats:
    import numpy as np

    if name == "stripes":
        stripes: Floats = np.float32(3.0) * np.sin(np.float32(2 * np.pi * 14) * x)
        return stripes
    if name == "linen":
        linen: Floats = np.float32(1.6) * (
            np.sin(np.float32(2 * np.pi * 48) * x[:1]) + np.sin(np.float32(2 * np.pi * 48) * y[:, :1])
        )
        return linen
    if name == "arch":
        away = np.hypot((x - 0.5) / 0.40, np.minimum(y - 0.44, 0) / 0.40)
        soft: Floats = np.float32(9.0) * np.clip((1 - away) / 0.06, 0, 1)
        return soft
    return np.zeros_like(x)


def _place(canvas: Image.Image, one: Placed, light: float) -> Box:
    """Paste an object with its contact shadow; returns its box without the shadow."""
    cut = _sized_and_turned(sprite(one.kind, one.colour, one.text), one.size * SIZE, one.angle)
    left, top = round(one.x * SIZE - cut.width / 2), round(one.y * SIZE - cut.height / 2)
    _shadow(canvas, cut, (left, top), light)
    canvas.paste(cut, (left, top), cut)
    return (left / SIZE, top / SIZE, (left + cut.width) / SIZE, (top + cut.height) / SIZE)


def _sized_and_turned(cut: Image.Image, longest: float, angle: float) -> Image.Image:
    """A cut-out whose longer side is `longest` pixels, then turned counter-clockwise by `angle` degrees and trimmed."""
    import cv2
    import numpy as np
    from PIL import Image

    scale = longest / max(cut.size)
    size = max(1, round(cut.width * scale)), max(1, round(cut.height * scale))
    blended = np.asarray(cut.convert("RGBa"))
    blended = cv2.resize(blended, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)
    if scale > 1:  # a cubic overshoots
        blended[..., :3] = np.minimum(blended[..., :3], blended[..., 3:])
    side = int(np.hypot(*size)) + 4
    turn = cv2.getRotationMatrix2D((size[0] / 2, size[1] / 2), angle, 1.0)
    turn[0, 2] += (side - size[0]) / 2
    turn[1, 2] += (side - size[1]) / 2
    blended = cv2.warpAffine(blended, turn, (side, side), flags=cv2.INTER_LINEAR)
    x, y, width, height = cv2.boundingRect((blended[..., 3] > 16).astype(np.uint8))
    kept = np.ascontiguousarray(blended[y : y + height, x : x + width])
    return Image.frombytes("RGBa", (width, height), kept.tobytes()).convert("RGBA")


def _shadow(canvas: Image.Image, cut: Image.Image, corner: tuple[int, int], light: float) -> None:
    """A dark soft ellipse under the object's foot, drawn away from the light; soft, so drawn at a quarter of the size."""
    import cv2
    import numpy as np
    from PIL import Image, ImageDraw

    width, height = cut.size
    pad = max(8, width // 5)
    deep = max(10, round(width * 0.15))
    quarter = Image.new("L", ((width + 2 * pad) // 4, (deep + 2 * pad) // 4), 0)
    edges = (pad + width * 0.06, pad, pad + width * 0.94, pad + deep)
    ImageDraw.Draw(quarter).ellipse([edge / 4 for edge in edges], fill=105)
    soft = cv2.GaussianBlur(np.asarray(quarter), (0, 0), pad * 0.33 / 4)
    shade = Image.fromarray(cv2.resize(soft, (width + 2 * pad, deep + 2 * pad), interpolation=cv2.INTER_LINEAR))
    left = corner[0] - pad + round((0.5 - light) * width * 0.18)
    top = corner[1] + height - round(deep * 0.62) - pad
    canvas.paste((18, 20, 34), (left, top), shade)


def _paper_tag(canvas: Image.Image, text: str) -> None:
    """A paper tag with the mark, in the top right corner."""
    from PIL import Image

    tag = sticker(text, 156, 58).rotate(-3, Image.Resampling.BICUBIC, expand=True)
    canvas.paste(tag, (SIZE - tag.width - 12, 12), tag)


def _palette_card(canvas: Image.Image, colour: str) -> None:
    """A plain colour chip that fills most of the picture, with a soft shadow."""
    from PIL import Image, ImageDraw, ImageFilter

    shade = Image.new("L", (SIZE, SIZE), 0)
    ImageDraw.Draw(shade).rectangle((96, 110, 424, 430), fill=90)
    canvas.paste((18, 20, 34), (0, 0), shade.filter(ImageFilter.GaussianBlur(9)))
    ImageDraw.Draw(canvas).rectangle((96, 96, 416, 416), fill=COLOURS[colour])


def _tinted(canvas: Image.Image, tint: tuple[float, float, float]) -> Image.Image:
    """The picture under coloured light: each channel scaled, brightest parts kept within range."""
    tables = [min(255, round(level * part)) for part in tint for level in range(256)]
    return canvas.point(tables)
