"""The first pass over a picture: where might a shape be, at which size; coarse, quick, all kinds and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import scipy.fft

from longbanana_nb.vision.arrays import Pixels
from longbanana_nb.vision.cutout import Cutout
from longbanana_nb.vision.edges import blurred, edge_field, reduced, strength_of, template

VERSION = "searching-4"
LEVELS = (64, 128, 256)
SIDES = (20.0, 24.0, 28.5, 34.0)
FINEST, FINEST_SIDES, FINEST_FROM = 384, (20.0, 24.0), 1000  # small things are looked for where they have 50 pixels and more
PAD = 44
BLUR = 1.1  # spreads edges, so that a shape turned by 15 degrees still meets them
PROMISING = 0.48
LEAST_ENERGY = 0.4  # of the template's edge energy: where there are fewer edges, agreement counts less
PEAKS = 12
APART = 4  # pixels of a level: of two places nearer than that in both directions, the better one is a peak
PLACES = 512

Spectrum = npt.NDArray[np.complexfloating[Any, Any]]


@dataclass(frozen=True, slots=True)
class Hint:
    """A place where a kind may be: kind number, score (-1 to 1), and the box in fractions of the longer picture side."""

    kind: int
    score: float
    box: tuple[float, float, float, float]
    side: float  # longer side of the object, as searched


@dataclass(frozen=True, slots=True)
class Probe:
    """One kind at one size on one level, in the Fourier domain."""

    kind: int
    level: int
    edges: tuple[Spectrum, Spectrum]
    weights: Spectrum
    energy: float
    box: tuple[float, float, float, float]
    side: float


def fft_side(level: int) -> int:
    """Side of the padded square in which a level is correlated."""
    return int(scipy.fft.next_fast_len(level + PAD, real=True))


def probes(cutouts: Sequence[Cutout]) -> list[Probe]:
    """Prepare one cut-out a kind (kind = position) for `hints`, at every size and level; about 1 MB a cut-out and size."""
    made = []
    for kind, cutout in enumerate(cutouts):
        small = reduced(cutout, 64)
        for side in SIDES:
            shape = template(small, side, blur=BLUR)
            for level in (*LEVELS, FINEST) if side in FINEST_SIDES else LEVELS:
                n = (fft_side(level), fft_side(level))
                a, b, w = (
                    np.conj(scipy.fft.rfft2(plane, n)).astype(np.complex64)
                    for plane in (shape.field[..., 0], shape.field[..., 1], shape.weights)
                )
                made.append(Probe(kind, level, (a, b), w, shape.energy, shape.box, side / level))
    return made


def hints(pixels: Pixels, prepared: Sequence[Probe]) -> list[Hint]:
    """All promising places of all kinds, best first."""
    found: list[Hint] = []
    for level in (*LEVELS, FINEST) if max(pixels.shape[:2]) >= FINEST_FROM else LEVELS:
        field = blurred(edge_field(_level(pixels, level)), BLUR)
        if not field.any():
            continue
        n = fft_side(level)
        shift = PAD // 2
        padded = np.zeros((n, n, 2), dtype=np.float32)
        padded[shift : shift + field.shape[0], shift : shift + field.shape[1]] = field
        a, b = (scipy.fft.rfft2(np.ascontiguousarray(padded[..., i])) for i in (0, 1))
        strength = scipy.fft.rfft2(strength_of(padded))
        extent = (field.shape[0] + shift, field.shape[1] + shift)
        for probe in (p for p in prepared if p.level == level):
            agreement = _correlated(a * probe.edges[0] + b * probe.edges[1], n)[: extent[0], : extent[1]]
            least = LEAST_ENERGY * probe.energy**2
            ys, xs = np.nonzero(agreement > PROMISING * probe.energy * np.sqrt(least))
            if not len(ys):
                continue  # whatever edges there are, no place can score enough
            local = _correlated(strength * probe.weights, n)[ys, xs]
            scores = agreement[ys, xs] / (probe.energy * np.sqrt(np.maximum(local, least)))
            found += _peaks(scores, ys, xs, probe, shift)
    return sorted(found, key=lambda hint: -hint.score)


def _correlated(spectrum: Spectrum, n: int) -> npt.NDArray[Any]:
    planes: npt.NDArray[Any] = scipy.fft.irfft2(spectrum, s=(n, n), overwrite_x=True)
    return planes


def _level(pixels: Pixels, level: int) -> Pixels:
    scale = level / max(pixels.shape[:2])
    size = (max(1, round(pixels.shape[1] * scale)), max(1, round(pixels.shape[0] * scale)))
    return cv2.resize(pixels, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)


def _peaks(scores: npt.NDArray[Any], ys: npt.NDArray[Any], xs: npt.NDArray[Any], probe: Probe, shift: int) -> list[Hint]:
    """The best places that are better than all around them, of the best PLACES of those given."""
    best = np.flatnonzero(scores > PROMISING)
    best = best[np.argsort(-scores[best], kind="stable")][:PLACES]
    scores, ys, xs = scores[best], ys[best], xs[best]
    near = (np.abs(ys[:, None] - ys) <= APART) & (np.abs(xs[:, None] - xs) <= APART)
    peaks = np.flatnonzero(~(near & (scores > scores[:, None])).any(axis=1))[:PEAKS]
    x0, y0, x1, y1 = probe.box
    level = probe.level
    return [
        Hint(
            probe.kind,
            score,
            ((x - shift + x0) / level, (y - shift + y0) / level, (x - shift + x1) / level, (y - shift + y1) / level),
            probe.side,
        )
        for score, y, x in zip(scores[peaks].tolist(), ys[peaks].tolist(), xs[peaks].tolist(), strict=True)
    ]
