"""Graph to checks: what a small hand-made graph obliges a picture to show, and the faults of a broken one, all at once."""

from typing import Any

import pytest

from longbanana_nb.demo.projection import project
from longbanana_nb.errors import CallError, DataError

BOX = [0.2, 0.2, 0.8, 0.8]


def node(name: str, kind: str, colour: str, reference: str, **more: Any) -> dict[str, Any]:
    evidence = [{"reference_id": reference, "box": BOX}]
    return {"id": name, "kind": kind, "colour": colour, "text": None, "count": 1, "required": True, "evidence": evidence, **more}


@pytest.fixture
def graph() -> dict[str, Any]:
    kinds = [("r1", "mug", "red", None), ("r2", "jug", "blue", "ADA"), ("r3", "mug", "green", None), ("r4", "pan", "pink", "EVE")]
    shows = [{"node": None, "kind": kind, "colour": colour, "text": text, "box": BOX} for _, kind, colour, text in kinds]
    return {
        "schema": "lb.graph.v1",
        "case_id": "007",
        "category": "RGC",
        "nodes": [
            node("n1", "mug", "red", "r1", named_by="colour", count=2),
            node("n2", "jug", "blue", "r2", named_by="text", text="ADA"),
            node("x1", "mug", "green", "r3", required=False, against="n1", differs_in="colour"),
        ],
        "edges": [{"id": "e1", "relation": "left_of", "a": "n1", "b": "n2"}],
        "constraints": [
            {"id": "g1", "kind": "region", "node": "n2", "within": [0.5, 0, 1, 1], "words": "right"},
            {"id": "g2", "kind": "palette", "colour": "teal", "share": 0.6},
            {"id": "g3", "kind": "only"},
            {"id": "g4", "kind": "lettering", "texts": ["ADA"]},
        ],
        "references": [
            {"id": name, "role": "stray", "mark": None, "shows": [shown], "backdrop": None}
            for (name, *_), shown in zip(kinds, shows, strict=True)
        ],
        "background": None,
    }


def test_a_small_graph_gives_the_checks_a_person_would_write(graph: dict[str, Any]) -> None:
    made = project(graph)
    exemplar = {"reference_id": "r1", "box": BOX}
    mug, jug = {"name": "mug", "exemplar": exemplar}, {"name": "jug", "exemplar": {"reference_id": "r2", "box": BOX}}
    assert [(unit["unit"], unit["polarity"]) for unit in made.units] == [
        *([("n1", "positive")] * 3),
        *([("n2", "positive")] * 4),
        ("x1", "negative"),
        ("e1", "positive"),
        ("g1", "positive"),
        ("g2", "positive"),
        ("g2", "negative"),
        ("g3", "negative"),
        ("g4", "negative"),
    ]
    probes = [row["probe"] for row in made.probes]
    assert probes[:3] == [{"present": mug}, {"count": mug, "equals": 2}, {"colour": mug, "is": "red"}]
    assert probes[6] == {"text": {"in": jug, "equals": "ADA"}}
    assert probes[7] == {"absent": {"name": "mug", "exemplar": {"reference_id": "r3", "box": BOX}, "colour": "green"}}
    assert probes[8] == {"relation": {"a": mug, "is": "left_of", "b": jug}}
    assert probes[12] == {"absent": {"name": "pan", "exemplar": {"reference_id": "r4", "box": BOX}}}
    assert probes[13] == {"not": {"text": {"in": [0.0, 0.0, 1.0, 1.0], "contains": "EVE"}}}


def test_a_check_is_bound_to_references_or_says_why_not(graph: dict[str, Any]) -> None:
    checks = project(graph).checks
    assert checks[7]["reference_ids"] == ["r3", "r1"]
    assert checks[10]["reference_ids"] == [] and "candidate alone" in checks[10]["candidate_only_reason"]
    assert all(bool(check["reference_ids"]) != bool(check["candidate_only_reason"]) for check in checks)


def test_questions_name_what_tells_the_object_apart(graph: dict[str, Any]) -> None:
    questions = [check["question"] for check in project(graph).checks]
    assert questions[1] == "Does the picture show exactly two of this: red mug?"
    assert questions[4] == 'Does the picture show exactly one of this: jug lettered "ADA"?'
    assert questions[7] == "Is the picture free of a green mug?"


def test_every_fault_of_a_graph_is_named_at_once(graph: dict[str, Any]) -> None:
    graph["nodes"][0]["colour"] = "beige"
    graph["edges"][0]["b"] = "x1"
    graph["constraints"][0]["within"] = [0, 0, 2, 1]
    graph["nodes"][1]["evidence"][0]["reference_id"] = "r9"
    graph["constraints"].append({"id": "g4", "kind": "mood"})
    with pytest.raises(DataError) as caught:
        project(graph)
    text = str(caught.value)
    assert len(caught.value.faults) == 6
    for words in ("'beige'", "not required", "[0, 0, 2, 1]", "'r9'", "'mood'", "2 of this id"):
        assert words in text


def test_an_unknown_profile_is_refused(graph: dict[str, Any]) -> None:
    with pytest.raises(CallError, match="graph-check-projection-1"):
        project(graph, "graph-check-projection-2")
