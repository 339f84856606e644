"""Named ways to make a picture ready for a model: what is sent is decided by name and version, and recorded."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import PIL
from PIL import Image

from longbanana_nb.errors import CallError
from longbanana_nb.files import sha256_bytes
from longbanana_nb.judging.looks import Box
from longbanana_nb.judging.protocols import PictureFile
from longbanana_nb.names import nearest
from longbanana_nb.runs import JudgeSpec
from longbanana_nb.vision import decoding
from longbanana_nb.vision.arrays import Pixels

DEFAULT = ("jpeg-q90-1568", 3)
PATCH = 28  # pixels; Claude counts pictures in patches of this side (docs/model-judges.md)
JPEG_QUALITY = 90
CROP_VERSION = "crop-1"
CROP_SIDE = 768  # a crop is enlarged to this long side: models see little in small pictures
LEAST_CROP_PX = 4
DEFAULT_CROP_BOUNDS = (1568, 1568)  # long side and patches of a crop, so that no provider scales it down


MADE_BY = f"Pillow {PIL.__version__}, {decoding.VERSION}"
"""What decides, beside the transcode, which bytes a picture becomes."""


@dataclass(frozen=True, slots=True)
class Transcoded:
    """A picture as it is sent. `done` names the steps from the source's bytes to these, in order.

    `sha256` and `size` are of its bytes. `data` is None where an earlier process made them and they lie with a provider.
    """

    data: bytes | None
    mime: str
    width: int
    height: int
    sha256: str
    done: tuple[str, ...]
    size: int


Make = Callable[[bytes, str, str], Transcoded]
"""From a source's bytes, where they lie and their SHA-256."""


def _jpeg(longest: int, patches: int | None = None, *, keeps_plain: bool = False) -> Make:
    """Upright, sRGB, JPEG of quality 90 without chroma subsampling; scaled down only past `longest` pixels or `patches`.

    With `keeps_plain` a JPEG that is all this already but for its quality is sent as it is: nothing is lost to a second encoding.
    """

    def make(data: bytes, where: str, sha256: str) -> Transcoded:
        size = _plain_jpeg_size(data) if keeps_plain else None
        if size is not None and _bounded(size, longest, patches) == size:
            return Transcoded(data, "image/jpeg", *size, sha256, ("as it is",), len(data))
        picture = decoding.decode(data, where)
        image, done = _scaled(Image.fromarray(picture.pixels), longest, list(picture.done), patches)
        return _encoded(image, "JPEG", done)

    return make


def _plain_jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Size of a whole JPEG of three eight-bit channels that says nothing beside its pixels: no EXIF, profile or comment.

    Its head alone is read: the bytes have the hash that the release or the candidate's record states, and were decoded there.
    """
    if not data.startswith(b"\xff\xd8\xff") or not data.endswith(b"\xff\xd9"):
        return None
    try:
        with Image.open(io.BytesIO(data), formats=["JPEG"]) as image:
            segments = getattr(image, "applist", [])
            is_plain = (
                image.format == "JPEG"
                and image.mode == "RGB"
                and all(name == "APP0" and content.startswith(b"JFIF\0") for name, content in segments)
            )
            return image.size if is_plain else None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None  # the careful decoder says what is wrong


def _png(data: bytes, where: str, _: str) -> Transcoded:
    picture = decoding.decode(data, where)
    return _encoded(Image.fromarray(picture.pixels), "PNG", list(picture.done))


def _source(data: bytes, where: str, sha256: str) -> Transcoded:
    """The bytes as they are, once they are known to decode; what a decoder would have done is left to the model's provider."""
    picture = decoding.decode(data, where)
    with Image.open(io.BytesIO(data), formats=[picture.format]) as image:
        width, height = image.size
    left = tuple(f"not {step}" for step in picture.done)
    return Transcoded(data, _mime(picture.format), width, height, sha256, left, len(data))


TRANSCODES: Mapping[tuple[str, int], Make] = {
    ("jpeg-q90-1568", 1): _jpeg(1568),
    ("jpeg-q90-1568", 2): _jpeg(1568, 1568),  # what Claude's standard tier shows unscaled
    ("jpeg-q90-1568", 3): _jpeg(1568, 1568, keeps_plain=True),
    ("jpeg-q90-2000", 1): _jpeg(2000, 3900),  # what Claude 5.5 shows unscaled
    ("jpeg-q90-2000", 2): _jpeg(2000, 3900, keeps_plain=True),
    ("jpeg-q90-2576", 1): _jpeg(2576),
    ("jpeg-q90-2576", 2): _jpeg(2576, 4784),
    ("png-lossless", 1): _png,
    ("source", 1): _source,
}


def transcode_of(profile: JudgeSpec) -> tuple[str, int]:
    """Name and version of the transcode of a profile.

    Raises:
        CallError: where there is none of that name and version, with the nearest that is.
    """
    asked = profile.packet.transcode if profile.packet is not None else None
    name, version = (asked.name, asked.version) if asked is not None else DEFAULT
    if (name, version) not in TRANSCODES:
        names = sorted({known for known, _ in TRANSCODES})
        there = ", ".join(f"{known} (version {number})" for known, number in sorted(TRANSCODES))
        near = f" Did you mean {close!r}?" if (close := nearest(name, names)) and close != name else ""
        raise CallError(f"judge {profile.name!r}: no transcode {name!r} of version {version}; there are: {there}.{near}")
    return name, version


def made(picture: PictureFile, transcode: tuple[str, int], box: Box | None) -> Transcoded:
    """A picture, or a box of it, by a transcode; DataError where its bytes changed or cannot be decoded."""
    data, where = picture.read(), f"{picture.file}"
    if box is None:
        return TRANSCODES[transcode](data, where, picture.sha256)
    decoded = decoding.decode(data, where)
    image = Image.fromarray(crop(decoded.pixels, box))
    done = [*decoded.done, CROP_VERSION]
    if max(image.size) < CROP_SIDE:
        size = _side(image.size, CROP_SIDE)
        done.append(f"enlarged {image.width}x{image.height} to {size[0]}x{size[1]}")
        image = image.resize(size, Image.Resampling.LANCZOS)
    if transcode[0] == "png-lossless":
        return _encoded(image, "PNG", done)
    longest, patches = DEFAULT_CROP_BOUNDS
    image, done = _scaled(image, longest, done, patches)
    return _encoded(image, "JPEG", done)


def crop(pixels: Pixels, box: Box) -> Pixels:
    """The pixels of a box, grown to whole pixels and to at least a few."""
    h, w = pixels.shape[:2]
    x0, x1 = _span(box[0], box[2], w)
    y0, y1 = _span(box[1], box[3], h)
    return pixels[y0:y1, x0:x1]


def _span(low: float, high: float, size: int) -> tuple[int, int]:
    start = min(int(low * size), max(0, size - LEAST_CROP_PX))
    return start, min(size, max(start + LEAST_CROP_PX, -int(-high * size // 1)))


def _side(size: tuple[int, int], longest: int) -> tuple[int, int]:
    scale = longest / max(size)
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _bounded(size: tuple[int, int], longest: int, patches: int | None) -> tuple[int, int]:
    """The largest size of the same shape within both bounds."""
    side = min(longest, max(size))
    fitting = size if side == max(size) else _side(size, side)
    while patches is not None and -(-fitting[0] // PATCH) * -(-fitting[1] // PATCH) > patches:
        side -= 1
        fitting = _side(size, side)
    return fitting


def _scaled(image: Image.Image, longest: int, done: list[str], patches: int | None = None) -> tuple[Image.Image, list[str]]:
    size = _bounded(image.size, longest, patches)
    if size == image.size:
        return image, done
    scaled = image.resize(size, Image.Resampling.LANCZOS)
    return scaled, [*done, f"scaled {image.width}x{image.height} to {size[0]}x{size[1]}"]


def _encoded(image: Image.Image, kind: str, done: list[str]) -> Transcoded:
    """Encode without metadata, so that equal pixels are equal bytes (with one version of the encoder)."""
    stream = io.BytesIO()
    if kind == "JPEG":
        image.save(stream, "JPEG", quality=JPEG_QUALITY, subsampling=0, optimize=False, progressive=False)
    else:
        image.save(stream, "PNG", optimize=False, compress_level=6)
    data = stream.getvalue()
    return Transcoded(data, _mime(kind), image.width, image.height, sha256_bytes(data), tuple(done), len(data))


def _mime(kind: str) -> str:
    return f"image/{kind.lower()}"
