"""Judging a run: answers are kept, not asked twice, taken from other runs by key, and invalid where they must be."""

import io
import json

import numpy as np
import pytest
from PIL import Image, ImageDraw

from longbanana_nb.errors import CallError
from longbanana_nb.files import sha256_bytes
from longbanana_nb.judging import ToolsProtocol, TruthProtocol, judge_run
from longbanana_nb.release import load_release, overlay_folder, write_release
from longbanana_nb.runs import ImageFacts, Record, create_run, open_run, parse_judge, parse_system, verdict_grid, verify_run

BOX = [0.25, 0.25, 0.75, 0.75]
CROSS = {"name": "cross", "exemplar": {"reference_id": "ref_01", "box": BOX}}
PROBES = {"c1": {"present": CROSS}, "c2": {"absent": CROSS}, "c3": {"colour": CROSS, "is": "red"}, "c4": None}
PROTOCOLS = {"tools": ToolsProtocol(), "truth": TruthProtocol("longbanana_nb.demo.truth:scene_look")}


def cross(side, low, high, colour=(214, 40, 46)):
    """A plus sign with a disc on a plain ground, as JPEG."""
    picture = Image.new("RGB", (side, side), (225, 228, 232))
    pen, a, b = ImageDraw.Draw(picture), low * side, high * side
    third = (b - a) / 3
    pen.rectangle((a + third, a, b - third, b), fill=colour)
    pen.rectangle((a, a + third, b, b - third), fill=colour)
    pen.ellipse((a + 1.2 * third, a + 1.2 * third, b - 1.2 * third, b - 1.2 * third), fill=(30, 40, 90))
    stream = io.BytesIO()
    picture.save(stream, "JPEG", quality=92)
    return stream.getvalue()


@pytest.fixture
def release(tmp_path):
    return tiny_release(tmp_path / "release")


def tiny_release(root, probes=PROBES, question="{}?"):
    """One case with one picture of a cross, and a check for each probe."""
    folder = root / "public"
    (folder / "images").mkdir(parents=True)
    data = cross(256, 0.27, 0.73)
    (folder / "images" / "one.jpg").write_bytes(data)
    option = [{"value": value, "name": name} for value, name in ((2, "Pass"), (1, "Uncertain"), (0, "Fail"))]
    task = {
        "case_id": "case_a",
        "category": "SCC",
        "prompt": "Show the cross.",
        "references": [{"id": "ref_01", "path": "public/images/one.jpg", "sha256": sha256_bytes(data)}],
        "background": None,
    }
    checks = [
        {
            "case_id": "case_a",
            "check_id": check_id,
            "category": "SCC",
            "question": question.format(check_id),
            "guide": "Look.",
            "options": option,
            "reference_ids": ["ref_01"],
            "candidate_only_reason": None,
        }
        for check_id in PROBES
    ]
    probes = [{"case_id": "case_a", "check_id": name, "probe": probe} for name, probe in probes.items() if probe]
    manifest = write_release(
        root, name="tiny", revision="1", license="MIT", tasks=[task], checks=checks, units=[], probes=probes,
        graphs=[], extra_files=[],
    )  # fmt: skip
    return load_release(manifest)


def run_with(folder, release, image):
    run = create_run(folder, release)
    spec = parse_system({"name": "mine", "harness": {"kind": "imported"}})
    pixels = np.asarray(Image.open(io.BytesIO(image)).convert("RGB"))
    facts = ImageFacts("image.jpg", sha256_bytes(image), sha256_bytes(pixels.tobytes()), len(image), "jpeg", 768, 768)
    with run.owner():
        run.index_checks(release, release.evaluation())
        run.add_system(spec, "1" * 64)
        record = Record(system="mine", system_sha256="1" * 64, case_id="case_a", sample=0, outcome="image", image=facts)
        run.candidate("mine", "case_a").save(record, image)
    return run


TOOLS = parse_judge({"name": "tools", "protocol": "tools"})


def labels(run, judge="tools"):
    return {
        line.check_id: line.label if line.label is not None else line.invalid
        for line in run.judgments(judge, "mine", "case_a").read()
    }


def test_pixels_answer_what_is_there_and_a_check_without_probe_is_unanswerable(tmp_path, release):
    run = run_with(tmp_path / "run", release, cross(768, 0.3, 0.52))
    summary = judge_run(run, release, TOOLS, protocols=PROTOCOLS, workers=1)
    assert labels(run) == {"c1": 2, "c2": 0, "c3": 2, "c4": "unanswerable"}
    assert (summary.asked, summary.valid, dict(summary.invalid)) == (4, 3, {"unanswerable": 1})
    assert not summary.is_complete


def test_an_empty_picture_fails_all_but_absence(tmp_path, release):
    stream = io.BytesIO()
    Image.new("RGB", (768, 768), (128, 128, 128)).save(stream, "JPEG")
    run = run_with(tmp_path / "run", release, stream.getvalue())
    judge_run(run, release, TOOLS, protocols=PROTOCOLS, workers=1)
    assert labels(run) == {"c1": 0, "c2": 2, "c3": 0, "c4": "unanswerable"}


def test_a_second_call_asks_nothing_and_another_run_takes_the_answers(tmp_path, release):
    image = cross(768, 0.3, 0.52, (42, 98, 216))
    run = run_with(tmp_path / "run", release, image)
    judge_run(run, release, TOOLS, protocols=PROTOCOLS, workers=1)
    again = judge_run(open_run(run.path), release, TOOLS, protocols=PROTOCOLS, workers=1)
    assert (again.asked, again.found) == (0, 4)
    other = run_with(tmp_path / "other", release, image)
    taken = judge_run(other, release, TOOLS, protocols=PROTOCOLS, workers=1, reuse=[run.path])
    assert (taken.reused, taken.asked) == (3, 1)  # what has no answer is not taken over
    assert labels(other)["c3"] == 0


def test_an_answer_taken_from_another_run_stands_under_the_check_it_answers_here(tmp_path):
    """Two checks may ask the same in the same words: their answers share a key, not an id."""
    image = cross(768, 0.3, 0.52)
    twins = {"c1": {"present": CROSS}, "c2": {"present": CROSS}}
    release = tiny_release(tmp_path / "release", twins, question="Is the cross there?")
    first = run_with(tmp_path / "run", release, image)
    judge_run(first, release, TOOLS, protocols=PROTOCOLS, workers=1)
    other = run_with(tmp_path / "other", release, image)
    judge_run(other, release, TOOLS, protocols=PROTOCOLS, workers=1, reuse=[first.path])
    assert labels(other) == labels(first) == {"c1": 2, "c2": 2, "c3": "unanswerable", "c4": "unanswerable"}
    assert verify_run(other) == []


def test_a_changed_probe_makes_the_old_answer_stale_until_it_is_asked_again(tmp_path, monkeypatch):
    monkeypatch.setenv("LONGBANANA_HOME", str(tmp_path / "home"))
    release = tiny_release(tmp_path / "release", {})
    overlay = overlay_folder(release.name, release.revision)
    write_overlay(overlay, {"present": CROSS})
    run = run_with(tmp_path / "run", release, cross(768, 0.3, 0.52))
    judge_run(run, release, TOOLS, protocols=PROTOCOLS, workers=1)
    assert states(run)["c1"] == ("valid", 2)
    write_overlay(overlay, {"absent": CROSS})
    run.index_checks(release, release.evaluation())
    assert states(run)["c1"][0] == "stale"
    judge_run(run, release, TOOLS, protocols=PROTOCOLS, workers=1)
    assert states(run)["c1"] == ("valid", 0)


def write_overlay(folder, probe):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "probes.jsonl").write_text(json.dumps({"case_id": "case_a", "check_id": "c1", "probe": probe}) + "\n", "utf-8")


def states(run):
    return {row.check_id: (row.state, row.label) for row in verdict_grid(run).itertuples()}


def test_a_picture_of_unknown_origin_has_no_truth(tmp_path, release):
    run = run_with(tmp_path / "run", release, cross(768, 0.3, 0.52))
    truth = parse_judge({"name": "truth", "protocol": "truth"})
    summary = judge_run(run, release, truth, protocols=PROTOCOLS, workers=1)
    assert dict(summary.invalid) == {"no_scene": 4}


def test_a_protocol_that_is_not_there_is_said_so(tmp_path, release):
    run = run_with(tmp_path / "run", release, cross(768, 0.3, 0.52))
    with pytest.raises(CallError, match="'truth' is not there yet; there are: tools"):
        judge_run(run, release, parse_judge({"name": "t", "protocol": "truth"}), protocols={"tools": ToolsProtocol()})
