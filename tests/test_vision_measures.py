"""Colour differences, colour names and relations between boxes, against values worked out elsewhere or by hand."""

import numpy as np
import pytest

from longbanana_nb.vision import colour, layout


@pytest.mark.parametrize(
    ("first", "second", "difference"),
    [  # Sharma, Wu, Dalal 2005, table 1: pairs 1, 4, 7, 13, 17, 20, 25, 34
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, -1.3802, -84.2814), (50.0, 0.0, -82.7485), 1.0000),
        ((50.0, 0.0, 0.0), (50.0, -1.0, 2.0), 2.3669),
        ((50.0, -0.001, 2.49), (50.0, 0.0011, -2.49), 4.7461),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((50.0, 2.5, 0.0), (58.0, 24.0, 15.0), 19.4535),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_ciede2000_gives_the_published_differences(first, second, difference):
    assert float(colour.ciede2000(np.array(first), np.array(second))) == pytest.approx(difference, abs=1e-4)


@pytest.mark.parametrize(
    ("rgb", "name"),
    [
        ((214, 40, 46), "red"),
        ((243, 130, 28), "orange"),
        ((248, 208, 42), "yellow"),
        ((62, 160, 68), "green"),
        ((16, 158, 160), "teal"),
        ((42, 98, 216), "blue"),
        ((126, 62, 184), "purple"),
        ((242, 120, 182), "pink"),
        ((250, 250, 250), "white"),
        ((128, 128, 128), "grey"),
        ((10, 10, 10), "black"),
        ((110, 66, 30), "brown"),
    ],
)
def test_a_plain_surface_has_its_name(rgb, name):
    assert colour.shares(np.full((4, 4, 3), rgb, dtype=np.uint8)) == {name: 1.0}


LEFT, RIGHT = (0.1, 0.4, 0.3, 0.6), (0.6, 0.4, 0.8, 0.6)


def test_directions_measure_the_distance_of_the_centres():
    assert layout.relation(LEFT, RIGHT, "left_of") == pytest.approx(0.5)
    assert layout.relation(LEFT, RIGHT, "right_of") == pytest.approx(-0.5)
    assert layout.relation(LEFT, RIGHT, "above") == pytest.approx(0.0)
    assert layout.relation(LEFT, RIGHT, "left_of", margin=0.2) == pytest.approx(0.3)


def test_inside_overlaps_and_on():
    small, big, apart = (0.4, 0.4, 0.5, 0.5), (0.3, 0.3, 0.7, 0.7), (0.8, 0.8, 0.9, 0.9)
    assert layout.relation(small, big, "inside") > 0 > layout.relation(apart, big, "inside")
    assert layout.relation(small, big, "overlaps") > 0
    assert layout.relation(apart, big, "overlaps") == pytest.approx(-0.02)
    standing = (0.4, 0.1, 0.6, 0.32)
    assert layout.relation(standing, big, "on") > 0 > layout.relation(apart, big, "on")


def test_the_worst_neighbours_decide_an_order():
    boxes = [(0.0, 0, 0.2, 0.2), (0.5, 0, 0.7, 0.2), (0.4, 0, 0.6, 0.2)]
    assert layout.order(boxes, "x") == pytest.approx(-0.1)
    assert layout.order(boxes[:2], "x") == pytest.approx(0.5)


def test_a_box_lies_within_a_region_by_its_middle_half():
    assert layout.within((0.1, 0.1, 0.3, 0.3), (0, 0, 0.5, 0.5)) == 1.0
    assert layout.within((0.4, 0.1, 0.6, 0.3), (0, 0, 0.5, 0.5)) == pytest.approx(0.5)
