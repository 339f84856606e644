"""All answers of a run as one frame, with what people and the truth said on the same checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from longbanana_nb.reporting.measured import hashes_of, measure
from longbanana_nb.runs.labels import labels_folder, read_labels, settled
from longbanana_nb.taxonomy import LABEL_NAMES, SUITE_OF

if TYPE_CHECKING:
    from longbanana_nb.runs import Run

UNIT = ["system", "case_id", "sample", "check_id"]


def answers_frame(run: Run) -> pd.DataFrame:
    """One row of the verdict grid a row, with `suite, verdict, question, bound, truth, human, against_truth, against_human`.

    `verdict` is a label's word, else the state.
    `against_*` is `agrees`, `opposite` (Pass against Fail), `off by one` or `not known`.
    """
    known = measure(run)
    frame = known.grid.copy()
    checks = {(check.case_id, check.check_id): check for check in run.checks()}
    asked = [checks[key] for key in zip(frame["case_id"], frame["check_id"], strict=True)]
    frame["suite"] = frame["category"].map(SUITE_OF)
    words = [LABEL_NAMES[int(label)] if pd.notna(label) else None for label in frame["label"]]
    frame["verdict"] = pd.Series(words, index=frame.index, dtype="str").fillna(frame["state"])
    frame["question"] = [check.question for check in asked]
    frame["bound"] = ["references" if check.reference_ids else "candidate only" for check in asked]
    truth = known.facts.truth
    told = frame[(frame["judge"] == (truth.name if truth else None)) & (frame["judge_sample"] == 0)]
    frame["truth"] = _on_units(frame, told.set_index(UNIT)["label"].dropna().to_dict())
    labels = settled(read_labels(run), hashes_of(run)) if labels_folder(run).is_dir() else {}
    frame["human"] = _on_units(frame, {unit: one.label for unit, one in labels.items() if one.label is not None})
    for source in ("truth", "human"):
        frame[f"against_{source}"] = _against(frame["label"], frame[source])
    return frame


def _on_units(frame: pd.DataFrame, labels: Mapping[Any, Any]) -> pd.Series:
    units = zip(*(frame[name].tolist() for name in UNIT), strict=True)
    return pd.Series([labels.get(unit) for unit in units], index=frame.index, dtype="Int64")


def _against(label: pd.Series, other: pd.Series) -> pd.Series:
    words = {0: "agrees", 1: "off by one", 2: "opposite"}
    return (label - other).abs().map(words).astype("str").fillna("not known")
