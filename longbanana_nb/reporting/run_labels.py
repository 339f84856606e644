"""The labels of a run and the verdicts of one of its judges, in the shape in which agreement is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longbanana_nb.errors import CallError
from longbanana_nb.names import nearest
from longbanana_nb.reporting.gallery import main_judge_of
from longbanana_nb.reporting.measured import measure
from longbanana_nb.runs.labels import read_labels
from longbanana_nb.scoring.label_tables import COLUMNS

if TYPE_CHECKING:
    import pandas as pd

    from longbanana_nb.runs import Run


def labels_of_run(run: Run) -> pd.DataFrame:
    """Every label line of a run, as `scoring.label_tables.read_label_table` gives those of a file."""
    import numpy as np
    import pandas as pd

    rows = [
        (
            one.system, one.case_id, str(one.sample), one.check_id, "", "", "", np.nan if one.label is None else float(one.label),
            one.candidate_sha256, one.rater, str(one.round), one.at, one.design is not None, f"labels of {one.rater}",
        )
        for one in read_labels(run)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS).astype({"label": "float", "drawn": "bool"})


def verdicts_of_run(run: Run, judge: str | None = None) -> pd.DataFrame:
    """The verdict grid of one judge; None takes the first that looks at pixels.

    Raises:
        CallError: the run has no such judge.
    """
    known = measure(run)
    name = judge or main_judge_of(known.facts)
    if name not in run.judges:
        near = nearest(name, run.judges)
        hint = f"Did you mean {near!r}?" if near else f"There are: {', '.join(run.judges)}."
        raise CallError(f"judge: found no {name!r} in {run.path}. {hint}")
    return known.grid[known.grid["judge"] == name]
