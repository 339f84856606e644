"""`label` for people: draw units, hand out sheets, take them back, settle what two raters see differently; or simulate it all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from longbanana_nb.errors import CallError
from longbanana_nb.files import utc_now
from longbanana_nb.names import nearest
from longbanana_nb.release import load_release
from longbanana_nb.runs.label_design import DOUBLE_SHARE, LabelDesign, designs, draw_design
from longbanana_nb.runs.label_sheets import disagreements, write_sheets, write_third_view
from longbanana_nb.runs.labels import (
    Drawn,
    Label,
    Round,
    Unit,
    add_labels,
    candidate_hashes,
    newest,
    read_labels,
    require_rater,
    settled,
)
from longbanana_nb.runs.labels_in import Desk, Given, read_label_file

if TYPE_CHECKING:
    import pandas as pd

    from longbanana_nb.runs import Run

ROUNDS: dict[str, Round | None] = {"": None, "1": 1, "2": 2, "adjudicated": "adjudicated"}
COLUMNS = (
    "rater",
    "round",
    "blind",
    "simulated",
    "system",
    "case_id",
    "sample",
    "check_id",
    "label",
    "note",
    "stale",
    "design",
    "p",
)


def draw(
    run: Run,
    raters: Sequence[str],
    *,
    units: int,
    judge: str | None = None,
    double_share: float = DOUBLE_SHARE,
    favour: Mapping[str, float] | None = None,
    seed: int = 1,
) -> tuple[LabelDesign, dict[str, Path]]:
    """Draw units by a design kept in the run, and write a blind sheet for each rater; returns the design and the sheets."""
    from longbanana_nb.workbench import main_judge

    release = load_release(run.manifest)
    run.require_release(release)
    name = judge or main_judge(run)
    design = draw_design(run, _grid(run, name), name, raters, units=units, favour=favour, double_share=double_share, seed=seed)
    return design, write_sheets(run, design, release, release.evaluation())


def take(run: Run, path: Path, *, rater: str | None = None, round_: Round | None = None) -> tuple[Given, int]:
    """Take labels back from a sheet, or in from a table made elsewhere; all or, where a row is bad, none.

    Returns:
        What the file held, and how many labels were new.
    """
    checks = frozenset((check.case_id, check.check_id) for check in run.checks())
    desk = Desk({design.id: design for design in designs(run)}, candidate_hashes(run), checks)
    given = read_label_file(path, desk, at=utc_now(), rater=rater, round_=round_)
    for name in {label.rater for label in given.labels}:
        require_rater(name)
    return given, add_labels(run, given.labels)


def third_view(run: Run, rater: str) -> tuple[Path | None, int]:
    """Write the sheet on which a third rater settles what two saw differently, for the newest design with such units.

    Returns:
        The sheet (None where nothing is open), and how many units it has.
    """
    require_rater(rater)
    release = load_release(run.manifest)
    labels = newest(read_labels(run), candidate_hashes(run))
    for design in reversed(designs(run)):
        open_pairs = disagreements(design, labels)
        if open_pairs:
            return write_third_view(run, design, rater, open_pairs, release, release.evaluation()), len(open_pairs)
    return None, 0


def simulate(run: Run, *, units: int, quality: str = "careful", judge: str | None = None, seed: int = 1) -> LabelDesign:
    """Carry out the whole protocol with simulated raters: two of this quality, and an expert for what they see differently.

    Raises:
        CallError: an unknown quality, or a run without a `truth` judge to take the truth from.
    """
    from longbanana_nb.demo.raters import FIRST, QUALITIES, SECOND, THIRD
    from longbanana_nb.workbench import main_judge

    if quality not in QUALITIES:
        near = nearest(quality, QUALITIES)
        raise CallError(
            f"simulate: found {quality!r}; expected one of {', '.join(QUALITIES)}." + (f" Did you mean {near!r}?" if near else "")
        )
    truth = _truth(run)
    name = judge or main_judge(run)
    design = draw_design(run, _grid(run, name), name, (FIRST, SECOND), units=units, seed=seed, simulated=True)
    add_labels(run, _answers(design, truth, quality, seed))
    labels = newest(read_labels(run), candidate_hashes(run))
    third = []
    for first, _ in disagreements(design, labels):
        answer = QUALITIES["expert"].answer(truth[first.unit], f"{seed} {THIRD} {first.unit}")
        third.append(_label(first, THIRD, "adjudicated", answer))
    add_labels(run, third)
    return design


def labels_frame(run: Run) -> pd.DataFrame:
    """Every label that counts, one row a unit and round; columns `COLUMNS`, `label` missing where the rater could not tell."""
    import pandas as pd

    hashes, kept = candidate_hashes(run), read_labels(run)
    newest_of = {(label.rater, label.round, label.unit): label for label in kept}
    rows = [
        (
            label.rater, str(label.round), label.blind, label.is_simulated, *label.unit, label.label, label.note,
            hashes.get(label.unit[:3]) != label.candidate_sha256,
            label.design.id if label.design else None, label.design.p if label.design else None,
        )
        for label in newest_of.values()
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS).astype({"label": "Int64"})


def settled_frame(run: Run) -> pd.DataFrame:
    """The label of each unit after the protocol (adjudicated, else the first): unit, `label`, `p` of its design, `simulated`."""
    import pandas as pd

    chosen = settled(read_labels(run), candidate_hashes(run)).values()
    rows = [(*one.unit, one.label, one.design.p if one.design else None, one.is_simulated) for one in chosen]
    columns = ["system", "case_id", "sample", "check_id", "label", "p", "simulated"]
    return pd.DataFrame(rows, columns=columns).astype({"label": "Int64"})


def state_text(run: Run) -> str:
    """Where the labelling of a run stands: designs, labels by rater and round, what is stale, what is still open."""
    kept, hashes = labels_frame(run), candidate_hashes(run)
    lines = [
        f"design {one.id}: {len(one.units)} of {one.population} units, drawn by the answers of {one.judge} (seed {one.seed}); "
        f"{len(one.doubled)} to a second rater" + (" (simulated)" if one.raters[0].startswith("simulated-") else "")
        for one in designs(run)
    ]
    counts = Counter(zip(kept["rater"], kept["round"], kept["simulated"], strict=True))
    lines += [
        f"  {rater}{' (simulated)' if simulated else ''}, {'round ' if given.isdecimal() else ''}{given}: {count} labels"
        for (rater, given, simulated), count in counts.items()
    ]
    if kept["stale"].any():
        lines.append(f"  {int(kept['stale'].sum())} labels are stale: their image was changed since. They count for nothing.")
    labels = newest(read_labels(run), hashes)
    unsettled = sum(len(disagreements(one, labels)) for one in designs(run))
    lines += [f"  {unsettled} units on which two raters differ are not adjudicated"] if unsettled else []
    return "\n".join(lines) or "no labels yet"


def taken_text(given: Given, added: int) -> str:
    """What a file of labels came to."""
    words = [f"{len(given.labels)} labels read, {added} of them new"]
    words += [f"{given.empty} rows without a label"] if given.empty else []
    words += [f"{given.stale} on an image that was changed since: stale"] if given.stale else []
    return "; ".join(words)


def third_text(sheet: Path | None, units: int) -> str:
    """What a third rater has to do."""
    if sheet is None:
        return "nothing to adjudicate: no two labels on a unit differ, or all that do are settled"
    return f"{units} units to adjudicate: {sheet}"


def _grid(run: Run, judge: str) -> pd.DataFrame:
    from longbanana_nb.runs import verdict_grid

    if judge not in run.judges:
        raise CallError(f"judge: found no {judge!r} in {run.path}; there are: {', '.join(run.judges) or 'none'}.")
    return verdict_grid(run, judges=[judge])


def _truth(run: Run) -> dict[Unit, int]:
    truths = [name for name, entry in run.judges.items() if entry.judge().protocol == "truth"]
    if not truths:
        raise CallError(f"{run.path}: no `truth` judge. Raters can be simulated only where the truth is known, as in the demo.")
    grid = _grid(run, truths[0])
    valid = grid[grid["state"] == "valid"]
    units = zip(valid["system"], valid["case_id"], valid["sample"], valid["check_id"], strict=True)
    return dict(zip(units, (int(label) for label in valid["label"]), strict=True))


def _answers(design: LabelDesign, truth: Mapping[Unit, int], quality: str, seed: int) -> list[Label]:
    from longbanana_nb.demo.raters import QUALITIES

    given, rounds = [], (1, 2)
    for unit in design.units:
        key = (unit.system, unit.case_id, unit.sample, unit.check_id)
        for rater, round_ in zip(unit.raters, rounds, strict=False):
            if key in truth:
                answer = QUALITIES[quality].answer(truth[key], f"{seed} {rater} {key}")
                drawn, shown = Drawn(design.id, unit.p), unit.candidate_sha256
                blank = Label(
                    rater=rater, round=1, blind=True, system=unit.system, case_id=unit.case_id, sample=unit.sample,
                    check_id=unit.check_id, candidate_sha256=shown, label=None, design=drawn,
                )  # fmt: skip
                given.append(_label(blank, rater, 1 if round_ == 1 else 2, answer))
    return given


def _label(about: Label, rater: str, round_: Round, answer: int) -> Label:
    import msgspec

    return msgspec.structs.replace(about, rater=rater, round=round_, label=answer, note="simulated", at=utc_now())
