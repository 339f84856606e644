"""Looking closer at a pose: the candidate's pixels in the frame of a cut-out, their colour, label and fidelity."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from longbanana_nb.vision import colour
from longbanana_nb.vision.arrays import Mask, Pixels
from longbanana_nb.vision.cutout import Cutout
from longbanana_nb.vision.edges import posed_mask
from longbanana_nb.vision.layout import Box
from longbanana_nb.vision.poses import Pose

VERSION = "seeing-3"
LABEL_HEIGHT = 44

Matrix = npt.NDArray[Any]


def to_picture(cutout: Cutout, pose: Pose) -> Matrix:
    """The 2 x 3 matrix that carries a cut-out's pixels to where the pose puts them in the picture."""
    mask, matrix = posed_mask(cutout, pose.side, pose.angle)
    ys, xs = np.nonzero(mask > 0.5)
    middle = (xs.min() + xs.max() + 1) / 2, (ys.min() + ys.max() + 1) / 2
    moved = matrix.copy()
    moved[:, 2] += np.array(pose.centre) - np.array(middle)
    return moved


def aligned(pixels: Pixels, cutout: Cutout, pose: Pose) -> Pixels:
    """The picture's pixels in the frame of the cut-out."""
    h, w = cutout.mask.shape
    matrix = to_picture(cutout, pose)
    scale = float(np.hypot(matrix[0, 0], matrix[1, 0]))
    source = pixels
    if scale > 1.3:
        x0, y0, x1, y1 = _part(pixels, matrix, (w, h), rim=round(2 * scale) + 2)
        matrix[:, 2] -= (x0, y0)
        source = cv2.GaussianBlur(pixels[y0:y1, x0:x1], (0, 0), 0.4 * scale)
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    found: Pixels = cv2.warpAffine(source, matrix, (w, h), flags=flags, borderMode=cv2.BORDER_REPLICATE)
    return found


def _part(pixels: Pixels, matrix: Matrix, size: tuple[int, int], rim: int) -> tuple[int, int, int, int]:
    """The part of a picture that a frame (width, height) covers under a matrix, with a rim; at least one pixel of it."""
    corners = np.array([[0, 0, 1], [size[0], 0, 1], [size[0], size[1], 1], [0, size[1], 1]]) @ matrix.T
    low, high = np.floor(corners.min(axis=0)) - rim, np.ceil(corners.max(axis=0)) + rim
    h, w = pixels.shape[:2]
    x0, y0 = int(np.clip(low[0], 0, w - 1)), int(np.clip(low[1], 0, h - 1))
    return x0, y0, int(np.clip(high[0], x0 + 1, w)), int(np.clip(high[1], y0 + 1, h))


def label_place(cutout: Cutout, pose: Pose, label: Box) -> Box:
    """The box around a thing's label, in pixels of the picture."""
    x0, y0, x1, y1 = label
    corners = np.array([[x0, y0, 1], [x1, y0, 1], [x1, y1, 1], [x0, y1, 1]]) @ to_picture(cutout, pose).T
    low, high = corners.min(axis=0), corners.max(axis=0)
    return float(low[0]), float(low[1]), float(high[0]), float(high[1])


def label_patch(pixels: Pixels, cutout: Cutout, pose: Pose, label: Box) -> Pixels:
    """The label of a thing, cut from the picture upright, without its frame."""
    x0, y0, x1, y1 = label
    zoom = LABEL_HEIGHT / max(y1 - y0, 1.0)
    size = (max(8, round((x1 - x0) * zoom)), LABEL_HEIGHT)
    into = np.array([[1 / zoom, 0, x0], [0, 1 / zoom, y0], [0, 0, 1]])
    matrix = np.vstack([to_picture(cutout, pose), [0, 0, 1]]) @ into
    flags = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
    patch: Pixels = cv2.warpAffine(pixels, matrix[:2], size, flags=flags, borderMode=cv2.BORDER_REPLICATE)
    return patch


def is_lettered(patch: Pixels) -> bool:
    """Whether a label patch is a pale ground with dark marks on it."""
    lab = colour.to_lab(patch)
    pale = (lab[..., 0] > 70) & (np.hypot(lab[..., 1], lab[..., 2]) < 22)
    return bool(pale.mean() > 0.3 and 0.05 < (lab[..., 0] < 50).mean() < 0.6)


def colour_of(patch: Pixels, part: Mask) -> tuple[str | None, float]:
    """The main colour of the masked pixels and how clearly it leads, 0 to 1; (None, 0) where they are empty."""
    shares = colour.shares(patch, part)
    hues = {name: share for name, share in shares.items() if name in colour.HUES}
    if not hues or sum(hues.values()) < 0.2:
        grey = max(shares, key=lambda name: shares[name], default=None)
        return grey, shares.get(grey, 0.0) if grey else 0.0
    best = max(hues, key=lambda name: hues[name])
    return best, float(np.clip(1.6 * hues[best] / sum(hues.values()), 0, 1))
