"""What a notebook cell shows: self-contained HTML, readable in light and dark, with words for those who cannot see it."""

from __future__ import annotations

import base64
import html
import io
from pathlib import Path
from typing import TYPE_CHECKING

from longbanana_nb.errors import DataError, Fault

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")  # readers that only decode; EPS would run a program
THUMB_QUALITY = 80
PICTURE_STYLE = "width:100%;display:block;border-radius:4px"
HEADING_STYLE = "font-family:system-ui,sans-serif;font-size:13px;font-weight:600;line-height:1.4;margin:.4em 0"
CAPTION_STYLE = "font-family:system-ui,sans-serif;font-size:12px;line-height:1.35;padding:4px 0;overflow-wrap:anywhere"


class Shown:
    """A piece of HTML for a notebook; its plain form is the alternative text."""

    def __init__(self, markup: str, alt: str) -> None:
        self.markup, self.alt = markup, alt

    def _repr_html_(self) -> str:
        return self.markup

    def __repr__(self) -> str:
        return self.alt


def show_figure(figure: Figure, alt: str, *, dpi: int = 150) -> Shown:
    """A matplotlib figure as an embedded PNG with alternative text; white ground, so that it reads in a dark page too."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=dpi, facecolor="white", metadata={"Software": None})
    width = round(figure.get_size_inches()[0] * 110)
    return Shown(image_markup(stream.getvalue(), "png", alt, f"max-width:100%;width:{width}px;background-color:#fff"), alt)


def image_markup(data: bytes, kind: str, alt: str, style: str = "max-width:100%") -> str:
    """An `<img>` that carries its bytes."""
    encoded = base64.b64encode(data).decode("ascii")
    return f'<img alt="{html.escape(alt, quote=True)}" style="{style}" src="data:image/{kind};base64,{encoded}">'


def thumbnail(file: Path, edge: int) -> bytes:
    """The picture of a file, upright, at most `edge` pixels long, as JPEG.

    Raises:
        DataError: where the file is missing or no picture.
    """
    return as_jpeg(open_upright(file), edge)


def open_upright(file: Path) -> Image:
    """A picture as people see it: EXIF orientation applied, RGB, transparent parts on grey."""
    from PIL import Image, ImageOps

    try:
        Image.init()
        with Image.open(file, formats=[kind for kind in FORMATS if kind in Image.OPEN]) as opened:
            picture = ImageOps.exif_transpose(opened)
            picture.load()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:  # what Pillow raises of broken files
        fault = Fault(str(file), "picture", str(error), "a picture", "Restore the file, or run `verify` on the run.")
        raise DataError("A picture cannot be shown.", [fault]) from None
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        layered = picture.convert("RGBA")
        ground = Image.new("RGBA", layered.size, (128, 128, 128, 255))
        return Image.alpha_composite(ground, layered).convert("RGB")
    return picture.convert("RGB")


def as_jpeg(picture: Image, edge: int) -> bytes:
    """A copy of the picture, at most `edge` pixels long, as JPEG bytes."""
    small = picture.copy()
    small.thumbnail((edge, edge))
    stream = io.BytesIO()
    small.save(stream, "JPEG", quality=THUMB_QUALITY)
    return stream.getvalue()


def tile(picture: bytes, caption: str, alt: str, *, width: int, note: str = "") -> str:
    """One captioned picture of a row; caption and note are escaped here."""
    under = f'<div style="opacity:.7">{html.escape(note)}</div>' if note else ""
    shown = image_markup(picture, "jpeg", alt, PICTURE_STYLE)
    words = f'<figcaption style="{CAPTION_STYLE}">{html.escape(caption)}{under}</figcaption>'
    return f'<figure style="margin:0;width:{width}px">{shown}{words}</figure>'


def row_of(tiles: list[str], heading: str = "") -> str:
    """Tiles side by side, wrapping where the page is narrow."""
    title = f'<div style="{HEADING_STYLE}">{html.escape(heading)}</div>' if heading else ""
    return f'{title}<div style="display:flex;flex-wrap:wrap;gap:10px">{"".join(tiles)}</div>'
