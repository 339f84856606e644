"""What an agent finds in its folder: prompt and pictures, byte for byte, under names that say no more than the ids."""

import dataclasses

from generation_fixtures import make_case

from longbanana_nb.generation.agents.placing import described, file_name, place_case
from longbanana_nb.generation.sandbox import case_room


def renamed(case, name):
    first = dataclasses.replace(case.references[0], id=name)
    return dataclasses.replace(case, references=(first, *case.references[1:]))


def test_prompt_and_pictures_are_there_byte_for_byte_and_nothing_else(tmp_path):
    case = dataclasses.replace(make_case(tmp_path / "case"), prompt="Draw 'é' \ud83d {capacity}\r\n")
    with case_room() as room:
        shown = place_case(case, room)
        assert sorted(shown) == ["/work/prompt.txt", "/work/references"]
        assert shown["/work/prompt.txt"].read_bytes().decode("utf-8", "surrogatepass") == case.prompt
        files = {file.name: file.read_bytes() for file in shown["/work/references"].iterdir()}
    assert sorted(files) == ["back.png", "ref_01.png", "ref_02.jpg", "ref_03.png", "ref_04.jpg"]
    assert files["ref_02.jpg"] == case.references[1].file.read_bytes()


def test_an_id_that_is_no_name_is_written_as_one_and_the_agent_is_told_which(tmp_path):
    case = renamed(make_case(tmp_path / "case"), "../a b/é")
    assert file_name(case.references[0]) == "..%2Fa%20b%2F%C3%A9.png"
    assert "- reference `../a b/é`: `references/..%2Fa%20b%2F%C3%A9.png`" in described(case)
    assert described(case).splitlines()[0] == "- background `back`: `references/back.png`"


def test_an_id_too_long_for_a_name_is_named_by_its_hash(tmp_path):
    case = renamed(make_case(tmp_path / "case"), "x" * 300)
    assert len(file_name(case.references[0])) == 32 + len(".png")
    with case_room() as room:
        place_case(case, room)


def test_the_extension_is_that_of_the_bytes(tmp_path):
    case = make_case(tmp_path / "case")
    case.references[0].file.write_bytes(case.references[1].file.read_bytes())
    lying = dataclasses.replace(case.references[0], sha256=case.references[1].sha256)
    assert file_name(lying) == "ref_01.jpg"
