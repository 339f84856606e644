"""The four floors are exactly what they say."""

from __future__ import annotations

import io

import pytest
from generation_fixtures import make_case
from PIL import Image

from longbanana_nb.generation.contracts import Models
from longbanana_nb.generation.harnesses import HARNESSES
from longbanana_nb.generation.lettering import MISSING, telling_words
from longbanana_nb.runs import floor_system


def draw(kind: str, case):
    return HARNESSES[kind](case, floor_system(kind), Models(), 1)


def opened(draft) -> Image.Image:
    return Image.open(io.BytesIO(draft.image))


def test_blank_is_one_mid_grey_square_for_every_case(tmp_path):
    one, other = draw("blank", make_case(tmp_path / "a", "a")), draw("blank", make_case(tmp_path / "b", "b"))
    assert one.image == other.image
    assert (opened(one).format, opened(one).size, opened(one).getcolors()) == (
        "PNG",
        (1024, 1024),
        [(1024 * 1024, (128, 128, 128))],
    )
    assert one.scene["objects"] == []
    assert one.scene["backdrop"] == {"colour": "grey"}
    assert one.sent == []


def test_single_reference_is_the_first_reference_untouched_and_not_the_background(tmp_path):
    case = make_case(tmp_path)
    draft = draw("single-reference", case)
    assert draft.image == case.references[0].file.read_bytes()
    assert draft.sent == ["ref_01"]
    assert [(one["source_sha256"], one["source_box"], one["box"]) for one in draft.scene["objects"]] == [
        (case.references[0].sha256, [0, 0, 1, 1], [0, 0, 1, 1])
    ]


def test_collage_shows_every_reference_in_order_where_its_scene_says(tmp_path):
    case = make_case(tmp_path, count=8)
    draft = draw("collage", case)
    sheet = opened(draft)
    assert (sheet.format, sheet.size) == ("JPEG", (1200, 400))  # six a row, two rows
    objects = draft.scene["objects"]
    assert [one["source_sha256"] for one in objects] == [reference.sha256 for reference in case.references]
    assert objects[0]["box"] == [0.0, pytest.approx(33 / 400), pytest.approx(200 / 1200, abs=1e-6), pytest.approx(166 / 400)]
    for one, reference in zip(objects, case.references, strict=True):
        x0, y0, x1, y1 = one["box"]
        middle = sheet.getpixel((int((x0 + x1) / 2 * 1200), int((y0 + y1) / 2 * 400)))
        with Image.open(reference.file) as source:
            expected = source.convert("RGB").getpixel((24, 16))
        assert all(abs(a - b) <= 6 for a, b in zip(middle, expected, strict=True))


def test_words_are_the_prompt_less_the_stop_list(tmp_path):
    prompt = 'Compose one square picture: A Quiet Shelf. Show the teapot lettered "NORA". Show the red teapot.'
    assert telling_words(prompt) == ["Quiet", "Shelf", "teapot", "lettered", "NORA", "red"]
    draft = draw("words", make_case(tmp_path, prompt=prompt))
    assert [word["text"] for word in draft.scene["words"]] == ["Quiet", "Shelf", "teapot", "lettered", "NORA", "red"]
    sheet = opened(draft).convert("L")
    for word in draft.scene["words"]:
        box = [round(edge * 1024) for edge in word["box"]]
        assert 0 <= box[0] < box[2] <= 1024
        assert sheet.crop(box).getextrema()[0] < 40  # there is ink in the box


@pytest.mark.parametrize(
    "prompt", ["", "the of and", "\u0000\ud800 \u200b", "x" * 5000, "Zeichne eine Äpfel-Schüssel; нарисуй грушу"]
)
def test_words_survives_any_prompt(tmp_path, prompt):
    draft = draw("words", make_case(tmp_path, prompt=prompt))
    assert opened(draft).size == (1024, 1024)


def test_words_says_which_characters_the_font_does_not_have(tmp_path):
    draft = draw("words", make_case(tmp_path, prompt="梨 pear"))
    assert [word["text"] for word in draft.scene["words"]] == [MISSING, "pear"]


def test_a_very_long_prompt_makes_a_taller_picture_and_loses_no_word(tmp_path):
    prompt = " ".join(f"word{n}" for n in range(3000))
    draft = draw("words", make_case(tmp_path, prompt=prompt))
    assert len(draft.scene["words"]) == 3000
    assert opened(draft).width == 1024
    assert opened(draft).height > 1024
    assert all(word["box"][3] <= 1 for word in draft.scene["words"])


def test_a_case_without_references_has_no_single_reference(tmp_path):
    draft = draw("single-reference", make_case(tmp_path, count=0))
    assert (draft.outcome, draft.image, draft.reason.code) == ("no_image", None, "no_references")


def test_floors_are_the_same_on_a_second_run(tmp_path):
    case = make_case(tmp_path, count=5)
    for kind in ("blank", "single-reference", "collage", "words"):
        assert draw(kind, case).image == draw(kind, case).image
