"""Reading the public room: tasks become cases, and every statement about a public file is held against the file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from longbanana_nb.errors import DataError
from longbanana_nb.names import folder_key
from longbanana_nb.release import taxonomy
from longbanana_nb.release.contract import Case, Reference
from longbanana_nb.release.findings import Findings, Place, shown
from longbanana_nb.release.hashing import hash_files
from longbanana_nb.release.manifest import Manifest, is_opened
from longbanana_nb.release.records import read_bytes, record_lines, text_of
from longbanana_nb.release.tree import Room, Tree, is_regular, room_of


@dataclass(slots=True)
class PublicRoom:
    """What the public room holds, as far as it could be read; `images` says where each image file is used first."""

    tree: Tree
    is_published: bool
    cases: dict[str, Case] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)  # the case_id of every task, whole or not
    images: dict[Path, Place] = field(default_factory=dict)
    statements: list[tuple[Path, str, Place]] = field(default_factory=list)  # file, stated sha256, where
    records: int = 0
    references: int = 0
    backgrounds: int = 0


def read_public(manifest: Manifest, findings: Findings) -> PublicRoom:
    """Read every task of a release. Nothing outside the public room is opened; image bytes are not read yet."""
    room = PublicRoom(Tree(manifest.root), manifest.name in taxonomy.PUBLISHED_RELEASES)
    path = manifest.locate("tasks", findings, required=True)
    file = None if path is None else find_file(room.tree, path, Place(manifest.file.name, None, path), findings, "public")
    if path is None or file is None:
        return room
    data = read_bytes(file, Place(path), findings)
    first_lines: dict[str, Place] = {}
    folders: dict[str, str] = {}
    for place, record in record_lines(data or b"", path, findings):
        room.records += 1
        case = _case(record, place, room, findings)
        case_id = record.get("case_id")
        if not isinstance(case_id, str) or not case_id.strip():
            continue
        place = place.of(case_id=case_id)
        if case_id in first_lines:
            found = f"the case_id of {first_lines[case_id].where} again"
            findings.fault(place, "duplicate", found, "each case_id once", "Remove or rename one of the two.")
            continue
        first_lines[case_id] = place
        room.named.add(case_id)
        _check_folder(case_id, folders, place, findings)
        if case is not None:
            room.cases[case_id] = case
    if data is not None and not room.records:
        findings.fault(Place(path), "count", "no task", "at least one", "Extract the release again.")
    return room


def find_file(tree: Tree, path: str, place: Place, findings: Findings, room: str | None = None) -> Path | None:
    """The regular file a path names, or None and a fault; `room` refuses paths of another room."""
    if room is not None and room_of(path) != room:
        fix = f"Move it out of {path.split('/', 1)[0]}/."
        findings.fault(place, "room", f"{shown(path)}, in the {room_of(path)} room", f"a path of the {room} room", fix)
        return None
    file = tree.find(path, place, findings)
    if file is not None and not is_regular(file):
        found = f"{shown(path)}, which is no regular file"
        findings.fault(place, "missing_file", found, "a regular file", "Extract the release again.")
        return None
    return file


def _check_folder(case_id: str, folders: dict[str, str], place: Place, findings: Findings) -> None:
    try:
        folder = folder_key(case_id)
    except DataError as error:
        fault = error.faults[0]
        findings.fault(place, "case_id", fault.found, fault.expected, fault.fix)
        return
    if folder in folders:
        found = f"{shown(folders[folder])} and {shown(case_id)}"
        expected = "ids that differ by more than case or Unicode form"
        findings.fault(place, "case_id", found, expected, "Rename one: each names a folder.")
    folders[folder] = case_id


def _case(record: dict[str, Any], place: Place, room: PublicRoom, findings: Findings) -> Case | None:
    case_id = text_of(record, "case_id", place, findings)
    place = place.of(case_id=case_id)
    category = category_of(record, place, findings)
    prompt = text_of(record, "prompt", place, findings)
    listed = record.get("references")
    if not isinstance(listed, list):
        findings.fault(place, "field", f"references: {shown(listed)}", "references: a list", "Add the ordered references.")
        listed = []
    if room.is_published and len(listed) != taxonomy.PUBLISHED_REFERENCES:
        expected = f"exactly {taxonomy.PUBLISHED_REFERENCES} in a published release"
        findings.fault(place, "references", f"{len(listed)} references", expected, "Extract the release again.")
    found = [_reference(part, place, room, findings, "reference", None) for part in listed]
    room.references += len(listed)
    references = tuple(reference for reference in found if reference)
    ids = Counter(reference.id for reference in references)
    background = None
    if record.get("background") is not None:
        room.backgrounds += 1
        spare = "background"
        while spare in ids:
            spare += "_"
        background = _reference(record["background"], place, room, findings, "background", spare)
        ids.update([background.id] if background else [])
    for repeated in (id for id, times in ids.items() if times > 1):
        found_text = f"{ids[repeated]} references with one id"
        findings.fault(place.of(id=repeated), "duplicate", found_text, "each reference id once a case", "Rename one.")
    if case_id is None or category is None or prompt is None or len(references) != len(listed):
        return None
    return Case(case_id, category, prompt, references, background)


def category_of(record: dict[str, Any], place: Place, findings: Findings) -> str | None:
    """The category code of a record, or None and a fault."""
    category = text_of(record, "category", place, findings)
    if category is None or category in taxonomy.CATEGORIES:
        return category
    near = findings.hint(category.upper(), taxonomy.CATEGORIES)
    fix = f"Did you mean {near}?" if near else "Correct it."
    findings.fault(place, "category", shown(category), f"one of {', '.join(taxonomy.CATEGORIES)}", fix)
    return None


def _reference(
    value: Any, place: Place, room: PublicRoom, findings: Findings, role: Literal["reference", "background"], spare_id: str | None
) -> Reference | None:
    if not isinstance(value, dict):
        expected = "{path, sha256, id?}" if role == "background" else "{id, path, sha256}"
        findings.fault(place, "field", f"{role}: {shown(value)}", expected, "Correct the record.")
        return None
    given = value.get("id")
    id_ = spare_id if given is None and spare_id else text_of(value, "id", place, findings)
    place = place.of(id=id_)
    path, digest = value.get("path"), value.get("sha256")
    good_digest = isinstance(digest, str) and len(digest) == 64 and set(digest.lower()) <= set("0123456789abcdef")
    if not good_digest:
        expected = "sha256: 64 hex digits"
        findings.fault(place, "hash", f"sha256: {shown(digest)}", expected, "State the hash of the image's bytes.")
    if not isinstance(path, str):
        findings.fault(place, "field", f"path: {shown(path)}", "path: a text", "State the image's path.")
        return None
    file = find_file(room.tree, path, place, findings, "public")
    if file is None:
        return None
    room.images.setdefault(file, place)
    if good_digest:
        room.statements.append((file, str(digest).lower(), place))
    return None if id_ is None or not good_digest else Reference(id_, path, str(digest).lower(), file, role)


def check_declared(manifest: Manifest, tree: Tree, rooms: set[Room], findings: Findings) -> list[tuple[Path, str, Place]]:
    """Hold the manifest's paths and sizes in these rooms against the disk; give the hashes it states, still unchecked."""
    statements = []
    for declared in manifest.files:
        if not is_opened(declared, rooms):
            continue
        place = Place(declared.where, None, declared.path)
        file = tree.find(declared.path, place, findings)
        if file is None or (file.is_dir() and declared.sha256 is None and declared.bytes is None):
            continue
        if not is_regular(file):
            found = f"{shown(declared.path)}, which is no regular file"
            findings.fault(place, "missing_file", found, "a regular file", "Extract the release again.")
            continue
        if declared.bytes is not None and (size := file.stat().st_size) != declared.bytes:
            findings.fault(place, "bytes", f"{size} bytes", f"{declared.bytes} bytes", "Extract the release again.")
        if declared.sha256 is not None:
            statements.append((file, declared.sha256, place))
    return statements


def check_hashes(statements: list[tuple[Path, str, Place]], tree: Tree, findings: Findings) -> None:
    """Hash every stated file once and record each statement that does not hold."""
    actual = hash_files(file for file, _, _ in statements)
    seen = set()
    for file, stated, place in statements:
        found, name = actual[file], file.relative_to(tree.root).as_posix()
        if isinstance(found, OSError):
            findings.fault(place, "unreadable", f"{name}: {found.strerror}", "a readable file", "Check its permissions.")
        elif found != stated and (place, file) not in seen:
            seen.add((place, file))
            fix = "The file was changed or the archive is damaged. Extract it again, or use the release it came from."
            findings.fault(place, "hash", f"{name} with sha256 {found}", f"the stated sha256 {stated}", fix)


def check_counts(manifest: Manifest, actual: dict[str, int], findings: Findings) -> None:
    """Hold every count of the manifest against what was found; counts of what was not opened are left alone."""
    for name, stated, where in manifest.counts:
        if name == "images":
            if "references" not in actual:
                continue
            allowed = {actual["references"], actual["references"] + actual["backgrounds"], actual["image_files"]}
            right, found = stated in allowed, f"{actual['references'] + actual['backgrounds']} images"
        else:
            if name not in actual:
                continue
            right, found = stated == actual[name], f"{actual[name]} {name}"
        if not right:
            findings.fault(Place(where), "count", found, f"{stated}, as the manifest says", "Extract the release again.")


def statement_of_tasks(manifest: Manifest, room: PublicRoom, findings: Findings) -> None:
    """Hold the counts the manifest states for cases, references, backgrounds and categories against the tasks read."""
    actual = {"cases": room.records, "references": room.references, "backgrounds": room.backgrounds}
    check_counts(manifest, {**actual, "image_files": len(room.images)}, findings)
    by_category = Counter(case.category for case in room.cases.values())
    for code, stated, where in manifest.category_counts:
        if by_category[code] != stated and len(room.cases) == room.records:
            found = f"{by_category[code]} cases of {code}"
            findings.fault(Place(where), "count", found, f"{stated}, as the manifest says", "Extract the release again.")
    tasks = manifest.paths("tasks")
    for declared in manifest.files:
        if declared.records is not None and declared.path in tasks and declared.records != room.records:
            expected = f"{declared.records}, as the manifest says"
            place = Place(declared.where, None, declared.path)
            findings.fault(place, "count", f"{room.records} records", expected, "Correct it.")
