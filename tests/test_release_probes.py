"""Probes: every form of the grammar becomes its type, and a bad tree names all its faults."""

from __future__ import annotations

from typing import Any

import pytest
from release_fixtures import entity

from longbanana_nb.errors import DataError
from longbanana_nb.release import parse_probe, probes

E = entity()
TYPED = probes.Entity("red teapot", "ref_01", (0.1, 0.1, 0.9, 0.9))
BOX = [0, 0, 0.5, 0.5]

FORMS: list[tuple[Any, probes.Probe]] = [
    ({"present": E}, probes.Present(TYPED, 0.35, 0.6)),
    ({"absent": E, "lo": 0.1, "hi": 0.2}, probes.Absent(TYPED, 0.1, 0.2)),
    ({"count": E, "equals": 3}, probes.Count(TYPED, 3, None, None, -1.0, 0.0)),
    ({"count": E, "min": 1, "max": 4}, probes.Count(TYPED, None, 1, 4)),
    ({"text": {"equals": "NORA"}}, probes.Text(None, "NORA")),
    ({"text": {"in": E, "contains": "NO"}}, probes.Text(TYPED, None, "NO")),
    ({"text": {"in": BOX, "equals": "7"}}, probes.Text((0.0, 0.0, 0.5, 0.5), "7")),
    ({"colour": E, "is": "teal"}, probes.Colour(TYPED, "teal")),
    ({"relation": {"a": E, "is": "left_of", "b": E, "margin": 0.1}}, probes.Relation(TYPED, "left_of", TYPED, 0.1)),
    ({"order": [E, E], "along": "y"}, probes.Order((TYPED, TYPED), "y")),
    ({"same_as": {"entity": E, "reference_id": "r", "box": BOX}}, probes.SameAs(TYPED, "r", (0.0, 0.0, 0.5, 0.5))),
    ({"region": E, "within": BOX}, probes.Region(TYPED, (0.0, 0.0, 0.5, 0.5))),
    ({"palette": {"colour": "blue", "share": 0.6}}, probes.Palette("blue", 0.6, None, 0.3, 0.6)),
    ({"not": {"present": E}}, probes.Not(probes.Present(TYPED))),
    (
        {"any": [{"present": E}, {"all": [{"absent": E}]}]},
        probes.Any((probes.Present(TYPED), probes.All((probes.Absent(TYPED),)))),
    ),
]


@pytest.mark.parametrize(("value", "typed"), FORMS)
def test_each_form_becomes_its_type(value: Any, typed: probes.Probe) -> None:
    assert parse_probe(value, "here") == typed


BAD: list[tuple[Any, int]] = [
    ("present", 1),
    ({}, 1),
    ({"present": E, "absent": E}, 1),
    ({"present": E, "high": 1}, 1),
    ({"present": {**E, "colour": "mauve"}}, 1),
    ({"present": {"name": "x"}}, 3),
    ({"count": E}, 1),
    ({"count": E, "equals": 1, "min": 1}, 1),
    ({"count": E, "equals": True}, 1),
    ({"count": E, "min": 3, "max": 2}, 1),
    ({"text": {"in": E}}, 1),
    ({"text": {"equals": "a", "contains": "b"}}, 1),
    ({"relation": {"a": E, "is": "near", "b": E}}, 1),
    ({"order": [E], "along": "z"}, 2),
    ({"region": E, "within": [0.5, 0, 0.4, 1]}, 1),
    ({"palette": {"colour": "blue", "share": 0}}, 1),
    ({"present": E, "lo": 0.9}, 1),
    ({"present": E, "hi": 10**400}, 1),
    ({"all": []}, 1),
    ({"all": [{"present": 1}, {"not": {"colour": E, "is": "x"}}, {"any": [7]}]}, 3),
]


@pytest.mark.parametrize(("value", "number"), BAD)
def test_a_bad_tree_names_every_fault(value: Any, number: int) -> None:
    with pytest.raises(DataError) as caught:
        parse_probe(value, "probes.jsonl line 4")
    assert len(caught.value.faults) == number
    assert all(fault.where.startswith("probes.jsonl line 4 probe") for fault in caught.value.faults)


def test_a_tree_without_end_is_refused() -> None:
    value: Any = {"present": E}
    for _ in range(500):
        value = {"not": value}
    with pytest.raises(DataError, match="at most 32 levels"):
        parse_probe(value, "here")


def test_a_probe_knows_what_it_looks_at() -> None:
    value = {"all": [{"relation": {"a": E, "is": "on", "b": entity("ref_02")}}, FORMS[10][0], {"text": {"equals": "x"}}]}
    probe = parse_probe(value, "here")
    assert probes.reference_ids(probe) == {"ref_01", "ref_02", "r"}
    assert [type(leaf).__name__ for leaf in probes.leaves(probe)] == ["Relation", "SameAs", "Text"]
