"""A model's limits, checked before anything is sent: what does not fit is told with its number; nothing is shrunk or dropped."""

from dataclasses import replace

import pytest
from model_judge_fixtures import TODAY, encoded, job, noise
from PIL import Image

from longbanana_nb.judging.model_protocols import Unaskable
from longbanana_nb.judging.packets import packet
from longbanana_nb.providers.catalogue import resolve


def limited(given, **limits):
    return replace(given, model=replace(given.model, limits=_with(given.model.limits, limits)))


def _with(limits, changes):
    import msgspec

    return msgspec.structs.replace(limits, **changes)


def too_large(given, ids=("r1", "r2")):
    with pytest.raises(Unaskable) as caught:
        packet(given, ids)
    return caught.value.invalid, str(caught.value)


SOURCE = {"packet": {"transcode": {"name": "source"}}}


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        ({"images": 2}, "3 images; at most 2"),
        ({"side": 90}, "CANDIDATE is 96x64 pixels; at most 90 a side"),
        ({"many_images": 2, "many_side": 90}, "at most 90 a side where there are more than 2 images"),
        ({"pixels": 6000}, "at most 6,000 pixels"),
        ({"image_bytes": 5000}, "REFERENCE r1 has "),
        ({"request_bytes": 90_000}, "bytes with texts in one request; at most 90,000"),
    ],
)
def test_each_limit_is_checked_before_sending_with_the_number_and_the_limit(tmp_path, limits, found):
    reason, text = too_large(limited(job(tmp_path, profile=SOURCE), **limits))
    assert reason == "too_large"
    assert found in text


def test_twenty_images_may_be_larger_than_twenty_one(tmp_path):
    large = {f"x{n}": encoded(noise(n, 8, 8)) for n in range(20)} | {"candidate": encoded(Image.new("RGB", (2400, 10)), "JPEG")}
    given = job(tmp_path, pictures=large, profile={"packet": {"transcode": {"name": "source"}}})
    roomy = limited(given, unscaled_side=None, unscaled_tokens=None)
    ids = [f"x{n}" for n in range(20)]
    assert len(packet(roomy, ids[:19]).images) == 20
    assert "at most 2000 a side where there are more than 20 images" in too_large(roomy, ids)[1]


def test_base64_counts_and_not_the_raw_bytes(tmp_path):
    data = encoded(noise(1, 40, 40))
    given = job(tmp_path, pictures={"candidate": data}, profile=SOURCE)
    assert packet(limited(given, image_bytes=-(-len(data) // 3) * 4), ()).images
    assert too_large(limited(given, image_bytes=len(data)), ())[0] == "too_large"


def test_uploaded_pictures_do_not_count_towards_the_request(tmp_path):
    given = limited(job(tmp_path, profile=SOURCE | {"sending": {"images": "uploaded"}}), request_bytes=70_000)
    assert len(packet(given, ("r1", "r2")).images) == 3


def test_a_picture_the_provider_would_scale_down_is_refused_and_not_shrunk_in_silence(tmp_path):
    large = {"candidate": encoded(Image.new("RGB", (2000, 2000)), "JPEG")}
    version_1 = {"packet": {"transcode": {"name": "jpeg-q90-1568", "version": 1}}}
    reason, text = too_large(job(tmp_path, pictures=large, profile=version_1), ())
    assert (reason, "scale it down: choose a smaller transcode" in text) == ("too_large", True)
    assert packet(job(tmp_path, pictures=large), ()).images[0].picture.width == 1092


def test_a_type_the_model_does_not_take_is_refused(tmp_path):
    given = job(tmp_path, pictures={"r1": encoded(noise(1), "BMP")}, profile=SOURCE)
    reason, text = too_large(given, ("r1",))
    assert reason == "unanswerable"
    assert "image/bmp" in text
    assert packet(job(tmp_path, pictures={"r1": encoded(noise(1), "BMP")}), ("r1",)).images[1].picture.mime == "image/jpeg"


def test_what_is_unknown_of_a_model_is_not_checked(tmp_path):
    own = resolve("openai-compatible", "mine", base_url="http://127.0.0.1:1/v1", on=TODAY)
    large = {"candidate": encoded(Image.new("RGB", (9000, 10)), "JPEG")}
    assert packet(replace(job(tmp_path, pictures=large, profile=SOURCE), model=own), ()).images[0].picture.width == 9000
