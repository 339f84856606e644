"""Opening the evaluation room and the privileged room, each by its own call and each verified before it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longbanana_nb.files import sha256_bytes
from longbanana_nb.release.annotations import Source, overlay_folder, read_option_words, read_probes, read_units
from longbanana_nb.release.checks import read_checks
from longbanana_nb.release.contract import Case, Check, CheckKey, Evaluation, Release, Unit
from longbanana_nb.release.findings import Findings, Place, shown
from longbanana_nb.release.manifest import Manifest
from longbanana_nb.release.public import check_counts, check_declared, check_hashes, find_file
from longbanana_nb.release.records import read_bytes, record_lines, text_of
from longbanana_nb.release.tree import Tree, room_of

OVERLAY_FILES = ("options.json", "check_units.jsonl", "probes.jsonl")


@dataclass(slots=True)
class EvaluationRoom:
    """What the evaluation room holds, as far as it could be read; `records` counts check lines, whole or not."""

    checks: dict[tuple[str, str], Check] = field(default_factory=dict)
    evaluation: Evaluation = field(default_factory=lambda: Evaluation({}, {}, {}))
    records: int = 0


def open_evaluation(release: Release, annotations: Path | None = None) -> Evaluation:
    """The evaluation room of a release; see `Release.evaluation`."""
    findings = Findings()
    room = read_evaluation(release.contents, release.cases, annotations, findings, named=set(release.cases))
    findings.raise_faults(f"The evaluation side of {release.manifest} cannot be used.")
    return room.evaluation


def open_privileged(release: Release) -> Mapping[str, dict[str, Any]]:
    """The graphs of a release by case id; see `Release.privileged`."""
    findings = Findings()
    graphs = read_graphs(release.contents, set(release.cases), findings)
    findings.raise_faults(f"The privileged side of {release.manifest} cannot be used.")
    return graphs


def read_evaluation(
    manifest: Manifest, cases: Mapping[str, Case], annotations: Path | None, findings: Findings, *, named: set[str] | None
) -> EvaluationRoom:
    """Read and verify checks, units and probes; the overlay serves releases that do not carry their own.

    Args:
        cases: the cases that are whole. named: the ids of all tasks, whole or not, so that one fault in a task is not repeated
            by each of its checks; None where the tasks could not be read.
    """
    tree, room, hashes, first = Tree(manifest.root), EvaluationRoom(), dict[str, str](), len(findings.warnings)
    check_hashes(check_declared(manifest, tree, {"evaluation"}, findings), tree, findings)
    overlay = _read_overlay(manifest, annotations, hashes, findings)
    words = read_option_words(*overlay["options.json"], findings) if "options.json" in overlay else lambda case_id, check_id: {}
    known: set[CheckKey] | None = None
    if checks := _read_role(manifest, tree, "checks", hashes, findings):
        room.checks, keys, room.records = read_checks(*checks, cases, words, findings, named=named)
        known = keys if room.records else None  # without checks nothing can be said of check ids
        _check_records(manifest, "checks", room.records, findings)
        check_counts(manifest, {"checks": room.records}, findings)
    units: dict[CheckKey, Unit] = {}
    probes: dict[CheckKey, dict[str, Any]] = {}
    derived: frozenset[CheckKey] = frozenset()
    if found := _either(manifest, tree, "check_units", overlay, hashes, findings):
        data, path, source = found
        units = read_units(data, path, known, source, findings)
    if found := _either(manifest, tree, "probes", overlay, hashes, findings):
        data, path, _ = found
        probes, derived = read_probes(data, path, known, cases, findings)
    for name, annotated in (("check_units", units), ("probes", probes)):
        if known and annotated and len(annotated) < len(known):
            short = f"{name} for {len(annotated)} of {len(known)} checks"
            findings.warn(Place(name), "coverage", short, "one for every check", "Add the missing ones.")
    by_case: dict[str, list[Check]] = {case_id: [] for case_id in cases}
    for check in room.checks.values():
        by_case.setdefault(check.case_id, []).append(check)
    for case_id in (case_id for case_id, listed in by_case.items() if not listed):
        findings.warn(Place("checks", case_id), "no_checks", "a case without a check", "at least one", "It cannot be scored.")
    ordered = {case_id: tuple(listed) for case_id, listed in by_case.items()}
    room.evaluation = Evaluation(ordered, units, probes, hashes, tuple(findings.warnings[first:]), derived)
    return room


def read_graphs(manifest: Manifest, named: set[str] | None, findings: Findings) -> dict[str, dict[str, Any]]:
    """Read and verify the graphs, by case id; `named` as in `read_evaluation`."""
    tree = Tree(manifest.root)
    check_hashes(check_declared(manifest, tree, {"privileged"}, findings), tree, findings)
    found = _read_role(manifest, tree, "graphs", {}, findings)
    graphs: dict[str, dict[str, Any]] = {}
    for place, record in record_lines(*found, findings) if found else ():
        case_id = text_of(record, "case_id", place, findings)
        place = place.of(case_id=case_id)
        if case_id is None:
            continue
        if case_id in graphs:
            findings.fault(place, "duplicate", "a second graph of the case", "one graph a case", "Remove one of the two.")
        elif named is not None and case_id not in named:
            findings.fault(place, "unknown_case", f"case_id {shown(case_id)}", "a case of the tasks", "Correct the id.")
        graphs[case_id] = record
    return graphs


def _read_role(manifest: Manifest, tree: Tree, role: str, hashes: dict[str, str], findings: Findings) -> tuple[bytes, str] | None:
    path = manifest.locate(role, findings, required=role == "checks")
    if path is None:
        return None
    room = room_of(path)
    wanted = None if room == "public" else "privileged" if role == "graphs" else "evaluation"
    file = find_file(tree, path, Place(manifest.file.name, None, path), findings, wanted)
    data = None if file is None else read_bytes(file, Place(path), findings)
    if data is None:
        return None
    hashes[path] = sha256_bytes(data)
    return data, path


def _read_overlay(
    manifest: Manifest, annotations: Path | None, hashes: dict[str, str], findings: Findings
) -> dict[str, tuple[bytes, str]]:
    folder = overlay_folder(manifest.name, manifest.revision) if annotations is None else annotations
    found: dict[str, tuple[bytes, str]] = {}
    for name in OVERLAY_FILES:
        shown_path = f"annotations/{folder.name}/{name}"
        if (folder / name).exists() and (data := read_bytes(folder / name, Place(shown_path), findings)) is not None:
            found[name] = (data, shown_path)
            hashes[shown_path] = sha256_bytes(data)
    return found


def _either(
    manifest: Manifest,
    tree: Tree,
    role: str,
    overlay: dict[str, tuple[bytes, str]],
    hashes: dict[str, str],
    findings: Findings,
) -> tuple[bytes, str, Source] | None:
    """The release's own file of a role, else the overlay's; never both."""
    beside = overlay.get(f"{role}.jsonl")
    if own := _read_role(manifest, tree, role, hashes, findings):
        if beside:
            hashes.pop(beside[1], None)
            expected = f"no overlay; the release carries its own {role}"
            findings.warn(Place(beside[1]), "overlay", "an overlay that is not used", expected, "Remove the overlay file.")
        return *own, "units"
    return (*beside, "reviewed") if beside else None


def _check_records(manifest: Manifest, role: str, records: int, findings: Findings) -> None:
    paths = manifest.paths(role)
    for declared in manifest.files:
        if declared.records is not None and declared.path in paths and declared.records != records:
            place, expected = Place(declared.where, None, declared.path), f"{declared.records}, as the manifest says"
            findings.fault(place, "count", f"{records} records", expected, "Extract the release again.")
