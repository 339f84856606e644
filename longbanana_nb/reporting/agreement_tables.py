"""Agreement as tables: a judge beside people or the truth, by scope and by correlation, and raters beside each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from longbanana_nb.reporting.facts import RunFacts, audit_notes, judge_line, source_line
from longbanana_nb.reporting.gallery import main_judge_of
from longbanana_nb.reporting.measured import hashes_of, measure
from longbanana_nb.reporting.numbers import NOTHING, count_cell, interval_cell, number_cell, share_cell
from longbanana_nb.reporting.run_labels import labels_of_run, verdicts_of_run
from longbanana_nb.reporting.table import Cell, Column, Row, RowGroup, Table
from longbanana_nb.runs.labels import SIMULATED
from longbanana_nb.scoring.agreement import LABELS, Agreement, agreement
from longbanana_nb.scoring.correlation import CORRELATIONS
from longbanana_nb.scoring.label_tables import ChosenLabels, chosen_labels, twice_labelled
from longbanana_nb.scoring.pairs import Matched, agreement_by, match, verdict_units

if TYPE_CHECKING:
    import pandas as pd

    from longbanana_nb.runs import Run
    from longbanana_nb.scoring.label_tables import Hashes

HEADINGS = {"system": "By system", "category": "By category", "dimension": "By dimension", "polarity": "By polarity"}
PARTS = {"": "Case scores, pooled", "within_case.": "Within a case, over systems", "system_means.": "Means of systems"}


@dataclass(frozen=True, slots=True)
class Beside:
    """A judge beside what it is held against: `said` in words ("people", "simulated raters", "the truth")."""

    matched: Matched
    judge: str
    said: str

    @property
    def is_truth(self) -> bool:
        """Whether it is the truth of a simulation, and no label."""
        return self.said == "the truth"


def agreement_tables(run: Run) -> list[Table]:
    """The tables there are data for: judge and truth; judge and people, their correlations; raters on units labelled twice."""
    facts, labels = measure(run).facts, labels_of_run(run)
    truth = beside_truth(run)
    made = [] if truth is None else [judge_agreement_table(truth, facts)]
    if labels.empty:
        return made
    beside = beside_people(run)
    made += [judge_agreement_table(beside, facts), correlation_table(beside, facts)] if len(beside.matched.pairs) else []
    pairs, units = pairs_twice(run)
    return made + ([rater_table(pairs, units, beside.said, facts)] if len(pairs) else [])


def beside_people(run: Run) -> Beside:
    """The main judge beside the labels of the run: the adjudicated one of a unit, else that of round 1, else of round 2."""
    judge, labels = main_judge_of(measure(run).facts), labels_of_run(run)
    said = "simulated raters" if labels["rater"].str.startswith(SIMULATED).any() else "people"
    matched = match(chosen_labels(labels, "adjudicated", _hashes(run)), verdict_units(verdicts_of_run(run, judge)))
    return Beside(matched, judge, said)


def pairs_twice(run: Run) -> tuple[pd.DataFrame, int]:
    """Units of the run with a label of round 1 and of round 2, and how many have any (`twice_labelled`)."""
    return twice_labelled(labels_of_run(run), _hashes(run))


def beside_truth(run: Run) -> Beside | None:
    """The main judge beside the truth that a simulation wrote down; None where there is none."""
    facts = measure(run).facts
    judge = main_judge_of(facts)
    if facts.truth is None or facts.truth.name == judge:
        return None
    known = verdict_units(verdicts_of_run(run, facts.truth.name))
    known = known[known["judge_sample"] == "0"].rename(columns={"judge": "label"}).drop(columns="judge_sample")
    return Beside(match(ChosenLabels(known.assign(drawn=False)), verdict_units(verdicts_of_run(run, judge))), judge, "the truth")


def judge_agreement_table(beside: Beside, facts: RunFacts) -> Table:
    """Exact and opposite labels, quadratic kappa and bias of case scores: in all, by system, category, dimension, polarity."""
    whole = agreement(beside.matched.pairs, level=facts.level)
    groups = [RowGroup("", (_row("All units", whole),))]
    for group, members in agreement_by(beside.matched, level=facts.level).items():
        if members:
            groups.append(RowGroup(HEADINGS[group], tuple(_row(name, found) for name, (found, _) in members.items())))
    interval = f"{100 * facts.level:g} % interval"
    columns = (
        Column("Units", align="left"), Column("n"),
        Column("Exact %", "Labels"), Column(interval, "Labels", "center"), Column("Opposite %", "Labels"),
        Column("κ", "Quadratic kappa"), Column(interval, "Quadratic kappa", "center"),
        Column("Bias", "Case scores"), Column(interval, "Case scores", "center"), Column("MAE", "Case scores"),
    )  # fmt: skip
    title = f"Agreement of the judge with {beside.said} on {facts.release}"
    return Table("agreement_truth" if beside.is_truth else "agreement", title, columns, tuple(groups), _notes(beside, facts))


def correlation_table(beside: Beside, facts: RunFacts) -> Table:
    """Pearson, Spearman and tau-b of case scores: pooled, within a case across systems, and on means of systems."""
    whole = agreement(beside.matched.pairs, level=facts.level)
    counts = {"": whole.cases, "within_case.": whole.within_cases, "system_means.": whole.systems}

    def row(prefix: str) -> Row:
        cells = [Cell(PARTS[prefix]), count_cell(counts[prefix])]
        for name in CORRELATIONS:
            low, high = whole.intervals.get(prefix + name, (None, None))
            cells += [number_cell(whole.values[prefix + name], 2), interval_cell(low, high, 2)]
        return Row(tuple(cells), ranked=False)

    interval = f"{100 * facts.level:g} % interval"
    named = {"pearson": "Pearson", "spearman": "Spearman", "kendall_tau_b": "Kendall's tau-b"}
    columns = [Column("Scores compared", align="left"), Column("n")]
    for name in CORRELATIONS:
        columns += [Column("r", named[name]), Column(interval, named[name], "center")]
    notes = (
        *_notes(beside, facts),
        "Pooled correlations also show how hard a case is; only the means of systems show whether the judge ranks them alike.",
    )
    title = f"Correlation of the judge's case scores with those of {beside.said} on {facts.release}"
    return Table("agreement_correlations", title, tuple(columns), (RowGroup("", tuple(map(row, PARTS))),), notes)


def rater_table(pairs: pd.DataFrame, units: int, said: str, facts: RunFacts) -> Table:
    """Units labelled twice before anyone adjudicates: number, share, exact, opposite, quadratic kappa."""
    found = agreement(pairs, level=facts.level)
    cells = (Cell(said.capitalize()), count_cell(found.n), share_cell(found.n, units), *_label_cells(found))
    interval = f"{100 * facts.level:g} % interval"
    columns = (
        Column("Raters", align="left"), Column("Units labelled twice"), Column("% of labelled"),
        Column("Exact %", "Labels"), Column(interval, "Labels", "center"), Column("Opposite %", "Labels"),
        Column("κ", "Quadratic kappa"), Column(interval, "Quadratic kappa", "center"),
    )  # fmt: skip
    notes = (
        f'{source_line(facts)}. Labels of round 1 and of round 2, before adjudication; a label "cannot tell" makes no pair.',
        f"Labels by {said}. {_drawn(facts)}",
    )
    title = f"Agreement of raters with each other on {facts.release}"
    return Table("agreement_raters", title, columns, (RowGroup("", (Row(cells, ranked=False),)),), notes)


def _row(name: str, found: Agreement) -> Row:
    low, high = found.intervals.get("bias", (None, None))
    scores = (number_cell(found.values["bias"]), interval_cell(low, high), number_cell(found.values["mae"]))
    return Row((Cell(name), count_cell(found.n), *_label_cells(found), *scores), ranked=False)


def _label_cells(found: Agreement) -> tuple[Cell, ...]:
    exact, opposite, kappa = (found.values[name] for name in LABELS)
    of_exact = found.intervals.get("exact")
    low, high = found.intervals.get("kappa_quadratic", (None, None))
    return (
        share_cell(round(exact * found.n), found.n) if found.n else NOTHING,
        interval_cell(100 * of_exact[0], 100 * of_exact[1]) if of_exact else NOTHING,
        share_cell(round(opposite * found.n), found.n) if found.n else NOTHING,
        number_cell(kappa, 2),
        interval_cell(low, high, 2),
    )


def _hashes(run: Run) -> Hashes:
    return {(system, case, str(sample)): sha256 for (system, case, sample), sha256 in hashes_of(run).items()}


def _drawn(facts: RunFacts) -> str:
    return f"{100 * facts.level:g} % intervals from draws of whole cases; none below three cases."


def _notes(beside: Beside, facts: RunFacts) -> tuple[str, ...]:
    lost, labels = beside.matched.dropped(), beside.matched.labels
    rests = (
        f"Labels by {beside.said}: the adjudicated one, else that of round 1; {labels.open_} disputed and not adjudicated. "
        f"Left out: {lost['human']} nobody could tell, {lost['judge']} invalid verdicts, {labels.stale} stale labels."
    )
    if beside.is_truth:
        lost_units = sum(lost.values())
        rests = f"Simulated: the truth that the embedded image model wrote down. Left out: {lost_units} units without two labels."
    return (
        f"{source_line(facts)}. {judge_line(facts, beside.judge)}.",
        rests,
        f"Opposite: Fail against Pass. Bias: judge minus {beside.said}, on case scores over the matched checks. {_drawn(facts)}",
        *audit_notes(facts, beside.judge),
    )
