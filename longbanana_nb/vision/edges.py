"""Edges without polarity, hue or strength: the feature by which shapes are compared, and templates made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from longbanana_nb.vision.arrays import Field, Pixels
from longbanana_nb.vision.cutout import Cutout

VERSION = "edges-4"
SOFTNESS = 10.0
MARGIN = 0.12
LEAST_FREE = 0.40
LEAST_ENERGY = 0.35  # of the template's edge energy: where there are fewer edges, agreement counts less


def edge_field(pixels: Pixels) -> Field:
    """Edges of an RGB picture as (height, width, 2): the doubled gradient angle as a vector whose length saturates at 1.

    Doubling makes a light-to-dark edge equal to a dark-to-light one, the strongest channel makes it blind to hue, saturation to
    lighting.
    """
    channels = cv2.split(cv2.GaussianBlur(pixels, (3, 3), 0))
    x, y = (cv2.Sobel(channels[0], cv2.CV_32F, *axis, scale=0.25) for axis in ((1, 0), (0, 1)))
    most = x * x + y * y
    for channel in channels[1:]:
        gx, gy = (cv2.Sobel(channel, cv2.CV_32F, *axis, scale=0.25) for axis in ((1, 0), (0, 1)))
        squared = gx * gx + gy * gy
        stronger = cv2.compare(squared, most, cv2.CMP_GT)
        for chosen, other in ((x, gx), (y, gy), (most, squared)):
            cv2.copyTo(other, stronger, chosen)
    length = cv2.sqrt(most) + np.float32(1e-6)
    factor = 1 / (length * (length + SOFTNESS))
    field: Field = cv2.merge([(x * x - y * y) * factor, 2 * x * y * factor])
    return field


def strength_of(field: Field) -> Field:
    """Squared length of the edges of a field (h, w, 2)."""
    x, y = field[..., 0], field[..., 1]
    squared: Field = x * x + y * y
    return squared


@dataclass(frozen=True, slots=True)
class Template:
    """A cut-out at one size and angle: weighted edges (h, w, 2), weights (h, w), and the object's box in them.

    `energy` is the root of the weighted squared edges; `own` what of its square each pixel brings.
    """

    field: Field
    weights: Field
    energy: float
    box: tuple[float, float, float, float]
    own: Field


def reduced(cutout: Cutout, side: int) -> Cutout:
    """The cut-out made smaller, so that its longer object side is `side` pixels."""
    x0, y0, x1, y1 = cutout.box
    scale = side / max(x1 - x0, y1 - y0)
    size = (max(1, round(cutout.pixels.shape[1] * scale)), max(1, round(cutout.pixels.shape[0] * scale)))
    area = cv2.INTER_AREA
    mask, sticker = (cv2.resize(m.astype(np.float32), size, interpolation=area) > 0.5 for m in (cutout.mask, cutout.sticker))
    ys, xs = np.nonzero(mask)
    box = (int(xs.min()), int(ys.min()), int(xs.max()) + 1, int(ys.max()) + 1) if len(ys) else (0, 0, *size)
    return Cutout(cv2.resize(cutout.pixels, size, interpolation=area), mask, sticker, box, cutout.sharpness)


def posed(cutout: Cutout, side: float, angle: float) -> tuple[Pixels, Field, Field, npt.NDArray[Any]]:
    """The cut-out with its longer object side `side` pixels, turned by `angle` degrees counter-clockwise.

    Returns:
        pixels, mask (0 to 1), sticker mask (0 to 1), and the 2 x 3 matrix from cut-out pixels to these.
    """
    matrix, size, scale = _placed(cutout, side, angle)
    pixels = _warped(cutout.pixels, matrix, size, scale, cv2.BORDER_REPLICATE)
    mask = _warped(cutout.mask.astype(np.float32), matrix, size, scale, cv2.BORDER_CONSTANT)
    if not cutout.sticker.any():
        return pixels, mask, np.zeros_like(mask), matrix
    return pixels, mask, _warped(cutout.sticker.astype(np.float32), matrix, size, scale, cv2.BORDER_CONSTANT), matrix


def posed_mask(cutout: Cutout, side: float, angle: float) -> tuple[Field, npt.NDArray[Any]]:
    """Mask and matrix of `posed`, without the pixels."""
    matrix, size, scale = _placed(cutout, side, angle)
    return _warped(cutout.mask.astype(np.float32), matrix, size, scale, cv2.BORDER_CONSTANT), matrix


def _placed(cutout: Cutout, side: float, angle: float) -> tuple[npt.NDArray[Any], tuple[int, int], float]:
    """Matrix, size (width, height) and scale of a pose."""
    x0, y0, x1, y1 = cutout.box
    scale = side / max(x1 - x0, y1 - y0)
    matrix = cv2.getRotationMatrix2D(((x0 + x1) / 2, (y0 + y1) / 2), angle, scale)
    corners = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], dtype=np.float64) @ matrix[:, :2].T + matrix[:, 2]
    low, high = corners.min(axis=0), corners.max(axis=0)
    margin = max(2.0, MARGIN * side)
    matrix[:, 2] += margin - low
    return matrix, (int(np.ceil(high[0] - low[0] + 2 * margin)), int(np.ceil(high[1] - low[1] + 2 * margin))), scale


def _warped(
    plane: npt.NDArray[Any], matrix: npt.NDArray[Any], size: tuple[int, int], scale: float, border: int
) -> npt.NDArray[Any]:
    source = cv2.GaussianBlur(plane, (0, 0), 0.4 / scale) if scale < 0.85 else plane
    warped: npt.NDArray[Any] = cv2.warpAffine(source, matrix, size, flags=cv2.INTER_LINEAR, borderMode=border)
    return warped


def blurred(field: Field, sigma: float) -> Field:
    """The field with its edges spread; opposite directions cancel."""
    soft: Field = cv2.GaussianBlur(field, (0, 0), sigma)
    return soft


def template(cutout: Cutout, side: float, angle: float = 0.0, blur: float = 0.0) -> Template:
    """Edges of a cut-out at a size and angle, weighted by its slightly widened silhouette; its sticker counts nothing."""
    pixels, mask, sticker, _ = posed(cutout, side, angle)
    wide = cv2.dilate(mask, np.ones((3, 3), np.uint8))
    weights = np.minimum(wide * np.float32(1.2), 1)
    if sticker.any():
        weights *= 1 - np.minimum(cv2.dilate(sticker, np.ones((3, 3), np.uint8)), 1)
    field = blurred(edge_field(pixels), blur) if blur else edge_field(pixels)
    ys, xs = np.nonzero(mask > 0.5)
    box = (float(xs.min()), float(ys.min()), float(xs.max() + 1), float(ys.max() + 1)) if len(ys) else (0.0, 0.0, 1.0, 1.0)
    own = weights * strength_of(field)
    return Template(field * weights[..., None], weights, float(np.sqrt(own.sum())), box, own)


def likeness_of_free_part(window: Field, strength: Field, free: Field, shape: Template) -> tuple[Field, Field]:
    """`matching.likeness_maps` by what of a template lies on the free part of a window, and the share of its surface there.

    `window` and `strength` are 0 where the window is not free (`free` is 0). Where less than LEAST_FREE of the edges is free, the
    likeness is -1.
    """
    energy = cv2.matchTemplate(free, shape.own, cv2.TM_CCORR)
    found = cv2.matchTemplate(window, shape.field, cv2.TM_CCORR)
    local = cv2.matchTemplate(strength, shape.weights, cv2.TM_CCORR)
    likeness = found / np.sqrt(np.maximum(energy * np.maximum(local, LEAST_ENERGY * energy), 1e-6))
    result: Field = np.where(energy >= LEAST_FREE * shape.energy**2, likeness, -1.0).astype(np.float32)
    surface: Field = cv2.matchTemplate(free, shape.weights, cv2.TM_CCORR) / max(float(shape.weights.sum()), 1e-6)
    return result, surface
