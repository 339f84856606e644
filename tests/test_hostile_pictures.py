"""Candidates as hostile or broken programs leave them: each is its own fault, and everything else is judged."""

import io
import struct
import zlib

import numpy as np
import pytest
from model_run_fixtures import KEY, dialect, judged, make_release, make_run, messages, profile
from PIL import Image
from provider_server import ProviderServer

from longbanana_nb.errors import Incomplete
from longbanana_nb.files import sha256_bytes
from longbanana_nb.runs import ImageFacts, Record, open_run, verdict_grid


def encoded(image, kind, **options):
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


RGB = Image.fromarray(np.random.default_rng(1).integers(0, 256, (64, 64, 3), dtype=np.uint8))
PNG = encoded(RGB, "PNG")


def with_text_bomb():
    """A small PNG whose comment unpacks to 200 MB."""
    body = b"Comment\0\1\0\0\0" + zlib.compress(b"A" * 200_000_000)
    chunk = b"iTXt" + body
    return PNG[:33] + struct.pack(">I", len(body)) + chunk + struct.pack(">I", zlib.crc32(chunk)) + PNG[33:]


READABLE = {
    "inks": encoded(RGB.convert("CMYK"), "JPEG"),
    "moving": encoded(RGB, "GIF", save_all=True, append_images=[RGB.rotate(90)] * 3),
    "16 bits": encoded(Image.fromarray(np.full((64, 64), 40000, np.uint16)), "PNG"),
    "a line": encoded(Image.new("RGB", (1, 9000)), "PNG"),
    "page behind it": PNG + b"<script>x</script>" * 1000,
    "broken EXIF": encoded(RGB, "JPEG", exif=b"Exif\0\0garbage"),
}
BROKEN = {
    "text bomb": with_text_bomb(),
    "half": encoded(RGB, "JPEG")[:900],
    "vector": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
}


def run_with(tmp_path, data):
    """A run of two systems; the candidate of `other` has these bytes."""
    release = make_release(tmp_path / "release", cases=1, checks=2)
    run = make_run(tmp_path / "run", release)
    with run.owner():
        facts = ImageFacts("image.png", sha256_bytes(data), "0" * 64, len(data), "png", 64, 64)
        record = Record(system="other", system_sha256="2" * 64, case_id="case_0", sample=0, outcome="image", image=facts)
        run.candidate("other", "case_0").save(record, data)
    return run, release


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


@pytest.mark.parametrize("data", READABLE.values(), ids=READABLE)
def test_what_can_be_decoded_is_sent_as_the_transcode_says(tmp_path, data):
    run, release = run_with(tmp_path, data)
    with ProviderServer(dialect()) as server:
        assert judged(run, release, profile(server)).valid == 4
        sent = [block for body in messages(server) for block in body["messages"][0]["content"] if block["type"] == "image"]
    assert {block["source"]["media_type"] for block in sent} == {"image/jpeg"}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_decoded_is_named_and_the_others_are_judged(tmp_path, data):
    run, release = run_with(tmp_path, data)
    with ProviderServer(dialect()) as server, pytest.raises(Incomplete, match="system 'other', case 'case_0'"):
        judged(run, release, profile(server))
    grid = verdict_grid(open_run(run.path))
    assert dict(grid.groupby("system")["state"].agg(lambda states: "/".join(sorted(set(states))))) == {
        "mine": "valid",
        "other": "not_asked",
    }
