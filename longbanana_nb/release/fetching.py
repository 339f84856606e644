"""Fetching a release: verified before it is unpacked, validated after, in place only when all of it is good."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from longbanana_nb.errors import CallError, DataError, Fault
from longbanana_nb.files import sha256_file
from longbanana_nb.paths import releases_folder
from longbanana_nb.release.archive import Limits, extract_archive
from longbanana_nb.release.download import download, read_small, require_safe, shown_url
from longbanana_nb.release.tree import exists, is_regular
from longbanana_nb.release.validation import Validation, validate_release

HUB = "https://huggingface.co"
DATASET = "hooccee/Longbanana"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SUM = re.compile(r"\\?([0-9a-fA-F]{64})[ \t][ *]?(.+)")


def fetch_release(
    name: str,
    *,
    to: str | Path | None = None,
    source: str | Path | None = None,
    limits: Limits | None = None,
    say: Callable[[str], None] | None = None,
) -> Path:
    """Bring a release to `to/name` and return that folder.

    The archive is held against the SHA256SUMS beside it, unpacked into a hidden folder of `to`, validated there with its
    evaluation side, and renamed. What already stands at `to/name` is never changed: a valid release is returned as it is.
    Whatever fails or interrupts this leaves nothing behind, but for the part of a broken download, from which the next call
    goes on.

    Args:
        name: the release, such as "open_v1"; the one folder in its archive.
        to: the folder for releases; by default the project's.
        source: a .tar.zst file, or its https address; by default the dataset's public page (`HF_ENDPOINT` is honoured).
        limits: how much the archive may hold.
        say: is told, in a sentence each, what was found and done; by default printed on the error stream.

    Raises:
        CallError: for a name or an address that cannot be used.
        DataError: for everything else that is wrong, with where, found, expected and what to do.
    """
    if not _NAME.fullmatch(name) or name.endswith("."):
        raise CallError(f"fetch: found {name!r}; expected a release name such as open_v1 (letters, digits, '.', '_', '-').")
    folder = Path(releases_folder() if to is None else to).expanduser().absolute()
    tell = say or _say
    if os.path.lexists(folder / name):
        return _standing(folder / name, tell)
    address = archive_url(name) if source is None else str(source)
    archive = None if "://" in address else _local(address)
    if archive is None:
        require_safe(address)
    with _hidden_folder(folder, name) as hidden:
        archive = archive or _bring(address, hidden, tell)
        tree = Path(tempfile.mkdtemp(prefix="tree-", dir=hidden))
        release = extract_archive(archive, tree, name, limits)
        _require_valid(validate_release(release / "manifest.json", evaluation=True), name, tell)
        if os.path.lexists(folder / name):
            raise _fault(folder / name, "exists", "something that came in the meantime", "a free name", "Look at it first.")
        release.rename(folder / name)
    tell(f"{name} is in {folder / name}.")
    return folder / name


def archive_url(name: str) -> str:
    """The address of a release's archive on the dataset's public page; `HF_ENDPOINT` replaces the hub's own address."""
    endpoint = os.environ.get("HF_ENDPOINT") or HUB
    return f"{endpoint.rstrip('/')}/datasets/{DATASET}/resolve/main/{name}.tar.zst"


def stated_hash(sums: bytes, name: str, where: str) -> str:
    """The SHA-256 that a SHA256SUMS text states for a file name.

    Raises:
        DataError: if it states none, or two that differ.
    """
    found = set()
    for line in sums.decode("utf-8-sig", "replace").splitlines():
        if (match := _SUM.fullmatch(line.strip())) and match[2].removeprefix("./") == name:
            found.add(match[1].lower())
    if len(found) == 1:
        return found.pop()
    told = f"{len(found)} different hashes for {name}" if found else f"no line for {name}"
    raise _fault(where, "hash", told, "its SHA-256, once", "Take SHA256SUMS from where the archive comes from.")


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _standing(place: Path, tell: Callable[[str], None]) -> Path:
    report = validate_release(place / "manifest.json", evaluation=True)
    if not report.ok:
        fix = "It is left as it is. Move it away to fetch the release anew."
        fault = Fault(str(place), "exists", f"a folder with {len(report.errors)} faults", "a free name or a valid release", fix)
        raise DataError("Something stands where the release would go.", [fault, *report.errors])
    tell(f"{place.name} is already in {place}, and is valid (release {report.release}, revision {report.revision}).")
    return place


def _local(address: str) -> Path:
    """A local archive that was held against the SHA256SUMS beside it."""
    archive = Path(address).expanduser().absolute()
    if not is_regular(archive):
        found = "no regular file" if exists(archive) else "no such file"
        raise _fault(archive, "missing_file", found, "a .tar.zst archive", "Check the path.")
    sums = archive.with_name("SHA256SUMS")
    if not is_regular(sums):
        fix = "Download SHA256SUMS from where the archive comes from, into the same folder."
        raise _fault(sums, "missing_file", "no such file", "SHA256SUMS beside the archive", fix)
    _require_hash(archive, stated_hash(sums.read_bytes(), archive.name, str(sums)), str(archive))
    return archive


def _bring(url: str, hidden: Path, tell: Callable[[str], None]) -> Path:
    """Download an archive and hold it against the SHA256SUMS beside it; a wrong one is removed."""
    base, _, last = url.partition("?")[0].rpartition("/")
    tell(f"Downloading {shown_url(url)}")
    stated = stated_hash(read_small(f"{base}/SHA256SUMS"), last, f"{shown_url(base)}/SHA256SUMS")
    file = hidden / "archive.part"
    with _keep(hidden):
        download(url, file)
    _require_hash(file, stated, shown_url(url))
    return file


def _require_hash(file: Path, stated: str, where: str) -> None:
    if (actual := sha256_file(file)) != stated:
        fix = "The archive is damaged or another one. Nothing was unpacked; download it again."
        raise _fault(where, "hash", f"sha256 {actual}", f"{stated}, as SHA256SUMS says", fix)


def _require_valid(report: Validation, name: str, tell: Callable[[str], None]) -> None:
    if not report.ok:
        raise DataError("The archive holds no valid release; nothing was kept of it.", report.errors)
    if report.release != name:
        tell(f"The manifest of {name} calls the release {report.release!r}.")
    for warning in report.warnings:
        tell(f"warning [{warning.code}] {warning}")


@contextlib.contextmanager
def _hidden_folder(folder: Path, name: str) -> Iterator[Path]:
    """A hidden folder for one fetch at a time: leftovers of a killed one are removed first, and all of it at the end."""
    hidden = folder / f".{name}.fetch"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = _lock(hidden)
    except OSError as error:
        raise _fault(folder, "disk", error.strerror or str(error), "a folder to write in", "Choose another folder.") from None
    try:
        for leftover in hidden.glob("tree-*"):
            shutil.rmtree(leftover)
        yield hidden
    except OSError as error:
        fix = "Free some space or choose another folder, then run it again."
        raise _fault(folder, "disk", error.strerror or str(error), "a folder to write in", fix) from None
    finally:
        if (hidden / "keep").exists():
            (hidden / "keep").unlink()
        else:
            shutil.rmtree(hidden, ignore_errors=True)
        os.close(lock)


@contextlib.contextmanager
def _keep(hidden: Path) -> Iterator[None]:
    """Keep the partial download where only the connection failed or a person interrupted: the next call goes on from it."""
    try:
        yield
    except BaseException as error:
        is_transport = isinstance(error, DataError) and [fault.code for fault in error.faults] == ["transport"]
        if (is_transport or not isinstance(error, Exception)) and (hidden / "archive.part").exists():
            (hidden / "keep").touch()
        raise


def _lock(hidden: Path) -> int:
    """Hold the hidden folder for this process; the system lets go of it when the process ends, however it ends."""
    while True:
        hidden.mkdir(exist_ok=True)
        try:
            handle = os.open(hidden / "lock", os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:  # the one before us has just removed it
            continue
        if not _try_lock(handle):
            os.close(handle)
            raise _fault(hidden, "locked", "another fetch of this release at work", "one at a time", "Wait until it has ended.")
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), (hidden / "lock").stat()):
                return handle
        os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _fault(where: object, code: str, found: str, expected: str, fix: str) -> DataError:
    return DataError("The release was not fetched.", [Fault(str(where), code, found, expected, fix)])
