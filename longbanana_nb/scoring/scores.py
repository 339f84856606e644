"""From a verdict grid to scores: the one call that reads as the whole of scoring, and its JSON form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from longbanana_nb.errors import CallError
from longbanana_nb.names import nearest
from longbanana_nb.scoring.aggregate import COLUMNS as SCORE_COLUMNS
from longbanana_nb.scoring.aggregate import scope_scores
from longbanana_nb.scoring.cases import CaseTable, case_table
from longbanana_nb.scoring.contrasts import Contrast
from longbanana_nb.scoring.differences import COLUMNS as DIFFERENCE_COLUMNS
from longbanana_nb.scoring.differences import Paired, differences
from longbanana_nb.scoring.grids import (
    as_text,
    checked_grid,
    fact_faults,
    outside_faults,
    refuse_faults,
    require_columns,
    with_missing,
)
from longbanana_nb.scoring.groups import group_scores
from longbanana_nb.scoring.pass_rate import COLUMNS as PASS_COLUMNS
from longbanana_nb.scoring.pass_rate import Sums, pass_curve, pass_rates
from longbanana_nb.scoring.policy import Policy, require_level
from longbanana_nb.scoring.sensitivity import label_shares, sensitivity
from longbanana_nb.scoring.tally import cells, check_list, tally
from longbanana_nb.scoring.weights import Weights, named_weights
from longbanana_nb.taxonomy import FACTORS

SYSTEM_COLUMNS = ["system", *FACTORS, "simulated"]


@dataclass(frozen=True, slots=True)
class Scores:
    """Everything scoring says, as tidy frames; scores 0-100 and rates 0-1, unrounded, NaN where undefined.

    Attributes:
        release: what was measured, if known. level: confidence of every interval. policy: the choices made.
        systems: `system`, `harness`, `workflow`, `agent_model`, `backend`, `simulated` (None where unknown).
        scores, pass_rates, differences: the frames of `lb.scores.v1`, with a few columns more.
        sensitivity: overall scores under other readings. label_shares: counts of labels by polarity.
        groups: scores by harness, workflow, agent model, backend.
        curve: pass rates over thresholds. weights: what the pass rates weigh checks by.
    """

    release: str | None
    level: float
    policy: Policy
    systems: pd.DataFrame
    scores: pd.DataFrame
    pass_rates: pd.DataFrame
    differences: pd.DataFrame
    sensitivity: pd.DataFrame
    label_shares: pd.DataFrame
    groups: pd.DataFrame
    curve: pd.DataFrame
    weights: Weights

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing or invalid under the policy; else the verb `score` ends with exit code 3."""
        return not bool(self.scores["provisional"].any())

    def unscored(self) -> pd.DataFrame:
        """The cases without a score: `judge`, `system`, `case_id`, `checks_valid`, `checks_total`, `invalid`."""
        lost = self.scores.loc[(self.scores["scope"] == "case") & self.scores["score"].isna()]
        columns = ["judge", "system", "name", "checks_valid", "checks_total", "invalid"]
        return lost[columns].rename(columns={"name": "case_id"}).reset_index(drop=True)

    def as_json(self) -> dict[str, Any]:
        """The object of `lb.scores.v1`: exactly its keys, null where undefined, nothing rounded."""
        policy = {"missing": self.policy.missing, "min_case_coverage": self.policy.min_case_coverage}
        policy |= {"weights": self.policy.weights, "threshold": self.policy.threshold, "rule": self.policy.rule}
        policy |= {"checks": self.policy.checks} if self.policy.checks != "all" else {}
        return {
            "schema": "lb.scores.v1",
            "release": self.release,
            "level": self.level,
            "policy": policy,
            "systems": _records(self.systems, SYSTEM_COLUMNS),
            "scores": _records(self.scores, [name for name in SCORE_COLUMNS if name != "zeroed"]),
            "pass_rates": _records(self.pass_rates, PASS_COLUMNS),
            "differences": _records(self.differences, DIFFERENCE_COLUMNS[:14]),
        }


def score_grid(
    grid: pd.DataFrame,
    *,
    totals: pd.DataFrame | None = None,
    systems: pd.DataFrame | None = None,
    policy: Policy | None = None,
    level: float = 0.95,
    release: str | None = None,
    weights: Weights | None = None,
    contrasts: Sequence[Contrast] = (),
    seed: int = 1,
) -> Scores:
    """Score a verdict grid.

    Args:
        grid: see `checked_grid`. Every (judge, system) in it is held to the same list of checks.
        totals: that list, one row a check: `case_id`, `check_id`, optionally `category`, `dimension`, `polarity`. Without it
            the list is the union of (case, check) in the grid.
        systems: one row a system, `system` and optionally the other columns of `Scores.systems`; gives the order.
        policy, level, release: written into the result.
        weights: those that the policy names; None where no file is needed. contrasts: declared before; `seed` is of their tests.

    Raises:
        CallError: columns, policy, level. DataError: duplicates, contradictions, unknown words, checks outside the totals.
    """
    policy, level = policy or Policy(), require_level(level)
    weights = named_weights(policy.weights) if weights is None else weights
    if weights.name != policy.weights:
        raise CallError(f"weights: the policy names {policy.weights!r}, and {weights.name!r} are given.")
    checked = checked_grid(grid)
    known = system_facts(checked, systems)
    checks, units = _expected(checked, totals, list(known["system"]))
    cell = cells(checked, checks, units)
    judged = with_missing(checked, policy)
    counts = tally(judged, cell, checks, units)
    table, sums = case_table(counts, policy), Sums.of(counts, weights)
    return Scores(
        release=release,
        level=level,
        policy=policy,
        systems=known,
        scores=scope_scores(counts, table, policy, level),
        pass_rates=pass_rates(sums, table, policy, level),
        differences=differences(Paired(table, sums.passes(table, policy.exact_threshold), known, level, seed), contrasts),
        sensitivity=sensitivity(checked, cell, counts, policy),
        label_shares=label_shares(judged, units),
        groups=group_scores(table, known, level),
        curve=pass_curve(sums, table, weights.name),
        weights=weights,
    )


def case_scores(grid: pd.DataFrame, *, totals: pd.DataFrame | None = None, policy: Policy | None = None) -> pd.DataFrame:
    """Case scores alone, without intervals or totals.

    Columns `judge, system, case_id, category, score, score_low, score_high, checks_valid, checks_total, provisional`; arguments
    and errors as in `score_grid`.
    """
    policy = policy or Policy()
    checked = checked_grid(grid)
    checks, units = _expected(checked, totals, list(dict.fromkeys(checked["system"])))
    table = case_table(tally(with_missing(checked, policy), cells(checked, checks, units), checks, units), policy)
    return pd.concat([_case_frame(table, unit) for unit in range(len(table.units))], ignore_index=True)


def system_facts(grid: pd.DataFrame, systems: pd.DataFrame | None) -> pd.DataFrame:
    """What is known of each system, in the order given, else in the order of the grid."""
    present = list(dict.fromkeys(grid["system"]))
    if systems is None:
        return pd.DataFrame({"system": present}, dtype=object).reindex(columns=SYSTEM_COLUMNS).astype(object)
    require_columns(systems.columns, ["system"], "systems")
    named = systems.drop_duplicates("system").reset_index(drop=True).astype(object)
    lost = [system for system in present if system not in set(named["system"])]
    if lost:
        hints = [f"{name!r}" + (f" (nearest {near!r})" if (near := nearest(name, named["system"])) else "") for name in lost]
        raise CallError(f"systems: the grid holds {', '.join(hints)}, which the list of systems lacks. Add them.")
    return named.reindex(columns=SYSTEM_COLUMNS)


def _expected(checked: pd.DataFrame, totals: pd.DataFrame | None, order: list[str]) -> tuple[pd.DataFrame, list[tuple[str, str]]]:
    """The checks every (judge, system) is held to, and these pairs in order."""
    if checked.empty:
        raise CallError("verdict grid: found no rows; expected at least one verdict. Judge something first.")
    checks = check_list(checked if totals is None else filled_totals(totals))
    if totals is not None:
        names = [f"verdict grid row {number}" for number in range(1, len(checked) + 1)]
        refuse_faults("The verdicts do not fit the release.", outside_faults(checked, names, checks))
    pairs = set(zip(checked["judge"], checked["system"], strict=True))
    units = [(judge, system) for judge in dict.fromkeys(checked["judge"]) for system in order if (judge, system) in pairs]
    return checks, units


def filled_totals(totals: pd.DataFrame) -> pd.DataFrame:
    """The totals with every fact as text, what is unknown as the empty text."""
    require_columns(totals.columns, ["case_id", "check_id"], "totals")
    facts = ("case_id", "check_id", "category", "dimension", "polarity")
    filled = pd.DataFrame({name: as_text(totals[name]) if name in totals.columns else "" for name in facts})
    names = [f"totals row {number}" for number in range(1, len(filled) + 1)]
    refuse_faults("The totals are not fit for scoring.", fact_faults(filled, names))
    return filled


def _case_frame(table: CaseTable, unit: int) -> pd.DataFrame:
    judge, system = table.units[unit]
    names = {"judge": judge, "system": system, "case_id": table.cases["case_id"], "category": table.cases["category"]}
    numbers = {"score": table.score[unit], "score_low": table.low[unit], "score_high": table.high[unit]}
    coverage = {"checks_valid": table.valid[unit], "checks_total": table.total, "provisional": table.provisional[unit]}
    return pd.DataFrame({**names, **numbers, **coverage})


def _records(frame: pd.DataFrame, columns: list[str]) -> list[dict[str, Any]]:
    plain = {name: [_plain(name, value) for value in frame[name].tolist()] for name in columns}
    return [dict(zip(columns, values, strict=True)) for values in zip(*plain.values(), strict=True)]


def _plain(column: str, value: Any) -> Any:
    if column == "judge":
        return value or None
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value
