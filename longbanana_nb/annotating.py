"""`annotate` for people: a manifest, a model file and a review sheet in; an overlay, a sheet and a few lines out."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

from longbanana_nb.files import write_atomic
from longbanana_nb.workbench import load_release

if TYPE_CHECKING:
    from longbanana_nb.judging.annotate import TextModel

SHEET = "review.csv"


def annotate(
    manifest: Path | str | None = None,
    *,
    model: Path | str | None = None,
    reviewed: Path | str | None = None,
    max_usd: float | None = None,
) -> str:
    """Derive units and probes of a release into its overlay, and write `review.csv` beside them for people to go through.

    Args:
        manifest: as in `load_release`.
        model: a YAML file with `provider`, `id` and where needed `route`, `params`, `base_url`, `key_env`.
        reviewed: the review sheet as people filled it in; their rows become reviewed lines.

    Returns:
        What the overlay now holds, and what to do next.
    """
    from longbanana_nb.judging.annotate import annotate_release
    from longbanana_nb.reporting.review_sheet import read_sheet, sheet_text

    rows = read_sheet(Path(reviewed)) if reviewed is not None else []
    asked = _text_model(Path(model)) if model is not None else None
    done = annotate_release(load_release(manifest), model=asked, reviewed=rows, max_usd=max_usd)
    sheet = done.folder / SHEET
    write_atomic(sheet, sheet_text(done.sheet).encode())
    return f"{done.text}\nReview {sheet}: correct the cells, mark rows as reviewed, and take it back with --reviewed {SHEET}."


def measured_rules(manifest: Path | str | None = None) -> str:
    """How often the rules are right on a release that states its units and probes."""
    from longbanana_nb.judging.annotate import measure_rules

    return "\n".join(one.text for one in measure_rules(load_release(manifest).evaluation()))


def _text_model(path: Path) -> TextModel:
    from longbanana_nb.judging.annotate import TextModel
    from longbanana_nb.judging.preflight import resolved
    from longbanana_nb.providers.connecting import connect
    from longbanana_nb.providers.keys import key_of
    from longbanana_nb.providers.prices import price
    from longbanana_nb.runs.judge_spec import JudgeModel
    from longbanana_nb.runs.shapes import parse_shape
    from longbanana_nb.runs.strict_yaml import read_yaml

    spec, today = parse_shape(JudgeModel, read_yaml(path), str(path)), dt.datetime.now(dt.UTC).date()
    model = resolved(spec, on=today)
    key = key_of(model)
    return TextModel(spec, lambda: connect(model, key=key), price(model, today))
