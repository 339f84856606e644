"""What other runs have answered already: judgments by key, candidates by system hash."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import read_json_lines, sha256_bytes, write_atomic
from longbanana_nb.runs.disk import saving
from longbanana_nb.runs.judgments import Judgment, JudgmentJournal
from longbanana_nb.runs.records import Record, named_files
from longbanana_nb.runs.run import Run, open_run
from longbanana_nb.runs.slots import TRACE, CandidateSlot


def reusable_answers(run_paths: Iterable[str | Path]) -> dict[str, Judgment]:
    """Valid answers of other runs by key (see `judgment_key`); of several with one key the newest of the first run counts.

    Raises:
        DataError: where a path is no run or a journal cannot be read.
    """
    answers: dict[str, Judgment] = {}
    for run in [open_run(path) for path in run_paths]:
        here = {}
        for path in sorted(run.path.glob("judgments/*/*/*.jsonl")):
            here.update({answer.key: answer for answer in JudgmentJournal(path).read() if answer.label is not None})
        answers = {**here, **answers}
    return answers


def adopt_answer(
    answer: Judgment, *, judge: str, system: str, case_id: str, sample: int, judge_sample: int, check_id: str
) -> Judgment:
    """An answer from elsewhere under the names of this run. Its cost here is nothing: it was paid where it was asked.

    Args:
        check_id: the check it answers here; it may differ, because a key names the check's text.
    """
    return msgspec.structs.replace(
        answer,
        judge=judge,
        system=system,
        case_id=case_id,
        sample=sample,
        judge_sample=judge_sample,
        check_id=check_id,
        cost_usd=0.0,
    )


class ReusableCandidates:
    """Finished candidates of other runs on the same release revision, by system hash, case and sample."""

    def __init__(self, run_paths: Iterable[str | Path], revision: str) -> None:
        runs = [open_run(path) for path in run_paths]
        self._homes: dict[str, list[tuple[Run, str]]] = {}
        for run in runs:
            if run.meta.release.revision == revision:
                for name, entry in run.systems.items():
                    self._homes.setdefault(entry.sha256, []).append((run, name))

    def find(self, system_sha256: str, case_id: str, sample: int) -> tuple[Run, CandidateSlot] | None:
        """The first run, and its slot, that holds an image of this system for this case and sample; or None."""
        for run, name in self._homes.get(system_sha256, ()):
            slot = run.candidate(name, case_id, sample)
            record = slot.record()
            if record is not None and record.image is not None and record.system_sha256 == system_sha256:
                return run, slot
        return None


def adopt_candidate(source: CandidateSlot, target: CandidateSlot, system: str) -> Record:
    """Copy a candidate into this run: the same record but for the system's name and the cost, the same files, no paid calls.

    Scene descriptions (simulated systems) lie outside the slot; see `adopt_scenes`.

    Raises:
        DataError: where a file is missing or no longer has the hash its record names, or the disk refuses.
    """
    record = source.record()
    if record is None or record.image is None:
        raise ValueError(f"{source.folder} holds no image")
    contents = {name: _unchanged(source.folder / name, sha256) for name, sha256 in named_files(record).items()}
    image = contents.pop(record.image.file)
    adopted = msgspec.structs.replace(record, system=system, cost_usd=0.0)
    target.save(adopted, image, contents, read_trace(source))
    return adopted


def adopt_scenes(record: Record, source: Run, target: Run) -> None:
    """Copy the scene descriptions of a candidate's images from the run it came from, where there are any."""
    for sha256 in {*named_files(record).values()}:
        scene = source.scene_file(sha256)
        if scene.is_file():
            with saving(target.scene_file(sha256)):
                write_atomic(target.scene_file(sha256), scene.read_bytes())


def read_trace(slot: CandidateSlot) -> list[dict[str, object]]:
    """The events of a candidate's trace.jsonl, none where there is no such file."""
    path = slot.folder / TRACE
    return [event for _, event in read_json_lines(path)] if path.exists() else []


def _unchanged(path: Path, sha256: str) -> bytes:
    content = path.read_bytes() if path.is_file() else b""
    if sha256_bytes(content) != sha256:
        fault = Fault(str(path), "sha256", "other bytes, or none", sha256, "Verify that run, or take it out of `reuse`.")
        raise DataError("A candidate of another run cannot be used again.", [fault])
    return content
