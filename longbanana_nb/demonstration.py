"""The demo from end to end, notebooks by name, and the report over executed notebooks."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb import workbench
from longbanana_nb.embedded import USUAL_CASES, demo_manifest
from longbanana_nb.errors import CallError, DataError, Incomplete, WorkbenchError
from longbanana_nb.examining import judge_steps
from longbanana_nb.names import nearest
from longbanana_nb.paths import notebooks_folder, presets_folder, reports_folder
from longbanana_nb.reporting import build_report, run_notebook
from longbanana_nb.reporting.executed_copy import keep_unexecuted
from longbanana_nb.reporting.notebook_runner import calm
from longbanana_nb.reporting.report import refuse_keys
from longbanana_nb.runs import Failure, each_waiting, graceful_stop, load_experiment, open_run, usual_workers
from longbanana_nb.runs.disk import saving
from longbanana_nb.runs.progress import is_progress_watched
from longbanana_nb.runs.strict_yaml import read_yaml

if TYPE_CHECKING:
    from longbanana_nb.runs import Run

PATH_ENDINGS = ("_dir", "_file")
MOST_CASES = 10


def run_demo(run_dir: Path | None = None, *, cases_per_category: int = USUAL_CASES) -> Path:
    """Build the demo release, generate, judge, score and report; what is finished is not done again. Returns the page."""
    run = carry_out(run_dir or reports_folder() / "demo", cases_per_category)
    print(workbench.score_text(workbench.score(run)))
    return report_run(run)


def default_folder() -> Path:
    """Where the run that notebooks open by default lies: the demo's where it was scored, else that of a first look."""
    demo = reports_folder() / "demo"
    return demo if (demo / "scores" / "scores.json").is_file() else reports_folder() / "first-look"


def default_run() -> Path:
    """The run that notebooks open by default; a first look (one case a category) is made on first use."""
    folder = default_folder()
    if folder.name == "first-look":
        carry_out(folder, 1, quiet=(folder / "checks.jsonl").is_file())
    return folder


def carry_out(folder: Path, cases_per_category: int, *, quiet: bool = False) -> Run:
    """The demo experiment, generated and judged, in this run folder."""
    if not 1 <= cases_per_category <= MOST_CASES:
        raise CallError(
            f"--cases: found {cases_per_category}; expected 1 to {MOST_CASES} cases a category (10 is the full shape)."
        )
    preset = load_experiment(presets_folder() / "experiments" / "demo.yaml")
    experiment = dataclasses.replace(preset, run=Path(folder).absolute(), release=demo_manifest(cases_per_category))
    parts = [workbench.generate(experiment), *workbench.judge(experiment)]
    if not quiet:
        print(*parts, sep="\n")
    run = open_run(experiment.run)
    judge_steps(run, judge="truth")  # the tools would take as long again for them
    workbench.save_scores(run, workbench.score(run))
    return run


def notebook_path(name: str) -> Path:
    """A shipped notebook by name, or the path itself if it is one."""
    path = Path(name)
    if path.suffix == ".ipynb" and path.is_file():
        return path
    known = {file.stem: file for file in sorted(notebooks_folder().rglob("*.ipynb")) if ".ipynb_checkpoints" not in file.parts}
    if name in known:
        return known[name]
    near = nearest(name, known)
    hint = f"Did you mean {near!r}?" if near else f"There are: {', '.join(known)}."
    raise CallError(f"notebook: found no notebook {name!r}. {hint}")


def run_named_notebook(name: str, given: Mapping[str, str], file: Path | None = None) -> Path:
    """Run a notebook with parameters of the command line; paths among them are relative to where the caller stands.

    Returns:
        The executed copy: in `notebooks/` of the run, or of the default run.
    """
    path = notebook_path(name)
    values: dict[str, Any] = {**_from_file(file), **given}
    for key, value in values.items():
        if key.endswith(PATH_ENDINGS) and isinstance(value, str) and value:
            values[key] = str(Path(value).absolute())
    folder = _run_folder(values)
    copy, expected = folder / "notebooks" / path.name, declared_files(path, folder)
    return run_notebook(path, values, copy, expect_files=expected, quiet=not is_progress_watched())


def declared_files(notebook: Path, folder: Path) -> list[Path]:
    """The files a notebook says it writes (`metadata.longbanana.writes`), in this run."""
    metadata = json.loads(notebook.read_text("utf-8"))["metadata"]
    return [folder / name for name in metadata.get("longbanana", {}).get("writes", [])]


def report_run(run: Run) -> Path:
    """Execute every numbered notebook on the run, with nothing to generate or judge, and build report.html over them.

    Notebooks run beside each other, one a processor: each reads the run, and none needs another's files. Figures are drawn
    meanwhile, and shown by whatever asks for them. A notebook that needs the release itself is kept unexecuted, and says why,
    where the release is gone or was changed.

    Raises:
        DataError, Incomplete: where a notebook fails; with the words of every one that did. Incomplete: after an interruption.
    """
    refuse_keys(run.path)
    copies: list[Path] = []
    jobs: list[NotebookJob] = []
    for notebook in sorted(notebooks_folder().glob("[0-9][0-9]_*.ipynb")):
        copy = run.path / "notebooks" / notebook.name
        if not _belongs_in_report(notebook):
            copies += [copy] if copy.is_file() else []
            continue
        copies.append(copy)
        if (missing := _missing(notebook, run)) is not None:
            keep_unexecuted(notebook, copy, missing)
        else:
            jobs.append(NotebookJob(notebook, run.path, copy, tuple(declared_files(notebook, run.path))))
    _carry_out_all([FiguresJob(run), *sorted(jobs, key=lambda job: job.awaits_figures)])
    return build_report(run.path, notebooks=copies)


def _belongs_in_report(notebook: Path) -> bool:
    """Whether a report executes this notebook; not one that judges (`metadata.longbanana.in_report`: false).

    Of such a notebook the copy that a person executed on the run is shown, where there is one.
    """
    metadata = json.loads(notebook.read_text("utf-8"))["metadata"]
    return bool(metadata.get("longbanana", {}).get("in_report", True))


@dataclasses.dataclass(frozen=True, slots=True)
class NotebookJob:
    """One notebook to execute on a run, where its copy goes, and the files it declares."""

    notebook: Path
    run_dir: Path
    copy: Path
    expected: tuple[Path, ...]

    @property
    def name(self) -> str:
        """The notebook's file name."""
        return self.notebook.name

    @property
    def awaits_figures(self) -> bool:
        """Whether it is better begun when figures are drawn already; if it is begun earlier it draws its own."""
        return any(path.parent.name == "figures" for path in self.expected)

    def carry_out(self) -> None:
        """Execute it in a kernel of its own, which is what the time goes to; this process only waits."""
        with saving(self.copy):
            run_notebook(self.notebook, {"run_dir": str(self.run_dir)}, self.copy, expect_files=self.expected, quiet=True)


@dataclasses.dataclass(frozen=True, slots=True)
class FiguresJob:
    """All figures of a judged run, drawn beside the notebooks."""

    run: Run
    name: str = "figures"

    def carry_out(self) -> None:
        """Draw what is not drawn yet; where nothing is judged there is nothing to draw, as the notebooks will say."""
        if self.run.judges:
            gallery = workbench.figures(self.run)
            for name in gallery:
                gallery[name]


def carry_out_job(job: NotebookJob | FiguresJob) -> tuple[bool, str] | None:
    """Carry out one job: None, or whether it is only incomplete, and what went wrong."""
    try:
        job.carry_out()
    except WorkbenchError as error:
        return isinstance(error, Incomplete), str(error)
    return None


def _carry_out_all(jobs: Sequence[NotebookJob | FiguresJob]) -> None:
    incomplete: list[str] = []
    damaged: list[str] = []
    with calm(), graceful_stop() as stop:
        done = list(each_waiting(carry_out_job, jobs, workers=usual_workers(), label="notebooks", stop=stop))
        stop.require_complete(len(done), len(jobs), "parts of the report")
    for job, result in done:
        if isinstance(result, Failure):
            damaged.append(f"{job.name}: {result.reason}")
        elif result is not None:
            (incomplete if result[0] else damaged).append(result[1])
    if damaged:
        raise DataError("\n".join(sorted(damaged + incomplete)))
    if incomplete:
        raise Incomplete("\n".join(sorted(incomplete)))


def _missing(notebook: Path, run: Run) -> str | None:
    """What a notebook needs beyond the run folder (`metadata.longbanana.needs`) and does not find, for its reader."""
    metadata = json.loads(notebook.read_text("utf-8"))["metadata"]
    if "release" not in metadata.get("longbanana", {}).get("needs", []):
        return None
    try:
        release = workbench.load_release(run.manifest)
        run.require_release(release)
        release.evaluation()
    except DataError as error:
        return f"It reads the release, which cannot be read as the run was made with it. {error}"
    return None


def _run_folder(values: Mapping[str, Any]) -> Path:
    if experiment := values.get("experiment_file"):
        return workbench.run_of(experiment)
    return Path(values["run_dir"]) if values.get("run_dir") else default_folder()


def _from_file(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    values = read_yaml(file)
    if not isinstance(values, dict):
        raise CallError(f"{file}: found {type(values).__name__}; expected a mapping of parameter names to values.")
    return values
