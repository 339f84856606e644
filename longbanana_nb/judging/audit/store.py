"""The folder of one judge's audit in a run: how its pairs were made, the pairs, their pictures, the answers, the numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import sha256_file, write_atomic
from longbanana_nb.judging.audit.pairs import Pair
from longbanana_nb.names import require_name
from longbanana_nb.runs import JudgmentJournal
from longbanana_nb.runs.disk import saving

if TYPE_CHECKING:
    from longbanana_nb.runs import Run

Row = TypeVar("Row", bound=msgspec.Struct)
FIX = "Restore it from a copy, or remove the audit's folder; the audit is then made anew."


class Making(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the pairs of an audit were made; the same making gives the same pairs.

    `basis` is a hash of the run's own pictures and labels that pairs from pixels start from, "" for pairs from graphs.
    `left_out`: number of checks by kind and reason.
    """

    release: str
    revision: str
    source: str
    maker: str
    per_kind: int
    seed: int
    basis: str = ""
    left_out: list[tuple[str, str, int]] = []
    schema: Literal["lb.pairs.v1"] = "lb.pairs.v1"


class AuditFolder:
    """`audits/<judge>/` of a run."""

    def __init__(self, run: Run, judge: str) -> None:
        self.run_path = run.path
        self.path = run.path / "audits" / require_name("a judge's name", judge)
        self.answers = JudgmentJournal(self.path / "answers.jsonl")
        self.calls = self.path / "calls.jsonl"
        self.numbers = self.path / "audit.json"
        self.canary_answers = JudgmentJournal(self.path / "canary.jsonl")
        self.canary_numbers = self.path / "canary.json"

    def making(self) -> Making | None:
        """How the pairs there were made, None where there are none."""
        path = self.path / "making.json"
        return _decoded(Making, path, path.read_bytes()) if path.is_file() else None

    def pairs(self) -> list[Pair]:
        """The pairs; DataError where a line is broken."""
        return read_rows(self.path / "pairs.jsonl", Pair)

    def file(self, picture: str) -> Path:
        """Where a made picture lies, by hash."""
        return self.path / "pictures" / f"{picture}.jpg"

    def has_whole(self, making: Making) -> bool:
        """Whether the pairs of this making stand there, every picture of theirs with its hash."""
        found = self.making()
        if found is None or msgspec.structs.replace(found, left_out=[]) != msgspec.structs.replace(making, left_out=[]):
            return False
        sides = {(side.file, side.picture) for pair in self.pairs() for side in (pair.before, pair.after)}
        return all((self.run_path / file).is_file() and sha256_file(self.run_path / file) == sha for file, sha in sides)

    def save(self, making: Making, pairs: Iterable[Pair], pictures: Mapping[str, bytes]) -> None:
        """Replace the pairs; `making.json`, written last, makes them count. Pictures no pair names are removed."""
        with saving(self.path):
            (self.path / "making.json").unlink(missing_ok=True)
            (self.path / "pictures").mkdir(parents=True, exist_ok=True)
            for picture, data in pictures.items():
                write_atomic(self.file(picture), data)
            for path in (self.path / "pictures").iterdir():
                if path.stem not in pictures:
                    path.unlink()
            write_rows(self.path / "pairs.jsonl", pairs)
            write_atomic(self.path / "making.json", msgspec.json.format(msgspec.json.encode(making), indent=1) + b"\n")


def write_rows(path: Path, rows: Iterable[msgspec.Struct]) -> None:
    """Write rows as JSONL, atomically."""
    with saving(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


def read_rows(path: Path, shape: type[Row]) -> list[Row]:
    """Read rows; DataError where the file is missing or a row is broken."""
    try:
        return msgspec.json.Decoder(shape).decode_lines(path.read_bytes())
    except FileNotFoundError:
        raise _fault(path, "no such file") from None
    except (msgspec.DecodeError, ValueError) as error:
        raise _fault(path, str(error)) from None


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write JSON, atomically; a file that says the same already is left alone."""
    block = f"{json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1)}\n".encode()
    if path.is_file() and path.read_bytes() == block:
        return
    with saving(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, block)


def _decoded(shape: type[Row], path: Path, data: bytes) -> Row:
    try:
        return msgspec.json.decode(data, type=shape)
    except (msgspec.DecodeError, ValueError) as error:
        raise _fault(path, str(error)) from None


def _fault(path: Path, found: str) -> DataError:
    return DataError("An audit cannot be read.", [Fault(str(path), "audit", found, "what `audit` wrote there", FIX)])
