"""Figures for a paper: functions from frames to matplotlib figures, with a text that says what each shows."""

from __future__ import annotations

from longbanana_nb.reporting.figures.ablation import ablation_dots, ablation_dots_alt
from longbanana_nb.reporting.figures.agreement import judge_against_truth, judge_against_truth_alt
from longbanana_nb.reporting.figures.audit import audit_dots, audit_dots_alt
from longbanana_nb.reporting.figures.categories import category_dots, category_dots_alt
from longbanana_nb.reporting.figures.comparison import backend_harness, backend_harness_alt
from longbanana_nb.reporting.figures.curve import threshold_curve, threshold_curve_alt
from longbanana_nb.reporting.figures.heatmap import category_heatmap, category_heatmap_alt
from longbanana_nb.reporting.figures.losses import loss_bars, loss_bars_alt, timeline_alt, timeline_figure
from longbanana_nb.reporting.figures.overall import overall_dots, overall_dots_alt
from longbanana_nb.reporting.figures.saving import figure_bytes, save_figure
from longbanana_nb.reporting.figures.schedule import schedule_alt, schedule_figure
from longbanana_nb.reporting.figures.shares import failure_heatmap, failure_heatmap_alt, label_shares_alt, label_shares_bars
from longbanana_nb.reporting.figures.spending import cost_quality, cost_quality_alt, variance_bars, variance_bars_alt

__all__ = [
    "ablation_dots",
    "ablation_dots_alt",
    "audit_dots",
    "audit_dots_alt",
    "backend_harness",
    "backend_harness_alt",
    "category_dots",
    "category_dots_alt",
    "category_heatmap",
    "category_heatmap_alt",
    "cost_quality",
    "cost_quality_alt",
    "failure_heatmap",
    "failure_heatmap_alt",
    "figure_bytes",
    "judge_against_truth",
    "judge_against_truth_alt",
    "label_shares_alt",
    "label_shares_bars",
    "loss_bars",
    "loss_bars_alt",
    "overall_dots",
    "overall_dots_alt",
    "save_figure",
    "schedule_alt",
    "schedule_figure",
    "threshold_curve",
    "threshold_curve_alt",
    "timeline_alt",
    "timeline_figure",
    "variance_bars",
    "variance_bars_alt",
]  # fmt: skip
