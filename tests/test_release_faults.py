"""Validation: each kind of fault is found, named with its place, and hides no other."""

from __future__ import annotations

import io
import json
import os
import struct
import unicodedata
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from release_fixtures import check, edit, picture, replace, rewrite, small_release, task

from longbanana_nb.errors import DataError
from longbanana_nb.release import load_release, validate_release

TASKS, CHECKS = "public/tasks.jsonl", "evaluation/checks.jsonl"
UNITS, PROBES, GRAPHS = "evaluation/check_units.jsonl", "evaluation/probes.jsonl", "privileged/graphs.jsonl"
IMAGE = "public/images/case_a/ref_02.jpg"


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    return small_release(tmp_path)


def codes(manifest: Path) -> list[str]:
    return [fault.code for fault in validate_release(manifest, evaluation=True).errors]


def put_image(manifest: Path, data: bytes) -> None:
    """Replace one reference's bytes and restate its hash wherever it is stated."""
    import hashlib

    replace(manifest, IMAGE, data)
    rewrite(manifest, TASKS, lambda records: records[0]["references"][1].update(sha256=hashlib.sha256(data).hexdigest()))


def test_a_sound_release_is_valid_and_counted(manifest: Path) -> None:
    report = validate_release(manifest, evaluation=True)
    assert (report.ok, report.errors) == (True, ())
    assert report.as_json()["counts"] == {"cases": 2, "references": 6, "backgrounds": 1, "checks": 3}
    assert {fault.code for fault in report.warnings} == {"shape"}


RECORD_FAULTS: list[tuple[str, Callable[[list[dict[str, Any]]], Any], str]] = [
    (TASKS, lambda r: r[1].update(case_id="case_a"), "duplicate"),
    (TASKS, lambda r: r[0].update(case_id=7), "field"),
    (TASKS, lambda r: r[0].update(case_id="  "), "field"),
    (TASKS, lambda r: r[1].update(case_id="CASE_A"), "case_id"),
    (TASKS, lambda r: r[0].update(case_id="x" * 201), "case_id"),
    (TASKS, lambda r: r[0].update(category="scc"), "category"),
    (TASKS, lambda r: r[0].pop("prompt"), "field"),
    (TASKS, lambda r: r[0].update(references={}), "field"),
    (TASKS, lambda r: r[0]["references"][0].update(id=1), "field"),
    (TASKS, lambda r: r[0]["references"][1].update(id="ref_01"), "duplicate"),
    (TASKS, lambda r: r[1]["background"].update(id="ref_01"), "duplicate"),
    (TASKS, lambda r: r[0]["references"][0].pop("sha256"), "hash"),
    (TASKS, lambda r: r[0]["references"][0].update(sha256="0" * 64), "hash"),
    (TASKS, lambda r: r[0]["references"].pop(), "count"),
    (TASKS, lambda r: r[0]["references"][0].update(path="/etc/hostname"), "path"),
    (TASKS, lambda r: r[0]["references"][0].update(path="../secret.png"), "path"),
    (TASKS, lambda r: r[0]["references"][0].update(path="C:/x.png"), "path"),
    (TASKS, lambda r: r[0]["references"][0].update(path="public\\a.png"), "path"),
    (TASKS, lambda r: r[0]["references"][0].update(path="public/./a.png"), "path"),
    (TASKS, lambda r: r[0]["references"][0].update(path="public//a.png"), "path"),
    (TASKS, lambda r: r[0]["references"][0].update(path="a.png\0"), "path"),
    (TASKS, lambda r: r[0]["references"][0].update(path=""), "path"),
    (TASKS, lambda r: r[0]["references"][0].update(path="public/images/case_a/REF_01.jpg"), "missing_file"),
    (TASKS, lambda r: r[0]["references"][0].update(path="public/images"), "missing_file"),
    (TASKS, lambda r: r[0]["references"][0].update(path="evaluation/checks.jsonl"), "room"),
    (CHECKS, lambda r: r[1].update(check_id="c1"), "duplicate"),
    (CHECKS, lambda r: r[0].update(check_id=1), "field"),
    (CHECKS, lambda r: r[0].update(case_id="case_c"), "unknown_case"),
    (CHECKS, lambda r: r[0].update(category="RGC"), "category_mismatch"),
    (CHECKS, lambda r: r[0].update(reference_ids=["ref_09"]), "unknown_reference"),
    (CHECKS, lambda r: r[0].update(reference_ids=[]), "binding"),
    (CHECKS, lambda r: r[0].update(reference_ids=[], candidate_only_reason=" "), "binding"),
    (CHECKS, lambda r: r[0].update(reference_ids="ref_01"), "field"),
    (CHECKS, lambda r: r[0].update(question=None), "field"),
    (CHECKS, lambda r: r[0].update(options=["good", "fair", "bad"]), "options"),
    (CHECKS, lambda r: r.append(check("case_b", "c9", "RGC")), "count"),
    (UNITS, lambda r: r[0].update(check_id="c7"), "unknown_check"),
    (UNITS, lambda r: r[0].update(dimension="Relational"), "unit"),
    (UNITS, lambda r: r[0].update(polarity="neutral"), "unit"),
    (UNITS, lambda r: r[0].update(dimensoin="x"), "unknown_key"),
    (UNITS, lambda r: r.append(dict(r[0])), "duplicate"),
    (PROBES, lambda r: r[0].update(check_id="c7"), "unknown_check"),
    (PROBES, lambda r: r[0]["probe"]["present"]["exemplar"].update(reference_id="ref_99"), "unknown_reference"),
    (PROBES, lambda r: r[0]["probe"]["present"]["exemplar"].update(box=[0, 0, 2, 1]), "probe"),
    (GRAPHS, lambda r: r[0].update(case_id="case_z"), "unknown_case"),
    (GRAPHS, lambda r: r.append(dict(r[0])), "duplicate"),
]


@pytest.mark.parametrize(("path", "change", "code"), RECORD_FAULTS)
def test_each_fault_of_a_record_is_named_with_its_line(
    manifest: Path, path: str, change: Callable[[list[dict[str, Any]]], Any], code: str
) -> None:
    rewrite(manifest, path, change)
    report = validate_release(manifest, evaluation=True)
    assert not report.ok
    assert code in [fault.code for fault in report.errors]
    assert all(fault.found and fault.expected and fault.fix for fault in report.errors)
    if code != "count":
        assert any(fault.code == code and fault.where.startswith(f"{path} line ") for fault in report.errors)


def test_all_faults_come_in_one_pass_and_load_raises_them_all(manifest: Path) -> None:
    rewrite(manifest, TASKS, lambda r: [r[0].update(prompt=""), r[1].update(category="XYZ")])
    rewrite(manifest, CHECKS, lambda r: r[2].update(reference_ids=["ref_8"]))
    (manifest.parent / IMAGE).write_bytes(b"")
    found = codes(manifest)
    assert {"field", "category", "hash", "empty_image", "bytes"} <= set(found)
    with pytest.raises(DataError) as caught:
        load_release(manifest)
    assert {"field", "category", "hash"} <= {fault.code for fault in caught.value.faults}


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'{"case_id": "a", "case_id": "b"}\n', "repeated_key"),
        (b'{"case_id": \n', "json"),
        (b'{"n": NaN}\n', "json"),
        (b"[1]\n", "json"),
        (b"[" * 100_000 + b"\n", "json"),
        (b'{"case_id": "caf\xe9"}\n', "encoding"),
        (b'{"case_id": "\\ud800"}\n', "encoding"),
        (b"\n\n", "count"),
    ],
)
def test_text_that_cannot_be_read_is_a_fault(manifest: Path, data: bytes, code: str) -> None:
    replace(manifest, TASKS, data)
    assert code in codes(manifest)


def test_a_byte_order_mark_windows_lines_and_blank_lines_are_read(manifest: Path) -> None:
    text = (manifest.parent / TASKS).read_bytes()
    replace(manifest, TASKS, b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n\r\n"))
    assert codes(manifest) == []
    assert list(load_release(manifest).cases) == ["case_a", "case_b"]


@pytest.mark.parametrize("case_id", ["007", "NA", "1e5", '猫, "quoted" 🐈', "a/b", "..", "null", "x y"])
def test_odd_ids_are_texts_like_any_other(tmp_path: Path, case_id: str) -> None:
    one = task("plain") | {"case_id": case_id}
    parts = {"checks": [check(case_id, "1e5")], "units": [], "probes": []}
    manifest = small_release(tmp_path, tasks=[one], **parts)
    assert codes(manifest) == []
    assert load_release(manifest).evaluation().checks[case_id][0].check_id == "1e5"


def test_what_is_no_manifest_is_reported(tmp_path: Path, manifest: Path) -> None:
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "bad.json").write_bytes(b"\xff\xfe")
    (tmp_path / "deep.json").write_text("[" * 200_000)
    os.mkfifo(tmp_path / "pipe.json")
    for name in ("list.json", "bad.json", "deep.json", "pipe.json", "none.json", "."):
        report = validate_release(tmp_path / name, evaluation=True)
        assert (report.ok, report.release, len(report.errors)) == (False, None, 1), name
        json.dumps(report.as_json())


def test_published_releases_have_exactly_32_references(tmp_path: Path) -> None:
    tasks = [task("a", references=32), task("b", references=31, background=True)]
    parts = {"checks": [check("a", "1"), check("b", "1")], "units": [], "probes": []}
    for name, expected in (("open_v1", ["references"]), ("open_v1p5", ["references"]), ("mine", [])):
        manifest = small_release(tmp_path, name, tasks=tasks, **parts)
        assert codes(manifest) == expected


def test_counts_of_the_manifest_are_not_believed(manifest: Path) -> None:
    edit(manifest, lambda m: m["counts"].update(cases=3, references=7, backgrounds=0, checks=4))
    assert codes(manifest) == ["count"] * 4
    assert [fault.code for fault in validate_release(manifest).errors] == ["count"] * 3


def test_links_that_lead_out_or_into_another_room_are_refused(manifest: Path, tmp_path: Path) -> None:
    file = manifest.parent / IMAGE
    (tmp_path / "outside.jpg").write_bytes(file.read_bytes())
    for target, expected in ((tmp_path / "outside.jpg", "link"), (manifest.parent / CHECKS, "link")):
        file.unlink()
        file.symlink_to(target)
        assert expected in codes(manifest)
    file.unlink()
    file.symlink_to("ref_01.jpg")
    assert "link" not in codes(manifest)


def test_a_pipe_in_place_of_an_image_is_no_trap(manifest: Path) -> None:
    (manifest.parent / IMAGE).unlink()
    os.mkfifo(manifest.parent / IMAGE)
    assert "missing_file" in codes(manifest)


def test_a_name_that_is_only_unicode_equal_is_taken_with_a_warning(tmp_path: Path) -> None:
    manifest = small_release(tmp_path, tasks=[task("caf\u00e9")], checks=[check("caf\u00e9", "c")], units=[], probes=[])
    folder = manifest.parent / "public" / "images"
    (folder / "caf\u00e9").rename(folder / unicodedata.normalize("NFD", "caf\u00e9"))
    report = validate_release(manifest, evaluation=True)
    assert report.ok
    assert "unicode_path" in [fault.code for fault in report.warnings]
    (folder / "cafe\u0301").rename(folder / "x")
    assert "missing_file" in codes(manifest)


def half(kind: str) -> bytes:
    stream = io.BytesIO()
    Image.effect_noise((200, 200), 90).save(stream, kind)
    return stream.getvalue()[: len(stream.getvalue()) // 2]


def huge_png(width: int, height: int) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    rows = zlib.compress(bytes((width // 8 + 1) * min(height, 100)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty_image"),
        (b"hello", "image"),
        (b"<svg xmlns='x'/>", "image"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "image"),
        (b"\0\0\0\x18ftypheic" + bytes(40), "image"),
        (half("JPEG"), "image"),
        (half("PNG"), "image"),
        (half("WEBP"), "image"),
        (huge_png(20_000, 20_000), "pixels"),
        (huge_png(10_001, 10_000), "pixels"),
    ],
)
def test_images_that_do_not_decode_under_the_cap_are_faults(manifest: Path, data: bytes, code: str) -> None:
    put_image(manifest, data)
    report = validate_release(manifest)
    assert [(fault.code, fault.case_id, fault.id) for fault in report.errors] == [(code, "case_a", "ref_02")]
    undecoded = validate_release(manifest, decode=False)
    assert undecoded.ok
    assert "not_decoded" in [fault.code for fault in undecoded.warnings]


def odd_images() -> dict[str, bytes]:
    stream: dict[str, io.BytesIO] = {name: io.BytesIO() for name in ("cmyk", "deep", "gif", "palette")}
    Image.new("CMYK", (9, 9)).save(stream["cmyk"], "JPEG")
    Image.new("I;16", (9, 9)).save(stream["deep"], "PNG")
    frames = [Image.new("L", (9, 9), n) for n in (1, 200)]
    frames[0].save(stream["gif"], "GIF", save_all=True, append_images=frames[1:])
    Image.new("P", (9, 9)).save(stream["palette"], "PNG")
    return {name: data.getvalue() for name, data in stream.items()} | {"png": picture((1, 2, 3), "PNG")}


@pytest.mark.parametrize("name", ["cmyk", "deep", "gif", "palette", "png"])
def test_unusual_images_are_good_and_a_wrong_extension_is_a_warning(manifest: Path, name: str) -> None:
    put_image(manifest, odd_images()[name])
    report = validate_release(manifest)
    assert report.ok
    assert ("type" in [fault.code for fault in report.warnings]) == (name != "cmyk")


def test_the_other_rooms_stay_unopened(manifest: Path) -> None:
    for path in (CHECKS, UNITS, PROBES, GRAPHS):
        (manifest.parent / path).unlink()
        os.mkfifo(manifest.parent / path)  # to open one would hang
    assert validate_release(manifest).ok
    assert len(load_release(manifest).cases) == 2
    assert codes(manifest).count("missing_file") >= 4


def test_binding_reviews_are_tolerated_and_never_opened(manifest: Path) -> None:
    os.mkfifo(manifest.parent / "evaluation" / "binding_reviews.jsonl")
    stated = {"path": "evaluation/binding_reviews.jsonl", "role": "binding_reviews", "sha256": "0" * 64}
    edit(manifest, lambda m: m["files"].append(stated))
    assert codes(manifest) == []


def test_an_unmanifested_file_is_a_warning(manifest: Path) -> None:
    (manifest.parent / "public" / "note.txt").write_text("x")
    (manifest.parent / "evaluation" / "more.txt").write_text("x")
    for evaluation, expected in ((False, ["public/note.txt"]), (True, ["evaluation/more.txt", "public/note.txt"])):
        report = validate_release(manifest, evaluation=evaluation)
        assert [fault.where for fault in report.warnings if fault.code == "unmanifested"] == expected


def test_terminal_codes_in_ids_are_shown_and_not_sent(manifest: Path) -> None:
    rewrite(manifest, CHECKS, lambda r: r[0].update(case_id="\x1b[31mred", check_id="\x1b]0;x\x07"))
    assert "\x1b" not in validate_release(manifest, evaluation=True).text()
