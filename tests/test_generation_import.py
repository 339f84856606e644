"""import_candidates: joined by case id, bytes untouched, every fault at once."""

from __future__ import annotations

import pytest
from generation_fixtures import direct_system, make_backend, make_release, picture

from longbanana_nb.errors import CallError, DataError
from longbanana_nb.generation import generate_run, import_candidates
from longbanana_nb.runs import create_run

CASES = ("007", "NA", "a.b/c", "é,1")


@pytest.fixture
def release(tmp_path):
    return make_release(tmp_path / "release", CASES, count=1)


@pytest.fixture
def run(tmp_path, release):
    return create_run(tmp_path / "run", release)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "my images"
    made.mkdir()
    return made


def put(folder, name, data):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def test_images_are_joined_by_case_id_in_every_accepted_place(run, release, folder):
    put(folder, "007.png", picture("red"))
    put(folder, "NA/image.jpg", picture("green", "JPEG"))
    put(folder, "a%2Eb%2Fc/s0/image.webp", picture("blue", "WEBP"))
    put(folder, "é,1.png", picture("pink"))
    put(folder, "notes.txt", b"hello")
    put(folder, "008.png", picture("red"))
    put(folder, ".DS_Store", b"x")
    summary = import_candidates(run, "mine", folder, release)
    assert (summary.made, summary.missing, summary.ignored) == (4, {"mine": []}, ["008.png", "notes.txt"])
    assert summary.is_complete
    slot = run.candidate("mine", "a.b/c", 0)
    assert slot.image.read_bytes() == (folder / "a%2Eb%2Fc/s0/image.webp").read_bytes()
    assert run.systems["mine"].system().harness.kind == "imported"
    assert run.candidate("mine", "é,1", 0).record().image.format == "png"


def test_the_extension_comes_from_the_bytes(run, release, folder):
    put(folder, "007.png", picture("red", "JPEG"))
    import_candidates(run, "mine", folder, release)
    slot = run.candidate("mine", "007", 0)
    assert slot.image.name == "image.jpg"
    assert slot.image.read_bytes() == picture("red", "JPEG")


def test_missing_cases_are_listed_and_leave_no_record(run, release, folder):
    put(folder, "NA.png", picture("red"))
    summary = import_candidates(run, "mine", folder, release)
    assert summary.missing == {"mine": ["007", "a.b/c", "é,1"]}
    assert not summary.is_complete
    assert run.candidate("mine", "007", 0).record() is None


def test_nothing_that_matches_is_an_error(run, release, folder):
    put(folder, "image_1.png", picture("red"))
    with pytest.raises(DataError, match=r"image_1.png.*named by case id, such as 007.png"):
        import_candidates(run, "mine", folder, release)
    assert list(run.systems) == []
    with pytest.raises(DataError, match="no folder"):
        import_candidates(run, "mine", folder / "absent", release)


def test_all_faults_are_named_at_once_and_nothing_is_imported(run, release, folder, tmp_path):
    put(folder, "007.png", picture("red"))
    put(folder, "007.jpg", picture("red", "JPEG"))
    put(folder, "NA.png", picture("red", "PNG", (640, 480))[:300])
    (tmp_path / "secret.png").write_bytes(picture("blue"))
    (folder / "a%2Eb%2Fc.png").symlink_to(tmp_path / "secret.png")
    put(folder, "é,1.png", b"")
    with pytest.raises(DataError) as caught:
        import_candidates(run, "mine", folder, release)
    assert sorted(fault.code for fault in caught.value.faults) == [
        "empty_image",
        "link_outside",
        "several_images",
        "undecodable_image",
    ]
    assert "007.jpg, 007.png" in str(caught.value)
    assert list(run.systems) == []
    assert list(run.records()) == []


def test_the_same_folder_again_fills_in_what_is_missing(run, release, folder):
    put(folder, "007.png", picture("red"))
    put(folder, "NA.png", picture("blue"))
    import_candidates(run, "mine", folder, release)
    (run.candidate("mine", "NA", 0).folder / "record.json").unlink()
    summary = import_candidates(run, "mine", folder, release)
    assert (summary.made, summary.found_finished) == (1, 1)


def test_other_images_under_the_same_name_are_refused_naming_the_cases(run, release, folder):
    put(folder, "007.png", picture("red"))
    put(folder, "NA.png", picture("blue"))
    import_candidates(run, "mine", folder, release)
    before = run.candidate("mine", "007", 0).image.read_bytes()
    put(folder, "007.png", picture("green"))
    put(folder, "a.b%2Fc.png", picture("green"))
    put(folder, "é,1.png", picture("green"))
    with pytest.raises(CallError) as caught:
        import_candidates(run, "mine", folder, release)
    assert [fault.case_id for fault in caught.value.faults] == ["007", "é,1"]
    assert run.candidate("mine", "007", 0).image.read_bytes() == before
    assert import_candidates(run, "mine-2", folder, release).made == 3


def test_the_name_of_a_generated_system_is_refused(run, release, folder):
    generate_run(run, release, [direct_system()], backends={"test": make_backend}, agents={}, workers=1)
    put(folder, "007.png", picture("red"))
    with pytest.raises(CallError, match="is a fp-direct system"):
        import_candidates(run, "direct", folder, release)


@pytest.mark.parametrize("name", ["Mine", "../x", "con", ""])
def test_a_name_that_cannot_name_a_folder_is_refused(run, release, folder, name):
    with pytest.raises(CallError):
        import_candidates(run, name, folder, release)
