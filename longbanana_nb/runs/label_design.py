"""Which units people label: drawn by a recorded design, each with a known probability, some for two raters."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from longbanana_nb.errors import CallError, DataError, Fault
from longbanana_nb.files import sha256_bytes, utc_now, write_atomic
from longbanana_nb.runs.labels import labels_folder, require_rater

if TYPE_CHECKING:
    import pandas as pd

    from longbanana_nb.runs.run import Run

ANSWERS = ("fail", "uncertain", "pass", "none")
"""What the judge of a design said on a unit; "none" where it gave no valid answer."""
DOUBLE_SHARE = 0.15


class DrawnUnit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One unit of a design. `name` is all that a rater sees of it; `raters` are the first and, for some units, the second."""

    name: str
    system: str
    case_id: str
    sample: int
    check_id: str
    candidate_sha256: str
    stratum: str
    p: float
    raters: list[str]


class LabelDesign(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How units were drawn (`lb.label-design.v1`): from which answers of which judge, with which seed, for whom.

    `population` is how many units there were to draw from. `favour` multiplies the chance of units by the judge's answer.
    """

    schema_: Literal["lb.label-design.v1"] = msgspec.field(name="schema", default="lb.label-design.v1")
    id: str
    release: str
    revision: str
    judge: str
    judge_sha256: str
    seed: int
    population: int
    favour: dict[str, float]
    double_share: float
    raters: list[str]
    at: str
    units: list[DrawnUnit]

    @property
    def doubled(self) -> list[DrawnUnit]:
        """The units that two raters label."""
        return [unit for unit in self.units if len(unit.raters) == 2]


def draw_design(
    run: Run,
    grid: pd.DataFrame,
    judge: str,
    raters: Sequence[str],
    *,
    units: int,
    favour: Mapping[str, float] | None = None,
    double_share: float = DOUBLE_SHARE,
    seed: int = 1,
    simulated: bool = False,
) -> LabelDesign:
    """Draw units by systematic sampling over system, category and judge answer, and keep the design in the run.

    The population is every unit with a candidate image. It is put in order of system, category and the judge's answer, at random
    within; then every so manyeth is taken from a random start. So each stratum gets its share but for one unit, none is left out
    for being small, and each unit's probability is known: `units x favour / sum of favour`, at most 1.

    Args:
        grid: the run's verdict grid.
        raters: those who label; units go round among them. Of the drawn, `double_share` go to a second one too.
        favour: how much likelier units with an answer (`fail`, `uncertain`, `pass`, `none`) are drawn; 1 where it says nothing.

    Raises:
        CallError: a wrong number, a repeated or unfit rater, one rater alone with units for two, no candidates.
    """
    weights = _favour(favour or {})
    _require(raters, units, double_share, simulated=simulated)
    population = _population(grid, judge)
    if population.empty:
        raise CallError(f"{run.path}: found no candidate images that {judge!r} was to judge. Generate and judge first.")
    rng = np.random.default_rng(seed)
    ordered = population.assign(lot=rng.random(len(population))).sort_values(["rank", "category", "answer_rank", "lot"])
    p = _probabilities(np.array([weights[answer] for answer in ordered["answer"]]), min(units, len(ordered)))
    chosen = ordered.assign(p=p).loc[_systematic(p, float(rng.random()))]
    drawn = _handed_out(chosen, raters, double_share, rng)
    design = LabelDesign(
        id="", release=run.meta.release.name, revision=run.meta.release.revision, judge=judge,
        judge_sha256=run.judges[judge].sha256, seed=seed, population=len(population), favour=weights,
        double_share=double_share, raters=list(raters), at=utc_now(), units=drawn,
    )  # fmt: skip
    design = msgspec.structs.replace(design, id=sha256_bytes(msgspec.json.encode(msgspec.structs.replace(design, at="")))[:12])
    path = design_file(run, design.id)
    if path.is_file():
        return read_design(path)
    with run.owner():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, msgspec.json.format(msgspec.json.encode(design), indent=1) + b"\n")
    return design


def design_file(run: Run, design_id: str) -> Path:
    """Where a design is kept."""
    return labels_folder(run) / "designs" / f"{design_id}.json"


def read_design(path: Path) -> LabelDesign:
    """One design; DataError where the file is none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=LabelDesign)
    except (msgspec.DecodeError, ValueError, OSError) as error:
        fault = Fault(str(path), "design", str(error), "a design (lb.label-design.v1)", "Restore it from a copy of the run.")
        raise DataError("A label design cannot be read.", [fault]) from None


def designs(run: Run) -> list[LabelDesign]:
    """The designs of a run, oldest first."""
    found = [read_design(path) for path in sorted(labels_folder(run).glob("designs/*.json"))]
    return sorted(found, key=lambda design: (design.at, design.id))


def _require(raters: Sequence[str], units: int, double_share: float, *, simulated: bool) -> None:
    for rater in raters:
        require_rater(rater, simulated=simulated)
    if len({rater.lower() for rater in raters}) != len(raters) or not raters:
        raise CallError(f"raters: found {', '.join(raters) or 'none'}; expected one or more, each once.")
    if units < 1:
        raise CallError(f"units: found {units}; expected at least 1.")
    if not 0 <= double_share <= 1:
        raise CallError(f"double share: found {double_share}; expected 0 to 1, such as {DOUBLE_SHARE}.")
    if double_share > 0 and len(raters) < 2:
        raise CallError("raters: found one alone, and units for two. Name two, or say that no unit goes to two (--double 0).")


def _favour(given: Mapping[str, float]) -> dict[str, float]:
    for answer, factor in given.items():
        if answer not in ANSWERS or not 0 < factor < float("inf"):
            raise CallError(f"favour: found {answer}={factor}; expected one of {', '.join(ANSWERS)}, each above 0.")
    return {answer: float(given.get(answer, 1.0)) for answer in ANSWERS}


def _population(grid: pd.DataFrame, judge: str) -> pd.DataFrame:
    mine = grid[(grid["judge"] == judge) & (grid["judge_sample"] == 0) & grid["candidate_sha256"].notna()]
    answer = [
        ANSWERS[int(label)] if state == "valid" else "none" for state, label in zip(mine["state"], mine["label"], strict=True)
    ]
    order = {system: place for place, system in enumerate(dict.fromkeys(mine["system"]))}
    columns = ["system", "case_id", "category", "sample", "check_id", "candidate_sha256"]
    named = mine[columns].assign(answer=answer, rank=mine["system"].map(order))
    return named.assign(answer_rank=named["answer"].map(ANSWERS.index)).reset_index(drop=True)


def _probabilities(weights: NDArray[np.float64], units: int) -> NDArray[np.float64]:
    """Probabilities in proportion to the weights that sum to `units`; who would have more than 1 is taken for certain."""
    p = np.zeros(len(weights))
    certain = np.zeros(len(weights), dtype=bool)
    while True:
        rest = ~certain
        share = weights[rest] * (units - certain.sum()) / weights[rest].sum() if rest.any() else np.zeros(0)
        p[rest], p[certain] = share, 1.0
        over = rest & (p > 1.0)
        if not over.any():
            return p
        certain |= over


def _systematic(p: NDArray[np.float64], start: float) -> NDArray[np.bool_]:
    """Which are taken: those in whose stretch of the summed probabilities a point `start`, `start + 1`, ... falls."""
    ends = np.round(np.cumsum(p), 9)
    taken = np.ceil(ends - start) - np.ceil(np.r_[0.0, ends[:-1]] - start)
    return np.asarray(taken >= 1)


def _handed_out(chosen: pd.DataFrame, raters: Sequence[str], share: float, rng: np.random.Generator) -> list[DrawnUnit]:
    """The drawn units in an order that tells nothing, each with its rater, and `share` of them (rounded up) with a second."""
    doubled = _systematic(np.full(len(chosen), np.ceil(round(share * len(chosen), 9)) / len(chosen)), float(rng.random()))
    drawn: list[Any] = list(chosen.itertuples(index=False))
    rows = list(zip(drawn, doubled.tolist(), strict=True))
    random.Random(int(rng.integers(2**32))).shuffle(rows)
    units = []
    for place, (row, is_double) in enumerate(rows):
        first, second = raters[place % len(raters)], raters[(place + 1) % len(raters)]
        stratum = f"{row.system} / {row.category} / {row.answer}"
        names = [first, second] if is_double else [first]
        unit = (row.system, row.case_id, int(row.sample), row.check_id, row.candidate_sha256)
        units.append(DrawnUnit(f"u{place + 1:05d}", *unit, stratum, float(row.p), names))
    return units
