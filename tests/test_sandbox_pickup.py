"""What a program leaves is taken as from a stranger: links, pipes, devices, old, huge and broken files are refused by name."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest
from generation_fixtures import picture

from longbanana_nb.generation import Reason
from longbanana_nb.generation.sandbox import pick_up, pick_up_steps
from longbanana_nb.generation.sandbox.pickup import MOST_BYTES, MOST_STEPS, read_plain
from longbanana_nb.generation.sandbox.said import end_of


@pytest.fixture
def work(tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "checks.png").write_bytes(picture("black"))
    folder = tmp_path / "work"
    (folder / "out").mkdir(parents=True)
    return folder


def leave(work: Path, kind: str) -> None:
    """Leave something at out/picture.png."""
    place, secret = work / "out" / "picture.png", work.parent / "secret"
    if kind == "link to a secret":
        place.symlink_to(secret / "checks.png")
    elif kind == "relative link":
        place.symlink_to("../../secret/checks.png")
    elif kind == "link that leads nowhere":
        place.symlink_to("/nowhere")
    elif kind == "folder that is a link":
        (work / "out").rmdir()
        (work / "out").symlink_to(secret)
        (secret / "picture.png").write_bytes(picture("black"))
    elif kind == "folder":
        place.mkdir()
    elif kind == "file where the folder should be":
        (work / "out").rmdir()
        (work / "out").write_bytes(picture("red"))
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "socket":
        here = os.open(work / "out", os.O_RDONLY)
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(f"/proc/self/fd/{here}/picture.png")  # a socket's whole path may be too long for its address
        os.close(here)
    elif kind == "sparse and huge":
        with place.open("wb") as file:
            file.truncate(MOST_BYTES + 1)
    else:
        contents = {
            "empty": b"",
            "text": b"a picture, honestly",
            "cut off": picture("red")[:60],
            "tiny": picture("red", size=(2, 2)),
        }
        place.write_bytes(contents[kind])


REFUSED = {
    "link to a secret": "linked_picture",
    "relative link": "linked_picture",
    "link that leads nowhere": "linked_picture",
    "folder that is a link": "linked_picture",
    "folder": "not_a_file",
    "file where the folder should be": "not_a_file",
    "pipe": "not_a_file",
    "socket": "not_a_file",
    "sparse and huge": "too_many_bytes",
    "empty": "empty_image",
    "text": "undecodable_image",
    "cut off": "undecodable_image",
    "tiny": "too_small",
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_plain_fresh_picture_is_refused_by_name(work, kind):
    began = time.time()
    leave(work, kind)
    found = pick_up(work, "out/picture.png", began)
    assert isinstance(found, Reason)
    assert (found.code, found.where) == (REFUSED[kind], "out/picture.png")


def test_a_device_is_refused(tmp_path):
    found = pick_up(Path("/dev"), "null", 0.0)
    assert (found.code, found.raw) == ("not_a_file", "a device, not a plain file")


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
def test_a_plain_fresh_picture_is_taken_byte_for_byte_whatever_its_type(work, form):
    began = time.time()
    (work / "out" / "picture.png").write_bytes(picture("red", form))
    assert pick_up(work, "out/picture.png", began) == picture("red", form)


def test_a_picture_that_was_there_before_is_not_the_programs_even_with_its_time_changed(work):
    place = work / "out" / "picture.png"
    place.write_bytes(picture("red"))
    assert pick_up(work, "out/picture.png", time.time() + 1).code == "stale_picture"
    began = time.time() - 1
    os.utime(place, (0, 0))  # a copy that keeps the old time is fresh all the same
    assert pick_up(work, "out/picture.png", began) == picture("red")


def test_nothing_left_and_names_that_lead_out(work):
    assert pick_up(work, "out/picture.png", 0.0).code == "no_picture_left"
    assert pick_up(work, "elsewhere/picture.png", 0.0).code == "no_picture_left"
    assert pick_up(work, "../secret/checks.png", 0.0).code == "not_a_file"
    assert pick_up(work, str(work.parent / "secret" / "checks.png"), 0.0).code == "not_a_file"


def test_steps_come_in_the_order_of_their_numbers_and_strange_ones_are_named(work):
    steps = work / "steps"
    steps.mkdir()
    for name, colour in (("step10.png", "red"), ("step2.jpg", "green"), ("step1.png", "blue")):
        (steps / name).write_bytes(picture(colour, "JPEG" if name.endswith("jpg") else "PNG"))
    (steps / "notes.txt").write_text("not a picture by its name")
    (steps / "step3.png").symlink_to(work.parent / "secret" / "checks.png")
    taken, refused = pick_up_steps(work, "steps", 0.0)
    assert [name for name, _ in taken] == ["step1.png", "step2.jpg", "step10.png"]
    assert [(one.code, one.where) for one in refused] == [("linked_picture", "steps/step3.png")]


def test_of_very_many_steps_the_first_are_kept_and_it_is_said(work):
    (work / "steps").mkdir()
    for n in range(MOST_STEPS + 3):
        (work / "steps" / f"{n}.png").write_bytes(picture("red"))
    taken, refused = pick_up_steps(work, "steps", 0.0)
    assert (len(taken), [one.code for one in refused]) == (MOST_STEPS, ["too_many_steps"])


def test_steps_that_are_a_link_are_refused_and_none_is_no_fault(work):
    assert pick_up_steps(work, "steps", 0.0) == ([], [])
    (work / "steps").symlink_to(work.parent / "secret")
    taken, refused = pick_up_steps(work, "steps", 0.0)
    assert (taken, [one.code for one in refused]) == ([], ["linked_picture"])


def test_other_files_are_read_under_the_same_rules(work):
    (work / "usage.json").write_bytes(b"{}")
    (work / "link.json").symlink_to(work / "usage.json")
    assert read_plain(work, "usage.json", 0.0) == b"{}"
    assert read_plain(work, "usage.json", 0.0, most_bytes=1).code == "too_many_bytes"
    assert read_plain(work, "link.json", 0.0).code == "linked_picture"


def test_what_a_program_says_is_kept_without_keys_and_without_what_a_terminal_obeys():
    output = b"\x1b[2Jred\x07 " + "\u202eabc".encode() + b" \xff sk-ant-api03-abcdefghijklmnop hunter22\r\nlast"
    assert end_of(output, secrets=["hunter22", "abc"]) == "\\x1b[2Jred\\x07 \\u202eabc \ufffd [redacted] [redacted]\nlast"
    assert end_of(b"x" * 5000 + b"end", characters=10) == "xxxxxxxend"
