"""Human labels and a judge's verdicts matched unit by unit; what finds no partner is counted, never forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from longbanana_nb.errors import Fault
from longbanana_nb.scoring.agreement import Agreement, agreement
from longbanana_nb.scoring.case_draws import DRAWS, SEED
from longbanana_nb.scoring.grids import as_text, refuse_faults
from longbanana_nb.scoring.label_tables import FACTS, UNIT, ChosenLabels, Hashes
from longbanana_nb.taxonomy import CATEGORIES, DIMENSIONS

GROUPS = ("system", *FACTS)
GIVEN = ("valid", "invalid", "stale")
"""States in which a judge was asked; a verdict that was never asked for, or has no candidate, is no verdict."""


@dataclass(frozen=True, slots=True)
class Matched:
    """Every unit that either side speaks of.

    Attributes:
        units: `UNIT`, `judge_sample`, `FACTS`, `human`, `judge` (NaN where there is no valid label), `fate`: "pair", "human"
            (labelled without an answer), "judge" (verdict invalid), "unmatched" (one side only). A unit invalid on both sides
            counts under human.
        labels: how the human labels were chosen. complete: nothing invalid or stale, no label without a verdict, and, unless the
            labels are a drawn sample, no verdict without a label.
    """

    units: pd.DataFrame
    labels: ChosenLabels
    complete: bool

    @property
    def pairs(self) -> pd.DataFrame:
        """Units with two valid labels."""
        return self.units[self.units["fate"] == "pair"]

    def dropped(self, units: pd.DataFrame | None = None) -> dict[str, int]:
        """How many units were left out, by reason."""
        fates = (self.units if units is None else units)["fate"]
        return {name: int((fates == name).sum()) for name in ("human", "judge", "unmatched")}


def verdict_units(grid: pd.DataFrame) -> pd.DataFrame:
    """Verdicts of one judge that were asked for: `UNIT`, `judge_sample`, `FACTS`, `candidate_sha256` as text, and `judge`."""
    asked = grid[grid["state"].isin(GIVEN)]
    texts = {name: as_text(asked[name]).to_numpy() for name in (*UNIT, "judge_sample", *FACTS, "candidate_sha256")}
    values = pd.to_numeric(asked["label"], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    judge = np.where((asked["state"] == "valid").to_numpy(), values, np.nan)
    return pd.DataFrame(texts, dtype=object).assign(judge=judge)


def hashes_of(verdicts: pd.DataFrame) -> Hashes:
    """The candidates that verdicts are on, where they say so."""
    known = verdicts[verdicts["candidate_sha256"] != ""]
    return dict(zip(zip(known["system"], known["case_id"], known["sample"], strict=True), known["candidate_sha256"], strict=True))


def match(labels: ChosenLabels, verdicts: pd.DataFrame) -> Matched:
    """Match labels with the verdicts of `verdict_units`; each sample of a judge is a unit of its own.

    Raises:
        DataError: the two sides give a unit different categories, dimensions or polarities.
    """
    human = labels.labels.rename(columns={"label": "human"}).drop(columns="candidate_sha256")
    judged = verdicts.drop(columns="candidate_sha256")
    both = human.merge(judged, on=UNIT, how="outer", suffixes=("", "_judge"), indicator=True, sort=False)
    _refuse_contradictions(both)
    facts = {name: both[name].fillna("").where(both[name].fillna("") != "", both[f"{name}_judge"].fillna("")) for name in FACTS}
    side = both["_merge"].astype(str)
    fate = np.select(
        [side != "both", both["human"].isna(), both["judge"].isna()], ["unmatched", "human", "judge"], default="pair"
    )
    units = both[[*UNIT, "judge_sample", "human", "judge"]].assign(**facts, fate=fate)
    is_sample = bool(len(human)) and bool(human["drawn"].all())
    lost = (fate == "human") | (fate == "judge") | (side == "left_only") | ((side == "right_only") & (not is_sample))
    return Matched(units.reset_index(drop=True), labels, bool(len(units)) and not bool(lost.any()) and not labels.stale)


def agreement_by(
    matched: Matched, *, level: float = 0.95, seed: int = SEED
) -> dict[str, dict[str, tuple[Agreement, dict[str, int]]]]:
    """Agreement within each system, category, dimension and polarity that occurs, with what was dropped there."""
    return {
        group: {
            name: (agreement(units[units["fate"] == "pair"], level=level, seed=seed), matched.dropped(units))
            for name in _values(matched.units[group], group)
            if len(units := matched.units[matched.units[group] == name])
        }
        for group in GROUPS
    }  # fmt: skip


def agreement_json(matched: Matched, *, level: float = 0.95, seed: int = SEED) -> dict[str, Any]:
    """The object of `agree --json`."""
    whole = agreement(matched.pairs, level=level, seed=seed).as_json()
    found: dict[str, Any] = {"n": whole.pop("n"), "dropped": matched.dropped(), **whole, "by": {}}
    for group, members in agreement_by(matched, level=level, seed=seed).items():
        found["by"][group] = {}
        for name, (one, dropped) in members.items():
            part = one.as_json()
            found["undefined"] |= {f"by.{group}.{name}.{key}": reason for key, reason in part.pop("undefined").items()}
            found["by"][group][name] = {"n": part.pop("n"), "dropped": dropped, **part}
    extra = {"stale": matched.labels.stale, "tied": matched.labels.tied, "not_adjudicated": matched.labels.open_}
    return found | extra | {"level": level, "method": f"percentiles of {DRAWS} draws of n - 1 of the n cases", "seed": seed}


def _values(column: pd.Series, group: str) -> list[str]:
    known = {"category": CATEGORIES, "dimension": DIMENSIONS}.get(group, ())
    found = [str(value) for value in dict.fromkeys(column) if value]
    return [name for name in known if name in found] or sorted(found)


def _refuse_contradictions(both: pd.DataFrame) -> None:
    faults = []
    for name in FACTS:
        mine, theirs = both[name].fillna(""), both[f"{name}_judge"].fillna("")
        for row in (
            both[(mine != "") & (theirs != "") & (mine != theirs)].drop_duplicates(["case_id", "check_id"]).to_dict("records")
        ):
            found = f"{name} {row[name]!r} with the labels, {row[f'{name}_judge']!r} with the verdicts"
            fix = "Correct the wrong one, or leave the column away on one side."
            faults.append(Fault("labels and verdicts", name, found, "one and the same", fix, row["case_id"], row["check_id"]))
    refuse_faults("The labels and the verdicts speak of different checks.", faults)
