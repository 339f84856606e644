"""The verdict grid: every answer that should exist, with its state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longbanana_nb.files import sha256_file
from longbanana_nb.names import case_of_folder
from longbanana_nb.runs.judgments import Judgment
from longbanana_nb.runs.plan import Keys, PlannedCase, PlannedCheck
from longbanana_nb.runs.records import Record
from longbanana_nb.runs.run import Run

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "judge", "system", "case_id", "category", "sample", "judge_sample", "check_id", "dimension", "polarity",
    "dimension_source", "state", "label", "invalid", "outcome", "candidate_sha256", "check_sha256", "simulated",
)  # fmt: skip
_TYPES = {"sample": "int64", "judge_sample": "int64", "label": "Int64", "simulated": "bool"}


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A finished candidate, and the hash its image has now (None: its outcome is no image)."""

    record: Record
    sha256: str | None


@dataclass(frozen=True, slots=True)
class _Block:
    """One judge on one system and case: what is asked, and what the current hashes are."""

    judge: str
    judge_sha256: str
    judge_samples: int
    keys: Keys
    system: str
    case_id: str
    candidates: tuple[_Candidate | None, ...]  # by sample
    simulated: bool


def verdict_grid(run: Run, *, judges: Sequence[str] | None = None, systems: Sequence[str] | None = None) -> pd.DataFrame:
    """Lay the answers over everything that should exist: judges x systems x planned cases x samples x checks.

    In a shard, of the (system, case) pairs that are its part.

    Args:
        judges: names of judges to take; None takes all of the run, in its order. So for `systems`.

    Returns:
        One row per (judge, system, case_id, sample, judge_sample, check_id). Ids and words have pandas' text type, missing
        ones are NaN. `label` is Int64: 0, 1 or 2 where `state` is "valid", <NA> elsewhere. States: `valid`; `invalid` (the
        reason in `invalid`); `not_asked`; `stale` (answered only for another image, check text, probe, reference or judge hash;
        images are hashed anew, so one changed by hand counts); `no_candidate` (`outcome` says what there is instead, missing
        where nothing was made or the image is gone). `simulated` is true where the system, its candidate or the judge is.
        Of several answers the newest valid one with the current hashes counts, else
        the newest invalid one. Answers outside the plan are not in it; see `leftovers`.

    Raises:
        DataError: where the run has no plan or a journal cannot be read.
    """
    import pandas as pd

    cases, checks = run.cases(), _checks_by_case(run)
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for block in _blocks(run, cases, judges, systems):
        verdicts = run.judgments(block.judge, block.system, block.case_id).read()
        for row in _rows(block, checks[block.case_id], verdicts):
            for name, value in zip(COLUMNS, row, strict=True):
                columns[name].append(value)
    return pd.DataFrame({name: pd.Series(values, dtype=_TYPES.get(name, "str")) for name, values in columns.items()})


def _checks_by_case(run: Run) -> dict[str, list[PlannedCheck]]:
    by_case: dict[str, list[PlannedCheck]] = {case.case_id: [] for case in run.cases()}
    for check in run.checks():
        by_case[check.case_id].append(check)
    return by_case


def _blocks(run: Run, cases: list[PlannedCase], judges: Sequence[str] | None, systems: Sequence[str] | None) -> Iterator[_Block]:
    samples = {system: run.systems[system].system().samples for system in (run.systems if systems is None else systems)}
    candidates = {
        (system, case.case_id): tuple(_as_it_is_now(run, system, case.case_id, sample) for sample in range(samples[system]))
        for system in samples
        for case in cases
        if run.holds(system, case.case_id)
    }
    for judge in run.judges if judges is None else judges:
        entry = run.judges[judge]
        profile = entry.judge()
        keys = {case.case_id: Keys.of(profile, entry.sha256, run.meta.release.revision, case) for case in cases}
        for (system, case_id), made in candidates.items():
            simulated = entry.simulated or run.systems[system].simulated
            yield _Block(judge, entry.sha256, profile.samples, keys[case_id], system, case_id, made, simulated)


def current_record(run: Run, system: str, case_id: str, sample: int) -> Record | None:
    """The finished candidate of a system as it is now; one with another system hash does not belong to it."""
    record = run.candidate(system, case_id, sample).record()
    return record if record is not None and record.system_sha256 == run.systems[system].sha256 else None


def _as_it_is_now(run: Run, system: str, case_id: str, sample: int) -> _Candidate | None:
    """The finished candidate, its image hashed anew: one changed by hand is another image, and one that is gone is none."""
    record = current_record(run, system, case_id, sample)
    if record is None or record.image is None:
        return _Candidate(record, None) if record is not None else None
    try:
        return _Candidate(record, sha256_file(run.candidate(system, case_id, sample).folder / record.image.file))
    except FileNotFoundError:
        return None


def _rows(block: _Block, checks: list[PlannedCheck], verdicts: list[Judgment]) -> Iterator[tuple[Any, ...]]:
    answers: dict[tuple[int, int, str], list[Judgment]] = {}
    for verdict in verdicts:
        answers.setdefault(verdict.unit, []).append(verdict)
    for sample, made in enumerate(block.candidates):
        sha256 = made.sha256 if made is not None else None
        outcome = made.record.outcome if made is not None else None
        simulated = block.simulated or (made is not None and made.record.simulated)
        for judge_sample in range(block.judge_samples):
            for check in checks:
                given = answers.get((sample, judge_sample, check.check_id), ())
                key = None
                if given and sha256 is not None:
                    key = block.keys.key(check, sha256, judge_sample)
                state, label, invalid = _state(given, block.judge_sha256, sha256, check.check_sha256, key)
                yield (
                    block.judge, block.system, block.case_id, check.category, sample, judge_sample, check.check_id,
                    check.dimension, check.polarity, check.dimension_source, state, label, invalid, outcome, sha256,
                    check.check_sha256, simulated,
                )  # fmt: skip


def _state(
    given: Sequence[Judgment], judge_sha256: str, candidate_sha256: str | None, check_sha256: str, key: str | None
) -> tuple[str, int | None, str | None]:
    """State, label and invalid reason of one unit, from its answers in the order they were given.

    `key` is the one an answer has to carry; a changed probe, or changed bytes of a reference, show in nothing else.
    """
    if candidate_sha256 is None:
        return "no_candidate", None, None
    current = (judge_sha256, candidate_sha256, check_sha256)
    newest_invalid = None
    for verdict in reversed(given):
        if (verdict.judge_sha256, verdict.candidate_sha256, verdict.check_sha256) != current:
            continue
        if key is not None and verdict.key != key:
            continue
        if verdict.label is not None:
            return "valid", verdict.label, None
        newest_invalid = newest_invalid or verdict.invalid
    if newest_invalid is not None:
        return "invalid", None, newest_invalid
    return ("stale" if given else "not_asked"), None, None


def leftovers(run: Run) -> list[str]:
    """What lies in the run and is not planned: candidates and answers of other systems, judges, cases, samples and checks,
    and lines that a kill cut short.

    One sentence each, with the path inside the run; none of it enters a grid.
    """
    checks = {case_id: {check.check_id for check in rows} for case_id, rows in _checks_by_case(run).items()}
    samples = {name: entry.system().samples for name, entry in run.systems.items()}
    found = []
    for folder in sorted(run.path.glob("candidates/*/*/s*")):
        system, case_id = folder.parent.parent.name, case_of_folder(folder.parent.name)
        planned = (
            system in samples
            and case_id in checks
            and run.holds(system, case_id)
            and folder.name in {f"s{n}" for n in range(samples[system])}
        )
        found += [] if planned else [f"{folder.relative_to(run.path).as_posix()}: a candidate that is not planned"]
    for path in sorted(run.path.glob("judgments/*/*/*.jsonl")):
        judge, system, case_id = path.parent.parent.name, path.parent.name, case_of_folder(path.stem)
        where = path.relative_to(run.path).as_posix()
        if judge not in run.judges or system not in samples or case_id not in checks or not run.holds(system, case_id):
            found.append(f"{where}: answers that are not planned")
            continue
        judge_samples = run.judges[judge].judge().samples
        planned_units = (range(samples[system]), range(judge_samples), checks[case_id])
        stray = Counter(v.check_id for v in run.judgments(judge, system, case_id).read() if not _is_planned(v, planned_units))
        found += [f"{where}: {n} answers to {check_id!r} that are not planned" for check_id, n in sorted(stray.items())]
    torn = sorted(path.relative_to(run.path).as_posix() for path in run.path.rglob("*.torn"))
    return found + [f"{where}: a line cut short by a kill, set aside; it never counted" for where in torn]


def _is_planned(verdict: Judgment, planned: tuple[range, range, set[str]]) -> bool:
    return all(part in known for part, known in zip(verdict.unit, planned, strict=True))
