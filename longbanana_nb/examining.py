"""What is asked of a run beyond its scores, for people: audits of judges, human labels, claims."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from longbanana_nb.errors import CallError
from longbanana_nb.runs import Run, open_run
from longbanana_nb.runs.profiles import read_profile

if TYPE_CHECKING:
    import pandas as pd

    from longbanana_nb.pooling import Pooled
    from longbanana_nb.reporting import Table
    from longbanana_nb.reporting.claimed import JudgedClaims
    from longbanana_nb.reporting.explorer import ExplorerState

PathLike = str | Path


def audit(
    run_dir: PathLike,
    *,
    judge: str | None = None,
    profile: PathLike | None = None,
    pairs: int = 12,
    seed: int = 1,
    source: Literal["auto", "graph", "pixels"] = "auto",
    max_usd: float | None = None,
) -> dict[str, Any]:
    """Audit a judge by minimal pairs: what it notices, what disturbs it, and whether sentences in pictures steer it.

    Args:
        judge: a judge of the run; None takes the first that looks at pixels. profile: or a judge profile file.
        pairs: of each kind of edit, as far as they can be made.
        source: "graph" draws pictures from a release's graphs, "pixels" edits the run's candidates; "auto": graphs if it can.
        max_usd: dollars the audit of this judge may have cost in all.

    Returns:
        What `audits/<judge>/audit.json` holds (`lb.audit.v1`).
    """
    from longbanana_nb.auditing import audit_run, judge_of

    run = open_run(run_dir)
    asked = read_profile(profile) if profile is not None else judge_of(run, judge)
    return audit_run(run, asked, pairs=pairs, seed=seed, source=source, max_usd=max_usd)


def canary(
    run_dir: PathLike,
    *,
    judge: str | None = None,
    profile: PathLike | None = None,
    units: int = 100,
    seed: int = 1,
    max_usd: float | None = None,
) -> dict[str, Any]:
    """Ask a fixed set of questions once more and say what has drifted since the first time; the first call draws and freezes it.

    Args as `audit`; `units` and `seed` count on the first call of a run alone.

    Returns:
        What `audits/<judge>/canary.json` holds (`lb.canary-drift.v1`).
    """
    from longbanana_nb.auditing import canary_run, judge_of

    run = open_run(run_dir)
    asked = read_profile(profile) if profile is not None else judge_of(run, judge)
    return canary_run(run, asked, units=units, seed=seed, max_usd=max_usd)


def judge_steps(run_dir: PathLike | Run, *, judge: str | None = None, profile: PathLike | None = None) -> str:
    """Judge the pictures on the way, for the loss funnel, by a judge that needs no model; they enter no score.

    Args:
        judge: a judge of the run; None takes the first that looks at pixels. profile: or a judge profile file.
    """
    from longbanana_nb.auditing import judge_of
    from longbanana_nb.embedded import protocols
    from longbanana_nb.judging.steps import judge_steps as judge_pictures
    from longbanana_nb.release import load_release

    run = run_dir if isinstance(run_dir, Run) else open_run(run_dir)
    asked = read_profile(profile) if profile is not None else judge_of(run, judge)
    release = load_release(run.manifest)
    run.require_release(release)
    return judge_pictures(run, release, asked, protocols=protocols()).text()


def funnel(run_dir: PathLike | Run, *, judge: str | None = None) -> pd.DataFrame:
    """Each failed check with the stage at which it was lost: one row a check; see `reporting.funnel.STAGES`.

    Args:
        judge: whose answers; None takes the main judge, or the truth where only the truth judged the pictures on the way.
    """
    from longbanana_nb.reporting.funnel import funnel_judge, loss_funnel
    from longbanana_nb.reporting.measured import measure

    run = run_dir if isinstance(run_dir, Run) else open_run(run_dir)
    known = measure(run)
    return loss_funnel(run, known.grid, judge or funnel_judge(run, known.facts))


def label(
    run_dir: PathLike | Run,
    *,
    raters: Collection[str] = (),
    units: int = 200,
    double: float = 0.15,
    judge: str | None = None,
    seed: int = 1,
    take: PathLike | None = None,
    rater: str | None = None,
    round: Literal["1", "2", "adjudicated"] | None = None,
    adjudicate: str | None = None,
    simulate: str | None = None,
    freeze: PathLike | None = None,
    pool: Collection[str] = (),
) -> str:
    """Human labels of a run: draw and hand out, take in, adjudicate, simulate, freeze; else only say where it stands.

    Args:
        raters: draw `units` for them, `double` of them for two, by the answers of `judge`, and write their sheets.
        take: a filled-in sheet, or a table of labels; `rater` and `round` are for rows that do not say.
        adjudicate: name of a third rater, whose sheet is written.
        simulate: quality of simulated raters (expert, careful, hasty, lenient), where the run has a `truth` judge.
        freeze: a new file for difficulty weights from the settled labels on the systems of `pool` (all that have labels).

    Returns:
        What was done, and where the labelling stands.
    """
    from longbanana_nb import labelling

    run = run_dir if isinstance(run_dir, Run) else open_run(run_dir)
    if sum(map(bool, (raters, take, adjudicate, simulate, freeze))) > 1:
        raise CallError("label: found several things to do at once; expected one of raters, take, adjudicate, simulate, freeze.")
    done: list[str] = []
    if raters:
        _, sheets = labelling.draw(run, list(raters), units=units, judge=judge, double_share=double, seed=seed)
        done = [f"sheet of {name}: {path}" for name, path in sheets.items()]
    if take is not None:
        done = [labelling.taken_text(*labelling.take(run, Path(take), rater=rater, round_=labelling.ROUNDS[round or ""]))]
    if adjudicate:
        done = [labelling.third_text(*labelling.third_view(run, adjudicate))]
    if simulate:
        labelling.simulate(run, units=units, quality=simulate, judge=judge, seed=seed)
    if freeze is not None:
        from longbanana_nb.weighing import freeze_weights

        done = [f"weights frozen to {freeze_weights(run, Path(freeze), pool=pool)}"]
    return "\n".join([*done, labelling.state_text(run)])


def agree(
    human: PathLike,
    judge: PathLike | None = None,
    *,
    against: PathLike | None = None,
    round: Literal["1", "2", "adjudicated", "majority"] | None = None,
    name: str | None = None,
) -> dict[str, Any]:
    """How far a judge agrees with people, as `agree --json` prints it; without a judge, two raters with each other.

    Args:
        human: a run with labels, or a table of labels. judge: a run, `RUN/judgments/NAME`, a journal or a table of verdicts.
        against: a second judge, compared with the first on the labels that both answered (key `against`).
        round: which label counts where a unit has several. name: the judge, where `judge` holds several.
    """
    from longbanana_nb import agreeing

    judged, other = (Path(place) if place is not None else None for place in (judge, against))
    return agreeing.agree(Path(human), judged, against=other, round_=round, name=name).value


def pool(run_dirs: Collection[PathLike | Run]) -> Pooled:
    """Score runs on different releases together: the same systems and judges, all cases, stratified by release and category.

    Returns:
        Scores with `.table()`, `.scores`, `.differences` and `.as_json()`.
    """
    from longbanana_nb.pooling import pool_runs

    return pool_runs([one if isinstance(one, Run) else open_run(one) for one in run_dirs])


def corrected(run_dir: PathLike | Run, *, judge: str | None = None, assume_common_bias: bool = False) -> Table:
    """A judge's scores corrected with the settled labels of the run's newest design, as a table.

    Args:
        judge: None takes the first that looks at pixels. assume_common_bias: also correct systems without labels by the others'
            mean bias, marked in the table; without it they are left out.
    """
    from longbanana_nb.reporting.corrected import corrected_run, table_of

    run = run_dir if isinstance(run_dir, Run) else open_run(run_dir)
    return table_of(run, corrected_run(run, judge=judge, assume_common_bias=assume_common_bias))


def label_plan(run_dir: PathLike | Run) -> Table:
    """What numbers of labels would buy: from the labels the run has, else from assumptions that the table states."""
    from longbanana_nb.reporting.corrected import plan_table

    return plan_table(run_dir if isinstance(run_dir, Run) else open_run(run_dir))


def claims(run_dir: PathLike | Run, claims_file: PathLike | None = None) -> JudgedClaims:
    """Hold a family of claims against the run: verdicts, a grid of defensible choices, a table and a figure.

    Args:
        claims_file: `lb.claims.v1`; None takes the experiment's, else the claims declared last. They are entered in the run.
    """
    from longbanana_nb.reporting.claimed import claims_of

    return claims_of(run_dir if isinstance(run_dir, Run) else open_run(run_dir), claims_file)


def explore(run_dir: PathLike | Run, *, filter: str = "{}") -> ExplorerState:
    """The run's answers to be narrowed by facets; a notebook cell shows the first page.

    Args:
        filter: what `.filter()` of an earlier selection gave; `{}` selects everything.
    """
    from longbanana_nb.reporting.explorer import ExplorerState, answers_frame

    run = run_dir if isinstance(run_dir, Run) else open_run(run_dir)
    return ExplorerState.from_filter(answers_frame(run), filter)
