"""Comparing in the Fourier domain, against plain correlation."""

import cv2
import numpy as np
import pytest

from longbanana_nb.vision import lettering
from longbanana_nb.vision.edges import LEAST_ENERGY, Template
from longbanana_nb.vision.matching import likeness_maps, spectra, template_spectra, transform_side


def template_of(field):
    weights = np.ones(field.shape[:2], np.float32)
    own = (field**2).sum(axis=-1)
    return Template(field, weights, float(np.sqrt(own.sum())), (0.0, 0.0, 1.0, 1.0), own)


def test_likeness_is_that_of_plain_correlation_and_one_where_a_template_was_cut():
    field = np.random.default_rng(3).normal(0, 0.4, (57, 41, 2)).astype(np.float32)
    shapes = [template_of(np.ascontiguousarray(field[11:40, 5:33])), template_of(np.ascontiguousarray(field[:57, :41]))]
    strength = (field**2).sum(axis=-1)
    n = transform_side(strength.shape)
    maps = likeness_maps(spectra(field, strength, n), strength.shape, shapes, [template_spectra(one, n) for one in shapes])
    for shape, likeness in zip(shapes, maps, strict=True):
        found, local = (cv2.matchTemplate(a, b, cv2.TM_CCORR) for a, b in ((field, shape.field), (strength, shape.weights)))
        plain = found / (shape.energy * np.sqrt(np.maximum(local, LEAST_ENERGY * shape.energy**2)))
        np.testing.assert_allclose(likeness, plain, atol=1e-4)
    _, top, _, place = cv2.minMaxLoc(maps[0])
    assert top == pytest.approx(1.0, abs=1e-3) and place == (5, 11)


def test_a_line_that_takes_in_the_plate_is_measured_by_the_letters_on_it():
    picture = np.full((120, 240, 3), (120, 170, 210), dtype=np.uint8)
    cv2.rectangle(picture, (50, 40), (190, 80), (252, 252, 250), -1)
    for x in (68, 100, 132, 164):
        cv2.rectangle(picture, (x, 52), (x + 7, 67), (24, 24, 28), -1)
    corners = np.array([[20, 24], [220, 24], [220, 96], [20, 96]], dtype=np.float32)
    assert lettering.capital_height(picture, corners) == pytest.approx(16, abs=2)
