"""The object in a box of a reference photo: its pixels, its silhouette, and the sticker on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from longbanana_nb.vision import colour
from longbanana_nb.vision.arrays import Mask, Pixels
from longbanana_nb.vision.layout import Box

VERSION = "cutout-2"
WORKING_SIDE = 128


@dataclass(frozen=True, slots=True)
class Cutout:
    """One exemplar: RGB pixels around the object (longer object side = WORKING_SIDE), its mask and its sticker's mask.

    `box` is the object's tight box in these pixels (x0, y0, x1, y1), whole numbers.
    """

    pixels: Pixels
    mask: Mask
    sticker: Mask
    box: tuple[int, int, int, int]
    sharpness: float


def cut_out(pixels: Pixels, box: Box) -> Cutout | None:
    """Cut the object in `box` (fractions) out of a reference photo; None where the box shows nothing but backdrop."""
    crop, inner = _around(pixels, box)
    small = cv2.resize(crop, (crop.shape[1] // 2, crop.shape[0] // 2), interpolation=cv2.INTER_AREA)
    coarse = foreground(small, (inner[0] // 2, inner[1] // 2, (inner[2] + 1) // 2, (inner[3] + 1) // 2))
    mask = _enlarged(coarse, crop.shape[:2])
    ys, xs = np.nonzero(mask)
    if len(ys) < 40:
        return None
    tight = (int(xs.min()), int(ys.min()), int(xs.max()) + 1, int(ys.max()) + 1)
    sticker = find_sticker(crop, mask)
    return Cutout(crop, mask, sticker, tight, sharpness(crop, mask))


def _enlarged(mask: Mask, shape: tuple[int, int]) -> Mask:
    soft = cv2.resize(mask.astype(np.float32), (shape[1], shape[0]), interpolation=cv2.INTER_LINEAR)
    larger: Mask = soft > 0.5
    return larger


def _around(pixels: Pixels, box: Box, pad: float = 0.18) -> tuple[Pixels, tuple[int, int, int, int]]:
    """The box with a margin, scaled so that its longer side is WORKING_SIDE, and the box in the new pixels."""
    h, w = pixels.shape[:2]
    x0, y0, x1, y1 = box[0] * w, box[1] * h, box[2] * w, box[3] * h
    scale = WORKING_SIDE / max(x1 - x0, y1 - y0, 1.0)
    margin = pad * max(x1 - x0, y1 - y0)
    size = (round((x1 - x0 + 2 * margin) * scale), round((y1 - y0 + 2 * margin) * scale))
    matrix = np.array([[1 / scale, 0, x0 - margin], [0, 1 / scale, y0 - margin]], dtype=np.float64)
    source = cv2.GaussianBlur(pixels, (0, 0), 0.45 / scale) if scale < 0.8 else pixels
    crop = cv2.warpAffine(source, matrix, size, flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP, borderMode=cv2.BORDER_REPLICATE)
    inset = round(margin * scale)
    return crop, (inset, inset, size[0] - inset, size[1] - inset)


def backdrop_distance(pixels: Pixels, known: Mask, degree: int = 2) -> npt.NDArray[Any]:
    """Distance of each pixel from a smooth backdrop fitted to the `known` pixels, shadows forgiven.

    A polynomial in x and y is fitted to each of L*, a*, b*, twice, the second time without outliers. A pixel that is only darker
    counts a third of its lightness difference.
    """
    h, w = pixels.shape[:2]
    lab = colour.to_lab(pixels)
    ys, xs = np.mgrid[0:h, 0:w].astype(np.float32)
    x, y = xs / w - 0.5, ys / h - 0.5
    terms = np.stack([x**i * y**j for i in range(degree + 1) for j in range(degree + 1 - i)], axis=-1)
    use = known.copy()
    fitted = np.zeros_like(lab)
    for _ in range(2):
        solution = np.linalg.lstsq(terms[use], lab[use], rcond=None)[0]
        fitted = (terms @ solution).astype(np.float32)
        error = np.linalg.norm(lab - fitted, axis=-1)
        use = known & (error < max(3.0, 2.0 * float(np.median(error[known]))))
        if use.sum() < terms.shape[-1] * 4:
            break
    difference = lab - fitted
    darker = difference[..., 0] < 0
    lightness = np.where(darker & (difference[..., 0] > -32), difference[..., 0] * 0.33, difference[..., 0])
    distance: npt.NDArray[Any] = np.sqrt(lightness**2 + difference[..., 1] ** 2 + difference[..., 2] ** 2).astype(np.float32)
    return distance


def foreground(crop: Pixels, inner: tuple[int, int, int, int]) -> Mask:
    """Mask of the object within `inner`: a smooth backdrop is fitted to the border, GrabCut settles the rest."""
    outside = np.ones(crop.shape[:2], dtype=bool)
    x0, y0, x1, y1 = inner
    outside[y0:y1, x0:x1] = False
    distance = backdrop_distance(crop, outside)
    noise = max(2.0, float(np.percentile(distance[outside], 75)))
    labels = np.full(crop.shape[:2], cv2.GC_PR_BGD, dtype=np.uint8)
    labels[distance > 2.2 * noise + 3] = cv2.GC_PR_FGD
    labels[distance > 4 * noise + 12] = cv2.GC_FGD
    labels[outside] = cv2.GC_BGD
    if not (labels == cv2.GC_PR_FGD).any() and not (labels == cv2.GC_FGD).any():
        return np.zeros(crop.shape[:2], dtype=bool)
    cv2.setRNGSeed(1)
    cv2.grabCut(crop, labels, (0, 0, 1, 1), np.zeros((1, 65)), np.zeros((1, 65)), 1, cv2.GC_INIT_WITH_MASK)
    mask = ((labels == cv2.GC_FGD) | (labels == cv2.GC_PR_FGD)).astype(np.uint8)
    mask = cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    return _main_parts(mask)


def _main_parts(mask: npt.NDArray[Any]) -> Mask:
    """Drop specks: keep parts of at least 4 % of the largest."""
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask)
    if count <= 1:
        return mask.astype(bool)
    areas = stats[1:, cv2.CC_STAT_AREA]
    keep = np.concatenate([[False], areas >= 0.04 * areas.max()])
    kept: Mask = keep[labels]
    return kept


def find_sticker(crop: Pixels, mask: Mask) -> Mask:
    """Mask of a light, colourless, roughly rectangular patch with dark marks in it (a lettered label); empty if there is none."""
    lab = colour.to_lab(crop)
    pale = ((lab[..., 0] > 78) & (np.hypot(lab[..., 1], lab[..., 2]) < 22) & mask).astype(np.uint8)
    closed = cv2.morphologyEx(pale, cv2.MORPH_CLOSE, np.ones((9, 9), np.uint8))
    count, _, stats, _ = cv2.connectedComponentsWithStats(closed)
    found = np.zeros_like(mask)
    dark = lab[..., 0] < 45
    for part in range(1, count):
        x, y, w, h, area = (int(v) for v in stats[part])
        if area < 0.02 * mask.sum() or area < 0.6 * w * h or not 1.2 < w / h < 6:
            continue
        marks = float(dark[y : y + h, x : x + w].mean())
        if 0.06 < marks < 0.6:
            found[max(0, y - 1) : y + h + 1, max(0, x - 1) : x + w + 1] = True
    return found


def sharpness(pixels: Pixels, mask: Mask) -> float:
    """Strength of fine detail against coarse: energy of the Laplacian over energy of the gradient under the mask."""
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY).astype(np.float32)
    fine = cv2.Laplacian(grey, cv2.CV_32F, ksize=1)
    gx, gy = cv2.Sobel(grey, cv2.CV_32F, 1, 0, scale=0.25), cv2.Sobel(grey, cv2.CV_32F, 0, 1, scale=0.25)
    return float(np.sqrt((fine[mask] ** 2).sum() / ((gx[mask] ** 2 + gy[mask] ** 2).sum() + 1e-6)))
