"""fp-direct and native: what is sent, in which order, and what each way of failing comes to."""

from __future__ import annotations

import pytest
from generation_fixtures import PasteBackend, ScriptedAgent, direct_system, make_case, native_system, purse

from longbanana_nb.errors import CallError, DataError
from longbanana_nb.generation import ModelChoice, Models
from longbanana_nb.generation.fp_direct import windows
from longbanana_nb.generation.harnesses import HARNESSES, harness_of
from longbanana_nb.generation.tools import KEEP
from longbanana_nb.runs import parse_system

SEED = 11


def run(spec, case, purse=None):
    """The draft, the backend and the agent that made it."""
    backend = PasteBackend(ModelChoice("test", "paste", params=spec.backend.params))
    agent = ScriptedAgent(ModelChoice("test", spec.agent_model.id)) if spec.agent_model else None
    return HARNESSES[spec.harness.kind](case, spec, Models(backend, agent, purse), SEED), backend, agent


def window(**fields):
    return {"policy": "window", **fields}


@pytest.mark.parametrize(
    ("count", "size", "stride", "expected"),
    [
        (32, 8, 8, [8, 8, 8, 8]),
        (5, 2, 2, [2, 2, 1]),
        (5, 3, 1, [3, 3, 3]),
        (3, 8, 8, [3]),
        (0, 8, 8, [0]),
    ],
)
def test_windows_reach_every_reference(tmp_path, count, size, stride, expected):
    case = make_case(tmp_path, count=count)
    parts = windows(case.references, size, stride)
    assert [len(part) for part in parts] == expected
    assert {reference.id for part in parts for reference in part} == {reference.id for reference in case.references}


def test_each_window_gets_carried_background_and_references_in_that_order_with_untouched_bytes(tmp_path):
    case = make_case(tmp_path, count=5)
    draft, backend, _ = run(direct_system(references=window(size=2, stride=2)), case)
    roles = [[image.role for image in request.images] for request in backend.requests]
    assert roles == [
        ["background", "reference", "reference"],
        ["carried", "background", "reference", "reference"],
        ["carried", "background", "reference"],
    ]
    assert [request.prompt for request in backend.requests] == [case.prompt, f"{KEEP} {case.prompt}", f"{KEEP} {case.prompt}"]
    assert backend.requests[0].images[1].data == case.references[0].file.read_bytes()
    assert backend.requests[1].images[0].data == draft.steps[0].image
    assert len({request.seed for request in backend.requests}) == 3
    assert draft.outcome == "image"
    assert draft.image == draft.steps[2].image
    assert [step.parent_sha256 for step in draft.steps] == [None, draft.steps[0].sha256, draft.steps[1].sha256]
    assert draft.steps[1].references_sent == ("back", "ref_03", "ref_04")
    assert draft.sent == ["back", "ref_01", "ref_02", "ref_03", "ref_04", "ref_05"]


def test_without_carrying_and_without_background_only_the_window_is_sent(tmp_path):
    spec = direct_system(references=window(size=2, stride=2, carry_last=False, background="omit"))
    draft, backend, _ = run(spec, make_case(tmp_path))
    assert [[image.role for image in request.images] for request in backend.requests] == [["reference"] * 2] * 2
    assert [request.prompt for request in backend.requests] == ["Draw a red pear."] * 2
    assert draft.sent == ["ref_01", "ref_02", "ref_03", "ref_04"]


def test_the_final_scene_knows_only_references(tmp_path):
    case = make_case(tmp_path, count=3, background=False)
    draft, _, _ = run(direct_system(references=window(size=2, stride=2)), case)
    assert draft.scene["complete"] is True
    assert [one["source_sha256"] for one in draft.scene["objects"]] == [reference.sha256 for reference in case.references]
    assert [one["box"] for one in draft.scene["objects"]] == [[0.0, 0.0, 0.25, 1.0], [0.25, 0.0, 0.5, 1.0], [0.5, 0, 1.0, 1]]


@pytest.mark.parametrize(
    ("how", "outcome", "code"),
    [
        ("blocked", "blocked", "IMAGE_SAFETY"),
        ("text_only", "no_image", "text_only"),
        ("nothing", "no_image", "empty_image"),
        ("cut_off", "failed", "undecodable_image"),
        ("tiny", "failed", "too_small"),
        ("own fault", "failed", "backend_exception"),
        ("odd", "failed", "unknown_outcome"),
    ],
)
def test_a_window_without_a_picture_is_the_outcome_and_earlier_pictures_are_kept(tmp_path, how, outcome, code):
    spec = direct_system(
        references=window(size=2, stride=2), backend={"provider": "test", "id": "paste", "params": {"at": 2, "how": how}}
    )
    draft, backend, _ = run(spec, make_case(tmp_path, count=6))
    assert (draft.outcome, draft.reason.code, draft.image) == (outcome, code, None)
    assert len(draft.steps) == 1
    assert len(backend.requests) == 2  # the third window is not drawn


def test_a_picture_of_another_type_and_size_is_kept_as_it_is_and_the_trace_says_so(tmp_path):
    params = {"at": 1, "how": "jpeg_called_png"}
    draft, _, _ = run(direct_system(backend={"provider": "test", "id": "paste", "params": params}), make_case(tmp_path))
    assert (draft.outcome, draft.format) == ("image", "jpeg")
    assert draft.trace[-1]["text"] == "jpeg, 64 x 48; asked for 96 x 96"


def test_more_images_than_the_model_takes_are_refused_with_the_numbers(tmp_path):
    spec = direct_system(
        references=window(size=3, stride=3), backend={"provider": "test", "id": "paste", "params": {"capacity": 4}}
    )
    with pytest.raises(CallError, match=r"5 images \(3 references \+ 1 background \+ 1 carried picture\).*takes 4.*size to 2"):
        run(spec, make_case(tmp_path))


def test_a_stride_that_passes_references_over_is_refused(tmp_path):
    with pytest.raises(CallError, match="never send some references"):
        run(direct_system(references=window(size=2, stride=3)), make_case(tmp_path))


def test_image_calls_and_dollars_are_limits(tmp_path):
    case = make_case(tmp_path)
    calls, _, _ = run(direct_system(references=window(size=1, stride=1), limits={"max_image_calls": 2}), case)
    assert (calls.outcome, calls.reason.code, len(calls.steps)) == ("budget", "max_image_calls", 2)
    paid = {"provider": "test", "id": "paste", "params": {"cost": 0.5}}
    spec = direct_system(references=window(size=1, stride=1), backend=paid)
    dollars, _, _ = run(spec, case, purse(tmp_path, case_usd=1))
    assert (dollars.outcome, dollars.reason.code, len(dollars.steps)) == ("budget", "max_usd_per_case", 2)


def test_a_reference_changed_since_the_release_was_opened_is_a_fault(tmp_path):
    case = make_case(tmp_path)
    case.references[2].file.write_bytes(case.references[0].file.read_bytes())
    with pytest.raises(DataError, match="ref_03"):
        run(direct_system(), case)


def test_the_agent_gets_ids_and_tools_and_its_picture_is_traced_to_references(tmp_path):
    case = make_case(tmp_path)
    draft, backend, agent = run(native_system(), case)
    assert [entry.id for entry in agent.turns[0].inventory] == ["back", "ref_01", "ref_02", "ref_03", "ref_04"]
    assert agent.turns[0].prompt == case.prompt
    results = agent.turns[-1].results
    assert [result.ok for result in results] == [True] * 6
    assert results[1].images[0].data == case.references[0].file.read_bytes()
    assert results[2].value == {"id": "crop_1", "reference": "ref_02", "box": [0.0, 0.0, 0.5, 0.5]}
    assert (results[2].images[0].width, results[2].images[0].height) == (24, 16)
    first, second = backend.requests
    assert [image.role for image in first.images] == ["background", "reference", "reference"]
    assert [image.role for image in second.images] == ["carried", "reference"]
    assert second.prompt == f"{KEEP} B"
    assert results[5].images[0].data == draft.image
    assert draft.outcome == "image"
    assert draft.opened == ["ref_01", "ref_02"]
    assert draft.sent == ["back", "ref_01", "ref_02", "ref_03"]
    sources = [one["source_sha256"] for one in draft.scene["objects"]]
    assert sources == [case.background.sha256, *(reference.sha256 for reference in case.references[:3])]
    assert draft.scene["objects"][2]["source_box"] == [0.0, 0.0, 0.5, 0.5]
    assert (draft.agent_calls, draft.image_calls) == (7, 2)


def test_bad_calls_come_back_as_errors_and_reach_nothing(tmp_path):
    (tmp_path / "secret.png").write_bytes(b"answers")
    backend = {"provider": "test", "id": "paste", "params": {"capacity": 3}}
    draft, requests, agent = run(native_system(script="clumsy", backend=backend), make_case(tmp_path / "case"))
    errors = [result.value["error"] for result in agent.turns[-1].results]
    assert [result.ok for result in agent.turns[-1].results] == [False] * 7
    assert "no tool 'shell'" in errors[0]
    assert "references: found str, expected a list of strings" in errors[1]
    assert "'../secret.png' is no id of this task" in errors[2]
    assert "0 <= x0 < x1 <= 1" in errors[3]
    assert "size: unknown argument" in errors[4]
    assert "would send 4 images (4 named); the image model takes 3" in errors[5]
    assert errors[6] == "Nothing is drawn yet."
    assert requests.requests == []
    assert (draft.outcome, draft.reason.code) == ("no_image", "finished_without_drawing")


def test_garbled_calls_are_errors_too(tmp_path):
    draft, backend, agent = run(native_system(script="garbled"), make_case(tmp_path))
    assert [result.ok for result in agent.turns[-1].results] == [False] * 7
    assert backend.requests == []
    assert (draft.outcome, draft.agent_calls) == ("no_image", 8)
    assert all("\ud800" not in line["text"] for line in draft.trace)


def test_an_agent_that_never_finishes_runs_out_of_turns(tmp_path):
    spec = native_system(script="tireless", harness={"kind": "native", "max_turns": 5})
    draft, _, agent = run(spec, make_case(tmp_path))
    assert (draft.outcome, draft.reason.code) == ("budget", "max_turns")
    assert [turn.turns_left for turn in agent.turns] == [5, 4, 3, 2, 1]


def test_an_agent_out_of_time_is_a_timeout(tmp_path):
    spec = native_system(script="tireless", harness={"kind": "native", "timeout_s": 1e-9})
    draft, _, _ = run(spec, make_case(tmp_path))
    assert (draft.outcome, draft.reason.code) == ("timeout", "timeout")


def test_image_calls_beyond_the_limit_are_refused_to_the_agent(tmp_path):
    draft, backend, agent = run(native_system(script="greedy", limits={"max_image_calls": 2}), make_case(tmp_path))
    assert len(backend.requests) == 2
    assert "All 2 image calls of this task are used" in agent.turns[-1].results[-1].value["error"]
    assert (draft.outcome, len(draft.steps)) == ("image", 2)


def test_an_agent_whose_model_refuses_is_blocked(tmp_path):
    draft, _, _ = run(native_system(script="refusing"), make_case(tmp_path))
    assert (draft.outcome, draft.reason.code) == ("blocked", "refusal")


def test_an_agent_that_fails_in_its_own_code_is_a_failed_candidate(tmp_path):
    backend, agent = PasteBackend(ModelChoice("test", "paste")), ScriptedAgent(ModelChoice("test", "refusing"))
    agent.script = []
    draft = HARNESSES["native"](make_case(tmp_path), native_system(), Models(backend, agent), SEED)
    assert (draft.outcome, draft.reason.code) == ("failed", "agent_exception")
    assert "IndexError" in draft.reason.raw


def test_an_agent_finishing_after_a_blocked_call_is_blocked(tmp_path):
    backend = {"provider": "test", "id": "paste", "params": {"at": 1, "how": "blocked"}}
    draft, _, _ = run(native_system(script="greedy", backend=backend, limits={"max_image_calls": 1}), make_case(tmp_path))
    assert (draft.outcome, draft.reason.code) == ("blocked", "IMAGE_SAFETY")


def test_the_transcript_has_hashes_and_no_bytes(tmp_path):
    draft, _, _ = run(native_system(), make_case(tmp_path))
    assert [line["n"] for line in draft.trace] == list(range(1, len(draft.trace) + 1))
    assert {line["actor"] for line in draft.trace} == {"agent", "tool", "harness", "backend"}
    assert all(len(digest) == 64 for line in draft.trace for digest in line["images"])
    assert draft.trace[0].keys() == {"n", "at", "actor", "kind", "name", "text", "images", "tokens", "ms"}


def test_imported_candidates_are_not_generated():
    spec = parse_system({"name": "s", "harness": {"kind": "imported"}, "backend": None})
    with pytest.raises(CallError, match="import-candidates"):
        harness_of(spec)
