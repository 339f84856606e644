"""What an agent finds in its folder: the prompt, the references by id, nothing else; all of it for reading only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation.images import examine
from longbanana_nb.generation.inventory import reference_bytes
from longbanana_nb.generation.sandbox.contracts import WORK

if TYPE_CHECKING:
    from longbanana_nb.generation.sandbox.rooms import Room
    from longbanana_nb.release import Case, Reference

PROMPT = "prompt.txt"
REFERENCES = "references"
LONGEST_NAME = 200  # bytes of an id as a name; a longer one is named by its hash


def place_case(case: Case, room: Room) -> dict[str, Path]:
    """Write a case's public side into a room; returns path inside -> folder or file to show.

    Pictures are copies with the release's own bytes, named by their id, with the extension that their bytes deserve; times of
    all files are the same, so that nothing but the bytes, the id and the order of ids can inform anyone.

    Raises:
        DataError: a reference that is not what the release says.
    """
    prompt = room.shown / PROMPT
    prompt.write_bytes(case.prompt.encode("utf-8", "surrogatepass"))
    folder = room.shown / REFERENCES
    folder.mkdir()
    for reference in case.inputs:
        (folder / file_name(reference)).write_bytes(reference_bytes(reference))
    return {f"{WORK}/{PROMPT}": prompt, f"{WORK}/{REFERENCES}": folder}


def file_name(reference: Reference) -> str:
    """The name of a reference's file: its id as a path can hold it, and the extension of what its bytes are."""
    name = quote(reference.id, safe="")
    if len(name) > LONGEST_NAME:
        name = sha256_bytes(reference.id.encode("utf-8", "surrogatepass"))[:32]
    return f"{name}{examine(reference_bytes(reference), least_edge=1).extension}"


def described(case: Case) -> str:
    """The lines of the inventory as an agent is told them: role, id and file in the release's order, the background first."""
    return "\n".join(f"- {one.role} `{one.id}`: `{REFERENCES}/{file_name(one)}`" for one in case.inputs)


def write_home(files: Mapping[str, bytes], home: Path) -> None:
    """Write the files of a recipe into a fresh home."""
    for name, data in files.items():
        place = home / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
