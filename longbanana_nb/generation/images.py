"""What image bytes really are: sniffed type, upright size, hash of the decoded pixels; or what is wrong with them."""

from __future__ import annotations

import hashlib
import io
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from longbanana_nb.image_formats import EXTENSIONS as EXTENSIONS_OF
from longbanana_nb.image_formats import MAX_PIXELS, READ

if TYPE_CHECKING:
    from PIL import Image

_BAND = 256
LEAST_EDGE = 16  # smaller than this is no picture
FORMATS = {kind: "jpeg" if kind == "MPO" else kind.lower() for kind in (*READ, "MPO")}
EXTENSIONS = {FORMATS[kind]: EXTENSIONS_OF[kind][0] for kind in READ}


class NotAPictureError(Exception):
    """Bytes that cannot be a candidate: a closed `code` and what was found."""

    def __init__(self, code: str, found: str) -> None:
        self.code = code
        self.found = found
        super().__init__(f"{code}: {found}")


@dataclass(frozen=True, slots=True)
class PictureFacts:
    """Sniffed `format`, its usual `extension`, size in pixels after EXIF rotation, and the hash of size and RGBA pixels."""

    format: str
    extension: str
    width: int
    height: int
    pixel_sha256: str


def examine(data: bytes, *, least_edge: int = LEAST_EDGE) -> PictureFacts:
    """Decode fully and say what the bytes are; the bytes themselves are never changed.

    Raises:
        NotAPictureError: "empty_image", "undecodable_image" (unknown type or damaged), "too_many_pixels", "too_small".
    """
    picture, form = _decoded(data)
    if min(picture.size) < least_edge:
        raise NotAPictureError("too_small", f"{picture.width} x {picture.height} pixels; each edge needs at least {least_edge}")
    width, height = picture.size
    digest = hashlib.sha256(f"{width}x{height}\n".encode())
    for top in range(0, height, _BAND):  # a large picture in RGBA as a whole would cost its memory several times over
        digest.update(picture.crop((0, top, width, min(top + _BAND, height))).convert("RGBA").tobytes())
    return PictureFacts(form, EXTENSIONS[form], width, height, digest.hexdigest())


def upright(data: bytes) -> Image.Image:
    """The decoded picture with its EXIF rotation applied, checked as in `examine` but of any size down to one pixel."""
    return _decoded(data)[0]


def _decoded(data: bytes) -> tuple[Image.Image, str]:
    from PIL import Image, ImageOps, UnidentifiedImageError

    if not data:
        raise NotAPictureError("empty_image", "0 bytes")
    Image.init()
    readers = tuple(kind for kind in READ if kind in Image.OPEN)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=readers) as probe:
                width, height, form = probe.width, probe.height, FORMATS[str(probe.format)]
                _require_affordable(width, height)
                probe.verify()
            with Image.open(io.BytesIO(data), formats=readers) as opened:
                opened.load()
                ImageOps.exif_transpose(opened, in_place=True)
                return _eight_bit(opened), form
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise NotAPictureError("too_many_pixels", str(error)) from None
    except NotAPictureError:
        raise
    except UnidentifiedImageError:
        raise NotAPictureError("undecodable_image", f"{len(data)} bytes of another type, that begin {data[:8]!r}") from None
    except (OSError, SyntaxError, ValueError, EOFError, MemoryError, KeyError) as error:
        # Pillow reports damage by these; a text named .png ends here too
        raise NotAPictureError("undecodable_image", f"{len(data)} bytes that begin {data[:8]!r} ({error})") from None


def _eight_bit(picture: Image.Image) -> Image.Image:
    """Floating point (0 to 1) and wide whole numbers (16 bits) as grey of eight bits; all other pictures as they are."""
    most = {"F": 1, "I": 65535}.get(picture.mode)
    if most is None:
        return picture
    low, high = (float(value) for value in picture.getextrema())  # type: ignore[arg-type]  # one band, so two numbers
    if not 0 <= low <= high <= most:
        raise NotAPictureError("undecodable_image", f"values from {low:g} to {high:g}, not 0 to {most}")
    return picture.convert("F").point(lambda value: value * (255 / most) + 0.5).convert("L")


def _require_affordable(width: int, height: int) -> None:
    if width * height > MAX_PIXELS:
        raise NotAPictureError("too_many_pixels", f"{width} x {height} pixels; at most {MAX_PIXELS:,} are taken")
