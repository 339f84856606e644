"""What image bytes really are, and how seeds and scenes are derived."""

from __future__ import annotations

import io

import numpy as np
import pytest
from generation_fixtures import COLOURS, picture
from PIL import Image

from longbanana_nb.generation import generate_run
from longbanana_nb.generation.images import NotAPictureError, examine, upright
from longbanana_nb.generation.scenes import Origins, new_scene, pasted, place, traced
from longbanana_nb.generation.seeds import call_seed, case_seed
from longbanana_nb.image_formats import EXTENSIONS, MAX_PIXELS, READ
from longbanana_nb.release import load_release, validate_release, write_release
from longbanana_nb.reporting import shown
from longbanana_nb.runs import create_run, floor_system
from longbanana_nb.vision import decoding


@pytest.mark.parametrize(
    ("form", "name", "extension"),
    [
        *[("JPEG", "jpeg", ".jpg"), ("PNG", "png", ".png"), ("WEBP", "webp", ".webp"), ("GIF", "gif", ".gif")],
        *[("BMP", "bmp", ".bmp"), ("TIFF", "tiff", ".tif"), ("AVIF", "avif", ".avif")],
    ],
)
def test_the_type_comes_from_the_bytes(form, name, extension):
    facts = examine(picture("red", form, (64, 48)))
    assert (facts.format, facts.extension, facts.width, facts.height) == (name, extension, 64, 48)


def test_a_sideways_photograph_is_measured_upright():
    image = Image.new("RGB", (24, 16), "red")
    exif = Image.Exif()
    exif[0x0112] = 6
    out = io.BytesIO()
    image.save(out, "JPEG", exif=exif)
    facts = examine(out.getvalue())
    assert (facts.width, facts.height) == (16, 24)


def test_equal_pixels_have_one_pixel_hash_whatever_the_file():
    loose, tight = io.BytesIO(), io.BytesIO()
    image = Image.effect_mandelbrot((64, 64), (-2, -1.5, 1, 1.5), 40).convert("RGB")
    image.save(loose, "PNG", compress_level=0)
    image.save(tight, "PNG", compress_level=9)
    assert loose.getvalue() != tight.getvalue()
    assert examine(loose.getvalue()).pixel_sha256 == examine(tight.getvalue()).pixel_sha256
    assert examine(picture("red", size=(32, 64))).pixel_sha256 != examine(picture("red", size=(64, 32))).pixel_sha256


def floats(low: float, high: float) -> bytes:
    """A TIFF of floating point: its left half `low`, its right half `high`."""
    values = np.full((32, 48), low, np.float32)
    values[:, 24:] = high
    out = io.BytesIO()
    Image.fromarray(values).save(out, "TIFF")
    return out.getvalue()


def test_wide_values_are_shown_as_the_grey_they_mean():
    wide = io.BytesIO()
    Image.fromarray(np.array([[0, 65535]], np.uint16).repeat(16, 0).repeat(8, 1)).save(wide, "PNG")
    for data in (floats(0.0, 1.0), wide.getvalue()):
        grey = upright(data).convert("RGB")
        assert grey.getpixel((0, 0)) == (0, 0, 0)
        assert grey.getpixel((grey.width - 1, 0)) == (255, 255, 255)


def test_everything_reads_the_same_formats():
    assert decoding.FORMATS == shown.FORMATS == READ
    assert decoding.MAX_PIXELS == MAX_PIXELS


@pytest.mark.parametrize("form", READ)
def test_what_validates_can_be_generated_from(tmp_path, form):
    images = {f"public/images/{n}{EXTENSIONS[form][0]}": picture(colour, form, (64, 64)) for n, colour in enumerate(COLOURS[:4])}
    listed = [{"id": f"r{n}", "path": path} for n, path in enumerate(images)]
    task = {"case_id": "007", "category": "SCC", "prompt": "Draw.", "references": listed}
    manifest = write_release(
        tmp_path / "release", name="one", revision="r1", license="CC0-1.0", tasks=[task], checks=[], extra_files=images
    )
    found = validate_release(manifest)
    assert found.ok and not [one for one in found.warnings if one.code == "type"]
    release = load_release(manifest)
    run = create_run(tmp_path / "run", release)
    floors = [floor_system(kind) for kind in ("single-reference", "collage")]
    assert generate_run(run, release, floors, backends={}, agents={}, workers=1).made == 2
    assert run.candidate("single-reference", "007").image.suffix == EXTENSIONS[form][0]
    with Image.open(run.candidate("collage", "007").image) as sheet:
        sizes = [count for count, _ in sheet.convert("RGB").quantize(8).getcolors()]
    assert len([count for count in sizes if count > 10_000]) >= 4  # four colours were pasted


def bomb() -> bytes:
    out = io.BytesIO()
    Image.new("1", (20000, 20000)).save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty_image"),
        (b"I cannot draw this.", "undecodable_image"),
        (picture("red", "PNG", (640, 480))[:300], "undecodable_image"),
        (picture("red", "JPEG", (640, 480))[:2000], "undecodable_image"),
        (picture("red", "PPM"), "undecodable_image"),
        (picture("red", "EPS"), "undecodable_image"),  # its reader would run a program
        (floats(0.0, 2.0), "undecodable_image"),
        (picture("red", "PNG", (15, 400)), "too_small"),
        (bomb(), "too_many_pixels"),
    ],
    ids=["empty", "text", "half-png", "half-jpeg", "ppm", "eps", "floats", "small", "bomb"],
)
def test_what_is_no_candidate_is_named(data, code):
    with pytest.raises(NotAPictureError) as caught:
        examine(data)
    assert caught.value.code == code


def test_seeds_depend_on_case_sample_and_call_and_on_nothing_else():
    assert case_seed("007", 0) == case_seed("007", 0)
    assert len({case_seed("007", 0), case_seed("7", 0), case_seed("007", 1)}) == 3
    assert len({call_seed(5, call) for call in range(1, 50)}) == 49
    assert 0 <= case_seed("007", 0) < 2**31


def test_a_box_is_carried_through_a_paste():
    paste = {"source_box": [0.0, 0.0, 0.5, 1.0], "box": [0.5, 0.0, 1.0, 1.0], "flipped": False}
    assert place([0.0, 0.0, 0.25, 0.5], paste) == (0.5, 0.0, 0.75, 0.5)
    assert place([0.0, 0.0, 0.25, 0.5], {**paste, "flipped": True}) == (0.75, 0.0, 1.0, 0.5)


def test_a_crop_is_put_down_to_its_reference():
    origins = Origins({"ref"}, {"crop": ("ref", (0.5, 0.0, 1.0, 0.5))})
    scene = new_scene(10, 10, None)
    scene["objects"] = [{**pasted("crop", [0, 0, 1, 1]), "source_box": [0.0, 0.0, 0.5, 1.0]}]
    found = traced(scene, "f" * 64, origins)
    assert found["objects"][0]["source_sha256"] == "ref"
    assert found["objects"][0]["source_box"] == [0.5, 0.0, 0.75, 0.5]
    assert found["complete"] is True


def test_a_carried_picture_is_opened_into_what_it_showed():
    earlier = new_scene(10, 10, None)
    earlier["objects"] = [pasted("ref", [0.0, 0.0, 0.5, 1.0]), pasted("ref2", [0.5, 0.0, 1.0, 1.0])]
    earlier["objects"][0]["drift"] = 0.5
    earlier["words"] = [{"text": "NORA", "box": [0.0, 0.0, 0.5, 0.5]}]
    scene = new_scene(10, 10, None)
    scene["objects"] = [{**pasted("earlier", [0.0, 0.0, 0.5, 0.5]), "source_box": [0.0, 0.0, 0.5, 1.0], "drift": 0.5}]
    found = traced(scene, "f" * 64, Origins({"ref", "ref2"}, {}, {"earlier": earlier}))
    assert [one["source_sha256"] for one in found["objects"]] == ["ref"]  # the other half was cut away
    assert found["objects"][0]["box"] == [0.0, 0.0, 0.5, 0.5]
    assert found["objects"][0]["drift"] == 0.75
    assert found["words"] == [{"text": "NORA", "box": [0.0, 0.0, 0.5, 0.25]}]
    assert found["complete"] is True


def test_pixels_of_unknown_origin_make_a_scene_incomplete():
    scene = new_scene(10, 10, None)
    scene["objects"] = [pasted("nobody knows", [0, 0, 1, 1])]
    assert traced(scene, "f" * 64, Origins({"ref"}))["complete"] is False
