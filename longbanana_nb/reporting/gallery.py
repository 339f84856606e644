"""The figures of a run by name; each is drawn and written when it is first asked for, and once for all who ask."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import DataError
from longbanana_nb.reporting.ablation import comparisons
from longbanana_nb.reporting.audits import Audit, read_audit
from longbanana_nb.reporting.facts import INTERVALS, RunFacts
from longbanana_nb.reporting.kept_figures import KeptFigures, drawn_from
from longbanana_nb.reporting.sinks.html import escape

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from longbanana_nb.scoring import Scores

CAPTIONS = {
    "heatmap": "Scores by category, 0 to 100. Outlined: the best system of the column as printed; floors do not compete.",
    "overall": f"Overall scores with intervals. {INTERVALS}",
    "categories": "Category scores of up to four systems with intervals over cases; the others in grey.",
    "curve": "Share of cases that reach each threshold; a rank that changes along the line is owed to where it was drawn.",
    "backends": "Systems that differ in the image model alone, and systems that differ in the harness alone.",
    "labels": "Shares of labels among valid verdicts. An empty picture passes negative checks: read the floors.",
    "failures": "Where systems fail: share of Fail among valid verdicts by dimension and category, pooled over cases.",
    "losses": "Failed checks by the stage at which the obligation was lost, by system and by category.",
    "cost": "Overall score over what a case cost. Systems on the line are beaten by none in both.",
    "variance": "How far case scores differ by case, by the luck of a sample, and when the judge is asked again.",
    "ablation": f"Systems that differ in their workflow: scores, and what each gains over the minimal one. {INTERVALS}",
    "audit": "Share of answers that changed after one edit, by kind of edit, with intervals; in brackets: pairs with answers.",
    "truth": "Case scores and labels of the judge beside the truth that the simulation wrote down.",
}


@dataclass(frozen=True, slots=True)
class _Maker:
    """How one figure is drawn, and how it is said in words."""

    draw: Callable[[], Figure]
    words: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure ready for a page: SVG bytes with outlined letters, its words, and its caption."""

    name: str
    svg: bytes
    alt: str
    caption: str

    @classmethod
    def of(cls, figure: Figure, name: str, alt: str, caption: str = "") -> Drawing:
        """A figure of which no file is kept, ready for a page."""
        from longbanana_nb.reporting.figures.saving import figure_bytes

        return cls(name, figure_bytes(figure, "svg", outlines=True), alt, caption)

    def image(self) -> str:
        """An `<img>` that carries the figure, on white ground so that it reads in a dark page too."""
        source = f"data:image/svg+xml;base64,{base64.b64encode(self.svg).decode()}"
        return f'<img alt="{escape(self.alt)}" style="max-width:100%;background-color:#fff" src="{source}">'

    def _repr_html_(self) -> str:
        return self.image()

    def __repr__(self) -> str:
        return self.alt


class Gallery(Mapping[str, Drawing]):
    """The figures there are for a run, in the order of a report. Asking for one sees to its PDF, SVG and PNG in `figures/`.

    Files that were drawn from these very scores, by this code, are shown as they are; else the figure is drawn. Of several
    processes that ask for the same figure one draws it, and the others show what it wrote.
    """

    def __init__(self, run_folder: Path, scores: Scores, grid: pd.DataFrame, facts: RunFacts) -> None:
        from longbanana_nb.reporting.funnel import funnel_judge, loss_funnel
        from longbanana_nb.reporting.run_facts import candidates_of_run
        from longbanana_nb.runs import open_run

        self._run_folder = run_folder
        audit = read_audit(run_folder, main_judge_of(facts))
        run = open_run(run_folder)
        candidates = candidates_of_run(run)
        losses = loss_funnel(run, grid, funnel_judge(run, facts))
        self._makers = _makers(scores, grid, facts, audit, candidates, losses)
        told = drawn_from(scores, grid, facts, audit, candidates, scores.weights.sha256, losses.to_csv())
        self._kept = KeptFigures(run_folder / "figures", told)
        self._drawn: dict[str, Drawing] = {}

    def __getitem__(self, name: str) -> Drawing:
        if name not in self._drawn:
            self._drawn[name] = self._draw(name)
        return self._drawn[name]

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def _draw(self, name: str) -> Drawing:
        from longbanana_nb.runs import writing_results

        maker = self._makers[name]
        alt, svg = maker.words(), self._kept.find(name)
        if svg is None:
            with writing_results(self._run_folder):
                svg = self._kept.find(name) or self._kept.keep(name, maker.draw(), alt)
        return Drawing(name, svg, alt, CAPTIONS[name])


def main_judge_of(facts: RunFacts) -> str:
    """The judge whose verdicts tables and figures show; DataError where there is none."""
    main = facts.main_judge
    if main is None:
        raise DataError("The run has no judge yet. Judge it first: `longbanana-nb judge`.")
    return main.name


def _makers(
    scores: Scores,
    grid: pd.DataFrame,
    facts: RunFacts,
    audit: Audit | None,
    candidates: list[Mapping[str, Any]],
    losses: pd.DataFrame,
) -> dict[str, _Maker]:
    from longbanana_nb.reporting import figures as draw
    from longbanana_nb.scoring.variance import variance_split

    judge, truth = main_judge_of(facts), facts.truth

    def of_scores(make: Callable[..., Figure], words: Callable[..., str]) -> _Maker:
        return _Maker(lambda: make(scores, facts, judge), lambda: words(scores, facts, judge))

    def of_verdicts(make: Callable[..., Figure], words: Callable[..., str]) -> _Maker:
        return _Maker(lambda: make(grid, facts, judge), lambda: words(grid, facts, judge))

    costs = (scores, facts, judge, candidates)
    lost = (losses, facts, str(losses["judge"].iloc[0]) if len(losses) else judge)
    makers = {
        "heatmap": of_scores(draw.category_heatmap, draw.category_heatmap_alt),
        "overall": of_scores(draw.overall_dots, draw.overall_dots_alt),
        "categories": of_scores(draw.category_dots, draw.category_dots_alt),
        "curve": of_scores(draw.threshold_curve, draw.threshold_curve_alt),
        "backends": of_scores(draw.backend_harness, draw.backend_harness_alt),
        "labels": of_verdicts(draw.label_shares_bars, draw.label_shares_alt),
        "failures": of_verdicts(draw.failure_heatmap, draw.failure_heatmap_alt),
        "losses": _Maker(lambda: draw.loss_bars(*lost), lambda: draw.loss_bars_alt(*lost)),
        "cost": _Maker(lambda: draw.cost_quality(*costs), lambda: draw.cost_quality_alt(*costs)),
    }
    split = variance_split(grid)
    if split[["sample", "repeat"]].notna().any(axis=None):
        parts = (split, facts, judge)
        makers["variance"] = _Maker(lambda: draw.variance_bars(*parts), lambda: draw.variance_bars_alt(*parts))
    if truth is not None and truth.name != judge:
        pair = (grid, facts, judge, truth.name)
        makers["truth"] = _Maker(lambda: draw.judge_against_truth(*pair), lambda: draw.judge_against_truth_alt(*pair))
    if comparisons(facts):
        makers["ablation"] = of_scores(draw.ablation_dots, draw.ablation_dots_alt)
    if audit is not None:
        makers["audit"] = _Maker(lambda: draw.audit_dots(audit), lambda: draw.audit_dots_alt(audit))
    return makers
