"""Claims of a run from end to end: read, declared, held against the grid of choices, shown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import CallError
from longbanana_nb.paths import presets_folder
from longbanana_nb.reporting.claims import budget_text, claims_figure, claims_figure_alt, claims_table, next_step
from longbanana_nb.reporting.gallery import Drawing, main_judge_of
from longbanana_nb.reporting.measured import measure
from longbanana_nb.reporting.run_facts import candidates_of_run, level_of_run, policy_of_run, weights_of_run
from longbanana_nb.runs.claims_file import ClaimsFile, Declaration, declarations, declare, read_claims
from longbanana_nb.runs.declared_contrasts import declare_contrasts
from longbanana_nb.scoring.claims import Claim, ClaimVerdicts, judge_claims

if TYPE_CHECKING:
    import pandas as pd

    from longbanana_nb.reporting.table import Table
    from longbanana_nb.runs import Run


@dataclass(frozen=True, slots=True)
class JudgedClaims:
    """A family of claims with its verdicts, its table, and when it was declared."""

    declared: ClaimsFile
    declaration: Declaration
    found: ClaimVerdicts
    table: Table

    def figure(self) -> Drawing:
        """The grid of choices, claim by claim."""
        return Drawing.of(claims_figure(self.found), "claims", claims_figure_alt(self.found))


def claims_of(run: Run, file: str | Path | None = None) -> JudgedClaims:
    """Judge the claims of a file, or those the run's experiment names, or those declared last in the run.

    They are entered in the run's journal with the number of verdicts that were there by then.
    """
    claims = _claims(run, file)
    return _judged(run, claims, declare(run, claims, int((measure(run).grid["state"] == "valid").sum())))


def _judged(run: Run, claims: ClaimsFile, declaration: Declaration) -> JudgedClaims:
    known = measure(run)
    judge = claims.judge or main_judge_of(known.facts)
    family = {one.name: Claim(one.name, one.a, one.b, one.metric, one.scope, one.by, one.above) for one in claims.claims}
    found = judge_claims(
        known.grid,
        list(family.values()),
        judge=judge,
        policy=policy_of_run(run),
        level=level_of_run(run),
        weights=[weights_of_run(run, path.stem) for path in sorted((run.path / "weights").glob("*.json"))],
    )
    calls = _calls(run)
    budgets = {name: budget_text(claim, calls) for name, claim in family.items()}
    rows: list[Any] = list(found.verdicts.itertuples(index=False))
    steps = {row.claim: _step(row, family[row.claim], known.grid, judge) for row in rows}
    table = claims_table(found, family, steps, budgets, known.facts, judge, _when(declaration))
    return JudgedClaims(claims, declaration, found, table)


def claims_tables(run: Run) -> list[Table]:
    """The table of the claims that were declared last in the run; none where none were. Nothing is entered anywhere."""
    kept = declarations(run)
    return [_judged(run, ClaimsFile.model_validate(kept[-1].claims), kept[-1]).table] if kept else []


def declare_now(run: Run) -> None:
    """Enter claims and contrasts of the run's experiment in its journals, with the number of verdicts that are there already."""
    from longbanana_nb.runs import verdict_grid

    known = list(run.judges)
    verdicts = int((verdict_grid(run, judges=known)["state"] == "valid").sum()) if known else 0
    if run.meta.analysis.get("claims"):
        declare(run, _claims(run, None), verdicts)
    declare_contrasts(run, verdicts)


def _claims(run: Run, file: str | Path | None) -> ClaimsFile:
    named = str(file) if file else run.meta.analysis.get("claims")
    if named:
        path = Path(named)
        if not path.exists() and path.parts[:1] == ("presets",):
            path = presets_folder().joinpath(*path.parts[1:])
        return read_claims(path)
    kept = declarations(run)
    if not kept:
        raise CallError(f"{run.path}: no claims. Name a file, for instance presets/claims/demo.yaml, or `analysis.claims`.")
    return ClaimsFile.model_validate(kept[-1].claims)


def _when(declaration: Declaration) -> str:
    seen = declaration.verdicts_before
    return f"Declared {declaration.at}, " + (f"in sight of {seen} verdicts." if seen else "before any verdict.")


def _calls(run: Run) -> dict[str, float]:
    made: dict[str, list[int]] = {}
    for record in candidates_of_run(run):
        made.setdefault(record["system"], []).append(int(record["calls"]["image"] or 0))
    return {system: sum(calls) / len(calls) for system, calls in made.items()}


def _step(row: Any, claim: Claim, grid: pd.DataFrame, judge: str) -> str:
    valid = grid[(grid["state"] == "valid") & grid["system"].isin([claim.a, claim.b])]
    uncertain = int(((valid["judge"] == judge) & (valid["label"] == 1)).sum())
    spread = valid.groupby(["system", "case_id", "sample", "check_id"])["label"].nunique()
    return next_step(row, claim, uncertain, int((spread > 1).sum()))
