"""The eight named colours of the demo release, and how a cut-out is given one of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (214, 40, 46),
    "orange": (243, 130, 28),
    "yellow": (248, 208, 42),
    "green": (62, 160, 68),
    "teal": (16, 158, 160),
    "blue": (42, 98, 216),
    "purple": (126, 62, 184),
    "pink": (242, 120, 182),
}
"""sRGB anchor of each colour name; a painted object scatters around its anchor with its shading."""

NEUTRAL_CHROMA = 0.035
"""OKLab chroma under which a pixel counts as grey, white or black and is never painted."""


def oklab(rgb: Floats) -> Floats:
    """OKLab of sRGB values in 0..1, over the last axis (Ottosson 2020)."""
    return _oklab_of_linear(_linear(rgb))


def _oklab_of_linear(linear: Floats) -> Floats:
    import numpy as np

    to_lms = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    to_lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    lab: Floats = np.cbrt(linear @ to_lms.T.astype(linear.dtype)) @ to_lab.T.astype(linear.dtype)
    return lab


def _linear(rgb: Floats) -> Floats:
    """Linear light of sRGB values."""
    import numpy as np

    linear: Floats = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear


@lru_cache(maxsize=1)
def _linear_levels() -> NDArray[np.float32]:
    """Linear light of the 256 sRGB levels."""
    import numpy as np

    return _linear(np.arange(256) / 255.0).astype(np.float32)


def oklab_of_levels(rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
    """OKLab of sRGB levels (0 to 255), over the last axis: as `oklab`, through a table."""
    return _oklab_of_linear(_linear_levels()[rgb])


def srgb(lab: Floats) -> Floats:
    """sRGB in 0..1 (clipped) of OKLab values over the last axis."""
    import numpy as np

    to_lms = np.array(
        [[1.0, 0.3963377774, 0.2158037573], [1.0, -0.1055613458, -0.0638541728], [1.0, -0.0894841775, -1.2914855480]]
    )
    to_rgb = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.7076147010],
        ]
    )
    long_medium_short = lab @ to_lms.T.astype(lab.dtype)
    linear = np.clip((long_medium_short * long_medium_short * long_medium_short) @ to_rgb.T.astype(lab.dtype), 0.0, 1.0)
    encoded: Floats = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.clip(encoded, 0.0, 1.0)


def anchor_lch(colour: str) -> tuple[float, float, float]:
    """Lightness, chroma and hue angle (radians) of a named colour in OKLab."""
    import numpy as np

    lab = oklab(np.array(COLOURS[colour], dtype=np.float64) / 255.0)
    return float(lab[0]), float(np.hypot(lab[1], lab[2])), float(np.arctan2(lab[2], lab[1]))


def painted_part(rgba: NDArray[np.uint8], hue: float, width: float) -> Floats:
    """How much each pixel belongs to the paintable part of a cut-out: 0..1, one value a pixel.

    Args:
        rgba: the cut-out, height x width x 4.
        hue: the main hue of the paintable part, an OKLab angle in radians.
        width: hues within this angle (radians) are painted wholly, and none beyond 1.4 times it.
    """
    part: Floats = _part(oklab_of_levels(rgba[..., :3]), hue, width) * (rgba[..., 3] > 0)
    return part


def _part(lab: Floats, hue: float, width: float) -> Floats:
    import numpy as np

    by_hue = np.clip((1.4 * width - np.abs(_turned(lab, hue))) / (0.4 * width), 0.0, 1.0)
    by_chroma = np.clip((np.hypot(lab[..., 1], lab[..., 2]) - NEUTRAL_CHROMA) / 0.03, 0.0, 1.0)
    part: Floats = by_hue * by_chroma
    return part


def _turned(lab: Floats, hue: float) -> Floats:
    """The angle from a hue to each pixel's, -pi to pi."""
    import numpy as np

    turned: Floats = (np.arctan2(lab[..., 2], lab[..., 1]) - hue + np.pi) % (2 * np.pi) - np.pi
    return turned


@dataclass(frozen=True, slots=True, eq=False)
class Paintable:
    """A cut-out looked over for painting: `places` are its paintable pixels (flat), with how much each takes colour.

    `lightness` and `chroma` are those of the pixels, less and over the middle of the part; `turn` is the angle from its hue.
    """

    rgba: NDArray[np.uint8]
    places: NDArray[np.intp]
    share: Floats
    lightness: Floats
    chroma: Floats
    turn: Floats

    def painted(self, colour: str) -> NDArray[np.uint8]:
        """A copy whose paintable part has a named colour; shading, highlights and other parts stay."""
        import numpy as np

        to_l, to_c, to_h = (np.float32(value) for value in anchor_lch(colour))
        lightness = np.clip(to_l + self.lightness, np.float32(0.12), np.float32(0.98))
        chroma, hue = to_c * self.chroma, to_h + self.turn
        new = srgb(np.stack([lightness, chroma * np.cos(hue), chroma * np.sin(hue)], axis=-1)) * np.float32(255)
        painted = self.rgba.copy()
        flat = painted.reshape(-1, 4)
        flat[self.places, :3] = np.rint(self.share * new + (1 - self.share) * flat[self.places, :3]).astype(np.uint8)
        return painted


def paintable(rgba: NDArray[np.uint8], hue: float, width: float) -> Paintable:
    """Look a cut-out (height x width x 4) over for painting; `hue` and `width` say which part, as in `painted_part`."""
    import numpy as np

    solid = np.flatnonzero(rgba[..., 3])
    lab = oklab_of_levels(rgba.reshape(-1, 4)[solid, :3])
    part = _part(lab, hue, width)
    touched = np.flatnonzero(part)
    lab, share = lab[touched], part[touched].astype(np.float32)
    chroma, core = np.hypot(lab[:, 1], lab[:, 2]), share > 0.5
    return Paintable(
        rgba,
        solid[touched],
        share[:, None],
        np.float32(0.8) * (lab[:, 0] - np.median(lab[core, 0])),
        np.clip(chroma / np.median(chroma[core]), np.float32(0.25), np.float32(1.15)),
        np.float32(0.12) * _turned(lab, hue).astype(np.float32),
    )


def paint(rgba: NDArray[np.uint8], hue: float, width: float, colour: str) -> NDArray[np.uint8]:
    """A copy of a cut-out whose paintable part has a named colour; `hue` and `width` say which part, as in `painted_part`."""
    return paintable(rgba, hue, width).painted(colour)
