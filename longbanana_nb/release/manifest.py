"""Reading a manifest whose exact keys are unknown: what it says of identity, files, counts and checksums, all unchecked.

The keys of the published archives are not known, so files are taken as list or mapping, flat or nested, with or without hashes;
everything taken from here is checked against the disk and the records by its readers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from longbanana_nb.files import sha256_bytes
from longbanana_nb.release.findings import Findings, Place, shown
from longbanana_nb.release.records import decode_text, read_bytes, read_value
from longbanana_nb.release.statements import ROLES, Declared, Statements
from longbanana_nb.release.tree import Room, is_folder, room_of

SCHEMA = "lb.release.v1"
DEFAULT_PATHS = {
    "tasks": "public/tasks.jsonl",
    "checks": "evaluation/checks.jsonl",
    "check_units": "evaluation/check_units.jsonl",
    "probes": "evaluation/probes.jsonl",
    "binding_reviews": "evaluation/binding_reviews.jsonl",
    "graphs": "privileged/graphs.jsonl",
}
_MAX_IDENTITY = 200
_NAME = re.compile(r"[^\s/\\\x00-\x1f][^/\\\x00-\x1f]{0,99}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a manifest says. `counts` are (name, number, where) in the order met; `located` maps a role to its path."""

    file: Path
    sha256: str
    name: str
    revision: str
    license: str | None
    schema: str | None
    files: tuple[Declared, ...]
    counts: tuple[tuple[str, int, str], ...]
    category_counts: tuple[tuple[str, int, str], ...]

    @property
    def root(self) -> Path:
        """The folder all paths are relative to."""
        return self.file.parent

    def paths(self, role: str) -> list[str]:
        """Every path stated for a role: by its declared role first, else by its file name."""
        by_role = [file.path for file in self.files if file.role in ROLES[role] and file.path.endswith(".jsonl")]
        name = DEFAULT_PATHS[role].rsplit("/", 1)[-1]
        by_name = [file.path for file in self.files if file.path.rsplit("/", 1)[-1] == name]
        return list(dict.fromkeys(by_role or by_name))

    def locate(self, role: str, findings: Findings, *, required: bool) -> str | None:
        """The path of a role's file: declared, else the default one with a warning; None if it is optional and absent."""
        place, default = Place(self.file.name), DEFAULT_PATHS[role]
        paths = self.paths(role)
        if len(paths) > 1 and default in paths:
            paths = [default]
        if len(paths) > 1:
            findings.fault(place, "manifest", f"{len(paths)} files for {role}: {', '.join(paths)}", "one", "Declare one role.")
        if paths:
            return paths[0]
        if required:
            findings.warn(
                place, "default_path", f"no file with the role {role}", f"a declared path; took {default}", "Declare it."
            )
            return default
        return default if (self.root / default).is_file() else None


def read_manifest(file: str | Path, findings: Findings) -> Manifest | None:
    """Read a manifest tolerantly; None and a fault if it is not a JSON object in a readable file."""
    file = Path(file).expanduser().absolute()
    place = Place(str(file))
    if is_folder(file):
        findings.fault(place, "manifest", "a folder", "the manifest file of a release", f"Give {file / 'manifest.json'}.")
        return None
    data = read_bytes(file, place, findings)
    text = None if data is None else decode_text(data, place, findings)
    if data is None or text is None:
        return None
    before = len(findings.errors)
    value = read_value(text, place, findings)
    if not isinstance(value, dict):
        if len(findings.errors) == before:
            findings.fault(place, "manifest", shown(value), "a JSON object", "Give the manifest.json of a release.")
        return None
    return _interpret(file, sha256_bytes(data), value, findings)


def _interpret(file: Path, digest: str, value: dict[str, Any], findings: Findings) -> Manifest:
    place = Place(file.name)
    identity = value.get("release")
    nested = identity if isinstance(identity, dict) else {}
    name = _first_text(
        (nested, ("name", "id", "release")), (value, ("release", "release_id", "release_name", "name", "id", "dataset"))
    )
    if name is None:
        name = file.parent.name or "release"
        findings.warn(place, "identity", "no release name", f"release: a text; took the folder's, {name!r}", "Add it.")
    if not _NAME.fullmatch(name):
        findings.fault(place, "identity", f"release {shown(name)}", "1 to 100 characters without '/' and '\\'", "Rename it.")
        name = "unnamed"
    revision = _first_text((nested, ("revision", "version")), (value, ("revision", "release_revision", "version", "commit")))
    if revision is None:
        revision = f"sha256-{digest[:12]}"
        findings.warn(place, "identity", "no revision", f"revision: a text; took the manifest's hash, {revision}", "Add it.")
    if len(quote(f"{name}@{revision}", safe=" ")) > _MAX_IDENTITY:
        expected = f"a release and a revision of at most {_MAX_IDENTITY} bytes together, percent-encoded"
        fix = "Shorten it: the two name a folder of annotations."
        findings.fault(place, "identity", f"release {shown(name, 40)}, revision {shown(revision, 40)}", expected, fix)
        name, revision = "unnamed", f"sha256-{digest[:12]}"
    reading = Statements(file, findings)
    reading.walk(value, "", False, 1)
    license_ = _first_text((value, ("license", "licence")))
    schema = value.get("schema")
    return Manifest(
        file,
        digest,
        name,
        revision,
        license_,
        schema if isinstance(schema, str) else None,
        tuple(dict.fromkeys(reading.files)),
        tuple(dict.fromkeys(reading.counts)),
        tuple(dict.fromkeys(reading.category_counts)),
    )


def _first_text(*sources: tuple[dict[str, Any], tuple[str, ...]]) -> str | None:
    for mapping, keys in sources:
        for key in keys:
            found = mapping.get(key)
            if isinstance(found, str) and found.strip():
                return found.strip()
            if isinstance(found, (int, float)) and not isinstance(found, bool) and key in ("revision", "version"):
                return str(found)
    return None


def is_opened(file: Declared, rooms: set[Room]) -> bool:
    """Whether a declared file is opened when these rooms are: its room is among them, and it is no binding review."""
    if file.role in ROLES["binding_reviews"] or file.path.rsplit("/", 1)[-1].startswith("binding_reviews"):
        return False
    return room_of_declared(file) in rooms


def room_of_declared(file: Declared) -> Room:
    """The room of a declared file: by its folder, and where that is none of the hidden two, by its role."""
    room = room_of(file.path)
    if room == "public" and file.role in ROLES["graphs"]:
        return "privileged"
    if room == "public" and any(file.role in ROLES[role] for role in ("checks", "check_units", "probes")):
        return "evaluation"
    return room
