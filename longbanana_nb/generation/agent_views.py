"""Pictures as an agent model is shown them: untouched where they fit, else made smaller by a named rule."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TYPE_CHECKING

from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation.images import examine, upright
from longbanana_nb.providers.contracts import Picture

if TYPE_CHECKING:
    from longbanana_nb.generation.agent_contracts import SeenImage
    from longbanana_nb.providers.catalogue import Model

VERSION = "view-jpeg90-1568-1"
SIDE = 1568  # the longest side, in pixels, that is shown
MOST_BYTES = 3_500_000  # of a picture that is shown as it is, where the catalogue names no smaller limit
_PLAIN = ("image/jpeg", "image/png")


def view(image: SeenImage, model: Model) -> Picture:
    """The picture as it travels: where it is too large, turned or of another type, smaller and a JPEG of quality 90 on white."""
    formats = [one for one in model.limits.formats or _PLAIN if one in (*_PLAIN, "image/webp")] or list(_PLAIN)
    most = min(model.limits.image_bytes or MOST_BYTES, MOST_BYTES)
    return _view(image.data, image.sha256, (image.width, image.height), tuple(formats), most)


@lru_cache(maxsize=64)
def _view(data: bytes, sha256: str, size: tuple[int, int], formats: tuple[str, ...], most: int) -> Picture:
    mime = f"image/{examine(data, least_edge=1).format}"
    if mime in formats and max(size) <= SIDE and len(data) <= most and upright(data).size == _as_stored(data):
        return Picture(sha256, mime, *size, data=data)
    from PIL import Image

    picture = upright(data).convert("RGBA")
    picture.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    sheet = Image.new("RGB", picture.size, "white")
    sheet.paste(picture, mask=picture.getchannel("A"))
    out = io.BytesIO()
    sheet.save(out, "JPEG", quality=90)
    return Picture(sha256_bytes(out.getvalue()), "image/jpeg", *sheet.size, data=out.getvalue())


def _as_stored(data: bytes) -> tuple[int, int]:
    """The size before any rotation that the file asks for: providers do not all heed it."""
    from PIL import Image

    with Image.open(io.BytesIO(data)) as opened:
        turned = opened.getexif().get(0x0112, 1)
        return opened.size if turned == 1 else (0, 0)
