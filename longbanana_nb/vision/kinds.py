"""Which exemplars show the same kind of thing: grouping by shape alone, blind to hue and lettering."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from longbanana_nb.vision.cutout import Cutout
from longbanana_nb.vision.edges import edge_field, posed, reduced

VERSION = "kinds-2"
SIDE = 36
SAME_KIND = 0.74
ANGLES = (-18, -12, -6, 0, 6, 12, 18)

Floats = npt.NDArray[Any]


def group(likeness: Floats, threshold: float = SAME_KIND) -> list[int]:
    """Number the kinds: one kind number a cut-out, from 0 in order of first appearance.

    Two cut-outs are one kind where their shapes agree on average over the members of their groups (average linkage).

    Args:
        likeness: as `shape_likeness` gives it.
    """
    groups = [[n] for n in range(len(likeness))]
    while len(groups) > 1:
        pairs = [(float(likeness[np.ix_(a, b)].mean()), i, j) for i, a in enumerate(groups) for j, b in enumerate(groups[:i])]
        best, i, j = max(pairs)
        if best < threshold:
            break
        groups[j] += groups.pop(i)
    groups.sort(key=min)
    kinds = [0] * len(likeness)
    for kind, members in enumerate(groups):
        for member in members:
            kinds[member] = kind
    return kinds


def shape_likeness(cutouts: Sequence[Cutout]) -> tuple[Floats, Floats]:
    """How alike cut-outs are in shape, 0 to 1, and the turn (degrees) of the row's cut-out that fits the column's best.

    Likeness is the mean of edge correlation and silhouette overlap at the best turn.
    """
    if not cutouts:
        return np.zeros((0, 0), dtype=np.float32), np.zeros((0, 0), dtype=np.float32)
    cutouts = [reduced(cutout, SIDE + 8) for cutout in cutouts]
    upright = [_shape(cutout, 0) for cutout in cutouts]
    edges, masks = np.stack([e for e, _ in upright]), np.stack([m for _, m in upright])
    best = np.zeros((len(cutouts), len(cutouts)), dtype=np.float32)
    turns = np.zeros_like(best)
    for angle in ANGLES:
        turned = [_shape(cutout, angle) for cutout in cutouts]
        agreement = np.stack([e for e, _ in turned]) @ edges.T
        turned_masks = np.stack([m for _, m in turned])
        both = turned_masks @ masks.T
        either = turned_masks.sum(axis=1)[:, None] + masks.sum(axis=1)[None] - both
        likeness = (agreement + both / np.maximum(either, 1)) / 2
        turns = np.where(likeness > best, angle, turns)
        best = np.maximum(best, likeness)
    return (best + best.T) / 2, turns


def _shape(cutout: Cutout, angle: float) -> tuple[Floats, Floats]:
    """Unit vectors of edges and silhouette, the object's centre in the middle of a square."""
    pixels, mask, sticker, _ = posed(cutout, SIDE, angle)
    field = edge_field(pixels) * (np.clip(mask * 1.5, 0, 1) * (1 - np.clip(sticker, 0, 1)))[..., None]
    field = cv2.GaussianBlur(field, (0, 0), 1.2)
    ys, xs = np.nonzero(mask > 0.5)
    cx, cy = (xs.min() + xs.max() + 1) / 2, (ys.min() + ys.max() + 1) / 2
    size = SIDE + 12
    shift = np.array([[1, 0, size / 2 - cx], [0, 1, size / 2 - cy]], dtype=np.float64)
    edges = cv2.warpAffine(field, shift, (size, size)).ravel()
    solid = (cv2.warpAffine(mask, shift, (size, size)) > 0.5).astype(np.float32).ravel()
    return edges / (np.linalg.norm(edges) + 1e-6), solid
