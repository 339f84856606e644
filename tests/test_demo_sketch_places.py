"""Things that stand in, on or over one another leave each other recognisable."""

from __future__ import annotations

import itertools

import pytest

from longbanana_nb.demo.placement import Layout, Piece, place

ASPECTS = (0.5, 1.0, 2.0)


def uncovered(under: tuple[float, ...], over: tuple[float, ...]) -> float:
    """Share of a box that another one leaves free."""
    wide = max(0.0, min(under[2], over[2]) - max(under[0], over[0]))
    high = max(0.0, min(under[3], over[3]) - max(under[1], over[1]))
    return 1 - wide * high / ((under[2] - under[0]) * (under[3] - under[1]))


@pytest.mark.parametrize("relation", ["inside", "on", "overlaps"])
def test_two_thirds_of_what_is_covered_stay_visible(relation):
    for above, below in itertools.product(ASPECTS, ASPECTS):
        boxes = place(Layout((Piece("a", 1, above), Piece("b", 1, below)), ((relation, "a", "b"),)))
        assert uncovered(boxes["b"][0], boxes["a"][0]) >= 0.65, (above, below)
