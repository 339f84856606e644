"""The truth follows pixels to the references they came from, not to what anyone took them for."""

from __future__ import annotations

import pytest

from longbanana_nb.demo.truth import CaseTruth, SceneLook
from longbanana_nb.judging.looks import Entity, NoScene, Unanswerable

GRAPH = {
    "references": [
        {
            "id": "ref_01",
            "role": "evidence",
            "mark": "DAY 3",
            "backdrop": "blue",
            "shows": [
                {"node": "n01", "kind": "bell", "colour": "red", "text": "NORA", "box": [0.1, 0.4, 0.5, 0.8]},
                {"node": None, "kind": "crown", "colour": "teal", "text": None, "box": [0.6, 0.5, 0.9, 0.8]},
            ],
        }
    ]
}
BELL = Entity("bell", "ref_01", (0.1, 0.4, 0.5, 0.8), "red", "NORA")


def piece(**changes: object) -> dict:
    plain = {
        "source_sha256": "aa",
        "source_box": [0.1, 0.4, 0.5, 0.8],
        "box": [0.2, 0.2, 0.5, 0.5],
        "angle": 0.0,
        "visible": 1.0,
        "recoloured_to": None,
        "relettered_to": None,
        "drift": 0.0,
        "flipped": False,
    }
    return {**plain, **changes}


def look(*pieces: dict, complete: bool = True, size: int = 768) -> SceneLook:
    scene = {
        "width": size,
        "height": size,
        "complete": complete,
        "backdrop": {"colour": "pink"},
        "objects": list(pieces),
        "words": [],
    }
    return SceneLook(scene, CaseTruth.of(GRAPH, {"aa": "ref_01"}))


def test_a_cut_is_the_one_object_its_box_was_drawn_around():
    (bell,) = look(piece()).find(BELL)
    assert (bell.box, bell.score, bell.colour, bell.texts, bell.likeness) == ((0.2, 0.2, 0.5, 0.5), 1.0, "red", ("NORA",), 1.0)


def test_a_repainted_and_relettered_object_is_another_one():
    (bell,) = look(piece(recoloured_to="blue", relettered_to="NOXA")).find(BELL)
    assert (bell.colour, bell.colour_score, bell.texts, bell.likeness) == ("blue", 0.0, ("NOXA",), 0.25)


def test_hidden_and_melted_surface_lowers_the_score():
    (bell,) = look(piece(visible=0.5, drift=0.9)).find(BELL)
    assert bell.score == pytest.approx(0.05)


def test_a_whole_reference_brings_everything_it_shows_its_tag_and_its_backdrop():
    whole = look(piece(source_box=[0.0, 0.0, 1.0, 1.0], box=[0.0, 0.0, 0.5, 0.5]))
    assert sorted(thing.kind for thing in whole.shown) == ["bell", "crown"]
    assert whole.find(BELL)[0].box == pytest.approx((0.05, 0.2, 0.25, 0.4))
    assert "DAY3" in [one.text for one in whole.lettering(None)]
    assert whole.palette(None) == pytest.approx({"blue": 0.25, "pink": 0.75})


def test_lettering_too_small_to_read_is_not_reported():
    (bell,) = look(piece(), size=80).find(BELL)
    assert bell.texts == ()


def test_pixels_of_unknown_origin_have_no_truth():
    with pytest.raises(NoScene):
        look(piece(), complete=False)


def test_an_exemplar_the_graph_does_not_know_cannot_be_asked_for():
    with pytest.raises(Unanswerable):
        look(piece()).find(Entity("bell", "ref_99", (0.0, 0.0, 1.0, 1.0)))
