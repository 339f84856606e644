"""Answers to probes from a look whose sightings are written by hand."""

import pytest

from longbanana_nb.judging import Lettering, Sighting, Unanswerable, answer
from longbanana_nb.judging import texts as lettering
from longbanana_nb.release import parse_probe

MUG = {"name": "mug", "exemplar": {"reference_id": "ref_01", "box": [0.1, 0.1, 0.9, 0.9]}}
KITE = {"name": "kite", "exemplar": {"reference_id": "ref_02", "box": [0.1, 0.1, 0.9, 0.9]}}
GONE = {"name": "gone", "exemplar": {"reference_id": "ref_99", "box": [0.1, 0.1, 0.9, 0.9]}}


def shown(entity, colour):
    return float(entity.colour in (None, colour))


class Desk:
    """A look at a desk with two red mugs, one lettered NORA, on the left, and a blue kite on the right."""

    size = (100, 100)

    def find(self, entity):
        if entity.reference_id == "ref_01":
            return [
                Sighting((0.1, 0.4, 0.3, 0.6), 0.9, "red", shown(entity, "red"), ("NORA",), 0.9),
                Sighting((0.1, 0.7, 0.3, 0.9), 0.8, "red", shown(entity, "red"), (), 0.2),
            ]
        if entity.reference_id == "ref_02":
            return [Sighting((0.6, 0.4, 0.8, 0.6), 0.5, "blue", 1.0, (), 0.5)]
        raise Unanswerable("reference 'ref_99' is not there")

    def lettering(self, box):
        return [Lettering("NORA", (0.15, 0.45, 0.25, 0.5), 0.99)]

    def palette(self, box):
        return {"blue": 0.7, "white": 0.3}


class Empty(Desk):
    def find(self, entity):
        return []


def label(probe, look=None):
    return answer(parse_probe(probe, "test"), look or Desk()).label


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        ({"present": MUG}, 2),
        ({"present": {**MUG, "colour": "red", "text": "NORA"}}, 2),
        ({"present": {**MUG, "colour": "blue"}}, 0),
        ({"present": {**MUG, "text": "NORX"}}, 0),
        ({"present": KITE}, 1),
        ({"absent": MUG}, 0),
        ({"absent": {**MUG, "colour": "teal"}}, 2),
        ({"count": MUG, "equals": 2}, 2),
        ({"count": MUG, "equals": 3}, 0),
        ({"count": {**MUG, "text": "NORA"}, "max": 1}, 2),
        ({"count": KITE, "equals": 1}, 1),
        ({"colour": MUG, "is": "red"}, 2),
        ({"colour": MUG, "is": "green"}, 0),
        ({"text": {"in": MUG, "equals": "NORA"}}, 2),
        ({"text": {"in": MUG, "equals": "N0RA"}}, 2),
        ({"text": {"in": MUG, "equals": "MORA"}}, 0),
        ({"text": {"in": [0, 0, 1, 1], "contains": "OR"}}, 2),
        ({"relation": {"a": MUG, "is": "left_of", "b": KITE}}, 2),
        ({"relation": {"a": KITE, "is": "left_of", "b": MUG}}, 0),
        ({"order": [MUG, KITE], "along": "x"}, 2),
        ({"same_as": {"entity": MUG, "reference_id": "ref_01", "box": [0.1, 0.1, 0.9, 0.9]}}, 2),
        ({"region": MUG, "within": [0, 0, 0.5, 1]}, 2),
        ({"region": MUG, "within": [0.5, 0, 1, 1]}, 0),
        ({"palette": {"colour": "blue", "share": 0.6}}, 2),
        ({"palette": {"colour": "red", "share": 0.6}}, 0),
        ({"not": {"present": MUG}}, 0),
        ({"not": {"present": KITE}}, 1),
        ({"all": [{"present": MUG}, {"present": KITE}]}, 1),
        ({"any": [{"present": MUG}, {"present": KITE}]}, 2),
    ],
)
def test_a_probe_is_answered_from_what_the_look_sees(probe, expected):
    assert label(probe) == expected


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        ({"absent": MUG}, 2),
        ({"present": MUG}, 0),
        ({"colour": MUG, "is": "red"}, 0),
        ({"relation": {"a": MUG, "is": "left_of", "b": KITE}}, 0),
        ({"region": MUG, "within": [0, 0, 0.5, 1]}, 0),
        ({"order": [MUG, KITE], "along": "x"}, 0),
    ],
)
def test_what_is_not_found_fails_all_but_absence(probe, expected):
    assert label(probe, Empty()) == expected


def test_a_missing_exemplar_is_unanswerable_and_never_fail():
    found = answer(parse_probe({"present": GONE}, "test"), Desk())
    assert (found.label, found.invalid) == (None, "unanswerable")


def test_a_part_without_answer_makes_the_whole_invalid_unless_another_settles_it():
    assert label({"all": [{"present": MUG}, {"present": GONE}]}) is None
    assert label({"all": [{"absent": MUG}, {"present": GONE}]}) == 0
    assert label({"any": [{"present": MUG}, {"present": GONE}]}) == 2


def test_evidence_names_the_picture_the_box_and_the_measured_value():
    found = answer(parse_probe({"present": MUG}, "test"), Desk(), ("candidate", "ab" * 32))
    (one,) = found.evidence
    assert one.image.sha256 == "ab" * 32 and one.image.box == [0.1, 0.4, 0.3, 0.6]
    assert one.result["measured"] == 0.9 and one.args["entity"]["name"] == "mug"


def test_one_letter_off_is_doubtful_only_where_it_was_not_surely_read():
    assert lettering.equal("NORA", "NORX", 0.99) == 0.5
    assert lettering.equal("NORA", "NORX", 0.6) == 0.75
    assert lettering.equal("B0AT5", "BOATS") == 1.0
    assert lettering.equal("KITE", "NORA") == 0.0
