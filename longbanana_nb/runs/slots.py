"""The place of one candidate in a run: its record, image, steps, trace and paid calls."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from longbanana_nb.files import sha256_bytes, sync_folder, write_atomic
from longbanana_nb.runs.disk import saving
from longbanana_nb.runs.records import Record, encode_record, named_files, read_record

RECORD = "record.json"
TRACE = "trace.jsonl"
CALLS = "calls.jsonl"


class CandidateSlot:
    """One folder `candidates/<system>/<case>/s<sample>`. The candidate counts when `record.json` stands in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def record(self) -> Record | None:
        """The record, or None while there is no finished candidate; DataError if it cannot be read."""
        try:
            return read_record(self.folder / RECORD)
        except FileNotFoundError:
            return None

    @property
    def image(self) -> Path | None:
        """The candidate's image, or None where the outcome is another or nothing is finished."""
        record = self.record()
        return self.folder / record.image.file if record is not None and record.image is not None else None

    @property
    def calls(self) -> Path:
        """The ledger of this candidate's paid calls; it outlives attempts."""
        return self.folder / CALLS

    def next_attempt(self) -> int:
        """The number of the attempt that would be made now, from 1."""
        numbers = [int(path.stem.removeprefix("record.attempt-")) for path in self.folder.glob("record.attempt-*.json")]
        current = self.record()
        numbers += [current.attempt] if current is not None else []
        return max(numbers, default=0) + 1

    def save(
        self,
        record: Record,
        image: bytes | None = None,
        steps: Mapping[str, bytes] | None = None,
        trace: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        """Save a finished candidate: image, steps and trace first, the record last, so that it is whole or absent.

        An earlier record is kept as `record.attempt-<n>.json`; its files, and what a killed attempt left, are removed.

        Args:
            record: names the files; their hashes must be those of the bytes given.
            image: bytes of `record.image.file`, untouched as the backend gave them.
            steps: bytes by the `file` of each of `record.steps` ("steps/01.png"), and of what its workflow left ("plan.json").
            trace: the events of trace.jsonl in order.

        Raises:
            ValueError: where record and bytes do not belong together.
            DataError: where the disk refuses; the slot then holds no record and is made again.
        """
        files = _files_of(record, image, steps or {})
        events = b"".join(msgspec.json.encode(event) + b"\n" for event in trace)
        with saving(self.folder):
            self._clear()
            for name, content in files.items():
                _write_through(self.folder / name, content)
            if events:
                _write_through(self.folder / TRACE, events)
            sync_folder(self.folder)
            write_atomic(self.folder / RECORD, encode_record(record))

    def _clear(self) -> None:
        """Take away an earlier attempt, its record first, so that no record ever names files that are gone."""
        self.folder.mkdir(parents=True, exist_ok=True)
        current = self.folder / RECORD
        if current.exists():
            current.replace(self.folder / f"record.attempt-{read_record(current).attempt}.json")
            sync_folder(self.folder)
        for path in self.folder.iterdir():
            if path.name == CALLS or path.name.startswith("record.attempt-"):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def _files_of(record: Record, image: bytes | None, steps: Mapping[str, bytes]) -> dict[str, bytes]:
    """All files to write by relative name, after comparing names and hashes with the record."""
    named, given = named_files(record), dict(steps)
    if image is not None and record.image is not None:
        given[record.image.file] = image
    elif image is not None:
        raise ValueError(f"an image is given and the outcome is {record.outcome!r}")
    if sorted(named) != sorted(given):
        raise ValueError(f"the record names the files {sorted(named)}, the bytes given are {sorted(given)}")
    for name, sha256 in named.items():
        _require_inside(name)
        if sha256_bytes(given[name]) != sha256:
            raise ValueError(f"the record gives {name} the hash {sha256}, its bytes have another")
    return given


def _require_inside(name: str) -> None:
    path = PurePosixPath(name)
    reserved = path.name in (RECORD, TRACE, CALLS) or path.name.startswith((".", "record.attempt-"))
    if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name or reserved:
        raise ValueError(f"{name!r} is not a file name inside a candidate's folder")


def _write_through(path: Path, content: bytes) -> None:
    """Write a new file and flush it to disk; the record, written later, is what makes it count."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
