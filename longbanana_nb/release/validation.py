"""Validating a release: everything that is wrong with it, in one pass, as a report and never as an exception."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from longbanana_nb.errors import Fault
from longbanana_nb.release import taxonomy
from longbanana_nb.release.evaluation import read_evaluation, read_graphs
from longbanana_nb.release.findings import Findings, Place, shown
from longbanana_nb.release.images import inspect_images
from longbanana_nb.release.loading import check_public
from longbanana_nb.release.manifest import Manifest, is_opened, read_manifest, room_of_declared
from longbanana_nb.release.public import PublicRoom
from longbanana_nb.release.tree import Room, same_name


@dataclass(frozen=True, slots=True)
class Validation:
    """The report on a release. A count is None where it could not be taken: checks, while that side is unopened."""

    ok: bool
    release: str | None
    revision: str | None
    counts: dict[str, int | None]
    errors: tuple[Fault, ...]
    warnings: tuple[Fault, ...]

    def as_json(self) -> dict[str, Any]:
        """The one object of `validate-data --json`, on success and on failure."""
        return {
            "ok": self.ok,
            "release": self.release,
            "revision": self.revision,
            "counts": dict(self.counts),
            "errors": [_fault_json(fault) for fault in self.errors],
            "warnings": [_fault_json(fault) for fault in self.warnings],
        }

    def text(self) -> str:
        """The report for people: every fault, every warning, and the verdict last."""
        lines = [f"error [{fault.code}] {fault}" for fault in self.errors]
        lines += [f"warning [{fault.code}] {fault}" for fault in self.warnings]
        counts = ", ".join(f"{'unopened' if number is None else number} {name}" for name, number in self.counts.items())
        name = "no release" if self.release is None else f"{self.release} (revision {self.revision})"
        verdict = "valid" if self.ok else "NOT valid"
        lines.append(f"{name}: {counts}; {len(self.errors)} errors, {len(self.warnings)} warnings. {verdict}.")
        return "\n".join(lines)


def validate_release(
    manifest: str | Path, *, evaluation: bool = False, decode: bool = True, annotations: Path | None = None
) -> Validation:
    """Hold everything a release says against its files.

    Args:
        manifest: the release's manifest file.
        evaluation: whether to open the evaluation and privileged rooms as well; without it no file in them is opened.
        decode: whether to decode every image fully; without it a warning says that this was left out.
        annotations: the overlay folder; by default `annotations/<name>@<revision>/` in the project.

    Returns:
        The report. Bad data never raises, whatever it is.
    """
    findings = Findings()
    contents = read_manifest(manifest, findings)
    counts: dict[str, int | None] = {"cases": 0, "references": 0, "backgrounds": 0, "checks": None}
    if contents is not None:
        room = check_public(contents, findings, verify=True)
        counts |= {"cases": room.records, "references": room.references, "backgrounds": room.backgrounds}
        rooms: set[Room] = {"public"}
        if evaluation:
            rooms |= {"evaluation", "privileged"}
            named = room.named if room.records else None  # without tasks nothing can be said of case ids
            counts["checks"] = read_evaluation(contents, room.cases, annotations, findings, named=named).records
            read_graphs(contents, named, findings)
        _look_at_images(room, decode, findings)
        _shape(contents, room, findings)
        _unmanifested(contents, room, rooms, findings)
    return Validation(
        not findings.errors,
        contents.name if contents else None,
        contents.revision if contents else None,
        counts,
        tuple(dict.fromkeys(findings.errors)),
        tuple(dict.fromkeys(findings.warnings)),
    )


def _fault_json(fault: Fault) -> dict[str, Any]:
    value = asdict(fault)
    return {key: value[key] for key in ("where", "case_id", "id", "code", "found", "expected", "fix")}


def _look_at_images(room: PublicRoom, decode: bool, findings: Findings) -> None:
    if not decode:
        fix = "Run again without --no-decode before you rely on the pictures."
        findings.warn(Place("images"), "not_decoded", f"{len(room.images)} images not decoded", "every image decoded", fix)
        return
    for file, finding in inspect_images(list(room.images)).items():
        record = findings.warn if finding.code == "type" else findings.fault
        record(room.images[file], finding.code, finding.found, finding.expected, finding.fix)


def _shape(contents: Manifest, room: PublicRoom, findings: Findings) -> None:
    """Published releases have 90 cases, ten a category; another number is worth a warning."""
    place, expected = Place(contents.file.name), f"{taxonomy.PUBLISHED_CASES} as in the published releases"
    fix = "Nothing need be done if the release is meant to be so."
    if room.records != taxonomy.PUBLISHED_CASES:
        findings.warn(place, "shape", f"{room.records} cases", expected, fix)
    by_category = Counter(case.category for case in room.cases.values())
    ten = taxonomy.PUBLISHED_CASES_PER_CATEGORY
    if other := [f"{code} {by_category[code]}" for code in taxonomy.CATEGORIES if by_category[code] != ten]:
        findings.warn(place, "shape", f"cases a category: {', '.join(other)}", f"{ten} each", fix)


def _unmanifested(contents: Manifest, room: PublicRoom, rooms: set[Room], findings: Findings) -> None:
    """Files that neither the manifest nor a task names; folders of unopened rooms are not even listed."""
    named = {same_name(file.path) for file in contents.files}
    named |= {same_name(file.relative_to(contents.root).as_posix()) for file in room.images}
    named |= {same_name(contents.file.name)}
    folders = tuple(f"{path.rstrip('/')}/" for path in named if "." not in path.rsplit("/", 1)[-1])
    hidden = {file.path for file in contents.files if room_of_declared(file) not in rooms or not is_opened(file, rooms)}
    for path in room.tree.walk(rooms):
        tolerated = path in hidden or path.rsplit("/", 1)[-1].startswith("binding_reviews") or path.startswith(folders)
        if same_name(path) not in named and not tolerated:
            where, expected = Place(path if path.isprintable() else ascii(path)), "only files that the manifest names"
            findings.warn(where, "unmanifested", f"the file {shown(path)}", expected, "Remove it, or add it to the manifest.")
