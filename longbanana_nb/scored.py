"""Scores of a run or of a bare table, with the totals and the policy that were asked for, and their text for a terminal."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.reporting.measured import measure
from longbanana_nb.reporting.run_facts import policy_of_run, scores_of_run, weights_of_run
from longbanana_nb.runs.kept_weights import kept_weights
from longbanana_nb.scoring import Policy, read_verdict_table, score_grid
from longbanana_nb.scoring.weights import UNIFORM, Weights, fitting_weights, named_weights
from longbanana_nb.scoring.weights_file import read_weights

if TYPE_CHECKING:
    import pandas as pd

    from longbanana_nb.release import Release
    from longbanana_nb.runs import Run
    from longbanana_nb.scoring import Scores


def score_run(run: Run, *, release: Release | None, missing: str | None, weights: str | None) -> Scores:
    """Score a run's verdict grid under its own policy, in which `missing` and `weights` replace what they name."""
    known = measure(run)
    if release is None and missing is None and weights is None:
        return known.scores
    totals = release_totals(release) if release is not None else None
    chosen = _weights_for(run, weights)
    policy = _changed(policy_of_run(run), missing, chosen.name)
    return scores_of_run(run, known.grid, policy=policy, totals=totals, weights=chosen)


def _weights_for(run: Run, asked: str | None) -> Weights:
    """The run's own weights, others that it keeps, or those of a file."""
    if asked is None or asked == UNIFORM or kept_weights(run, asked) is not None or not Path(asked).is_file():
        return weights_of_run(run, asked)
    facts = run.meta.release
    return fitting_weights(read_weights(Path(asked)), facts.name, facts.revision, asked)


def score_table(path: Path, *, release: Release | None, missing: str | None, weights: str | None) -> Scores:
    """Score a table of verdicts; without a release the totals of every system are the union of (case, check) in it."""
    totals = release_totals(release) if release is not None else None
    name = release.name if release is not None else None
    grid = read_verdict_table(path, totals)
    chosen = read_weights(Path(weights)) if weights is not None and Path(weights).is_file() else named_weights(weights or UNIFORM)
    if release is not None and chosen.release is not None:
        chosen = fitting_weights(chosen, release.name, release.revision, str(weights))
    return score_grid(grid, totals=totals, policy=_changed(Policy(), missing, chosen.name), release=name, weights=chosen)


def release_totals(release: Release) -> pd.DataFrame:
    """Every check of a release: `case_id`, `check_id`, `category`, and `dimension`, `polarity` where units state them."""
    import pandas as pd

    evaluation = release.evaluation()
    rows = []
    for case_id, checks in evaluation.checks.items():
        for check in checks:
            unit = evaluation.units.get((case_id, check.check_id))
            known = (unit.dimension, unit.polarity) if unit is not None else ("", "")
            rows.append((case_id, check.check_id, check.category, *known))
    return pd.DataFrame(rows, columns=["case_id", "check_id", "category", "dimension", "polarity"], dtype="str")


def as_text(scores: Scores) -> str:
    """Overall scores, one line a judge and system: score, interval, bounds where something is missing, coverage, pass rate."""
    overall = scores.scores[scores.scores["scope"] == "overall"]
    rates = {(row.judge, row.system): row for row in scores.pass_rates.itertuples()}
    policy = scores.policy
    lines = [
        f"release {scores.release or 'unknown'}; missing {policy.missing}; weights {policy.weights}; {scores.level:.0%} intervals"
    ]
    width = max(len(name) for name in overall["system"])
    for judge, rows in overall.groupby("judge", sort=False):
        lines.append(f"judge {judge!s}:" if judge else "verdicts:")
        lines += [f"  {row.system:<{width}}  {_line(row, rates.get((row.judge, row.system)))}" for row in rows.itertuples()]
    lines.append("Scores 0-100, mean of case scores. * provisional: something is missing; [as Fail, as Pass] are its bounds.")
    return "\n".join(lines)


def _line(row: Any, rate: Any) -> str:
    score = _number(row.score)
    interval = f"({_number(row.ci_low)} to {_number(row.ci_high)})"
    checks = f"{row.checks_valid}/{row.checks_total} checks"
    cases = f"{row.cases_scored}/{row.cases_total} cases"
    bounds = f" * [{_number(row.score_low)}, {_number(row.score_high)}]" if row.provisional else ""
    passed = f"; P@{rate.threshold:g} {_number(100 * rate.pass_rate)} %" if rate is not None else ""
    return f"{score} {interval}{bounds}; {cases}, {checks}, {row.invalid} invalid{passed}"


def _number(value: float) -> str:
    return "  -  " if math.isnan(value) else f"{value:5.1f}"


def _changed(policy: Policy, missing: str | None, weights: str | None) -> Policy:
    changes = {name: value for name, value in (("missing", missing), ("weights", weights)) if value is not None}
    return dataclasses.replace(policy, **changes)  # type: ignore[arg-type]  # both are texts
