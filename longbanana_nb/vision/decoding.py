"""One careful decode of a picture: upright, sRGB, eight bits, opaque, with a record of what was done to get there."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageCms, ImageOps, UnidentifiedImageError

from longbanana_nb.errors import DataError, Fault

VERSION = "decode-1"
MAX_PIXELS = 100_000_000
MID_GREY = 128
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")  # readers that only decode; EPS would run a program

Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Picture:
    """Decoded pixels (height x width x 3, RGB, uint8) and the names of the conversions that were applied, in order."""

    pixels: Pixels
    format: str
    done: tuple[str, ...]

    @property
    def width(self) -> int:
        """Width of the upright picture in pixels."""
        return int(self.pixels.shape[1])

    @property
    def height(self) -> int:
        """Height of the upright picture in pixels."""
        return int(self.pixels.shape[0])


def decode(data: bytes, where: str = "picture", *, max_pixels: int = MAX_PIXELS) -> Picture:
    """Decode the first frame of `data` completely.

    EXIF orientation is applied, a profile is converted to sRGB, 16-bit grey is scaled, transparency is laid over mid-grey
    (what an invisible pixel hides stays hidden), CMYK and palettes become RGB.

    Raises:
        DataError: for empty, truncated, undecodable or over-large pictures, and for floating-point ones outside 0 to 1.
    """
    done: list[str] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            Image.init()
            image: Image.Image = Image.open(io.BytesIO(data), formats=[kind for kind in FORMATS if kind in Image.OPEN])
            name = image.format or "unknown"
            if image.width * image.height > max_pixels:
                raise _fault(where, "too_many_pixels", f"{image.width} x {image.height} pixels", f"at most {max_pixels} pixels")
            if getattr(image, "n_frames", 1) > 1:
                image.seek(0)
                done.append("first_frame")
            image.load()
    except Image.DecompressionBombError as error:
        raise _fault(where, "too_many_pixels", str(error), f"at most {max_pixels} pixels") from None
    except UnidentifiedImageError:
        found = f"{len(data)} bytes of no known type, that begin {data[:8]!r}"
        raise _fault(where, "undecodable", found, f"a picture ({', '.join(FORMATS)})") from None
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        raise _fault(where, "undecodable", f"{len(data)} bytes: {error}"[:200], "a complete picture") from None
    upright = ImageOps.exif_transpose(image)
    if upright.size != image.size or image.getexif().get(0x0112, 1) not in (0, 1):
        done.append("exif_orientation")
    return Picture(_rgb(upright, image.info.get("icc_profile"), where, done), name, tuple(done))


def _rgb(image: Image.Image, profile: bytes | None, where: str, done: list[str]) -> Pixels:
    if image.mode.startswith("I") or image.mode == "F":
        return _wide(image, where, done)
    if image.mode == "P" or "transparency" in image.info:
        done.append("palette" if image.mode == "P" else "transparent_colour")
        image = image.convert("RGBA")
    alpha = image.getchannel("A") if image.mode in ("RGBA", "LA", "PA") else None
    colours = _to_srgb(image, profile, done)
    if alpha is None or alpha.getextrema() == (255, 255):
        return np.asarray(colours, dtype=np.uint8)
    done.append("alpha_over_grey")
    ground = Image.new("RGB", image.size, (MID_GREY,) * 3)
    ground.paste(colours, (0, 0), alpha)
    return np.asarray(ground, dtype=np.uint8)


def _to_srgb(image: Image.Image, profile: bytes | None, done: list[str]) -> Image.Image:
    opaque = image.convert({"RGBA": "RGB", "LA": "L", "PA": "RGB", "1": "L"}.get(image.mode, image.mode))
    if profile and opaque.mode in ("RGB", "L", "CMYK"):
        try:
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            converted: Any = ImageCms.profileToProfile(opaque, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
        except (ImageCms.PyCMSError, OSError):
            done.append("profile_unreadable")
        else:
            done.append("profile_to_srgb")
            return converted if isinstance(converted, Image.Image) else opaque.convert("RGB")
    if opaque.mode != "RGB":
        done.append(f"{opaque.mode.lower()}_to_rgb")
    return opaque.convert("RGB")


def _wide(image: Image.Image, where: str, done: list[str]) -> Pixels:
    """Grey of more than eight bits: 16-bit values over 257, floating point 0 to 1 times 255."""
    values = np.asarray(image, dtype=np.float64)
    low, high = float(values.min()), float(values.max())
    if image.mode == "F":
        if not (low >= 0 and high <= 1):
            raise _fault(where, "value_range", f"floating-point values {low:g} to {high:g}", "values from 0 to 1")
        scaled = values * 255
        done.append("float_to_8_bit")
    else:
        if not (low >= 0 and high <= 65535):
            raise _fault(where, "value_range", f"values {low:g} to {high:g}", "16-bit values from 0 to 65535")
        scaled = values / 257
        done.append("16_to_8_bit")
    grey = np.rint(scaled).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)


def _fault(where: str, code: str, found: str, expected: str) -> DataError:
    fix = "Make the picture again, or export it as an 8-bit PNG or JPEG."
    return DataError("A picture cannot be decoded.", [Fault(where, code, found, expected, fix)])
