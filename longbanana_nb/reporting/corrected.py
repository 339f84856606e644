"""Scores of a run corrected with its human labels, and how many labels would buy what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from longbanana_nb.errors import CallError
from longbanana_nb.reporting.facts import RunFacts
from longbanana_nb.reporting.gallery import main_judge_of
from longbanana_nb.reporting.measured import hashes_of, measure
from longbanana_nb.reporting.run_facts import level_of_run
from longbanana_nb.runs.label_design import LabelDesign, designs
from longbanana_nb.runs.labels import Unit, read_labels, settled
from longbanana_nb.scoring.correction import UNIT, Corrected, correct, label_units, parts_of
from longbanana_nb.scoring.label_plan import ASSUMED, Spread, label_plan, spread_of

if TYPE_CHECKING:
    import pandas as pd

    from longbanana_nb.reporting.table import Table
    from longbanana_nb.runs import Run


@dataclass(frozen=True, slots=True)
class CorrectedRun:
    """A run's corrected scores, and what they rest on.

    Attributes:
        judge: whose verdicts are corrected. design: by which the units were drawn. labelled, drawn: units. simulated: whether
            any label is a simulated rater's. assumed: whether a bias was carried to systems without labels. unclear: labels that
            say nobody can tell. replaced: units without a valid answer of the judge.
    """

    found: Corrected
    judge: str
    design: str
    labelled: int
    drawn: int
    simulated: bool
    assumed: bool
    unclear: int = 0
    replaced: int = 0


def corrected_run(
    run: Run, *, judge: str | None = None, design: str | None = None, assume_common_bias: bool = False
) -> CorrectedRun:
    """Correct a judge's scores with the settled labels of one design; a run's newest design where none is named.

    Units that were drawn and not labelled yet are taken to be missing at random within their system: the chance of the others is
    lowered by the share that was labelled. Systems without any drawn unit are left out unless `assume_common_bias`.

    Raises:
        CallError: no design, an unknown one, or nothing labelled.
    """
    known = measure(run)
    chosen, name = _design(run, design), judge or main_judge_of(known.facts)
    labels, simulated = _labels(run, chosen)
    grid = known.grid
    if not assume_common_bias:
        grid = grid[grid["system"].isin(set(labels["system"]))]
    found = correct(grid, labels, judge=name, level=level_of_run(run), assume_common_bias=assume_common_bias)
    unclear = int(labels["label"].isna().sum())
    return CorrectedRun(
        found, name, chosen.id, len(labels), len(chosen.units), simulated, assume_common_bias, unclear, found.replaced
    )


def plan_labels(run: Run, *, judge: str | None = None) -> tuple[pd.DataFrame, Spread]:
    """What numbers of labels on one system would buy: from the labels the run has, else from stated assumptions."""
    kept = designs(run)
    if not kept:
        return label_plan(ASSUMED, level=level_of_run(run)), ASSUMED
    labels, _ = _labels(run, kept[-1])
    if labels.empty:
        return label_plan(ASSUMED, level=level_of_run(run)), ASSUMED
    grid = measure(run).grid
    units = label_units(grid[grid["system"].isin(set(labels["system"]))], labels, judge or main_judge_of(measure(run).facts))
    spread = spread_of(list(parts_of(units).values()), units[units["human"].notna()])
    return label_plan(spread, level=level_of_run(run)), spread


def correction_tables(run: Run) -> list[Table]:
    """The tables of corrected scores and of what more labels buy; none where no unit of the newest design is labelled."""
    kept = designs(run)
    if not kept or _labels(run, kept[-1])[0].empty:
        return []
    return [table_of(run, corrected_run(run)), plan_table(run)]


def table_of(run: Run, done: CorrectedRun) -> Table:
    """Corrected scores as a table, beside the truth where the run has one."""
    from longbanana_nb.reporting.correction_tables import correction_table

    facts = measure(run).facts
    return correction_table(done, facts, _truths(run, facts))


def plan_table(run: Run) -> Table:
    """What more labels would buy, as a table."""
    from longbanana_nb.reporting.correction_tables import label_plan_table

    return label_plan_table(*plan_labels(run), measure(run).facts)


def _truths(run: Run, facts: RunFacts) -> dict[str, float]:
    if facts.truth is None or facts.truth.name == main_judge_of(facts):
        return {}
    scores = measure(run).scores.scores
    overall = scores[(scores["judge"] == facts.truth.name) & (scores["scope"] == "overall")]
    return {str(system): float(score) for system, score in zip(overall["system"], overall["score"], strict=True)}


def _design(run: Run, name: str | None) -> LabelDesign:
    kept = {one.id: one for one in designs(run)}
    if not kept:
        raise CallError(f"{run.path}: no design of labels. Draw units first: `longbanana-nb label RUN --raters anna,ben`.")
    if name is not None and name not in kept:
        raise CallError(f"design: found {name!r}; expected one of {', '.join(kept)}.")
    return kept[name] if name is not None else list(kept.values())[-1]


def _labels(run: Run, design: LabelDesign) -> tuple[pd.DataFrame, bool]:
    """The settled labels of a design with their probabilities, and whether any is simulated."""
    import pandas as pd

    known = settled(read_labels(run), hashes_of(run))
    drawn: dict[Unit, tuple[str, float]] = {
        (unit.system, unit.case_id, unit.sample, unit.check_id): (unit.system, unit.p) for unit in design.units
    }
    given = {
        unit: label
        for unit, label in known.items()
        if unit in drawn and label.design is not None and label.design.id == design.id
    }
    asked, answered = (_count(units) for units in (drawn, given))
    rows = [
        (system, case_id, check_id, sample, label.label, drawn[label.unit][1] * answered[system] / asked[system])
        for (system, case_id, sample, check_id), label in given.items()
    ]
    return pd.DataFrame(rows, columns=[*UNIT, "label", "p"]), any(label.is_simulated for label in given.values())


def _count(units: Iterable[Unit]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for system, *_ in units:
        counts[system] = counts.get(system, 0) + 1
    return counts
