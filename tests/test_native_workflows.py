"""Workflows in our own loop: what the embedded agent leaves and draws by each of them, and what a scripted one is refused."""

from __future__ import annotations

import json

import pytest
from demo_sketch_fixtures import photo
from generation_fixtures import SCRIPTS, PasteBackend, ScriptedAgent, make_backend, make_case, make_release, native_system

from longbanana_nb.demo.brief import Brief, Relation, Thing, render
from longbanana_nb.demo.planner import planner_agent
from longbanana_nb.demo.planner_case import stages
from longbanana_nb.demo.sketch import SketchBackend
from longbanana_nb.errors import CallError
from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation import Finish, ModelChoice, Models, ToolCall, ToolCalls, generate_run
from longbanana_nb.generation.native import native, versions_of
from longbanana_nb.generation.prepare import prepare
from longbanana_nb.release import Case, Reference
from longbanana_nb.runs import create_run, verify_run

PROMPT = render(
    Brief(
        "a shelf",
        (Thing("bell", colour="red"), Thing("crown"), Thing("pear", colour="yellow")),
        relations=(Relation(0, "left_of", 1),),
        nothing_else=True,
    )
)
PHOTOS = [("pear", "yellow"), ("bell", "blue"), ("bell", "red"), ("crown", "teal"), ("teapot", "green")]


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("case")
    references = []
    for n, (kind, colour) in enumerate(PHOTOS, start=1):
        data = photo((kind, colour, None), seed=n).data
        (folder / f"ref_0{n}.jpg").write_bytes(data)
        references.append(Reference(f"ref_0{n}", f"ref_0{n}.jpg", sha256_bytes(data), folder / f"ref_0{n}.jpg", "reference"))
    return Case("shelf", "SCC", PROMPT, tuple(references), None)


def made(case, workflow, *, agent="planner-1", calls=4, **fields):
    spec = native_system(workflow=workflow, limits={"max_image_calls": calls}, **fields)
    models = Models(SketchBackend("weak"), planner_agent(ModelChoice("embedded", agent)))
    return native(case, spec, models, 3)


def note(draft, name):
    return json.loads(draft.notes[f"{name}.json"])


def test_minimal_leaves_nothing_and_draws_once(case):
    draft = made(case, "minimal")
    assert (draft.outcome, draft.image_calls, draft.notes, draft.workflow.parts()) == ("image", 1, {}, {})


def test_react_reads_cuts_before_it_draws(case):
    draft = made(case, "react")
    evidence = note(draft, "evidence")
    found = {one["demand"]: one for one in evidence["findings"]}
    assert found["red bell"]["references"][0] == "ref_03" and found["red bell"]["seen"] == "a red bell"
    kinds = [line["name"] for line in draft.trace if line["kind"] == "tool_call"]
    assert kinds.index("crop") < kinds.index("note_evidence") < kinds.index("generate")
    facts = draft.workflow.evidence
    assert (facts.valid, facts.timely, facts.followed) == (True, True, True)


def test_plan_exec_draws_in_the_stages_it_planned(case):
    draft = made(case, "plan-exec", calls=3)
    plan = note(draft, "plan")
    assert [set(step.references_sent) for step in draft.steps] == [set(stage["references"]) for stage in plan["stages"]]
    assert draft.workflow.plan.followed is True


@pytest.mark.parametrize("agent", ["planner-1", "planner-judges-eye"])
def test_reflect_reviews_what_it_drew_and_ends_with_the_best_it_saw(case, agent):
    draft = made(case, "reflect", agent=agent)
    review = note(draft, "review")
    met = {one["picture"]: len(one["satisfied"]) for one in review["rounds"]}
    best = next(step.n for step in draft.steps if step.image == draft.image)
    assert met[best] == max(met.values())
    assert draft.workflow.rounds == len(review["rounds"]) and draft.workflow.review.timely
    if any(one["unsatisfied"] for one in review["rounds"]):
        assert draft.image_calls > 1 and draft.workflow.review.followed


def test_rpr_leaves_all_three(case):
    draft = made(case, "rpr")
    assert sorted(draft.notes) == ["evidence.json", "plan.json", "review.json"]
    assert all(part.timely for part in draft.workflow.parts().values())


def test_best_of_draws_separate_pictures_and_takes_the_one_it_says(case):
    draft = made(case, "minimal", best_of=3)
    choice = note(draft, "choice")
    assert [step.parent_sha256 for step in draft.steps] == [None, None, None]
    chosen = next(step for step in draft.steps if step.n == choice["chosen"])
    assert draft.image == chosen.image and draft.workflow.choice.followed and draft.workflow.choice.timely
    assert len({one["seen"] for one in choice["attempts"]}) >= 1 and choice["why"]


def test_a_prompt_it_cannot_read_is_said_by_missing_artefacts(case):
    odd = Case(case.case_id, case.category, "Paint me something nice.", case.references, None)
    draft = made(odd, "react")
    assert (draft.outcome, draft.reason.code, draft.workflow.evidence.present) == ("failed", "unparsable_prompt", False)


def scripted(monkeypatch, tmp_path, *actions, **fields):
    monkeypatch.setitem(SCRIPTS, "mine", [*actions, Finish()])
    agent = ScriptedAgent(ModelChoice("test", "mine"))
    spec = native_system(script="mine", **fields)
    return native(make_case(tmp_path), spec, Models(PasteBackend(ModelChoice("test", "paste")), agent), 1), agent


def draw(keep=False):
    return ToolCall("generate", {"prompt": "A", "references": ["ref_01"], "keep_current": keep})


def test_tools_of_another_workflow_are_not_there(monkeypatch, tmp_path):
    draft, agent = scripted(
        monkeypatch, tmp_path, ToolCall("write_plan", {"stages": []}), ToolCall("go_back", {"picture": 1}), draw()
    )
    assert ["no tool" in result.value.get("error", "") for result in agent.turns[-1].results] == [True, True, False]
    assert draft.notes == {}


def test_bad_artefacts_are_refused_by_their_form_and_leave_nothing(monkeypatch, tmp_path):
    bad = [
        {"stages": []},
        {"stages": [{"draws": "all", "references": ["ref_99"]}]},
        {"stages": [{"draws": "all", "references": ["ref_01"], "size": 4}]},
        {"steps": []},
        {"stages": [{"draws": "\ud800", "references": ["ref_01"]}]},
    ]
    draft, agent = scripted(
        monkeypatch,
        tmp_path,
        *(ToolCall("write_plan", one) for one in bad),
        draw(),
        workflow="plan-exec",
        harness={"kind": "native"},
    )
    assert [result.ok for result in agent.turns[-1].results] == [False] * 5 + [True]
    assert (draft.workflow.plan.present, draft.notes) == (False, {})


def test_a_review_of_nothing_is_refused_and_an_earlier_picture_can_be_taken(monkeypatch, tmp_path):
    fine = ToolCall("write_review", {"satisfied": ["all"], "unsatisfied": []})
    draft, agent = scripted(
        monkeypatch, tmp_path, fine, draw(), ToolCall("look_at_result", {}), fine, draw(),
        ToolCall("look_at_result", {"picture": 1}), ToolCall("go_back", {"picture": 7}), ToolCall("go_back", {"picture": 1}),
        workflow="reflect",
    )  # fmt: skip
    assert [result.ok for result in agent.turns[-1].results] == [False, True, True, True, True, True, False, True]
    assert agent.turns[-1].results[5].images[0].id == "picture_1"
    assert draft.image == draft.steps[0].image and len(draft.steps) == 2
    assert note(draft, "review")["rounds"] == [{"satisfied": ["all"], "unsatisfied": [], "picture": 1}]


def test_several_calls_of_one_turn_are_one_turn_and_bounded(monkeypatch, tmp_path):
    many = ToolCalls((*(ToolCall("list_references", {}),) * 16, draw()))
    draft, agent = scripted(monkeypatch, tmp_path, many, ToolCalls((), "thinking"), ToolCalls((draw(), ToolCall("finish", {}))))
    assert (draft.outcome, draft.agent_calls, draft.image_calls) == ("image", 3, 1)
    assert "At most 16" in agent.turns[1].results[-1].value["error"]


def test_the_words_of_a_workflow_are_part_of_the_systems_hash_and_reach_the_agent(monkeypatch, tmp_path):
    case, agents = make_case(tmp_path / "case"), {"test": ScriptedAgent}

    def sha256(workflow):
        return prepare([native_system(workflow=workflow)], [case], backends={"test": make_backend}, agents=agents)[0].sha256

    assert len({sha256(name) for name in ("minimal", "react", "plan-exec", "reflect", "rpr")}) == 5
    before = sha256("react")
    changed = {**versions_of(native_system(workflow="react")), "text react": "react-2 0"}
    monkeypatch.setattr("longbanana_nb.generation.native.instructions.versions", lambda *_, **__: changed)
    assert sha256("react") != before
    _, agent = scripted(monkeypatch, tmp_path / "again", draw(), workflow="react", harness={"kind": "native", "max_turns": 7})
    assert "You have 7 turns" in agent.turns[0].instruction and "`note_evidence`" in agent.turns[0].instruction


def test_best_of_goes_with_minimal_of_our_own_loop_and_enough_calls(tmp_path):
    with pytest.raises(CallError, match="best_of"):
        native_system(workflow="rpr", best_of=3)
    with pytest.raises(CallError, match=r"best_of 5 pictures with limits\.max_image_calls 4"):
        prepare(
            [native_system(best_of=5, limits={"max_image_calls": 4})],
            [make_case(tmp_path)],
            backends={"test": make_backend},
            agents={"test": ScriptedAgent},
        )
    assert "best_of" not in native_system().model_dump(mode="json")


def plan_and_draw(choice):
    """An agent that leaves a plan and draws by it."""
    SCRIPTS["planned"] = [
        ToolCall("write_plan", {"stages": [{"draws": "all", "references": ["ref_01"]}]}),
        draw(),
        Finish(),
    ]
    return ScriptedAgent(ModelChoice("test", "planned"))


def test_what_is_left_lies_beside_the_record_and_is_verified(tmp_path):
    release = make_release(tmp_path / "release", ("007",))
    run = create_run(tmp_path / "run", release)
    spec = native_system(workflow="plan-exec")
    generate_run(run, release, [spec], backends={"test": make_backend}, agents={"test": plan_and_draw}, workers=2)
    slot = run.candidate(spec.name, "007", 0)
    assert slot.record().workflow.plan.followed and (slot.folder / "plan.json").is_file()
    assert json.loads((slot.folder / "record.json").read_bytes())["workflow"].keys() == {"evidence", "plan", "review", "rounds"}
    assert [fault.code for fault in verify_run(run) if "candidates" in fault.where] == []
    (slot.folder / "plan.json").write_text("{}")
    assert [fault.code for fault in verify_run(run) if "plan.json" in fault.where] == ["sha256"]


def test_stages_keep_groups_together_within_the_room_there_is():
    assert stages([["a", "b"], ["c", "d"], ["e"]], capacity=10, size=4) == (("a", "b", "c", "d"), ("e",))
    assert stages([["a", "b", "c"], ["d", "e"]], capacity=4, size=4) == (("a", "b", "c"), ("d", "e"))
    assert stages([list("abcdef")], capacity=3, size=3) == (("a", "b", "c"), ("d", "e"), ("f",))
    assert stages([list("ab")], capacity=1, size=1) == (("a",), ("b",))
    assert stages([], capacity=10, size=5) == ((),)
