"""Comparing one neighbourhood with several templates at once: correlations in the Fourier domain, each transform made once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.fft

from longbanana_nb.vision.arrays import Field
from longbanana_nb.vision.edges import LEAST_ENERGY, Template

VERSION = "matching-1"
STEP = 8  # sides of transforms are multiples of this, so that few different ones are kept

Spectra = npt.NDArray[np.complex64]


def transform_side(shape: Sequence[int]) -> int:
    """Side of the square in which a neighbourhood of this shape is correlated."""
    return int(scipy.fft.next_fast_len(-(-max(shape) // STEP) * STEP, real=True))


def spectra(field: Field, weight: Field, n: int) -> Spectra:
    """Transforms of edges (h, w, 2) and of what goes with them (h, w), in a square of side `n`."""
    planes = np.zeros((3, n, n), dtype=np.float32)
    h, w = weight.shape
    planes[0, :h, :w], planes[1, :h, :w], planes[2, :h, :w] = field[..., 0], field[..., 1], weight
    found: Spectra = scipy.fft.rfft2(planes, overwrite_x=True)
    return found


def template_spectra(shape: Template, n: int) -> Spectra:
    """A template as `likeness_maps` takes it; about 100 kB at a side of 72 pixels."""
    return np.conj(spectra(shape.field, shape.weights, n))


def likeness_maps(window: Spectra, size: tuple[int, int], shapes: Sequence[Template], prepared: Sequence[Spectra]) -> list[Field]:
    """Normalised correlation (-1 to 1) of each template at every place where it fits wholly into the neighbourhood.

    Args:
        window: spectra of a neighbourhood's edges and of their squared length.
        size: its height and width.
        prepared: the templates' spectra of the same side.
    """
    n = window.shape[1]
    products = np.empty((len(shapes), 2, *window.shape[1:]), dtype=np.complex64)
    for product, one in zip(products, prepared, strict=True):
        np.multiply(window[0], one[0], out=product[0])
        product[0] += window[1] * one[1]
        np.multiply(window[2], one[2], out=product[1])
    planes = scipy.fft.irfft2(products, s=(n, n), overwrite_x=True)
    return [_likeness(both, size, shape) for both, shape in zip(planes, shapes, strict=True)]


def _likeness(planes: Field, size: tuple[int, int], shape: Template) -> Field:
    rows, columns = size[0] - shape.weights.shape[0] + 1, size[1] - shape.weights.shape[1] + 1
    found, local = planes[0, :rows, :columns], planes[1, :rows, :columns]
    likeness: Field = found / (shape.energy * np.sqrt(np.maximum(local, LEAST_ENERGY * shape.energy**2)) + 1e-6)
    return likeness
