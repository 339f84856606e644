"""The loss funnel: for each failed check, was its evidence opened, sent, met in a picture on the way, and kept to the end?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from longbanana_nb.runs import current_record
from longbanana_nb.runs.step_answers import FOLDER, read_step_answers
from longbanana_nb.runs.system_spec import AGENTS

if TYPE_CHECKING:
    from longbanana_nb.reporting.facts import RunFacts
    from longbanana_nb.runs import Record, Run
    from longbanana_nb.runs.plan import PlannedCheck

STAGES: dict[str, str] = {
    "no picture": "the system left no picture",
    "not opened": "an agent never opened some bound reference, and it was not sent",
    "not sent": "some bound reference never went into an image call",
    "met, then lost": "some picture on the way met it, the last one does not",
    "never met": "everything bound was sent, and no picture met it",
    "sent, not met": "everything bound was sent; pictures on the way were not judged",
    "let in": "a check for absence: something is there that should not be",
    "unknown": "the record does not say what was opened or sent",
}
COLUMNS = [
    "judge",
    "system",
    "case_id",
    "category",
    "sample",
    "check_id",
    "dimension",
    "polarity",
    "stage",
    "met_at",
    "distractors_sent",
]


def funnel_judge(run: Run, facts: RunFacts) -> str:
    """Whose failures the funnel shows: the main judge's, but the truth's where only the truth looked at the steps."""
    judged = [path.name for path in (run.path / FOLDER).glob("*")]
    names = [judge.name for judge in (facts.main_judge, facts.truth) if judge is not None]
    return next((name for name in names if name in judged), names[0])


def loss_funnel(run: Run, grid: pd.DataFrame, judge: str) -> pd.DataFrame:
    """One row a failed check of a judge (label Fail, or no picture), with the first stage at which it was lost (`STAGES`).

    `met_at` is the first step whose picture met it, missing where none did or steps were not judged. `distractors_sent` counts
    the references sent in this case that no positive check of it binds, missing where the record does not say what was sent.

    Args:
        grid: the run's verdict grid. judge: whose answers; those on steps must be the same judge's (`judge_steps`).
    """
    mine = grid[(grid["judge"] == judge) & (grid["judge_sample"] == 0)]
    failed = mine[((mine["state"] == "valid") & (mine["label"] == 0)) | (mine["state"] == "no_candidate")]
    checks = checks_of(run)
    useful = _useful(checks)
    rows = []
    kinds = {name: entry.system().harness.kind for name, entry in run.systems.items()}
    groups: Any = failed.groupby(["system", "case_id", "sample"], sort=False)
    for (system, case_id, sample), part in groups:
        record = current_record(run, system, case_id, sample)
        met = first_met(run, judge, record, checks) if record is not None else {}
        extra = _distractors(record, useful.get(case_id, set()))
        columns = (part[name].tolist() for name in ("check_id", "category", "dimension", "polarity"))
        for check_id, category, dimension, polarity in zip(*columns, strict=True):
            check = checks[case_id, check_id]
            stage = _stage(check, record, kinds[system], met)
            facts = (judge, system, case_id, category, sample, check_id, dimension, polarity)
            rows.append((*facts, stage, (met or {}).get(check.check_id), extra))
    return pd.DataFrame(rows, columns=COLUMNS).astype({"met_at": "Int64", "distractors_sent": "Int64"})


Checks = Mapping[tuple[str, str], "PlannedCheck"]


def checks_of(run: Run) -> Checks:
    """The planned checks by case and id."""
    return {(check.case_id, check.check_id): check for check in run.checks()}


def step_labels(run: Run, judge: str, record: Record, checks: Checks) -> dict[int, dict[str, int]]:
    """By step and check, the label of that step's picture, where the judge as it is now answered the check as it is now.

    Args:
        checks: of `checks_of`.
    """
    sha256 = run.judges[judge].sha256 if judge in run.judges else ""
    said: dict[str, dict[str, int]] = {}
    for one in read_step_answers(run, judge, record.system, record.case_id):
        check = checks.get((record.case_id, one.check_id))
        asked = (check.check_sha256, check.probe_sha256) if check is not None else None
        if one.label is not None and one.judge_sha256 == sha256 and asked == (one.check_sha256, one.probe_sha256):
            said.setdefault(one.image_sha256, {})[one.check_id] = one.label
    return {step.n: said[step.sha256] for step in record.steps if step.sha256 in said}


def first_met(run: Run, judge: str, record: Record, checks: Checks) -> dict[str, int] | None:
    """The first step that met each check; None where there were pictures on the way that nobody judged."""
    final = record.image.sha256 if record.image is not None else None
    on_the_way = [step.n for step in record.steps if step.sha256 != final]
    labels = step_labels(run, judge, record, checks) if on_the_way else {}
    if any(n not in labels for n in on_the_way):
        return None
    met: dict[str, int] = {}
    for n in on_the_way:
        for check_id, label in labels[n].items():
            if label == 2:
                met.setdefault(check_id, n)
    return met


def timeline(run: Run, judge: str, grid: pd.DataFrame, system: str, case_id: str, sample: int = 0) -> pd.DataFrame:
    """What each picture of a case fixed and broke: columns `step, met, fixed, broke, references_sent`, the candidate last.

    `fixed` and `broke` count checks that passed here and not in the picture before, and the other way round; empty where steps
    were not judged.
    """
    record = current_record(run, system, case_id, sample)
    if record is None or record.image is None:
        return pd.DataFrame(columns=["step", "met", "fixed", "broke", "references_sent"])
    labels = step_labels(run, judge, record, checks_of(run))
    mine = grid[(grid["judge"] == judge) & (grid["system"] == system) & (grid["case_id"] == case_id) & (grid["state"] == "valid")]
    mine = mine[(mine["sample"] == sample) & (mine["judge_sample"] == 0)]
    last = {str(check): int(label) for check, label in zip(mine["check_id"], mine["label"], strict=True)}
    rows, before = [], None
    for step in record.steps:
        now = last if step.sha256 == record.image.sha256 else labels.get(step.n)
        passed = None if now is None else {check for check, label in now.items() if label == 2}
        known = passed is not None and before is not None
        fixed = len(passed - before) if known and passed is not None and before is not None else None
        broke = len(before - passed) if known and passed is not None and before is not None else None
        rows.append((step.n, None if passed is None else len(passed), fixed, broke, len(step.references_sent)))
        before = passed
    frame = pd.DataFrame(rows, columns=["step", "met", "fixed", "broke", "references_sent"])
    return frame.astype({"met": "Int64", "fixed": "Int64", "broke": "Int64"})


def stage_counts(funnel: pd.DataFrame, by: str = "system") -> dict[str, dict[str, int]]:
    """Counts of failed checks by `by` (system or category) and stage, stages in their order; those that never occur left out."""
    seen = [stage for stage in STAGES if (funnel["stage"] == stage).any()]
    counts: dict[str, dict[str, int]] = {}
    for value, stage in zip(funnel[by], funnel["stage"], strict=True):
        mine = counts.setdefault(str(value), dict.fromkeys(seen, 0))
        mine[str(stage)] += 1
    return counts


def _stage(check: PlannedCheck, record: Record | None, harness: str, met: Mapping[str, int] | None) -> str:
    if record is None or record.image is None:
        return "no picture"
    if check.polarity == "negative":
        return "let in"
    used = record.references
    says = bool(used.sent or used.never_sent)
    if check.reference_ids and not says:
        return "unknown"
    missing = [name for name in check.reference_ids if name not in used.sent]
    if missing:
        return "not opened" if harness in AGENTS and any(name not in used.opened for name in missing) else "not sent"
    if met is None:
        return "sent, not met"
    return "met, then lost" if check.check_id in met else "never met"


def _useful(checks: Mapping[tuple[str, str], PlannedCheck]) -> dict[str, set[str]]:
    """By case, the references that some positive check binds."""
    found: dict[str, set[str]] = {}
    for case_id, name in _bound(checks):
        found.setdefault(case_id, set()).add(name)
    return found


def _bound(checks: Mapping[tuple[str, str], PlannedCheck]) -> Iterator[tuple[str, str]]:
    for (case_id, _), check in checks.items():
        if check.polarity != "negative":
            yield from ((case_id, name) for name in check.reference_ids)


def _distractors(record: Record | None, useful: set[str]) -> Any:
    if record is None or not (record.references.sent or record.references.never_sent):
        return None
    return sum(name not in useful for name in record.references.sent)
