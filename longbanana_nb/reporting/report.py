"""The report of a run: tables, figures, pages of executed notebooks, and report.html that shows the key ones first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import read_text, write_atomic
from longbanana_nb.reporting import report_parts as parts
from longbanana_nb.reporting.ablation import ablation_table
from longbanana_nb.reporting.agreement_drawing import agreement_drawing
from longbanana_nb.reporting.agreement_tables import agreement_tables
from longbanana_nb.reporting.audits import audit_table, read_audit
from longbanana_nb.reporting.claimed import claims_tables
from longbanana_nb.reporting.compliance import compliance_table
from longbanana_nb.reporting.contrast_tables import contrast_table, pass_rate_table
from longbanana_nb.reporting.corrected import correction_tables
from longbanana_nb.reporting.cost_tables import judging_cost_table
from longbanana_nb.reporting.facts import RunFacts
from longbanana_nb.reporting.funnel import funnel_judge, loss_funnel
from longbanana_nb.reporting.gallery import Gallery, main_judge_of
from longbanana_nb.reporting.group_tables import backends_table, dataset_table, harness_workflow_table
from longbanana_nb.reporting.judge_notes import repeat_lines, with_judge_notes
from longbanana_nb.reporting.loss_tables import losses_table
from longbanana_nb.reporting.measured import measure, standing_still
from longbanana_nb.reporting.notebook_pages import write_notebook_page
from longbanana_nb.reporting.pages import page, require_self_contained
from longbanana_nb.reporting.run_facts import candidates_of_run, declared_text
from longbanana_nb.reporting.sinks.html import escape
from longbanana_nb.reporting.tables import dimension_table, main_table, systems_table
from longbanana_nb.reporting.thumbnails import case_strips
from longbanana_nb.reporting.verdict_tables import coverage_table, label_shares_table, truth_table
from longbanana_nb.runs.keyscan import key_faults, looks_like_key

if TYPE_CHECKING:
    import pandas as pd

    from longbanana_nb.reporting.table import Table
    from longbanana_nb.runs import Run
    from longbanana_nb.scoring import Scores

SINKS = {"csv": "csv", "tex": "latex", "md": "markdown", "html": "html"}


def build_report(run_path: str | Path, *, notebooks: Sequence[Path] | None = None, attribution: str | None = None) -> Path:
    """Write tables/, figures/, pages of executed notebooks and report.html of a run; nothing is generated or judged.

    Args:
        run_path: the run folder.
        notebooks: executed notebooks to list; None takes those in the run's `notebooks/`, by name.
        attribution: the attribution of the release's images; None reads ATTRIBUTION.md beside the run's manifest, if it is there.

    Returns:
        The path of report.html. A second call on an unchanged run writes the same bytes.

    Raises:
        DataError: if a file of the run seems to hold an API key, or nothing has been judged yet.
    """
    from longbanana_nb.runs import open_run

    run = open_run(run_path)
    refuse_keys(run.path)
    known = measure(run) if run.judges else None
    if known is None or known.grid.empty:
        fault = Fault(
            str(run.path), "no_verdicts", "no judge in run.json", "a judged run", "Judge it first: `longbanana-nb judge`."
        )
        raise DataError("There is nothing to report yet.", [fault])
    grid, scores, facts = known.grid, known.scores, known.facts
    with run.owner():
        tables = write_tables(run, scores, grid, facts)
        drawings = Gallery(run.path, scores, grid, facts)
        pages = _write_pages(run, notebooks)
        text = _report(run, facts, scores, tables, drawings, pages, attribution or _attribution(run))
        if kind := looks_like_key(text):
            raise DataError(f"report.html was not written: it would hold what looks like {kind}. Remove it from the run.")
        write_atomic(run.path / "report.html", text.encode("utf-8"))
    return run.path / "report.html"


def refuse_keys(folder: Path) -> None:
    """Raise DataError naming every file below `folder` that seems to hold an API key."""
    faults = key_faults(folder)
    if faults:
        raise DataError("The report was not written: the run seems to hold API keys.", faults)


def write_tables(run: Run, scores: Scores, grid: pd.DataFrame, facts: RunFacts) -> dict[str, Table]:
    """Write every table of the run as CSV, LaTeX, Markdown and HTML into `tables/`; returns them by name.

    A file that says the same already is left alone.
    """
    from longbanana_nb.runs import writing_results

    made = make_tables(run, scores, grid, facts)
    with writing_results(run.path):
        for table in made.values():
            for suffix in SINKS:
                path, text = run.path / "tables" / f"{table.name}.{suffix}", rendered(table, suffix)
                if not path.is_file() or path.read_bytes() != text:
                    write_atomic(path, text)
    return made


def make_tables(run: Run, scores: Scores, grid: pd.DataFrame, facts: RunFacts) -> dict[str, Table]:
    """Every table of the run by name; nothing is written. The truth's is there only where the run has a truth."""
    with standing_still(run):
        return _tables(run, scores, grid, facts)


def _tables(run: Run, scores: Scores, grid: pd.DataFrame, facts: RunFacts) -> dict[str, Table]:
    judge = main_judge_of(facts)
    made = [
        main_table(scores, facts, judge),
        dimension_table(scores, facts, judge),
        coverage_table(grid, candidates_of_run(run), facts),
        label_shares_table(grid, facts, judge),
        systems_table(facts),
    ]
    workflows = (ablation_table(run, scores, facts, judge), compliance_table(run, facts))
    made += [table for table in workflows if table is not None]
    beside_truth = truth_table(grid, facts, judge)
    made += [beside_truth] if beside_truth is not None else []
    made += [pass_rate_table(scores, facts, judge), dataset_table(run.cases(), run.checks(), facts)]
    made += [harness_workflow_table(scores, facts, judge), backends_table(scores, facts, judge), *claims_tables(run)]
    contrasts = contrast_table(scores, facts, judge, declared_text(run))
    made += [contrasts] if contrasts is not None else []
    made += correction_tables(run)
    made += [losses_table(loss_funnel(run, grid, funnel_judge(run, facts)), facts, funnel_judge(run, facts))]
    made += agreement_tables(run)
    audits = {name: read_audit(run.path, name) for name in run.judges}
    made += [audit_table(one, run.judges[name].sha256) for name, one in audits.items() if one is not None]
    cost = judging_cost_table(run, facts)
    made += [cost] if cost is not None else []
    repeats = repeat_lines(grid)
    return {table.name: with_judge_notes(table, facts, repeats) for table in made}


def rendered(table: Table, suffix: str) -> bytes:
    """A table in the form of a file with this suffix: csv, tex, md or html."""
    text: str = getattr(table, SINKS[suffix])()
    return text.encode("utf-8")


def _write_pages(run: Run, notebooks: Sequence[Path] | None) -> list[tuple[str, str]]:
    """Write the page of each executed notebook into `notebooks/`; (title, address from report.html) of each."""
    folder = run.path / "notebooks"
    executed = sorted(folder.glob("*.ipynb")) if notebooks is None else list(notebooks)
    shown = {str(run.path): run.path.name}
    return [
        (
            write_notebook_page(path, folder / f"{path.stem}.html", back="../report.html", replace=shown),
            f"notebooks/{path.stem}.html",
        )
        for path in executed
    ]


def _attribution(run: Run) -> str | None:
    path = run.manifest.parent / "ATTRIBUTION.md"
    return read_text(path) if path.is_file() else None


def _report(
    run: Run, facts: RunFacts, scores: Scores, tables: dict[str, Table], drawings: Gallery,
    pages: list[tuple[str, str]], attribution: str | None,
) -> str:  # fmt: skip
    judge = main_judge_of(facts)
    overall = scores.scores[(scores.scores["judge"] == judge) & (scores.scores["scope"] == "overall")]
    valid, total = int(overall["checks_valid"].sum()), int(overall["checks_total"].sum())

    def table(name: str) -> str:
        return tables[name].html(style=False)

    body = parts.head(facts, len(run.cases()), valid, total)
    body += main_table(scores, facts, judge, wide=False).html(style=False) + parts.picture(drawings["heatmap"])
    body += parts.section("overall", "Overall", "How sure is the order?", parts.picture(drawings["overall"]))
    strips = parts.strips(case_strips(run, scores, judge))
    body += parts.section(
        "candidates", "Candidates", f"The first case of each suite; scores of the case by {escape(judge)}.", strips
    )
    detail = (
        parts.picture(drawings["categories"])
        + parts.picture(drawings["failures"])
        + table("dimensions")
        + parts.picture(drawings["backends"])
        + table("backends")
        + table("systems")
    )
    body += parts.section("where", "Where systems differ", "By category, by dimension, by image model and harness.", detail)
    if workflows := [name for name in ("ablation", "compliance") if name in tables]:
        lead = "What evidence, plan and review add, and whether agents did what they were asked."
        shown = [parts.picture(drawings["ablation"])] if "ablation" in drawings else []
        body += parts.section("workflows", "Workflows", lead, *shown, *(table(name) for name in workflows))
    lead = "Were the bound references opened and sent, was the obligation met on the way, and was it kept?"
    body += parts.section("losses", "Where obligations were lost", lead, parts.picture(drawings["losses"]), table("losses"))
    tested = [table("contrasts")] if "contrasts" in tables else []
    passed = (parts.picture(drawings["curve"]), table("pass_rates"), *tested)
    body += parts.section(
        "passing", "Passing and contrasts", "What depends on where the line is drawn, and what was tested.", *passed
    )
    if "truth" in tables:
        body += parts.section(
            "truth",
            "The judge beside the truth",
            "How far can these verdicts be trusted?",
            table("truth"),
            parts.picture(drawings["truth"]),
        )
    if agreed := [name for name in tables if name.startswith("agreement")]:
        drawn = agreement_drawing(run, keep=True)
        shown = [parts.picture(drawn)] if drawn is not None else []
        lead = "The judge beside people, and beside the truth where it is known; raters beside each other."
        body += parts.section("agreement", "Agreement", lead, *shown, *(table(name) for name in agreed))
    if "corrected" in tables:
        lead = "What people would say of every unit, from those that they labelled."
        body += parts.section("corrected", "Corrected with labels", lead, table("corrected"), table("label_plan"))
    if audits := [name for name in tables if name.startswith("audit-")]:
        shown = [parts.picture(drawings["audit"])] if "audit" in drawings else []
        lead = "Minimal pairs: one edit that must change an answer, or must not."
        body += parts.section("audit", "What the judge notices", lead, *shown, *(table(name) for name in audits))
    body += parts.section(
        "coverage",
        "Coverage and labels",
        "What was delivered, what was judged, and what it took.",
        table("coverage"),
        *([table("judging_cost")] if "judging_cost" in tables else []),
        parts.picture(drawings["cost"]),
        parts.picture(drawings["labels"]),
        table("labels"),
        *([parts.picture(drawings["variance"])] if "variance" in drawings else []),
    )
    body += parts.section("notebooks", "Notebooks", "The analysis, executed on this run.", parts.index(pages))
    body += parts.section("simulated", "What is simulated", "So that no number is taken for another.", parts.simulated(facts))
    body += parts.section("origin", "Images and citation", "Where the pictures come from.", parts.origin(facts, attribution))
    title = f"LongBanana report: {facts.release}"
    return require_self_contained(page(title, body + parts.foot(facts)), "report.html")
