"""pd-direct: what each stage sends, who is shown the graph, the schedule beside the record, and a whole run on the demo."""

from __future__ import annotations

import json

import pytest
from generation_fixtures import PasteBackend, make_case, make_release

from longbanana_nb.errors import CallError, DataError
from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation import ModelChoice, Models
from longbanana_nb.generation.pd_direct import pd_direct
from longbanana_nb.generation.tools import KEEP
from longbanana_nb.reporting.figures import schedule_alt, schedule_figure
from longbanana_nb.reporting.run_facts import facts_of_run
from longbanana_nb.runs import load_experiment, open_run, parse_system, verify_run
from longbanana_nb.workbench import generate, judge, plan, score


def system(**references):
    return parse_system(
        {
            "name": "stages",
            "harness": {"kind": "pd-direct"},
            "backend": {"provider": "test", "id": "paste", "params": {}},
            "references": {"policy": "staged", "size": 2, **references},
            "privileges": ["graph"],
        }
    )


GRAPH = {
    "case_id": "007",
    "nodes": [{"id": f"n{n}", "required": True, "evidence": [{"reference_id": f"ref_0{n}"}]} for n in (1, 3, 4)],
    "edges": [{"id": "e1", "a": "n1", "b": "n4"}],
}


def drawn(case, spec, graph):
    backend = PasteBackend(ModelChoice("test", "paste", params={}))
    return pd_direct(case, spec, Models(backend, graph=graph), 11), backend


def test_related_things_are_drawn_together_and_what_no_thing_needs_is_never_sent(tmp_path):
    case = make_case(tmp_path)
    draft, backend = drawn(case, system(), GRAPH)
    sent = sorted(step.references_sent for step in draft.steps)
    assert sent == [("back", "ref_01", "ref_04"), ("back", "ref_03")]
    assert draft.outcome == "image"
    assert "ref_02" not in draft.sent
    roles = [[image.role for image in request.images] for request in backend.requests]
    assert roles[0][0] == "background"
    assert roles[1][:2] == ["carried", "background"]
    assert [request.prompt for request in backend.requests] == [case.prompt, f"{KEEP} {case.prompt}"]


def test_the_schedule_is_kept_with_its_hash(tmp_path):
    draft, _ = drawn(make_case(tmp_path), system(), GRAPH)
    data = draft.notes["schedule.json"]
    schedule = json.loads(data)
    assert draft.workflow.plan.sha256 == sha256_bytes(data)
    assert (schedule["schema"], schedule["status"], schedule["gap"]) == ("lb.schedule.v1", "optimal", 0)
    assert [[*stage["references"]] for stage in schedule["stages"]] == [
        [name for name in step.references_sent if name != "back"] for step in draft.steps
    ]


def test_without_a_graph_nothing_is_drawn(tmp_path):
    with pytest.raises(CallError, match="needs the case's graph"):
        drawn(make_case(tmp_path), system(), None)


def test_a_graph_of_other_references_is_refused(tmp_path):
    graph = {**GRAPH, "nodes": [{"id": "n1", "required": True, "evidence": [{"reference_id": "ref_99"}]}], "edges": []}
    with pytest.raises(DataError, match="ref_99"):
        drawn(make_case(tmp_path), system(), graph)


def experiment(folder, release, systems):
    written = {
        "schema": "lb.experiment.v1",
        "run": "run",
        "release": release,
        "cases": "all" if release != "demo_v1" else {"per_category": 1, "seed": 7},
        "systems": systems,
        "judges": ["presets/judges/truth.yaml"],
        "floors": {"blank": "off", "single-reference": "off", "collage": "off", "words": "off"},
    }
    (folder / "e.yaml").write_text(json.dumps(written), "utf-8")
    return load_experiment(folder / "e.yaml")


STAGED = "presets/systems/pd-direct-sketch-medium.yaml"
WINDOWED = "presets/systems/sketch-medium-fp-direct.yaml"


def test_a_release_without_graphs_is_refused_by_plan_and_by_generate(tmp_path):
    make_release(tmp_path / "release")
    asked = experiment(tmp_path, str(tmp_path / "release" / "manifest.json"), [STAGED])
    assert "no graph of" in plan(asked).systems[0].cannot_run
    with pytest.raises(CallError, match="no graph of"):
        generate(asked)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Nine cases by pd-direct and by fp-direct on the same image model, judged by the truth."""
    folder = tmp_path_factory.mktemp("both")
    asked = experiment(folder, "demo_v1", [WINDOWED, STAGED])
    generate(asked)
    judge(asked)
    return open_run(folder / "run")


def test_a_whole_run_is_complete_and_its_rows_say_who_saw_the_graph(both):
    scores = score(both.path)
    assert scores.is_complete
    overall = [row for row in scores.as_json()["scores"] if row["scope"] == "overall"]
    assert {row["system"]: row["cases_scored"] for row in overall} == {"fp-direct-medium": 9, "pd-direct-medium": 9}
    privileges = {one.name: one.privileges for one in facts_of_run(both).systems}
    assert privileges == {"fp-direct-medium": (), "pd-direct-medium": ("graph",)}


def test_verify_sees_a_changed_schedule(both):
    assert verify_run(both) == []
    path = next((both.path / "candidates" / "pd-direct-medium").rglob("schedule.json"))
    data = path.read_bytes()
    path.write_bytes(data.replace(b"optimal", b"0ptimal"))
    assert any("schedule.json" in str(fault) for fault in verify_run(both))
    path.write_bytes(data)
    assert verify_run(both) == []


def test_the_schedule_is_a_picture_that_shows_every_reference_and_unit(both):
    path = sorted((both.path / "candidates" / "pd-direct-medium").rglob("schedule.json"))[0]
    schedule = json.loads(path.read_bytes())
    figure = schedule_figure(schedule, "agg")
    axes = figure.axes[0]
    sent = {name for stage in schedule["stages"] for name in stage["references"]}
    assert {label.get_text() for label in axes.get_xticklabels()} == sent
    assert sum(len(line.get_xdata()) for line in axes.lines) == sum(len(stage["references"]) for stage in schedule["stages"])
    shown = " ".join(text.get_text() for text in axes.texts).split()
    assert set(shown) >= {unit for stage in schedule["stages"] for unit in stage["units"]}
    assert "proved best" in schedule_alt(schedule, "agg")
