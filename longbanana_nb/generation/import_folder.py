"""A folder of images made elsewhere, matched to cases by their ids and by nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation.images import NotAPictureError, PictureFacts, examine
from longbanana_nb.image_formats import EXTENSIONS, READ
from longbanana_nb.names import case_folder

SUFFIXES = frozenset({"", *(suffix for suffixes in EXTENSIONS.values() for suffix in suffixes)})


@dataclass(frozen=True, slots=True)
class Found:
    """One image of a case: its untouched bytes, their hash, and what they are."""

    file: Path
    data: bytes
    sha256: str
    facts: PictureFacts


@dataclass(slots=True)
class Matched:
    """Images by case id in the release's order, cases without one, and files that belong to no case."""

    images: dict[str, Found] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


def match_folder(folder: Path, case_ids: Iterable[str]) -> Matched:
    """Match a folder's images to cases.

    A case's image is `<case>.<type>`, `<case>/image.<type>` or `<case>/s0/image.<type>`, where `<case>` is the case id or its
    folder name in a run (percent-encoded). Names beginning with a dot are passed over.

    Raises:
        DataError: with every fault at once: several images for a case, links that lead out of the folder, special files,
            images that are damaged, too large or under 16 pixels; and if nothing matches at all.
    """
    if not folder.is_dir():
        fault = Fault(str(folder), "missing_folder", "no folder", "a folder of images", "Correct the path.")
        raise DataError("Candidates cannot be imported.", [fault])
    known = list(case_ids)
    names = {case_folder(case_id): case_id for case_id in known} | {case_id: case_id for case_id in known}
    claims: dict[str, list[Path]] = {}
    faults: list[Fault] = []
    result = Matched()
    for file in _files(folder, faults):
        case_id = _case_of(file.relative_to(folder), names)
        if case_id is None:
            result.ignored.append(file.relative_to(folder).as_posix())
        else:
            claims.setdefault(case_id, []).append(file)
    for case_id in known:
        files = claims.get(case_id, [])
        if len(files) > 1:
            faults.append(_several(folder, case_id, files))
        elif files:
            _take(result, faults, case_id, files[0])
        else:
            result.missing.append(case_id)
    if faults:
        raise DataError(f"Nothing was imported from {folder}: {len(faults)} faults.", faults)
    if not result.images:
        raise DataError("Nothing was imported.", [_no_match(folder, known, result.ignored)])
    return result


def _case_of(relative: Path, names: dict[str, str]) -> str | None:
    """The case a file belongs to by its place and name, or None."""
    if relative.suffix.lower() not in SUFFIXES:
        # an id may hold a dot, and its file no type
        return names.get(relative.name) if len(relative.parts) == 1 else None
    if len(relative.parts) == 1:
        return names.get(relative.stem) or names.get(relative.name)
    shape = (*relative.parts[1:-1], relative.stem)
    return names.get(relative.parts[0]) if shape in (("image",), ("s0", "image")) else None


def _files(folder: Path, faults: list[Fault]) -> Iterator[Path]:
    """Files up to three levels deep in a fixed order; links are followed only within the folder."""
    root = os.path.realpath(folder)
    pending = [folder]
    while pending:
        place = pending.pop(0)
        for entry in sorted(place.iterdir()):
            if entry.name.startswith("."):
                continue
            real = os.path.realpath(entry)  # of links in a ring it gives one of them, which is then no file
            if not Path(real).is_relative_to(root):
                faults.append(_fault(entry, "link_outside", f"a link to {real}", "files within the folder", "Copy it in."))
            elif entry.is_dir():
                if len(entry.relative_to(folder).parts) <= 2:
                    pending.append(entry)
            elif entry.is_file():
                yield entry
            else:
                faults.append(_fault(entry, "not_a_file", "a broken link or special file", "a plain file", "Remove it."))


def _take(result: Matched, faults: list[Fault], case_id: str, file: Path) -> None:
    try:
        data = file.read_bytes()
        result.images[case_id] = Found(file, data, sha256_bytes(data), examine(data))
    except NotAPictureError as error:
        fix = "Make the image again, or take the file away."
        faults.append(Fault(str(file), error.code, error.found, f"a whole image ({', '.join(READ)})", fix, case_id))
    except OSError as error:
        found = error.strerror or str(error)
        faults.append(Fault(str(file), "unreadable", found, "a readable file", "Check its permissions.", case_id))


def _several(folder: Path, case_id: str, files: list[Path]) -> Fault:
    found = ", ".join(file.relative_to(folder).as_posix() for file in files)
    return Fault(str(folder), "several_images", found, "one image a case", "Keep one of them.", case_id)


def _no_match(folder: Path, known: list[str], ignored: list[str]) -> Fault:
    found = f"{len(ignored)} other files ({', '.join(ignored[:3])}...)" if ignored else "no file"
    wanted = ", ".join(f"{case_folder(case_id)}.png" for case_id in known[:2])
    return Fault(str(folder), "no_match", found, f"images named by case id, such as {wanted}", "Rename the images by case id.")


def _fault(entry: Path, code: str, found: str, expected: str, fix: str) -> Fault:
    return Fault(str(entry), code, found, expected, fix)
