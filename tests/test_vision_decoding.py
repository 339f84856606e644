"""Decoding: upright, sRGB, opaque, and every broken picture a fault with words."""

import io

import numpy as np
import pytest
from PIL import Image

from longbanana_nb.errors import DataError
from longbanana_nb.vision import decode


def encoded(image, form, **options):
    stream = io.BytesIO()
    image.save(stream, form, **options)
    return stream.getvalue()


def test_a_picture_on_its_side_is_set_upright():
    image = Image.new("RGB", (24, 16), "red")
    exif = Image.Exif()
    exif[0x0112] = 6
    picture = decode(encoded(image, "JPEG", exif=exif))
    assert (picture.width, picture.height) == (16, 24)
    assert picture.done == ("exif_orientation",)


def test_what_is_transparent_shows_mid_grey_and_not_what_it_hides():
    image = Image.new("RGBA", (2, 1), (255, 0, 0, 0))
    image.putpixel((1, 0), (0, 0, 255, 255))
    pixels = decode(encoded(image, "PNG")).pixels
    assert pixels.tolist() == [[[128, 128, 128], [0, 0, 255]]]


def test_sixteen_bit_grey_is_scaled_and_not_cut_off():
    image = Image.fromarray(np.array([[0, 25700, 65535]], dtype=np.uint16))
    assert decode(encoded(image, "PNG")).pixels[0, :, 0].tolist() == [0, 100, 255]


def test_a_palette_with_a_transparent_entry_keeps_its_transparency():
    image = Image.new("P", (2, 1))
    image.putpalette([255, 0, 0, 0, 255, 0])
    image.putpixel((1, 0), 1)
    pixels = decode(encoded(image, "PNG", transparency=0)).pixels
    assert pixels.tolist() == [[[128, 128, 128], [0, 255, 0]]]


def test_of_an_animation_the_first_frame_is_seen():
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("blue", "red")]
    picture = decode(encoded(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True))
    assert picture.pixels[0, 0].tolist() == [0, 0, 255]
    assert "first_frame" in picture.done


def test_cmyk_becomes_rgb():
    pixels = decode(encoded(Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "JPEG")).pixels
    assert pixels[0, 0, 0] > 200 and pixels[0, 0, 1] < 60


@pytest.mark.parametrize("cut", [0, 10, 200])
def test_a_truncated_picture_is_a_fault(cut):
    data = encoded(Image.effect_noise((64, 64), 90), "JPEG")
    with pytest.raises(DataError, match="cannot be decoded"):
        decode(data[:cut])


def test_a_picture_of_too_many_pixels_is_refused_before_it_is_unpacked():
    bomb = encoded(Image.new("1", (20000, 20000)), "PNG")
    with pytest.raises(DataError, match="at most 100000000 pixels"):
        decode(bomb)
