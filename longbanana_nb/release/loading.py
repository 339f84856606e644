"""Loading a release: the public room is read and verified; the other rooms stay closed until they are asked for."""

from __future__ import annotations

from pathlib import Path

from longbanana_nb.release.contract import Release
from longbanana_nb.release.findings import Findings
from longbanana_nb.release.manifest import Manifest, read_manifest
from longbanana_nb.release.public import (
    PublicRoom,
    check_declared,
    check_hashes,
    read_public,
    statement_of_tasks,
)


def load_release(manifest: str | Path, *, verify: bool = True) -> Release:
    """Read the public room of a release.

    Args:
        manifest: the release's manifest file; all paths in it are relative to its folder.
        verify: whether to hash every public file for which a hash is stated (about as fast as `sha256sum`).

    Raises:
        DataError: with every fault found, each with its file, line and case.
    """
    findings = Findings()
    contents = read_manifest(manifest, findings)
    room = None if contents is None else check_public(contents, findings, verify=verify)
    findings.raise_faults(f"The release at {manifest} cannot be used.")
    if contents is None or room is None:  # a fault was raised above in either case
        raise AssertionError(manifest)
    return as_release(contents, room, findings)


def check_public(contents: Manifest, findings: Findings, *, verify: bool) -> PublicRoom:
    """Read the public room and hold every statement about it against the files."""
    room = read_public(contents, findings)
    statements = [*check_declared(contents, room.tree, {"public"}, findings), *room.statements]
    if verify:
        check_hashes(statements, room.tree, findings)
    statement_of_tasks(contents, room, findings)
    return room


def as_release(contents: Manifest, room: PublicRoom, findings: Findings) -> Release:
    """The release of a room that was read without a fault."""
    return Release(
        contents.name,
        contents.revision,
        contents.root,
        contents.file,
        contents.sha256,
        contents.license,
        room.cases,
        tuple(findings.warnings),
        contents,
    )
