"""What the lessons share: a prediction noted before anything runs, verdicts as a plain table, a figure, a check of an answer.

A check says what is off and never what would be right: solutions lie apart (`notebooks/lessons/solutions`).
"""

from __future__ import annotations

import copy
import dataclasses
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import CallError, DataError, Incomplete
from longbanana_nb.names import nearest
from longbanana_nb.paths import notebooks_folder, presets_folder, reports_folder

if TYPE_CHECKING:
    import pandas as pd

    from longbanana_nb.reporting.shown import Shown
    from longbanana_nb.runs import Run

COLUMNS = ["system", "case_id", "category", "check_id", "dimension", "polarity", "label"]
SOLUTION_MARK = re.compile(r"^# %% (\w+)\n", flags=re.M)
TOLERANCE = 1e-6


def verdicts_of(run: Run, judge: str, *, floors: bool = True) -> pd.DataFrame:
    """A judge's verdicts as a plain table: one row a check (`COLUMNS`), `label` 0.0 to 2.0, NaN where there is no valid answer.

    Args:
        floors: whether floors are in it, beside the systems. Only the first sample, and the judge's first answer, are taken.

    Raises:
        CallError: for a judge the run does not have.
    """
    from longbanana_nb.reporting.measured import measure

    if judge not in run.judges:
        raise CallError(f"lesson: judge {judge!r} is not in {run.path}. There are: {', '.join(run.judges)}.")
    known = measure(run)
    wanted = [system.name for system in (known.facts.systems if floors else known.facts.competitors)]
    grid = known.grid[known.grid["system"].isin(wanted)]
    mine = grid[(grid["judge"] == judge) & (grid["sample"] == 0) & (grid["judge_sample"] == 0)]
    rows: pd.DataFrame = mine[COLUMNS].reset_index(drop=True)
    return rows.assign(label=mine["label"].where(mine["state"] == "valid").astype("float64").to_numpy())


def predict(value: float | None, low: float, high: float, what: str) -> None:
    """Take down a prediction before the run; a lesson goes on only with one.

    Raises:
        Incomplete: where nothing is filled in yet. CallError: for something that cannot be the answer.
    """
    if value is None:
        raise Incomplete(f"Predict first: write {what} ({low:g} to {high:g}) in place of None. A guess teaches more than none.")
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise CallError(f"prediction: found {value!r}; expected {what}, a number from {low:g} to {high:g}.")
    print(f"Noted: {value:g} ({what}).")


def compare(predicted: float, seen: float) -> None:
    """Print the prediction beside what came out."""
    print(f"You predicted {predicted:.1f}. It is {seen:.1f}: {abs(predicted - seen):.1f} away.")


def dots(frame: pd.DataFrame, axis: str, *, line: float | None = None) -> Shown:
    """A figure of numbers by row: one line of marks for each row of the frame, one kind of mark for each column.

    Args:
        frame: numbers; its index names the rows, its columns (at most six; one needs none) the legend.
        axis: what is measured, with its unit.
        line: a value to mark by an upright line, such as 0.
    """
    from longbanana_nb.reporting import style
    from longbanana_nb.reporting.shown import show_figure

    names = [str(name) for name in frame.index]
    with style.paper_style():
        figure = style.new_figure(5.4, 0.8 + 0.26 * len(frame))
        axes = figure.add_subplot()
        for place, column in enumerate(frame.columns):
            values = frame[column].to_numpy(dtype=float)
            colour, marker = style.LIFTED[place], style.MARKERS[place]
            axes.plot(values, range(len(frame)), marker, color=colour, label=str(column), markersize=6, alpha=0.85)
        if line is not None:
            axes.axvline(line, color=style.QUIET, linewidth=0.8)
        axes.set_yticks(range(len(frame)), list(style.plain_labels(names).values()))
        axes.set_ylim(len(frame) - 0.5, -0.5)
        style.score_axis(axes, axis)
        if len(frame.columns) > 1:
            figure.legend(loc="outside upper left", ncols=min(3, len(frame.columns)))
        rows = "; ".join(
            f"{name}: " + ", ".join(f"{column} {row[column]:.1f}" for column in frame.columns)
            for name, (_, row) in zip(names, frame.iterrows(), strict=True)
        )
        return show_figure(figure, f"{axis}. {rows}.")


def goodhart_run(cases: int) -> Run:
    """The lesson on agents that review with the judge's own instrument, run on the first cases of the small demo release.

    What is finished is not made again. Three cases take about half a minute on two processors.

    Raises:
        CallError: for a number of cases below two, or above what the release has.
    """
    from longbanana_nb import workbench
    from longbanana_nb.embedded import demo_manifest
    from longbanana_nb.runs import load_experiment, open_run

    manifest = demo_manifest(1)
    known = list(workbench.load_release(manifest).cases)
    if not 2 <= cases <= len(known):
        raise CallError(f"cases: found {cases}; expected 2 to {len(known)}, for systems are compared over cases.")
    preset = load_experiment(presets_folder() / "experiments" / "goodhart.yaml")
    folder = reports_folder() / f"lesson-goodhart-{cases}"
    experiment = dataclasses.replace(preset, run=folder, release=manifest, cases=tuple(known[:cases]))
    print(workbench.generate(experiment), *workbench.judge(experiment), sep="\n")
    return open_run(folder)


@dataclasses.dataclass(frozen=True, slots=True)
class Trial:
    """One call of a reader's function: what it is given, what is right, and what to think about where it is not."""

    given: tuple[Any, ...]
    right: Any
    hint: str


def check(lesson: str, answer: Callable[..., Any]) -> None:
    """Try the reader's function on small examples worked by hand, and say what is off.

    Args:
        lesson: pooling, unreadable, empty, survivors, favour, many or goodhart.
        answer: the reader's function.

    Raises:
        Incomplete: with one sentence for each thing that is off; the numbers that would be right are not told.
        CallError: for a lesson that is none.
    """
    from longbanana_nb.teaching_trials import TRIALS

    if lesson not in TRIALS:
        raise CallError(f"check: found lesson {lesson!r}; expected {nearest(lesson, TRIALS) or ', '.join(TRIALS)}.")
    hints = [hint for trial in TRIALS[lesson]() if (hint := _off(trial, answer))]
    if hints:
        raise Incomplete("Not yet.\n" + "\n".join(f"  - {hint}" for hint in dict.fromkeys(hints)))
    print("Yes: your function gives what a person works out by hand, on every example.")


def _off(trial: Trial, answer: Callable[..., Any]) -> str | None:
    try:
        found = answer(*copy.deepcopy(trial.given))
    except Exception as error:  # a reader's function may fail in any way
        return f"Your function stopped with {type(error).__name__}: {error}. {trial.hint}"
    if found is None:
        return "Your function returns nothing yet (None)."
    return None if same(found, trial.right) else trial.hint


def same(found: Any, right: Any) -> bool:
    """Whether an answer is right: numbers to six decimals, NaN as good as None, sequences and mappings part by part."""
    if isinstance(right, Mapping):
        return isinstance(found, Mapping) and set(found) == set(right) and all(same(found[key], right[key]) for key in right)
    if isinstance(right, list | tuple):
        parts = list(found) if hasattr(found, "__iter__") and not isinstance(found, str | Mapping) else None
        return parts is not None and len(parts) == len(right) and all(map(same, parts, right))
    try:
        number = math.nan if found is None else float(found)
    except (TypeError, ValueError):
        return False
    return math.isnan(number) if right is None else abs(number - right) <= TOLERANCE


def solutions(notebook: Path) -> dict[str, str]:
    """The solution of a lesson: the source of each cell that the reader fills in, by the cell's tag.

    Raises:
        DataError: where the lesson has no solution.
    """
    file = notebooks_folder() / "lessons" / "solutions" / f"{notebook.stem}.py"
    if not file.is_file():
        raise DataError(f"{file}: found no such file; expected the solution of {notebook.name}. Name a lesson.")
    parts = SOLUTION_MARK.split(file.read_text("utf-8"))
    return {tag: source.strip("\n") for tag, source in zip(parts[1::2], parts[2::2], strict=True)}


def write_solved(name: str, folder: Path) -> Path:
    """Write a lesson with its solution filled in, for teachers; it is not executed.

    Args:
        name: a lesson's name, such as L1_pooling, or its path.
        folder: where the copy goes, under the lesson's own name; made if it is missing.
    """
    from longbanana_nb.demonstration import notebook_path
    from longbanana_nb.reporting.notebook_format import import_nbformat

    nbformat = import_nbformat()

    path = notebook_path(name)
    filled = solutions(path)
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        for tag in cell.metadata.get("tags", []):
            cell.source = filled.get(tag, cell.source)
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / path.name
    nbformat.write(notebook, out)
    return out
