"""Finding drawn things on a backdrop, reading labels, cutting out, and telling a thing from one beyond recognition."""

import cv2
import numpy as np
import pytest

from longbanana_nb.vision import lettering, seeing
from longbanana_nb.vision.cutout import cut_out
from longbanana_nb.vision.finding import Finder
from longbanana_nb.vision.layout import iou

RED, BLUE, GREEN, WALL = (206, 52, 48), (50, 92, 204), (60, 150, 70), (226, 226, 222)
LABEL = (36, 88, 124, 120)


def canvas(side, colour=WALL):
    shade = np.linspace(1.0, 0.9, side)[:, None, None]
    return (np.full((side, side, 3), colour) * shade).astype(np.uint8)


def house(picture, colour):
    """A hut with a roof, a door and two windows, 160 pixels wide, at the left top of a picture."""
    cv2.fillPoly(picture, [np.array([[0, 70], [80, 0], [160, 70]])], tuple(int(v * 0.6) for v in colour))
    cv2.rectangle(picture, (16, 70), (144, 160), colour, -1)
    for x in (30, 104):
        cv2.rectangle(picture, (x, 84), (x + 26, 110), (240, 240, 190), -1)
    cv2.rectangle(picture, (66, 104), (94, 160), (70, 44, 30), -1)


def cup(picture, colour):
    """A cup with a handle and a dark band, 150 pixels wide."""
    cv2.ellipse(picture, (118, 80), (32, 36), 0, 0, 360, colour, 12)
    cv2.rectangle(picture, (0, 10), (112, 150), colour, -1)
    cv2.rectangle(picture, (0, 60), (112, 84), (40, 40, 44), -1)
    cv2.ellipse(picture, (56, 10), (56, 10), 0, 0, 360, (250, 250, 250), -1)


def photo(draw, colour):
    """A reference photo of one thing and its cut-out."""
    picture = canvas(320)
    region = np.ascontiguousarray(picture[80:250, 80:250])
    draw(region, colour)
    picture[80:250, 80:250] = region
    return cut_out(picture, (78 / 320, 78 / 320, 245 / 320, 245 / 320))


def pasted(picture, draw, colour, x, y, scale, angle):
    """Draw a thing turned and scaled on a picture; its box."""
    plate, mask = np.zeros((220, 220, 3), np.uint8), np.zeros((220, 220, 3), np.uint8)
    for target, paint in ((plate, colour), (mask, (255, 255, 255))):
        region = np.ascontiguousarray(target[25:195, 25:195])
        draw(region, paint)
        target[25:195, 25:195] = region
    shape = (mask.max(axis=2) > 0).astype(np.uint8)
    matrix = cv2.getRotationMatrix2D((110, 110), angle, scale)
    matrix[:, 2] += (x - 110, y - 110)
    size = picture.shape[1], picture.shape[0]
    moved = cv2.warpAffine(plate, matrix, size, flags=cv2.INTER_LINEAR)
    solid = cv2.warpAffine(shape, matrix, size) > 0
    picture[solid] = moved[solid]
    ys, xs = np.nonzero(solid)
    return float(xs.min()), float(ys.min()), float(xs.max() + 1), float(ys.max() + 1)


@pytest.fixture(scope="module")
def finder():
    return Finder([photo(house, RED), photo(cup, BLUE)])


@pytest.mark.parametrize(
    ("scale", "angle", "colour"),
    [(1.0, 0, RED), (0.6, 0, BLUE), (1.5, 4, GREEN), (1.0, 11, RED), (1.0, -11, BLUE)],
)
def test_a_turned_scaled_and_recoloured_thing_is_found_at_its_box(finder, scale, angle, colour):
    picture = canvas(768, (170, 200, 226))
    box = pasted(picture, house, colour, 330, 410, scale, angle)
    found = [pose for pose in finder.find(picture) if pose.score > 0.6]
    assert [pose.kind for pose in found] == [0]
    assert iou(found[0].box, box) > 0.75


def test_two_kinds_are_told_apart_and_every_instance_is_found(finder):
    picture = canvas(768)
    boxes = [pasted(picture, cup, RED, 160 + 220 * n, 200, 0.9, 3 * n) for n in range(3)]
    pasted(picture, house, BLUE, 400, 560, 1.2, 0)
    found = [pose for pose in finder.find(picture) if pose.score > 0.6]
    assert sorted(pose.kind for pose in found) == [0, 1, 1, 1]
    assert all(any(iou(pose.box, box) > 0.7 for pose in found if pose.kind == 1) for box in boxes)


def test_a_kind_that_is_not_there_is_not_found(finder):
    picture = canvas(768)
    pasted(picture, cup, BLUE, 380, 380, 1.3, 0)
    assert not [pose for pose in finder.find(picture) if pose.kind == 0 and pose.score > 0.55]
    assert finder.find(np.full((512, 512, 3), 128, dtype=np.uint8)) == []


def test_a_thing_partly_behind_another_is_found(finder):
    picture = canvas(768)
    box = pasted(picture, house, RED, 330, 400, 1.5, 0)
    pasted(picture, cup, BLUE, 440, 440, 1.0, 0)
    houses = [pose for pose in finder.find(picture) if pose.kind == 0 and pose.score > 0.6]
    assert len(houses) == 1 and iou(houses[0].box, box) > 0.6


def test_a_melted_thing_is_not_that_thing(finder):
    picture = canvas(768)
    pasted(picture, house, RED, 380, 380, 1.3, 0)
    x, y = np.meshgrid(np.arange(768, dtype=np.float32), np.arange(768, dtype=np.float32))
    waves = 26 * np.sin(y / 19), 26 * np.sin(x / 17)
    melted = cv2.GaussianBlur(cv2.remap(picture, x + waves[0], y + waves[1], cv2.INTER_LINEAR), (0, 0), 5)
    assert not [pose for pose in finder.find(melted) if pose.score > 0.55]


def test_a_cut_out_holds_the_thing_and_not_its_backdrop():
    cutout = photo(house, RED)
    red = (cutout.pixels[..., 0] > 150) & (cutout.pixels[..., 1] < 110)
    wall = np.abs(cutout.pixels.astype(int) - np.array(WALL)).max(axis=2) < 26
    assert cutout.mask[red].mean() > 0.95 and cutout.mask[wall].mean() < 0.06
    assert cut_out(canvas(320), (0.3, 0.3, 0.7, 0.7)) is None


def lettered(text, height, side=640):
    picture = canvas(side, (120, 170, 210))
    x0, y0, wide, high = 200, 300, round(5.2 * height), round(2.1 * height)
    cv2.rectangle(picture, (x0, y0), (x0 + wide, y0 + high), (252, 252, 250), -1)
    size = height / 22.0
    (w, h), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, size, max(1, round(height / 8)))
    place = (x0 + (wide - w) // 2, y0 + (high + h) // 2)
    cv2.putText(picture, text, place, cv2.FONT_HERSHEY_SIMPLEX, size, (24, 24, 28), max(1, round(height / 8)), cv2.LINE_AA)
    return picture


def test_lettering_is_read_with_the_height_of_its_capitals():
    (reading,) = lettering.read_picture(lettered("OMEN", 32))
    assert reading.text == "OMEN"
    assert reading.capitals_px == pytest.approx(32, rel=0.25)


def test_lettering_too_small_to_read_and_a_plain_picture_have_none():
    assert lettering.read_picture(lettered("OMEN", 5)) == []
    assert lettering.read_picture(np.full((512, 512, 3), 128, dtype=np.uint8)) == []


def test_only_a_pale_patch_with_dark_marks_is_lettered():
    label = lettered("OMEN", 32)[302:366, 202:365]
    assert seeing.is_lettered(label)
    assert not seeing.is_lettered(np.full((44, 120, 3), 250, dtype=np.uint8))
    assert not seeing.is_lettered(np.full((44, 120, 3), (60, 120, 200), dtype=np.uint8))
