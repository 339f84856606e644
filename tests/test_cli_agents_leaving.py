"""What is taken of an agent's folder: its answer, its artefacts; links and rubbish are not followed and not believed."""

import io
import json
import os
import time

import pytest
from PIL import Image

from longbanana_nb.generation.agents.leaving import Files, answer_left
from longbanana_nb.generation.contracts import Reason


def picture(colour="red", form="PNG"):
    out = io.BytesIO()
    Image.new("RGB", (64, 64), colour).save(out, form)
    return out.getvalue()


@pytest.fixture
def began():
    return time.time()


def test_no_answer_is_none_and_a_picture_is_its_bytes(tmp_path, began):
    assert answer_left(tmp_path, began) is None
    (tmp_path / "final.webp").write_bytes(picture(form="WEBP"))
    assert answer_left(tmp_path, began) == picture(form="WEBP")
    (tmp_path / "final.png").write_bytes(picture("blue"))
    assert answer_left(tmp_path, began) == picture("blue")


@pytest.mark.parametrize("kind", ["link", "text", "folder", "old", "pipe"])
def test_an_answer_that_cannot_be_taken_says_why_and_no_other_name_is_tried(tmp_path, began, kind):
    secret = tmp_path / "secret.png"
    secret.write_bytes(picture())
    final = tmp_path / "work" / "final.png"
    final.parent.mkdir()
    (final.parent / "final.jpg").write_bytes(picture(form="JPEG"))
    make = {
        "link": lambda: final.symlink_to(secret),
        "text": lambda: final.write_text("a picture of a cat"),
        "folder": final.mkdir,
        "old": lambda: final.write_bytes(picture()),
        "pipe": lambda: os.mkfifo(final),
    }
    make[kind]()
    found = answer_left(final.parent, began + 60 if kind == "old" else began)
    codes = {
        "link": "linked_picture",
        "text": "undecodable_image",
        "folder": "not_a_file",
        "old": "stale_picture",
        "pipe": "not_a_file",
    }
    assert isinstance(found, Reason)
    assert found.code == codes[kind]


IDS = {"ref_01": 1, "ref_02": 2}


def notes(workspace, began):
    return Files(workspace, ("evidence", "plan"), began)


def plan(reference):
    return json.dumps({"stages": [{"draws": "all", "references": [reference]}]})


def test_an_artefact_is_noted_when_its_bytes_are_new(tmp_path, began):
    watch = notes(tmp_path, began)
    assert watch.look(IDS) == []
    (tmp_path / "plan.json").write_text(plan("ref_01"))
    assert [(event.kind, event.names, event.valid) for event in watch.look(IDS)] == [("noted", ("plan",), True)]
    assert watch.look(IDS) == []
    (tmp_path / "plan.json").write_text(plan("ref_02"))
    assert len(watch.look(IDS)) == 1
    assert watch.contents == {"plan": plan("ref_02").encode()}


def test_an_artefact_that_names_no_reference_of_the_task_is_noted_as_invalid_and_kept(tmp_path, began):
    watch = notes(tmp_path, began)
    (tmp_path / "plan.json").write_text(plan("ref_99"))
    assert [event.valid for event in watch.look(IDS)] == [False]
    assert watch.contents["plan"] == plan("ref_99").encode()


def test_a_link_in_place_of_an_artefact_is_nothing(tmp_path, began):
    (tmp_path / "secret.json").write_text(plan("ref_01"))
    work = tmp_path / "work"
    work.mkdir()
    (work / "plan.json").symlink_to(tmp_path / "secret.json")
    watch = notes(work, began)
    assert watch.look(IDS) == []
    assert watch.contents == {}
