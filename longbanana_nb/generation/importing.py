"""Images made elsewhere as the candidates of an `imported` system: joined by case id, bytes untouched."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from longbanana_nb.errors import CallError, Fault
from longbanana_nb.files import canonical_json, sha256_bytes, utc_now
from longbanana_nb.generation.import_folder import Found, Matched, match_folder
from longbanana_nb.generation.keeping import image_facts
from longbanana_nb.generation.summary import Summary
from longbanana_nb.names import require_name
from longbanana_nb.runs import Record, parse_system, system_sha256

if TYPE_CHECKING:
    from longbanana_nb.release import Release
    from longbanana_nb.runs import Run, SystemSpec


def import_candidates(run: Run, system_name: str, folder: str | Path, release: Release) -> Summary:
    """Import a folder of images as the candidates of a system.

    See `import_folder.match_folder` for the names it takes. The system's hash covers the hashes of all images, so the same
    folder can be imported again (what is missing is filled in), and other images need another name.

    Returns:
        A summary: cases without an image in `missing`, files that belong to no case in `ignored`.

    Raises:
        DataError: nothing matches, or a file is damaged, double or leads out of the folder; all faults at once, nothing imported.
        CallError: the name stands for another system or for other images in this run.
    """
    require_name("a system's name", system_name)
    matched = match_folder(Path(folder).absolute(), release.cases)
    spec = parse_system({"name": system_name, "harness": {"kind": "imported"}})
    versions = {"images": _images_sha256(matched)}
    sha256 = system_sha256(spec, versions)
    summary = Summary(expected=len(matched.images), missing={system_name: matched.missing}, ignored=matched.ignored)
    with run.owner():
        _refuse_other_images(run, spec, sha256, matched)
        run.add_system(spec, sha256, versions=versions)
        for case_id, found in matched.images.items():
            slot = run.candidate(system_name, case_id, 0)
            if slot.record() is not None:
                summary.found_finished += 1
            else:
                slot.save(_record(spec, sha256, case_id, found), found.data)
                summary.made += 1
            summary.count(system_name, "image")
    return summary


def _images_sha256(matched: Matched) -> str:
    return sha256_bytes(canonical_json({case_id: found.sha256 for case_id, found in matched.images.items()}))


def _refuse_other_images(run: Run, spec: SystemSpec, sha256: str, matched: Matched) -> None:
    """Raise CallError where the name is taken, saying which images differ from those imported before."""
    old = run.systems.get(spec.name)
    if old is None or old.sha256 == sha256:
        return
    where = f"{run.path} system {spec.name!r}"
    if old.system().harness.kind != "imported":
        raise CallError(f"{where} is a {old.system().harness.kind} system. Import under another name.")
    before = {record.case_id: record.image.sha256 for record in run.records() if record.system == spec.name and record.image}
    now = {case_id: found.sha256 for case_id, found in matched.images.items()}
    fix = "Import under a new name: what one name stands for never changes within a run."
    faults = [
        Fault(where, "other_images", now.get(case_id, "no image"), before.get(case_id, "no image"), fix, case_id)
        for case_id in sorted({*before, *now})
        if before.get(case_id) != now.get(case_id)
    ]
    raise CallError("These are not the images imported under that name.", faults)


def _record(spec: SystemSpec, sha256: str, case_id: str, found: Found) -> Record:
    now = utc_now()
    return Record(
        system=spec.name,
        system_sha256=sha256,
        case_id=case_id,
        sample=0,
        outcome="image",
        image=image_facts(found.data, found.facts),
        started_at=now,
        ended_at=now,
        package=f"longbanana-nb {version('longbanana-nb')}",
    )
