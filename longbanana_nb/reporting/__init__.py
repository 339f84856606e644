"""What people look at: tables, figures, executed notebooks and the report page of a run.

Names resolve on first use, so that importing the package loads neither matplotlib nor papermill.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from longbanana_nb.reporting.evidence import evidence_view
    from longbanana_nb.reporting.facts import JudgeFacts, RunFacts, ScoreFrames, SystemFacts
    from longbanana_nb.reporting.figures import (
        backend_harness,
        category_dots,
        category_heatmap,
        judge_against_truth,
        overall_dots,
        save_figure,
    )
    from longbanana_nb.reporting.gallery import Gallery
    from longbanana_nb.reporting.notebook_pages import notebook_page, write_notebook_page
    from longbanana_nb.reporting.notebook_parameters import declared_parameters
    from longbanana_nb.reporting.notebook_runner import run_notebook
    from longbanana_nb.reporting.report import build_report, write_tables
    from longbanana_nb.reporting.run_facts import facts_of_run
    from longbanana_nb.reporting.table import Cell, Column, Row, RowGroup, Table, ranked
    from longbanana_nb.reporting.tables import dimension_table, main_table, systems_table
    from longbanana_nb.reporting.verdict_tables import coverage_table, label_shares_table, truth_table
    from longbanana_nb.reporting.views import (
        candidate_strip,
        candidates_frame,
        case_sheet,
        reference_use_figure,
        step_strip,
        systems_frame,
    )

_HOME = {
    "evidence": ("evidence_view",),
    "gallery": ("Gallery",),
    "views": ("candidate_strip", "candidates_frame", "case_sheet", "reference_use_figure", "step_strip", "systems_frame"),
    "facts": ("JudgeFacts", "RunFacts", "ScoreFrames", "SystemFacts"),
    "figures": ("backend_harness", "category_dots", "category_heatmap", "judge_against_truth", "overall_dots", "save_figure"),
    "notebook_pages": ("notebook_page", "write_notebook_page"),
    "notebook_parameters": ("declared_parameters",),
    "notebook_runner": ("run_notebook",),
    "report": ("build_report", "write_tables"),
    "run_facts": ("facts_of_run",),
    "table": ("Cell", "Column", "Row", "RowGroup", "Table", "ranked"),
    "tables": ("dimension_table", "main_table", "systems_table"),
    "audit_views": ("audit_figure", "pair_view", "telling_pairs"),
    "audits": ("audit_line", "audit_table", "read_audit"),
    "verdict_tables": ("coverage_table", "label_shares_table", "truth_table"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Cell",
    "Column",
    "Gallery",
    "JudgeFacts",
    "Row",
    "RowGroup",
    "RunFacts",
    "ScoreFrames",
    "SystemFacts",
    "Table",
    "audit_figure",
    "backend_harness",
    "build_report",
    "candidate_strip",
    "candidates_frame",
    "case_sheet",
    "category_dots",
    "category_heatmap",
    "coverage_table",
    "declared_parameters",
    "dimension_table",
    "evidence_view",
    "facts_of_run",
    "judge_against_truth",
    "label_shares_table",
    "main_table",
    "notebook_page",
    "overall_dots",
    "ranked",
    "reference_use_figure",
    "run_notebook",
    "save_figure",
    "step_strip",
    "systems_frame",
    "systems_table",
    "truth_table",
    "write_notebook_page",
    "write_tables",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
