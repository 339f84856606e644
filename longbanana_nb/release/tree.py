"""Paths of a release: which are allowed, and which file of the disk each one names."""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from longbanana_nb.release.findings import Findings, Place, shown

Room = Literal["public", "evaluation", "privileged"]
_DRIVE = re.compile(r"[A-Za-z]:")


def path_fault(path: object) -> str | None:
    """Why a path may not stand in a release or archive, in words; None if it may."""
    if not isinstance(path, str):
        return "no text"
    if not path:
        return "empty"
    if "\0" in path:
        return "holds a NUL character"
    if "\\" in path:
        return "holds a backslash"
    if path.startswith("/"):
        return "absolute"
    if _DRIVE.match(path):
        return "has a drive letter"
    parts = path.split("/")
    if ".." in parts:
        return "leads upwards with '..'"
    if "." in parts or "" in parts:
        return "holds an empty part or '.'"
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in path):
        return "holds a control character"
    return None


def room_of(path: str) -> Room:
    """The room a path lies in, by its first folder."""
    first = path.split("/", 1)[0].lower()
    return "evaluation" if first == "evaluation" else "privileged" if first == "privileged" else "public"


def same_name(name: str) -> str:
    """The form under which two names that only differ in Unicode normalisation are equal."""
    return unicodedata.normalize("NFC", name)


@dataclass(slots=True)
class Tree:
    """The files below a release's root; folders are listed once, names are matched exactly, links may not lead out."""

    root: Path
    _listed: dict[Path, dict[str, bool]] = field(default_factory=dict)  # folder -> {name: is a link}
    _real_root: str = ""

    def __post_init__(self) -> None:
        self._real_root = os.path.realpath(self.root)

    def find(self, path: object, place: Place, findings: Findings) -> Path | None:
        """The file or folder a path names, or None and a fault; a name that is only Unicode-equal is a warning."""
        if reason := path_fault(path):
            fix = "Write it relative to the folder of the manifest, with '/'."
            findings.fault(place, "path", f"path {shown(path)} ({reason})", "a plain relative path", fix)
            return None
        here, linked, other = self.root, False, False
        for part in str(path).split("/"):
            names = self._names(here)
            name = part if part in names else self._equal(part, names, str(path), place, findings)
            if name is None:
                return None
            other |= name != part
            linked |= names[name]
            here = here / name
        if other:
            actual = here.relative_to(self.root).as_posix()
            expected = f"the very name {shown(path)}"
            findings.warn(place, "unicode_path", f"only {actual!a}, which is Unicode-equal", expected, "Rename the file.")
        return here if not linked or self._stays(here, str(path), place, findings) else None

    def _equal(self, part: str, names: dict[str, bool], path: str, place: Place, findings: Findings) -> str | None:
        alike = sorted(name for name in names if same_name(name) == same_name(part))
        if len(alike) == 1:
            return alike[0]
        if alike:
            found = f"{len(alike)} Unicode-equal names for {shown(path)}"
            findings.fault(place, "path", found, "one file of that name", "Rename all but one.")
            return None
        near = next((name for name in names if name.casefold() == part.casefold()), None)
        hint = f"; {shown(near)} differs in case" if near else ""
        fix = "Names are matched exactly: correct the path or the file's name." if near else "Extract the release again."
        findings.fault(place, "missing_file", f"no file {shown(path)}{hint}", "every named file in place", fix)
        return None

    def _stays(self, file: Path, path: str, place: Place, findings: Findings) -> bool:
        real = os.path.realpath(file)
        inside = os.path.relpath(real, self._real_root) if real.startswith(self._real_root + os.sep) else None
        if inside is not None and room_of(inside.replace(os.sep, "/")) == room_of(path):
            return True
        to = "out of the release" if inside is None else "into another room"
        findings.fault(place, "link", f"{shown(path)}, a link that leads {to}", "a file of its own", "Replace it by the file.")
        return False

    def _names(self, folder: Path) -> dict[str, bool]:
        if folder not in self._listed:
            try:
                with os.scandir(folder) as entries:
                    self._listed[folder] = {entry.name: entry.is_symlink() for entry in entries}
            except OSError:  # absent, no folder, or not ours to read: whatever is looked for in it is then missing
                self._listed[folder] = {}
        return self._listed[folder]

    def walk(self, rooms: set[Room]) -> list[str]:
        """Every file below the root, as sorted posix paths, links not followed; folders of other rooms stay unlisted."""
        found: list[str] = []
        waiting = [""]
        while waiting:
            prefix = waiting.pop()
            for name, linked in self._names(self.root / prefix).items():
                path = f"{prefix}{name}"
                if not prefix and room_of(path) not in rooms:
                    continue
                if not linked and (self.root / path).is_dir():
                    waiting.append(f"{path}/")
                else:
                    found.append(path)
        return sorted(found)


def exists(path: Path) -> bool:
    """Whether anything stands at a path; no name, however long or odd, is an error."""
    return os.path.lexists(path)


def is_folder(path: Path) -> bool:
    """Whether a path is a folder that can be seen; no name, however long or odd, is an error."""
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises for a name that is too long


def is_regular(file: Path) -> bool:
    """Whether a path is a plain file (a pipe or device is never opened: reading it could wait for ever)."""
    try:
        return stat.S_ISREG(file.stat().st_mode)
    except OSError:
        return False
