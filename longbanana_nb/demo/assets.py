"""Cut-outs ready to be placed: read from the shipped pictures, painted in a named colour, with a lettered sticker."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from longbanana_nb.demo.colours import Paintable, paintable
from longbanana_nb.demo.kinds import kinds

if TYPE_CHECKING:
    from PIL import Image, ImageFont

INK = (24, 28, 46, 255)


@lru_cache(maxsize=128)
def _cutout(kind: str) -> Paintable:
    """The shipped cut-out of a kind, looked over for painting."""
    import numpy as np
    from PIL import Image

    one = kinds()[kind]
    with Image.open(one.file) as opened:
        return paintable(np.asarray(opened.convert("RGBA")), one.hue, one.hue_width)


@lru_cache(maxsize=128)
def sprite(kind: str, colour: str | None, text: str | None = None) -> Image.Image:
    """The trimmed cut-out of a kind, RGBA, painted (unless `colour` is None) and lettered (if `text` is given).

    Raises:
        ValueError: if the kind has no room for lettering.
    """
    from PIL import Image

    one = kinds()[kind]
    picture = Image.fromarray(_cutout(kind).rgba if colour is None else _cutout(kind).painted(colour))
    width, height = picture.size
    x0, y0, x1, y1 = one.trim
    picture = picture.crop((round(x0 * width), round(y0 * height), round(x1 * width), round(y1 * height)))
    if text is None:
        return picture
    if one.label is None:
        raise ValueError(f"the kind {kind!r} has no room for lettering")
    return _lettered(picture, one.label, text)


def _lettered(picture: Image.Image, box: tuple[float, float, float, float], text: str) -> Image.Image:
    """A copy at twice the size with a white sticker at `box`, drawn larger still, so that letters keep smooth edges."""
    from PIL import Image

    double = picture.resize((picture.width * 2, picture.height * 2), Image.Resampling.BILINEAR)
    left, top = round(box[0] * double.width), round(box[1] * double.height)
    width, height = round((box[2] - box[0]) * double.width), round((box[3] - box[1]) * double.height)
    label = sticker(text, 2 * width, 2 * height).resize((width, height), Image.Resampling.BOX)
    double.alpha_composite(label, (left, top))
    return double


def sticker(text: str, width: int, height: int) -> Image.Image:
    """A white rounded sticker with dark capitals that fill it, RGBA, in pixels."""
    from PIL import Image, ImageDraw

    label = Image.new("RGBA", (width, height), (0, 0, 0, 0))
    pen = ImageDraw.Draw(label)
    edge = max(2, height // 22)
    pen.rounded_rectangle((0, 0, width - 1, height - 1), radius=height * 0.24, fill=(252, 252, 250, 255), outline=INK, width=edge)
    size = _fitting_size(text, width - 5 * edge - height * 0.16, height * 0.70)
    pen.text((width / 2, height / 2), text, font=bold(size), fill=INK, anchor="mm")
    return label


def _fitting_size(text: str, width: float, height: float) -> int:
    """The largest font size at which the capitals fit; widths grow in proportion to the size."""
    probe = bold(100)
    x0, y0, x1, y1 = probe.getbbox(text)
    return max(6, int(100 * min(width / (x1 - x0), height / (y1 - y0))))


@lru_cache(maxsize=64)
def bold(size: int) -> ImageFont.FreeTypeFont:
    """DejaVu Sans Bold as shipped with matplotlib (found without importing it), so that every machine letters alike."""
    from PIL import ImageFont

    spec = importlib.util.find_spec("matplotlib")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            "matplotlib is not installed; its DejaVu Sans Bold letters the stickers. Install the project again."
        )
    path = Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf" / "DejaVuSans-Bold.ttf"
    return ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)
