"""Human labels as a table: which of several labels of a unit counts, and which are on an image that was changed since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pandas as pd

from longbanana_nb.errors import CallError, DataError, Fault
from longbanana_nb.scoring.grids import SHOWN, fact_faults, refuse_faults
from longbanana_nb.scoring.rows_in import read_rows
from longbanana_nb.scoring.tables_in import LABELS, label_keys, require_columns

Choice = Literal["1", "2", "adjudicated", "majority"]
CHOICES: tuple[Choice, ...] = ("1", "2", "adjudicated", "majority")
UNIT = ["system", "case_id", "sample", "check_id"]
FACTS = ("category", "dimension", "polarity")
COLUMNS = [*UNIT, *FACTS, "label", "candidate_sha256", "rater", "round", "at", "drawn", "where"]
CANNOT_TELL = ("?", "cannot tell")
Hashes = Mapping[tuple[str, str, str], str]
"""SHA-256 of current candidates by system, case and sample, all as text."""


@dataclass(frozen=True, slots=True)
class ChosenLabels:
    """One label a unit.

    Attributes:
        labels: `UNIT`, `FACTS`, `label` (NaN where nobody could tell), `candidate_sha256`, `drawn` (by a design). stale: units
            whose labels are all on another image. tied: units on which a majority was asked for and there is none.
        open_: units on which two labels differ and nobody has adjudicated, so that the first stands.
    """

    labels: pd.DataFrame
    stale: int = 0
    tied: int = 0
    open_: int = 0


def read_label_table(path: Path) -> pd.DataFrame:
    """Read human labels from CSV or JSONL: our label lines, or a table with `system, case_id, check_id, label`.

    Returns:
        `COLUMNS`, all text but `label` (0, 1, 2; NaN where empty, null or `?`) and `drawn`; `round` is "1" where the file does
        not say, `where` the line each row stands on.

    Raises:
        CallError: no such file. DataError: with every bad row.
    """
    if not path.is_file():
        raise CallError(f"labels: found no file {str(path)!r}; expected a run, or a .csv or .jsonl file. Check the path.")
    rows, names = read_rows(path)
    require_columns(rows, path)
    rows = rows.assign(**{name: "" for name in (*COLUMNS[:-2], "design") if name not in rows.columns})
    rows = rows.assign(sample=rows["sample"].replace("", "0"), round=_rounds(rows["round"]), where=names)
    keys = label_keys(rows["label"]).replace(dict.fromkeys(CANNOT_TELL, ""))
    refuse_faults("The labels cannot be used.", [*_faults(rows, keys), *fact_faults(rows, names)])
    drawn = ~rows["design"].isin(["", "None", "null"])
    return rows.assign(label=keys.map(LABELS).to_numpy(dtype=float), drawn=drawn)[COLUMNS]


def chosen_labels(labels: pd.DataFrame, choice: Choice | None, hashes: Hashes) -> ChosenLabels:
    """One label a unit, among those on the candidates as they are.

    Args:
        labels: as `read_label_table` returns them; of a rater's several lines with times on a unit and round the newest counts.
        choice: "1" or "2": that round alone; "adjudicated": the adjudicated label, else that of round 1, else of round 2;
            "majority": what most raters say, none where they tie. None where no unit has two.
        hashes: of the candidates as they are; a label on an image that is not among them is taken to be on the one there is.

    Raises:
        DataError: several labels on a unit and no choice, or several in the chosen round; every unit is named.
    """
    labels = _newest(labels)
    places = zip(labels["system"], labels["case_id"], labels["sample"], strict=True)
    now = pd.Series([hashes.get(place, "") for place in places], index=labels.index, dtype=object)
    is_stale = (labels["candidate_sha256"] != "") & (now != "") & (labels["candidate_sha256"] != now)
    current = labels[~is_stale]
    lost = len(labels[UNIT].drop_duplicates()) - len(current[UNIT].drop_duplicates())
    if choice == "majority":
        kept, tied = _majority(current)
        return ChosenLabels(_plain(kept), lost, tied)
    if choice in ("1", "2"):
        current = current[current["round"] == choice]
    if choice == "adjudicated":
        _refuse_several(current, [*UNIT, "round"], "several labels of one round")
        is_open = _open(current)
        current = current.assign(turn=current["round"].map({"2": 0, "1": 1, "adjudicated": 2})).sort_values("turn", kind="stable")
        return ChosenLabels(_plain(current.drop_duplicates(UNIT, keep="last").sort_index()), lost, 0, is_open)
    _refuse_several(current, UNIT, "several labels")
    return ChosenLabels(_plain(current), lost)


def twice_labelled(labels: pd.DataFrame, hashes: Hashes) -> tuple[pd.DataFrame, int]:
    """Units with a label of round 1 and one of round 2, before anyone adjudicates: `human` and `judge` are the two, both valid.

    Returns:
        The pairs, and on how many units any current label of round 1 or 2 stands.
    """
    first, second = (chosen_labels(labels[labels["round"].isin(["1", "2"])], choice, hashes).labels for choice in ("1", "2"))
    units = len(pd.concat([first, second])[UNIT].drop_duplicates())
    both = first.merge(second[[*UNIT, "label"]], on=UNIT, suffixes=("", "_second"), validate="one_to_one")
    pairs = both.rename(columns={"label": "human", "label_second": "judge"}).dropna(subset=["human", "judge"])
    return pairs.reset_index(drop=True), units


def _rounds(given: pd.Series) -> pd.Series:
    return given.map(lambda text: text.strip().lower().removesuffix(".0")).replace("", "1")


def _faults(rows: pd.DataFrame, keys: pd.Series) -> list[Fault]:
    tests = (
        (keys.ne("") & ~keys.isin(LABELS), "label", "0, 1, 2, Fail, Uncertain, Pass, ? or empty"),
        (~rows["round"].isin(["1", "2", "adjudicated"]), "round", "1, 2 or adjudicated"),
        *((~rows[name].map(lambda text: bool(text.strip())), name, "an id") for name in ("system", "case_id", "check_id")),
    )
    return [
        Fault(row["where"], name, repr(row[name]), wanted, "Correct it.", row["case_id"], row["check_id"])
        for mask, name, wanted in tests
        for row in rows[mask.to_numpy(dtype=bool)].to_dict("records")
    ]


def _newest(labels: pd.DataFrame) -> pd.DataFrame:
    """Without the lines that the same rater corrected later: they have times, which tables made elsewhere do not."""
    timed = labels[labels["at"] != ""].sort_values("at", kind="stable")
    kept = timed.drop_duplicates([*UNIT, "rater", "round"], keep="last")
    return pd.concat([labels[labels["at"] == ""], kept]).sort_index()


def _open(current: pd.DataFrame) -> int:
    """On how many units two labels differ, or one rater could not tell, with nobody's word after them."""
    said: dict[tuple[str, ...], dict[str, float]] = {}
    columns = (current[name] for name in (*UNIT, "round", "label"))
    for *unit, given, label in zip(*columns, strict=True):
        said.setdefault(tuple(unit), {})[given] = -1.0 if pd.isna(label) else label
    return sum("adjudicated" not in one and len(set(one.values())) > 1 for one in said.values())


def _majority(current: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    counts = current.dropna(subset=["label"]).groupby([*UNIT, "label"]).size().rename("votes").reset_index()
    most = counts[counts["votes"] == counts.groupby(UNIT)["votes"].transform("max")]
    single = most[~most.duplicated(UNIT, keep=False)]
    units = current.drop_duplicates(UNIT).drop(columns="label")
    kept = units.merge(single[[*UNIT, "label"]], on=UNIT, how="left")
    return kept, len(most[UNIT].drop_duplicates()) - len(single)


def _refuse_several(current: pd.DataFrame, owner: list[str], what: str) -> None:
    faults = []
    several = current[current.duplicated(owner, keep=False)]
    for key, rows in several.groupby(owner, sort=False):
        said = ", ".join(
            f"{row['label']:g} (round {row['round']}, {row['rater'] or 'no rater'}, {row['where']})"
            for row in rows.to_dict("records")
        )
        found = f"{what} of system {key[0]!r}: {said}"
        fix = "Choose with --round 1, 2, adjudicated or majority." if owner == UNIT else "Choose --round majority."
        faults.append(Fault(str(rows["where"].iat[0]), "several", found, "one label a unit", fix, str(key[1]), str(key[3])))
    if faults:
        more = f" {len(faults)} units; the first {SHOWN} are shown." if len(faults) > SHOWN else ""
        raise DataError("Several labels on one unit, and no word on which counts." + more, faults[:SHOWN])


def _plain(labels: pd.DataFrame) -> pd.DataFrame:
    return labels[[*UNIT, *FACTS, "label", "candidate_sha256", "drawn"]].reset_index(drop=True)
