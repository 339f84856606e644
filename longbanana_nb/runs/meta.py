"""`run.json` (`lb.run.v1`): the release, systems and judges of a run, and how it is to be analysed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import write_atomic
from longbanana_nb.runs.disk import saving
from longbanana_nb.runs.judge_spec import JudgeSpec, parse_judge
from longbanana_nb.runs.shard import Shard
from longbanana_nb.runs.system_spec import SystemSpec, parse_system

if TYPE_CHECKING:
    from longbanana_nb.release import Release


class ReleaseFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which release a run measures. `manifest` is relative to the run's folder where that is possible."""

    name: str
    revision: str
    manifest: str
    manifest_sha256: str
    license: str | None = None


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A system or judge as run.json holds it: its hash, what was hashed, and whether it is simulated."""

    sha256: str
    spec: dict[str, Any]
    versions: dict[str, str] = {}
    simulated: bool = False

    def system(self) -> SystemSpec:
        """The entry's spec as a system."""
        return parse_system(self.spec, f"run.json systems {self.spec.get('name')!r}")

    def judge(self) -> JudgeSpec:
        """The entry's spec as a judge."""
        return parse_judge(self.spec, f"run.json judges {self.spec.get('name')!r}")


class RunMeta(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All of run.json. Systems and judges stand in the order they were added; `checks` is the sample drawn (empty: all).

    `shard` says which part of the planned (system, case) pairs the run takes; null: all.
    """

    schema: Literal["lb.run.v1"] = "lb.run.v1"
    release: ReleaseFacts
    systems: dict[str, Entry] = {}
    judges: dict[str, Entry] = {}
    analysis: dict[str, Any] = {}
    checks: dict[str, int] = {}
    shard: Shard | None = None
    package: str = ""
    created_at: str = ""


_decoder = msgspec.json.Decoder(RunMeta)


def read_meta(path: Path) -> RunMeta:
    """Read run.json; DataError names what is wrong, unknown keys included."""
    try:
        return _decoder.decode(path.read_bytes())
    except FileNotFoundError:
        fault = Fault(str(path), "no_run", "no such file", "the run.json of a run", "Check the folder; `generate` makes a run.")
    except (msgspec.DecodeError, ValueError) as error:
        fault = Fault(str(path), "run_json", str(error), "an lb.run.v1 file", "Restore it from a copy.")
    except OSError as error:
        fault = Fault(str(path), "unreadable", error.strerror or str(error), "a readable file", "Check its permissions.")
    raise DataError(f"{path.parent} is not a run that can be read.", [fault])


def write_meta(path: Path, meta: RunMeta) -> None:
    """Replace run.json atomically."""
    with saving(path):
        write_atomic(path, msgspec.json.format(msgspec.json.encode(meta), indent=1) + b"\n")


def release_faults(meta: RunMeta, release: Release, where: str) -> list[Fault]:
    """Whatever tells a release from the one that the run measures: its name, revision or manifest."""
    fixes = {
        "name": "Choose a new run for another release.",
        "revision": "Choose a new run for another revision.",
        "manifest_sha256": "The manifest was changed: restore the release, or choose a new run.",
    }
    return [
        Fault(f"{where}.{field}", "changed", f"the release's {getattr(release, field)}", getattr(meta.release, field), fix)
        for field, fix in fixes.items()
        if getattr(meta.release, field) != getattr(release, field)
    ]
