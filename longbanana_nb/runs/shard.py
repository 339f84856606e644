"""A shard: the part of an experiment's (system, case) pairs that one run folder takes, the same on every machine."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from longbanana_nb.errors import CallError, DataError, Fault
from longbanana_nb.files import canonical_json


class Shard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Shard `index` of `of`, counted from 1. Which pairs it takes depends on their names alone."""

    index: int
    of: int

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"

    def holds(self, system: str, case_id: str) -> bool:
        """Whether a pair is in this shard: SHA-256 of [system, case id] as canonical JSON, modulo the number of shards."""
        digest = hashlib.sha256(canonical_json([system, case_id])).digest()
        return int.from_bytes(digest, "big") % self.of == self.index - 1

    def folder(self, run: Path) -> Path:
        """Its run folder, beside that of the experiment."""
        return run.with_name(f"{run.name}-shard-{self.index}-of-{self.of}")


def parse_shard(text: str) -> Shard:
    """Read `i/n`.

    Raises:
        CallError: where it is no such thing, fewer than two shards, or counted past the end; shards count from 1.
    """
    index, _, of = text.partition("/")
    if not all(part.isascii() and part.isdigit() and len(part) < 7 for part in (index, of)):
        raise CallError(f"shard: found {text!r}; expected i/n, for instance 1/4: the first of four.")
    shard = Shard(int(index), int(of))
    if shard.of < 2:
        raise CallError(f"shard: found {text!r}; expected two shards or more. Leave it out to take everything.")
    if not 1 <= shard.index <= shard.of:
        raise CallError(f"shard: found {text!r}; expected 1/{shard.of} to {shard.of}/{shard.of}: shards count from 1.")
    return shard


def all_shards(of: int) -> list[Shard]:
    """Every shard of so many; CallError for fewer than two."""
    if of < 2:
        raise CallError(f"shards: found {of}; expected two or more.")
    return [Shard(n, of) for n in range(1, of + 1)]


def require_same_shard(folder: Path, found: Shard | None, wanted: Shard | None) -> None:
    """Raise DataError where a run is another part of its experiment than the one asked for."""
    if found == wanted:
        return
    names = [f"shard {one}" if one is not None else "no shard" for one in (found, wanted)]
    fault = Fault(
        f"{folder / 'run.json'} shard", "shard", names[0], names[1], "Choose another run folder, or ask for that shard."
    )
    raise DataError(f"{folder} is another part of the experiment.", [fault])


def shard_faults(shards: list[tuple[Path, Shard | None]]) -> list[Fault]:
    """Why runs do not make a whole together: shards of different counts, or some that are not there."""
    given = [(path, one) for path, one in shards if one is not None]
    if not given:
        return []
    of = given[0][1].of
    fix = "Merge the shards of one count; those of another are other parts."
    faults = [
        Fault(f"{path / 'run.json'} shard", "shard", f"shard {one}", f"a shard of {of}", fix)
        for path, one in given
        if one.of != of
    ]
    missing = [one for one in all_shards(of) if one not in [held for _, held in given]]
    if missing and not faults:
        named = ", ".join(map(str, missing))
        fix = "Name them too; for a part of an experiment score the shards themselves."
        faults.append(Fault("merge", "shards_missing", f"{of - len(missing)} of {of} shards", f"also shard {named}", fix))
    return faults
