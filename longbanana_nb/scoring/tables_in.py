"""Reading a bare table of verdicts, or a judgment journal, into the shape of the verdict grid."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

from longbanana_nb.errors import CallError, DataError, Fault
from longbanana_nb.names import nearest
from longbanana_nb.scoring.grids import OPTIONAL, duplicate_faults, fact_faults, outside_faults, refuse_faults
from longbanana_nb.scoring.journals_in import counting_answers, is_journal
from longbanana_nb.scoring.policy import OUTCOMES
from longbanana_nb.scoring.rows_in import read_rows
from longbanana_nb.scoring.scores import filled_totals
from longbanana_nb.scoring.tally import check_list
from longbanana_nb.taxonomy import LABEL_NAMES

REQUIRED = ("system", "case_id", "check_id", "label")
GRID_COLUMNS = [
    *("judge", "system", "case_id", "category", "sample", "judge_sample", "check_id", "dimension", "polarity"),
    *("state", "label", "invalid", "outcome", "candidate_sha256"),
]
NAMED_LABELS = {name.lower(): value for value, name in LABEL_NAMES.items()}
NUMBERS = re.compile(r"([012])(?:\.0+)?")


def read_verdict_table(path: str | Path, totals: pd.DataFrame | None = None) -> pd.DataFrame:
    """Read a CSV or JSONL table of verdicts, or judgment journal lines, into the verdict grid's shape.

    Every cell is read as text: ids such as 007, NA and 1e5 survive. Columns `system, case_id, check_id, label`, and where
    known `judge, category, dimension, polarity, sample, judge_sample, outcome, invalid, candidate_sha256`; others are passed
    over. A label is 0, 1, 2 (also "2.0") or Fail, Uncertain, Pass in any case; empty is asked and invalid. A row whose
    `outcome` says that there is no image has state "no_candidate" and no label; its `check_id` may be empty, and it then stands
    for every check of its case.

    Args:
        path: a `.csv` or `.jsonl` file. totals: the checks of the release (`case_id`, `check_id`, `category`, ...). Each
            (judge, system) of the table then has a row for each of them, "not_asked" where the table has none.

    Returns:
        One row a unit: `judge` ("" where unknown), `system`, `case_id`, `category`, `sample`, `judge_sample`, `check_id`,
        `dimension`, `polarity`, `state`, `label` (NaN unless valid), `invalid`, `outcome`, `candidate_sha256`.

    Raises:
        DataError: naming every bad row. CallError: no such file.
    """
    file = Path(path)
    if not file.is_file():
        raise CallError(f"verdict table: found no file {str(file)!r}; expected a .csv or .jsonl file. Check the path.")
    rows, names = read_rows(file)
    require_columns(rows, file)
    rows = _filled(rows)
    faults = _word_faults(rows, names) + fact_faults(rows, names)
    faults += [] if is_journal(rows.columns) else duplicate_faults(rows, names)
    refuse_faults("The verdict table is not fit for scoring.", faults)
    rows = rows.assign(state=_states(rows))
    if is_journal(rows.columns):
        rows, names = counting_answers(rows, names)
    rows, names = _spread(rows, names, totals)
    refuse_faults("The verdict table is not fit for scoring.", duplicate_faults(rows, names))
    release = None if totals is None else check_list(filled_totals(totals))
    if release is not None:
        refuse_faults("The verdict table does not fit the release.", outside_faults(rows, names, release))
    values = label_keys(rows["label"]).map(LABELS).to_numpy(dtype=float)
    grid = rows.assign(label=values)[GRID_COLUMNS]
    return grid if release is None else _with_unasked(grid, release)


LABELS = {**{str(value): float(value) for value in LABEL_NAMES}, **{name: float(value) for name, value in NAMED_LABELS.items()}}


def label_keys(labels: pd.Series) -> pd.Series:
    """The form in which labels are looked up: a bare digit or a lower-case name, "" where there is none."""
    keys = {}
    for text in labels.unique():
        bare = str(text).strip().lower()
        number = NUMBERS.fullmatch(bare)
        keys[text] = number[1] if number else bare
    return labels.map(keys)


def require_columns(rows: pd.DataFrame, path: Path) -> None:
    """Raise DataError where the rows are none, or lack a column a table of labels must have."""
    if rows.empty:
        fault = Fault(str(path), "empty", "no rows", "at least one verdict", "Write the table again.")
        raise DataError("The verdict table is empty.", [fault])
    lost = [name for name in REQUIRED if name not in rows.columns]
    if lost:
        found = ", ".join(repr(name) for name in rows.columns) or "no columns"
        faults = []
        for name in lost:
            near = nearest(name, [column for column in rows.columns if column not in REQUIRED])
            fix = f"Rename {near!r}?" if near else "Add it; columns are separated by commas."
            faults.append(Fault(str(path), "column", f"columns {found}", f"a column {name!r}", fix))
        raise DataError("The verdict table lacks columns.", faults)


def _filled(rows: pd.DataFrame) -> pd.DataFrame:
    filled = {name: rows[name].replace("", default) if name in rows.columns else default for name, default in OPTIONAL.items()}
    rest = {name: "" for name in ("invalid", "candidate_sha256") if name not in rows.columns}
    return rows.assign(**filled, **rest)


def _word_faults(rows: pd.DataFrame, names: list[str]) -> list[Fault]:
    """Faults of single cells: labels, outcomes, empty ids, and a label where there can be none."""
    keys = label_keys(rows["label"])
    labelled = keys != ""
    has_no_image = ~rows["outcome"].isin(["", "image"])
    tests = (
        (labelled & ~keys.isin(LABELS), "label", "0, 1, 2, Fail, Uncertain, Pass, or empty where the answer is invalid"),
        (~rows["outcome"].isin(["", *OUTCOMES]), "outcome", f"one of {', '.join(OUTCOMES)}, or empty"),
        (labelled & has_no_image & rows["outcome"].isin(OUTCOMES), "label", "no label where the outcome is no image"),
        (labelled & (rows["invalid"] != ""), "label", "either a label or a reason in 'invalid'"),
        (_blank(rows["system"]), "system", "a name"),
        (_blank(rows["case_id"]), "case_id", "an id"),
        (
            _blank(rows["check_id"]) & ((rows["check_id"] != "") | ~has_no_image),
            "check_id",
            "an id (only a row without an image may leave it empty)",
        ),
    )
    faults = []
    for mask, column, expected in tests:
        for place in np.flatnonzero(mask.to_numpy()).tolist():
            row = rows.iloc[place]
            found = f"{column} {row[column]!r}" + (f" with outcome {row['outcome']!r}" if "no image" in expected else "")
            faults.append(Fault(names[place], column, found, expected, "Correct the row.", row["case_id"], row["check_id"]))
    return faults


def _blank(texts: pd.Series) -> pd.Series:
    """Where a text holds nothing but white space."""
    return pd.Series([not text.strip() for text in texts.tolist()], index=texts.index, dtype=bool)


def _states(rows: pd.DataFrame) -> pd.Series:
    labelled = ~_blank(rows["label"])
    has_no_image = ~rows["outcome"].isin(["", "image"])
    states = np.where(labelled, "valid", np.where(has_no_image, "no_candidate", "invalid"))
    return pd.Series(states, index=rows.index, dtype=object)


def _spread(rows: pd.DataFrame, names: list[str], totals: pd.DataFrame | None) -> tuple[pd.DataFrame, list[str]]:
    """Let a row without a check stand for every check of its case that the table, or the totals, know."""
    is_whole = (rows["check_id"] == "").to_numpy()
    if not is_whole.any():
        return rows, names
    single = rows.loc[~is_whole, ["case_id", "check_id"]]
    source = single if totals is None else pd.concat([single, filled_totals(totals)[["case_id", "check_id"]]])
    checks = source.drop_duplicates()
    whole = rows.loc[is_whole].assign(place=np.flatnonzero(is_whole)).drop(columns="check_id")
    lost = whole.loc[~whole["case_id"].isin(checks["case_id"])]
    expected = "a case whose checks another row or the release names"
    refuse_faults(
        "The verdict table names a case without checks.",
        [
            Fault(names[place], "check_id", f"no check of case {case_id!r}", expected, "Score with the release.", case_id)
            for place, case_id in zip(lost["place"].tolist(), lost["case_id"].tolist(), strict=True)
        ],
    )
    grown = whole.merge(checks, on="case_id", how="left")
    where = [names[place] for place in grown["place"].tolist()]
    kept = [name for name, whole_row in zip(names, is_whole, strict=True) if not whole_row]
    return pd.concat([rows.loc[~is_whole], grown.drop(columns="place")], ignore_index=True), kept + where


def _with_unasked(grid: pd.DataFrame, checks: pd.DataFrame) -> pd.DataFrame:
    """Add a "not_asked" row wherever a (judge, system) of the table has no row on one of the checks."""
    units = grid[["judge", "system"]].drop_duplicates()
    expected = units.merge(checks, how="cross")
    on = ["judge", "system", "case_id", "check_id"]
    asked = pd.MultiIndex.from_frame(grid[on])
    lost = expected.loc[~pd.MultiIndex.from_frame(expected[on]).isin(asked)]
    fresh = lost.assign(
        sample="0", judge_sample="0", state="not_asked", label=np.nan, invalid="", outcome="", candidate_sha256=""
    )
    return pd.concat([grid, fresh[GRID_COLUMNS]], ignore_index=True) if len(lost) else grid
