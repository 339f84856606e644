"""Scores corrected with human labels: what people would have said of every unit, estimated from the units they labelled.

The judge answers everything and errs; people answer a sample drawn with known probabilities. The sample's difference between
both, weighted by those probabilities, corrects the judge's score, and the interval holds what that correction does not know.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longbanana_nb.errors import CallError
from longbanana_nb.scoring.grids import require_columns
from longbanana_nb.scoring.intervals import NO_INTERVAL, stratified_t
from longbanana_nb.scoring.tally import category_rank

FOLDS = 5
FEWEST_LABELS = 30
"""Labels a system needs before its corrected score has an interval: with fewer it covers too seldom."""
UNIT = ["system", "case_id", "check_id", "sample"]
SCORE_COLUMNS = [
    *("system", "labels", "judge_score", "corrected", "ci_low", "ci_high", "people_alone", "people_low", "people_high"),
    *("bias", "bias_low", "bias_high", "share", "cases", "assumed"),
]
DIFFERENCE_COLUMNS = ["a", "b", "judge_difference", "corrected", "ci_low", "ci_high", "cases", "assumed"]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Corrected:
    """Corrected scores and differences.

    Attributes:
        scores: one row a system (`SCORE_COLUMNS`), 0-100. `bias` is judge minus people; `share` says how far the judge is used:
            0 is people alone, 1 the whole correction. `assumed` is True where no label stands on the system.
        differences: one row a pair (`DIFFERENCE_COLUMNS`), a - b.
        by_case: `system, case_id, stratum, value`: what each estimate is the mean of. replaced: units without a valid answer.
    """

    scores: pd.DataFrame
    differences: pd.DataFrame
    by_case: pd.DataFrame
    replaced: int = 0


@dataclass(frozen=True, slots=True)
class CaseParts:
    """One system's cases: the judge's score, and both sides' estimates from the labelled units; 0-100."""

    case_ids: list[str]
    strata: NDArray[np.int64]
    judge: Floats
    people_hat: Floats
    judge_hat: Floats
    labels: int
    units: int
    replaced: int  # units without a valid answer of the judge

    @property
    def is_thin(self) -> bool:
        """Whether there are too few labels for an interval; a label on every unit is never too few."""
        return self.labels < min(FEWEST_LABELS, self.units)

    @property
    def is_judged(self) -> bool:
        """Whether the judge gave any valid answer."""
        return self.replaced < self.units

    @property
    def rest(self) -> Floats:
        """What the judge says of all units less what the labelled ones make of it; 0 on average."""
        return self.judge - self.judge_hat


def correct(
    grid: pd.DataFrame, labels: pd.DataFrame, *, judge: str, level: float = 0.95, assume_common_bias: bool = False
) -> Corrected:
    """Estimate each system's score as people would give it.

    Per case with m units, of which those with labels H_i were drawn with probability p_i: H^ = 50 sum(H_i / p_i) / m, J^ the same
    with the judge's answers on these units, J the judge's score on all. The estimate is the mean over cases of
    H^ + share x (J - J^), with the share of least variance, 0 to 1, taken from the other cases (five folds). Its interval is the
    stratified t over cases; none below 30 labels a system. It is right on average whatever the judge's error; a good judge makes
    it narrow.

    Args:
        grid: verdicts (`judge, system, case_id, category, check_id, sample, state, label`). Units without a candidate take no
            part: nobody can label them. A unit the judge gave no valid answer on stands as Uncertain in J and in J^.
        labels: settled labels: `system, case_id, check_id, sample, label, p`; none ("cannot tell") counts as Uncertain.
        assume_common_bias: carry the labelled systems' bias over to systems without labels. It need not hold, and is marked.

    Raises:
        CallError: labels without a known probability or on no unit of the grid, none at all, or a system without any.

    Source: Angelopoulos et al., Prediction-powered inference, Science 382 (2023); with Horvitz-Thompson weights and cases as
    clusters.
    """
    parts = parts_of(label_units(grid, labels, judge))
    known = {name: part for name, part in parts.items() if part.labels}
    without = [name for name in parts if name not in known]
    if not known:
        raise CallError(
            f"correction: no label on a unit that judge {judge!r} was asked about. Label some: `longbanana-nb label RUN`."
        )
    if without and not assume_common_bias:
        raise CallError(
            f"correction: no labels on {', '.join(without)}. A judge's bias on one system says nothing about another: label "
            "units of each, or ask for it by name (assume_common_bias); the table then says so."
        )
    values = {name: _value(part) for name, part in known.items()}
    shift = _common_shift(known)
    rows = [_score_row(name, part, values.get(name), shift, level) for name, part in parts.items()]
    estimates = {name: values[name][0] if name in values else _shifted(part, shift) for name, part in parts.items()}
    frames = [
        pd.DataFrame({"system": name, "case_id": part.case_ids, "stratum": part.strata, "value": estimates[name]})
        for name, part in parts.items()
    ]
    pairs = [
        _difference_row((a, b), parts, estimates, level, assumed=a in without or b in without)
        for a, b in itertools.combinations(parts, 2)
    ]
    return Corrected(
        pd.DataFrame(rows, columns=SCORE_COLUMNS),
        pd.DataFrame(pairs, columns=DIFFERENCE_COLUMNS),
        pd.concat(frames, ignore_index=True),
        sum(part.replaced for part in parts.values()),
    )


def parts_of(units: pd.DataFrame) -> dict[str, CaseParts]:
    """The cases of each system, from `label_units`."""
    return {str(name): _parts(rows) for name, rows in units.groupby("system", sort=False)}


def label_units(grid: pd.DataFrame, labels: pd.DataFrame, judge: str) -> pd.DataFrame:
    """Every unit with a candidate: `label` of the judge, `human` where there is one, and its probability `p`; as `correct`."""
    require_columns(labels.columns, [*UNIT, "label", "p"], "labels")
    mine = grid[(grid["judge"] == judge) & (grid["state"] != "no_candidate")]
    if mine.empty:
        raise CallError(f"correction: judge {judge!r} has no verdicts; there are: {', '.join(sorted(set(grid['judge'])))}.")
    label = pd.to_numeric(mine["label"].where(mine["state"] == "valid")).astype(float)
    units = mine.assign(label=label).groupby([*UNIT, "category"], sort=False, as_index=False)["label"].mean()
    units["replaced"] = units["label"].isna()
    units["label"] = units["label"].fillna(1.0)
    human = labels[[*UNIT, "label", "p"]].rename(columns={"label": "human"})
    human = human.assign(human=pd.to_numeric(human["human"]).astype(float).fillna(1.0), p=pd.to_numeric(human["p"]).astype(float))
    if human.duplicated(UNIT).any():
        raise CallError("correction: several labels for one unit. Give one each: the settled labels.")
    if human["p"].isna().any() or not human["p"].between(0, 1, inclusive="right").all():
        lost = int((~human["p"].between(0, 1, inclusive="right")).sum())
        raise CallError(
            f"correction: {lost} labels have no known probability of having been drawn. Use labels of a drawn design."
        )
    joined: pd.DataFrame = units.merge(human, on=UNIT, how="left", validate="one_to_one")
    if len(human) and joined["human"].notna().sum() != len(human):
        lost = len(human) - int(joined["human"].notna().sum())
        raise CallError(
            f"correction: {lost} labels are about units the run does not have, or has no candidate for. Leave them out."
        )
    return joined


def _parts(rows: pd.DataFrame) -> CaseParts:
    codes, names = pd.factorize(rows["case_id"])
    size = np.bincount(codes)
    chosen = rows["human"].notna().to_numpy()
    p = rows["p"].to_numpy(dtype=float)

    def score(values: Floats, mask: NDArray[np.bool_], chance: Floats) -> Floats:
        return 50 * np.bincount(codes[mask], values[mask] / chance[mask], minlength=len(size)) / size

    judged, human = rows["label"].to_numpy(dtype=float), rows["human"].to_numpy(dtype=float)
    every = np.ones(len(rows), dtype=bool)
    first = rows.drop_duplicates("case_id")
    strata = np.array([category_rank(str(code)) for code in first["category"]], dtype=np.int64)
    ids = [str(name) for name in names]
    return CaseParts(
        ids,
        strata,
        score(judged, every, np.ones(len(rows))),
        score(human, chosen, p),
        score(judged, chosen, p),
        labels=int(chosen.sum()),
        units=len(rows),
        replaced=int(rows["replaced"].sum()),
    )


def best_share(people_hat: Floats, rest: Floats) -> float:
    """The share of the judge that gives the mean of `people_hat + share x rest` the least variance, 0 to 1."""
    if len(rest) < 2:
        return 1.0
    spread = float(np.var(rest, ddof=1))
    if spread == 0 or float(np.var(people_hat)) == 0:
        return 1.0  # labels that are all alike say nothing against the judge
    return float(np.clip(-np.cov(people_hat, rest)[0, 1] / spread, 0, 1))


def _value(part: CaseParts) -> tuple[Floats, float]:
    """The estimate of each case with the share found on other cases, and the mean share."""
    fold = np.arange(len(part.judge)) % FOLDS
    shares = np.array([best_share(part.people_hat[fold != one], part.rest[fold != one]) for one in range(FOLDS)])
    return part.people_hat + shares[fold] * part.rest, float(shares[fold].mean())


def _common_shift(known: dict[str, CaseParts]) -> dict[str, float]:
    """By case, people minus judge on the labelled units, mean over the systems that have labels."""
    frames = [pd.Series(part.people_hat - part.judge_hat, part.case_ids) for part in known.values()]
    shift: dict[Any, float] = pd.concat(frames, axis=1).mean(axis=1).to_dict()
    return {str(case_id): value for case_id, value in shift.items()}


def _shifted(part: CaseParts, shift: dict[str, float]) -> Floats:
    usual = float(np.mean(list(shift.values())))
    return np.asarray(part.judge + [shift.get(case_id, usual) for case_id in part.case_ids], dtype=np.float64)


def _score_row(
    name: str, part: CaseParts, value: tuple[Floats, float] | None, shift: dict[str, float], level: float
) -> dict[str, Any]:
    estimate = value[0] if value is not None else _shifted(part, shift)
    interval = NO_INTERVAL if part.is_thin else stratified_t(estimate, part.strata, level)
    judged = part.judge.mean() if part.is_judged else math.nan
    row = {"system": name, "labels": part.labels, "judge_score": judged, "corrected": estimate.mean()}
    row |= {"ci_low": interval.low, "ci_high": interval.high, "cases": len(part.judge), "assumed": value is None}
    is_told = value is not None and not part.is_thin
    alone = stratified_t(part.people_hat, part.strata, level) if is_told else NO_INTERVAL
    bias = part.judge_hat - part.people_hat
    wrong = stratified_t(bias, part.strata, level) if is_told and part.is_judged else NO_INTERVAL
    row |= {"people_alone": part.people_hat.mean() if value is not None else math.nan}
    row |= {"people_low": alone.low, "people_high": alone.high, "share": value[1] if value is not None else math.nan}
    row |= {
        "bias": bias.mean() if value is not None and part.is_judged else math.nan,
        "bias_low": wrong.low,
        "bias_high": wrong.high,
    }
    return row


def _difference_row(
    pair: tuple[str, str], parts: dict[str, CaseParts], estimates: dict[str, Floats], level: float, *, assumed: bool
) -> dict[str, Any]:
    a, b = pair
    shared = [case_id for case_id in parts[a].case_ids if case_id in set(parts[b].case_ids)]
    places = [{case_id: place for place, case_id in enumerate(parts[one].case_ids)} for one in pair]
    at_a, at_b = ([where[case_id] for case_id in shared] for where in places)
    corrected = estimates[a][at_a] - estimates[b][at_b]
    judged = parts[a].judge[at_a] - parts[b].judge[at_b]
    is_told = bool(shared) and not (parts[a].is_thin or parts[b].is_thin)
    interval = stratified_t(corrected, parts[a].strata[at_a], level) if is_told else NO_INTERVAL
    means = (float(judged.mean()), float(corrected.mean())) if shared else (math.nan, math.nan)
    row = {"a": a, "b": b, "judge_difference": means[0], "corrected": means[1], "cases": len(shared), "assumed": assumed}
    return row | {"ci_low": interval.low, "ci_high": interval.high}
