"""Looking at image files: type from the bytes, size from the header, and a full decode under a pixel cap."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from longbanana_nb.image_formats import EXTENSIONS, MAX_PIXELS, READ
from longbanana_nb.release.hashing import workers

if TYPE_CHECKING:
    from PIL import Image


@dataclass(frozen=True, slots=True)
class ImageFinding:
    """What is wrong with an image file: `code` is "image", "empty_image" or "pixels" (faults) or "type" (a warning)."""

    code: str
    found: str
    expected: str
    fix: str


def inspect_images(files: list[Path], max_pixels: int = MAX_PIXELS) -> dict[Path, ImageFinding]:
    """Decode every file fully, in threads (the decoders leave the interpreter lock), and give what is wrong with any.

    Of an animated picture the first frame is decoded. CMYK, palette and 16-bit pictures are images like any other.
    """
    from PIL import Image

    Image.init()
    with warnings.catch_warnings(), ThreadPoolExecutor(workers()) as pool:
        warnings.simplefilter("ignore")  # the pixel cap here is stricter, and is a fault rather than a warning
        readers = tuple(kind for kind in READ if kind in Image.OPEN)
        found = pool.map(lambda file: _inspect(file, max_pixels, readers), files)
        return {file: finding for file, finding in zip(files, found, strict=True) if finding is not None}


def _inspect(file: Path, max_pixels: int, readers: tuple[str, ...]) -> ImageFinding | None:
    from PIL import Image, UnidentifiedImageError

    again = "Extract the release again; if it was published so, report it."
    try:
        if file.stat().st_size == 0:
            return ImageFinding("empty_image", f"{file.name}: 0 bytes", "an image", again)
        with Image.open(file, formats=readers) as image:
            width, height, kind = image.width, image.height, str(image.format)
            if width * height > max_pixels:
                found = f"{file.name}: {width} x {height} pixels"
                return ImageFinding("pixels", found, f"at most {max_pixels / 1e6:g} megapixels", "Use a smaller picture.")
            image.load()
            if (out_of_range := _out_of_range(image)) is not None:
                return ImageFinding("image", f"{file.name}: {out_of_range}", "values that are pixels", again)
    except Image.DecompressionBombError:
        expected = f"at most {max_pixels / 1e6:g} megapixels"
        return ImageFinding("pixels", f"{file.name}: far too many pixels", expected, "Use a smaller picture.")
    except UnidentifiedImageError:
        return ImageFinding("image", f"{file.name}: {_sniff(file)}", f"an image ({', '.join(READ)})", again)
    except Exception as error:  # decoders raise what they like on damaged bytes; whatever it is, the file does not decode
        found = f"{file.name}: undecodable ({error or type(error).__name__})"
        return ImageFinding("image", found, "an image that decodes to its end", again)
    if file.suffix.lower() in EXTENSIONS[kind]:
        return None
    fix = "Nothing need be done: the bytes decide, and their hash is part of the contract."
    return ImageFinding("type", f"{file.name} holds {kind}", f"an extension of {kind}", fix)


def _out_of_range(image: Image.Image) -> str | None:
    """What is wrong with numbers that are no pixels: floating point has to lie in 0 to 1, whole numbers in 16 bits."""
    most = {"F": 1, "I": 65535}.get(image.mode)
    if most is None:
        return None
    low, high = (float(value) for value in image.getextrema())  # type: ignore[arg-type]  # one band, so two numbers
    return None if 0 <= low <= high <= most else f"values from {low:g} to {high:g}, not 0 to {most}"


def _sniff(file: Path) -> str:
    """In words, what bytes that no decoder takes look like."""
    head = file.read_bytes()[:512] if file.stat().st_size < 1 << 20 else _head(file)
    if head[4:8] == b"ftyp":
        return f"an ISO media file ({head[8:12].decode('ascii', 'replace')}, such as HEIC)"
    if b"<svg" in head:
        return "SVG, which is text and no pixels"
    if head.startswith(b"%PDF"):
        return "a PDF document"
    try:
        head.decode("utf-8")
    except UnicodeDecodeError:
        return "bytes of no known image type"
    return "text"


def _head(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(512)
