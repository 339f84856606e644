"""What workflows leave: read strictly, counted by what happened, kept beside the record."""

import json

import pytest

from longbanana_nb.errors import CallError
from longbanana_nb.generation.workflows.artefacts import (
    MOST_BYTES,
    PARTS,
    BadArtefactError,
    as_bytes,
    parts_of,
    read_artefact,
    schema_of,
)
from longbanana_nb.generation.workflows.compliance import Event, Left, counted, kept
from longbanana_nb.generation.workflows.instructions import FOLDER, instruction, text, versions

IDS = ["bg", "ref_01", "ref_02", "ref_03"]
EVIDENCE = {"findings": [{"demand": "the cup", "references": ["ref_01"], "seen": "a red cup"}], "unclear": []}
PLAN = {"stages": [{"draws": "all", "references": ["bg", "ref_01"]}, {"draws": "the cup", "references": ["ref_02"]}]}
MISS = {"demand": "two cups", "seen": "one cup", "repair": "add one"}
REVIEW = {"rounds": [{"picture": 1, "satisfied": [], "unsatisfied": [MISS]}, {"satisfied": ["two cups"], "unsatisfied": []}]}
CHOICE = {"attempts": [{"picture": 1, "seen": "a"}, {"picture": 2, "seen": "b"}], "chosen": 2, "why": "b is right"}
GOOD = {"evidence": EVIDENCE, "plan": PLAN, "review": REVIEW, "choice": CHOICE}


def data(value):
    return json.dumps(value).encode()


@pytest.mark.parametrize("part", PARTS)
def test_a_good_artefact_is_read_and_written_back_the_same(part):
    read = read_artefact(part, data(GOOD[part]), IDS)
    assert read_artefact(part, as_bytes(read), IDS) == read


@pytest.mark.parametrize(
    ("part", "content", "told"),
    [
        ("evidence", b"", "Expecting value"),
        ("evidence", b"\xff{}", "not UTF-8"),
        ("evidence", b'{"findings": [], "findings": []}', "occurs twice"),
        ("evidence", data({"findings": []}), "length >= 1"),
        ("evidence", data({**EVIDENCE, "score": 100}), "unknown field `score`"),
        ("evidence", data({"findings": [{**EVIDENCE["findings"][0], "references": ["ref_99"]}]}), "ref_99"),
        ("evidence", data({"findings": [{**EVIDENCE["findings"][0], "box": [0.5, 0, 0.5, 1]}]}), "x0 < x1"),
        ("evidence", data({"findings": [{**EVIDENCE["findings"][0], "seen": "x" * 2001}]}), "length <= 2000"),
        ("plan", data({"stages": [{"draws": "all", "references": "ref_01"}]}), "array"),
        ("review", data({"rounds": [{"satisfied": ["all"]}]}), "unsatisfied"),
        ("review", data([]), "object"),
        ("choice", data({**CHOICE, "chosen": 3}), "picture 3"),
        ("choice", data({**CHOICE, "chosen": True}), "int"),
        ("plan", b" " * (MOST_BYTES + 1), "at most 65,536"),
        ("plan", b"[" * 60_000, "nested too deeply"),
    ],
)
def test_a_bad_artefact_is_refused_with_what_is_wrong(part, content, told):
    with pytest.raises(BadArtefactError, match=told):
        read_artefact(part, content, IDS)


def test_each_workflow_leaves_its_parts_and_no_others():
    assert [parts_of(name) for name in ("minimal", "react", "plan-exec", "reflect")] == [
        (),
        ("evidence",),
        ("plan",),
        ("review",),
    ]
    assert parts_of("rpr") == ("evidence", "plan", "review")
    assert parts_of("minimal", 4) == ("choice",)


OPENED, DRAWN = Event("opened", ("ref_01",)), Event("drawn", ("bg", "ref_01"), 1)


def noted(part, *, valid=True):
    return Event("noted", (part,), valid=valid)


@pytest.mark.parametrize(
    ("events", "timely", "followed"),
    [
        ([OPENED, noted("evidence"), DRAWN], True, True),
        ([OPENED, DRAWN, noted("evidence")], False, True),
        ([noted("evidence"), OPENED, DRAWN], False, False),
        ([Event("opened", ("ref_02",)), noted("evidence"), DRAWN], True, False),
        ([OPENED, noted("evidence", valid=False), DRAWN, noted("evidence")], False, True),
    ],
)
def test_evidence_counts_before_drawing_and_for_what_was_opened(events, timely, followed):
    facts = counted("react", Left({"evidence": data(EVIDENCE)}, events), IDS).evidence
    assert (facts.present, facts.valid, facts.timely, facts.followed) == (True, True, timely, followed)


def test_a_plan_is_followed_when_the_first_calls_are_its_stages():
    second, other = Event("drawn", ("ref_02",), 2), Event("drawn", ("ref_03",), 2)
    left = [Left({"plan": data(PLAN)}, [noted("plan"), DRAWN, last]) for last in (second, other)]
    assert [counted("plan-exec", one, IDS).plan.followed for one in left] == [True, False]
    late = Left({"plan": data(PLAN)}, [DRAWN, noted("plan"), second])
    assert counted("plan-exec", late, IDS).plan.timely is False


def test_a_review_counts_after_looking_and_wants_a_repair():
    looked, repaired = Event("looked", picture=1), Event("drawn", ("ref_02",), 2)
    done = [DRAWN, looked, noted("review"), repaired, Event("looked", picture=2), noted("review")]
    facts = counted("reflect", Left({"review": data(REVIEW)}, done), IDS)
    assert (facts.rounds, facts.review.timely, facts.review.followed) == (2, True, True)
    unseen = counted("reflect", Left({"review": data(REVIEW)}, [DRAWN, noted("review")], image_calls_left=3), IDS).review
    assert (unseen.timely, unseen.followed) == (False, False)
    spent = counted("reflect", Left({"review": data(REVIEW)}, [DRAWN, looked, noted("review")]), IDS).review
    assert (spent.timely, spent.followed) == (True, True)


def test_a_choice_counts_when_its_pictures_were_seen_and_it_is_the_candidate():
    second = Event("drawn", (), 2)
    seen = [DRAWN, Event("looked", picture=1), second, Event("looked", picture=2), noted("choice")]
    taken = Left({"choice": data(CHOICE)}, seen, candidate=2)
    facts = counted("minimal", taken, IDS, best_of=2)
    assert (facts.choice.timely, facts.choice.followed, facts.evidence) == (True, True, None)
    assert (
        counted("minimal", Left({"choice": data(CHOICE)}, seen, candidate=1, image_calls_left=1), IDS, 3).choice.timely is False
    )
    assert counted("minimal", Left({"choice": data(CHOICE)}, seen[2:], candidate=1), IDS, 2).choice.followed is False


def test_what_is_missing_or_unreadable_is_counted_so_and_kept_only_within_bounds():
    facts = counted("rpr", Left({"plan": b"{", "review": b" " * (MOST_BYTES + 1)}), IDS)
    assert (facts.evidence.present, facts.plan.present, facts.plan.valid, facts.plan.file) == (False, True, False, "plan.json")
    assert (facts.review.present, facts.review.file, facts.review.fault) == (True, None, "65,537 bytes; at most 65,536 are read")
    assert kept("rpr", Left({"plan": b"{", "review": b" " * (MOST_BYTES + 1), "choice": b"{}"})) == {"plan.json": b"{"}


def test_texts_have_versions_that_hash_their_words():
    assert {file.stem for file in FOLDER.glob("*.md")} >= {
        "minimal",
        "react",
        "plan-exec",
        "reflect",
        "rpr",
        "by-file",
        "best-of",
    }
    for file in FOLDER.glob("*.md"):
        assert text(file.stem).version.startswith(file.stem)
    told = instruction("rpr", "file")
    assert all(name in told for name in ("evidence.json", "plan.json", "review.json")) and "{" + "tools}" not in told
    assert "`note_evidence`" in instruction("react", "tool", tools=("note_evidence",))
    assert "Draw 4 separate" in instruction("minimal", "tool", best_of=4, tools=("choose",))
    assert set(versions("react", "tool")) == {"text react", "text by-tool"} != set(versions("react", "file"))
    with pytest.raises(CallError, match="no workflow text 'rpt'"):
        text("rpt")


@pytest.mark.parametrize("part", PARTS)
def test_tool_schemas_are_closed_and_without_references(part):
    schema = schema_of(part)
    assert schema["additionalProperties"] is False and "$ref" not in json.dumps(schema)


@pytest.mark.parametrize("part", ["evidence", "plan", "review", "choice"])
def test_the_example_in_the_text_for_files_is_a_good_artefact(part):
    example = next(line for line in text(f"file-{part}").text.splitlines() if line.startswith("{"))
    read_artefact(part, example.encode())
