"""Which picture an agent sent to its model: known by bytes, by pixels, by looks, or not at all, and never guessed."""

import base64
import io

import pytest
from gateway_fixtures import DIALECTS, door, permit, provider
from generation_fixtures import picture
from PIL import Image, ImageDraw
from provider_server.scripted_agent import picture_part, request_body

from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation.gateway import Gateway
from longbanana_nb.release import Case, Reference


def drawn(n, size=(900, 700)):
    """A picture with shapes of its own."""
    sheet = Image.new("RGB", size, (200, 210 - 3 * n, 180 + 5 * n))
    pen = ImageDraw.Draw(sheet)
    for k in range(8):
        x, y = (137 * (k + 1) * (n + 2)) % 760, (211 * (k + 3) * (n + 1)) % 560
        pen.ellipse((x, y, x + 130, y + 110), fill=((83 * k + 40 * n) % 256, (29 * k * n) % 256, (200 - 20 * k) % 256))
    return sheet


def encoded(sheet, form="JPEG", **more):
    out = io.BytesIO()
    sheet.save(out, form, **more)
    return out.getvalue()


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """Six references, of which the last two differ by one small mark alone."""
    folder = tmp_path_factory.mktemp("pictures")
    sheets = [drawn(n) for n in range(5)]
    marked = sheets[4].copy()
    ImageDraw.Draw(marked).text((20, 20), "12", fill="black")
    references = []
    for n, sheet in enumerate([*sheets, marked]):
        file = folder / f"r{n}.jpg"
        file.write_bytes(encoded(sheet, quality=92))
        references.append(Reference(f"r{n}", f"public/{file.name}", sha256_bytes(file.read_bytes()), file, "reference"))
    return Case("c", "RGC", "Draw a pear.", tuple(references), None)


@pytest.fixture
def one(case, tmp_path):
    with provider() as server, Gateway() as gateway:
        wanted = permit(tmp_path, "anthropic-messages", f"{server.url}/s/no_image", case=case)
        with door(gateway, wanted) as opened:
            yield opened


def shown(one, *pictures):
    """Send pictures to the model; what the gateway saw since."""
    before = len(one.gate.seen)
    parts = [picture_part(one.dialect, data) for data in pictures]
    assert one.post(request_body(one.dialect, one.gate.permit.model.id, *parts)).status_code == 200
    return [(seen.match, seen.id) for seen in one.gate.seen[before:]]


def original(case, n):
    return case.references[n].file.read_bytes()


def test_the_releases_own_bytes_are_exact(one, case):
    assert shown(one, original(case, 0), original(case, 5)) == [("exact", "r0"), ("exact", "r5")]
    assert shown(one, original(case, 0)) == [], "each counts once"
    assert one.gate.opened == ["r0", "r5"]
    assert one.gate.never_opened == ["r1", "r2", "r3", "r4"]
    assert one.gate.resized == []


def test_other_bytes_of_the_same_pixels(one, case):
    with Image.open(io.BytesIO(original(case, 1))) as opened:
        changed = opened.copy()
        changed.putpixel((5, 5), (1, 2, 3))
        assert shown(one, encoded(opened, "PNG"), encoded(changed, "PNG")) == [("same_pixels", "r1"), ("resized", "r1")]


@pytest.mark.parametrize(("edge", "quality"), [(768, 85), (400, 70), (180, 60)])
def test_a_reference_made_smaller_and_compressed_anew(one, case, edge, quality):
    with Image.open(io.BytesIO(original(case, 2))) as opened:
        smaller = opened.copy()
    smaller.thumbnail((edge, edge))
    assert shown(one, encoded(smaller, quality=quality)) == [("resized", "r2")]
    assert (one.gate.opened, one.gate.resized) == (["r2"], ["r2"])
    (line,) = [line for line in one.gate.transcript if line["kind"] == "picture"]
    assert line["images"] == [one.gate.seen[0].sha256]


def test_which_of_two_that_are_nearly_the_same_is_not_guessed(one, case):
    with Image.open(io.BytesIO(original(case, 5))) as opened:
        smaller = opened.resize((300, 233))
    assert shown(one, encoded(smaller, quality=60)) == [("unknown", None)]
    assert one.gate.opened == []


def test_pictures_that_are_not_of_the_case_are_unknown(one, case):
    with Image.open(io.BytesIO(original(case, 3))) as opened:
        part = opened.crop((0, 0, 400, 300))
        stretched = opened.resize((900, 300))
    other = drawn(11)
    assert (
        shown(one, encoded(part), encoded(stretched), encoded(other), picture("white"), b"\x89PNG no picture")
        == [("unknown", None)] * 5
    )
    assert one.gate.opened == []


def test_what_was_drawn_and_cut_here_is_known(one, case):
    made = one.post({"prompt": "A", "references": ["r0"], "keep_current": False}, "/tool/generate").json()
    assert made["value"]["outcome"] == "image"
    current = one.gate.current.image
    cut = one.post({"reference": "r3", "box": [0.1, 0.1, 0.5, 0.5]}, "/tool/crop").json()
    crop = base64.b64decode(cut["images"][0]["data"])
    with Image.open(io.BytesIO(current)) as opened:
        smaller = opened.resize((64, 64))
    assert shown(one, current, crop, encoded(smaller, "PNG")) == [
        ("picture", "picture_1"),
        ("crop", "r3"),
        ("picture", "picture_1"),
    ]
    events = one.gate.permit.workspace.notes.events
    assert [event.picture for event in events if event.kind == "looked"] == [1, 1]


def test_a_picture_is_seen_through_a_tools_result_in_every_dialect(case, tmp_path):
    data = original(case, 0)
    with provider() as server, Gateway() as gateway:
        for dialect in DIALECTS:
            part = picture_part(dialect, data, "image/jpeg")
            with door(gateway, permit(tmp_path / dialect, dialect, f"{server.url}/s/no_image", case=case)) as one:
                body = request_body(dialect, one.gate.permit.model.id)
                body["input" if dialect == "openai-responses" else "messages"] += {
                    "anthropic-messages": [
                        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Read", "input": {}}]},
                        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [part]}]},
                    ],
                    "openai-chat": [{"role": "tool", "tool_call_id": "t", "content": [part]}],
                    "openai-responses": [{"type": "function_call_output", "call_id": "t", "output": [part]}],
                }[dialect]
                assert one.post(body).status_code == 200
                assert one.gate.opened == ["r0"], dialect
                (line,) = [line for line in one.gate.transcript if line["kind"] == "tool_result"]
                assert line["images"] == [case.references[0].sha256]
                before = len(one.gate.transcript)
                one.post(body)
                assert len(one.gate.transcript) == before + 1, "what is said again is not written again"
