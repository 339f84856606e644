"""One run: the folder that holds everything an experiment produced."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import utc_now
from longbanana_nb.names import case_folder, case_of_folder, require_distinct_folders, require_name
from longbanana_nb.runs.disk import saving
from longbanana_nb.runs.experiment import CheckSample
from longbanana_nb.runs.identity import differing_fields, resolved_judge, resolved_system
from longbanana_nb.runs.judge_spec import JudgeSpec
from longbanana_nb.runs.judgments import JudgmentJournal
from longbanana_nb.runs.kept_weights import with_kept_weights
from longbanana_nb.runs.lock import RunLock
from longbanana_nb.runs.meta import Entry, ReleaseFacts, RunMeta, read_meta, release_faults, write_meta
from longbanana_nb.runs.plan import PlannedCase, PlannedCheck, plan_case, plan_checks, read_rows, write_rows
from longbanana_nb.runs.records import Record
from longbanana_nb.runs.results import is_part, remove_parts
from longbanana_nb.runs.selection import select_checks
from longbanana_nb.runs.shard import Shard, require_same_shard
from longbanana_nb.runs.slots import CandidateSlot
from longbanana_nb.runs.system_spec import SystemSpec

if TYPE_CHECKING:
    from longbanana_nb.release import Evaluation, Release

RUN_JSON, CASES, CHECKS = "run.json", "cases.jsonl", "checks.jsonl"
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Run:
    """A run folder, opened by `open_run` or `create_run`. Anybody reads; only inside `owner()` is anything written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.meta: RunMeta = read_meta(path / RUN_JSON)
        self._lock = RunLock(path)
        self._holds = 0

    def __repr__(self) -> str:
        release = self.meta.release
        return f"Run({self.path}: {release.name} at {release.revision}, {len(self.systems)} systems, {len(self.judges)} judges)"

    @property
    def systems(self) -> dict[str, Entry]:
        """Systems by name, in the order they were added; `entry.system()` is the spec."""
        return self.meta.systems

    @property
    def judges(self) -> dict[str, Entry]:
        """Judges by name, in the order they were added; `entry.judge()` is the profile."""
        return self.meta.judges

    @property
    def manifest(self) -> Path:
        """Where the release's manifest stood when the run was made."""
        return Path(os.path.normpath(self.path / self.meta.release.manifest))

    @contextlib.contextmanager
    def owner(self) -> Iterator[Run]:
        """Hold the run for writing, so that one process does; may be nested.

        What a killed process left half-written (hidden `.part` files) is removed on entry; for results see `writing_results`.

        Raises:
            CallError: where another process holds it.
        """
        if self._holds == 0:
            self._lock.acquire()
            try:
                with saving(self.path):
                    remove_parts(self.path)
                self.meta = read_meta(self.path / RUN_JSON)
            except BaseException:
                self._lock.release()
                raise
        self._holds += 1
        try:
            yield self
        finally:
            self._holds -= 1
            if self._holds == 0:
                self._lock.release()

    def add_system(
        self, spec: SystemSpec, sha256: str, *, versions: Mapping[str, str] | None = None, simulated: bool = False
    ) -> None:
        """Enter a system, or find it entered already.

        Raises:
            DataError: where the name stands for another hash; it names the fields that differ.
        """
        entry = Entry(sha256, spec.model_dump(mode="json"), dict(versions or {}), simulated)
        old = self.systems.get(spec.name)
        if old is not None and old.sha256 != sha256:
            raise self._changed(
                "system", spec.name, differing_fields(resolved_system(old.system()), resolved_system(spec)), entry
            )
        if old != entry:
            self._write(systems={spec.name: entry})

    def add_judge(
        self, spec: JudgeSpec, sha256: str, *, versions: Mapping[str, str] | None = None, simulated: bool = False
    ) -> None:
        """Enter a judge, or find it entered already; as `add_system`."""
        entry = Entry(sha256, spec.model_dump(mode="json", exclude_none=False), dict(versions or {}), simulated)
        old = self.judges.get(spec.name)
        if old is not None and old.sha256 != sha256:
            raise self._changed("judge", spec.name, differing_fields(resolved_judge(old.judge()), resolved_judge(spec)), entry)
        if old != entry:
            self._write(judges={spec.name: entry})

    def set_analysis(self, analysis: Mapping[str, Any]) -> None:
        """Say how the run is to be analysed."""
        if self.meta.analysis != dict(analysis):
            self._write(analysis=dict(analysis))

    def require_release(self, release: Release) -> None:
        """Raise DataError unless this is the release, revision and manifest that the run measures."""
        faults = release_faults(self.meta, release, f"{self.path / RUN_JSON} release")
        if faults:
            raise DataError(f"{self.path} measures another release.", faults)

    def index_checks(
        self,
        release: Release,
        evaluation: Evaluation,
        case_ids: Iterable[str] | None = None,
        sample: CheckSample | None = None,
    ) -> None:
        """Freeze the plan: the cases and checks every denominator comes from. Later tables need only the run folder.

        Args:
            case_ids: the selection; None takes every case. A later call replaces the plan, and what is then no longer
                planned stays on disk and is listed by `leftovers`.
            sample: how many checks of each case are taken; None takes all.

        Raises:
            DataError: where this is not the release the run measures.
        """
        self.require_release(release)
        chosen = set(release.cases if case_ids is None else case_ids)
        cases = [(n, case) for n, case in enumerate(release.cases.values()) if case.case_id in chosen]
        require_distinct_folders(case.case_id for _, case in cases)
        with self.owner():
            write_rows(self.path / CASES, (plan_case(n, case) for n, case in cases))
            chosen_checks = [check for _, case in cases for check in select_checks(plan_checks(case, evaluation), sample)]
            write_rows(self.path / CHECKS, chosen_checks)
            drawn = sample.model_dump() if sample is not None else {}
            if self.meta.checks != drawn:
                self._write(checks=drawn)

    @property
    def check_sample(self) -> CheckSample | None:
        """How many checks of each case the plan takes; None: all."""
        return CheckSample(**self.meta.checks) if self.meta.checks else None

    def holds(self, system: str, case_id: str) -> bool:
        """Whether the run takes this pair; a shard takes its part of the plan, any other run everything."""
        return self.meta.shard is None or self.meta.shard.holds(system, case_id)

    def cases(self) -> list[PlannedCase]:
        """The planned cases in the release's order."""
        return read_rows(self.path / CASES, PlannedCase)

    def checks(self) -> list[PlannedCheck]:
        """The planned checks, case by case."""
        return read_rows(self.path / CHECKS, PlannedCheck)

    def candidate(self, system: str, case_id: str, sample: int = 0) -> CandidateSlot:
        """The place of one candidate, whether or not anything stands there."""
        folder = self.path / "candidates" / require_name("a system's name", system) / case_folder(case_id)
        return CandidateSlot(folder / f"s{int(sample)}")

    def records(self) -> Iterator[Record]:
        """Every finished candidate of an entered system, by system, case folder and sample."""
        for system in self.systems:
            for folder in sorted((self.path / "candidates" / system).glob("*/s*"), key=_case_and_sample):
                record = CandidateSlot(folder).record()
                if record is not None:
                    yield record

    def judgments(self, judge: str, system: str, case_id: str) -> JudgmentJournal:
        """The journal of one judge's answers on one system and case."""
        folder = self.path / "judgments" / require_name("a judge's name", judge) / require_name("a system's name", system)
        return JudgmentJournal(folder / f"{case_folder(case_id)}.jsonl")

    def scene_file(self, image_sha256: str) -> Path:
        """Where the scene description of an image stands, if one does (embedded backend and floors only)."""
        if not _SHA256.fullmatch(image_sha256):
            raise ValueError(f"{image_sha256!r} is not a SHA-256 in lower-case hex")
        return self.path / "scenes" / f"{image_sha256}.json"

    def _write(
        self, *, systems: Mapping[str, Entry] | None = None, judges: Mapping[str, Entry] | None = None, **fields: Any
    ) -> None:
        with self.owner():
            fields["systems"] = {**self.meta.systems, **(systems or {})}
            fields["judges"] = {**self.meta.judges, **(judges or {})}
            meta = msgspec.structs.replace(self.meta, **fields)
            write_meta(self.path / RUN_JSON, meta)
            self.meta = meta

    def _changed(self, kind: str, name: str, fields: list[str], entry: Entry) -> DataError:
        old = self.systems[name] if kind == "system" else self.judges[name]
        differing = fields + differing_fields(old.versions, entry.versions, "versions")
        fault = Fault(
            f"{self.path / RUN_JSON} {kind} {name!r}",
            "changed",
            f"hash {entry.sha256[:12]}... ({'; '.join(differing) or 'other versions'})",
            f"hash {old.sha256[:12]}..., as when it was entered",
            "Choose a new name or a new run: what one name stands for never changes within a run.",
        )
        return DataError(f"The {kind} {name!r} is not the one this run holds.", [fault])


def open_run(path: str | Path) -> Run:
    """Open a run for reading; nothing is created. DataError where there is no run."""
    return Run(Path(path).absolute())


def create_run(
    path: str | Path, release: Release, *, analysis: Mapping[str, Any] | None = None, shard: Shard | None = None
) -> Run:
    """Make a run for this release, or continue the one that stands there.

    Args:
        analysis: of the experiment; None leaves the run's own, and then `shard` is not compared.
        shard: the part of the experiment that the run takes; None is everything.

    Raises:
        DataError: where the run there measures another release, revision or manifest, is another shard,
            or the folder holds something else.
        CallError: where another process holds it.
    """
    folder = Path(path).absolute()
    if not (folder / RUN_JSON).exists():
        _start(folder, release, shard)
    run = Run(folder)
    run.require_release(release)
    if analysis is not None:
        require_same_shard(folder, run.meta.shard, shard)
        run.set_analysis(with_kept_weights(run, analysis))
    return run


def _start(folder: Path, release: Release, shard: Shard | None) -> None:
    lock = RunLock(folder)
    lock.acquire()
    try:
        # the copy of the notebook that makes the run is there before it
        ours = {lock.path.name, "notebooks"}
        foreign = sorted(child.name for child in folder.iterdir() if child.name not in ours and not is_part(child.name))
        if foreign and not (folder / RUN_JSON).exists():
            fault = Fault(
                str(folder), "not_a_run", f"{', '.join(foreign[:5])}", "an empty folder or a run", "Choose another folder."
            )
            raise DataError("The folder is not empty and holds no run.", [fault])
        if not (folder / RUN_JSON).exists():
            facts = ReleaseFacts(
                release.name,
                release.revision,
                relative_to_run(release.manifest, folder),
                release.manifest_sha256,
                release.license,
            )
            package = f"longbanana-nb {version('longbanana-nb')}"
            meta = RunMeta(release=facts, shard=shard, package=package, created_at=utc_now())
            write_meta(folder / RUN_JSON, meta)
    finally:
        lock.release()


def relative_to_run(path: Path, folder: Path) -> str:
    """`path` as seen from `folder` with `/`, or absolute where they share no drive."""
    try:
        return Path(os.path.relpath(path.absolute(), folder)).as_posix()
    except ValueError:
        return path.absolute().as_posix()


def _case_and_sample(folder: Path) -> tuple[str, int]:
    sample = folder.name.removeprefix("s")
    return case_of_folder(folder.parent.name), int(sample) if sample.isdigit() else -1
