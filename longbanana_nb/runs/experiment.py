"""An experiment: which release, cases, systems and judges, under which limits, into which run folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from longbanana_nb.errors import CallError, Fault
from longbanana_nb.names import nearest
from longbanana_nb.paths import presets_folder, project_root, writable_root
from longbanana_nb.runs.judge_spec import JudgeSpec
from longbanana_nb.runs.kept_weights import WITHOUT_FILE
from longbanana_nb.runs.places import Places
from longbanana_nb.runs.shapes import StrictShape, try_shape
from longbanana_nb.runs.shard import Shard
from longbanana_nb.runs.strict_yaml import read_yaml
from longbanana_nb.runs.system_spec import FLOORS, Count, Dollars, Seconds, SystemSpec, floor_system
from longbanana_nb.taxonomy import FACTORS

DEMO_RELEASE = "demo_v1"
Share = Annotated[float, Field(ge=0, le=1)]
Use = Literal["judge", "off"]


class Floors(StrictShape):
    """Which floors are made and judged. Without word, the two that show what an empty picture and one reference earn."""

    blank: Use = "judge"
    single_reference: Use = Field(default="judge", alias="single-reference")
    collage: Use = "off"
    words: Use = "off"

    @field_validator("blank", "single_reference", "collage", "words", mode="before")
    @classmethod
    def _unquoted_off(cls, value: Any) -> Any:
        """YAML reads an unquoted `off` as false; here it can mean nothing else."""
        return "off" if value is False else value


class Limits(StrictShape):
    """What the whole experiment may take; `timeout_s` is per provider request, null is no limit."""

    max_usd: Dollars | None = None
    concurrency: Count = 16
    timeout_s: Seconds = 900
    max_inflight_mb: Annotated[float, Field(gt=0)] = 200


class Analysis(StrictShape):
    """How the verdicts are to be scored, declared before they are."""

    missing: Literal["delivered", "zero"] = "delivered"
    min_case_coverage: Share = 0
    weights: str = "uniform-v1"
    threshold: Annotated[float, Field(ge=0, le=100)] = 70
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    seed: int = 1
    compare: Annotated[tuple[Annotated[tuple[str, str], Field(strict=False)], ...], Field(strict=False)] = ()
    claims: str | None = None


class CaseSample(StrictShape):
    """So many cases a category, drawn with a seed."""

    per_category: Count
    seed: int = 0


class CheckSample(StrictShape):
    """So many checks a case, drawn with a seed; a larger sample with the same seed holds the smaller one."""

    per_case: Count
    seed: int = 0


class ExperimentFile(StrictShape):
    """The file as written; systems and judges are paths or mappings and are read one by one."""

    schema_: Literal["lb.experiment.v1"] = Field(alias="schema")
    run: str
    release: str
    cases: Any = "all"
    checks: Literal["all"] | CheckSample = "all"
    systems: list[Any] = Field(default_factory=list)
    judges: list[Any] = Field(default_factory=list)
    floors: Floors = Floors()
    reuse: list[str] = Field(default_factory=list)
    limits: Limits = Limits()
    analysis: Analysis = Analysis()


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment with its paths resolved. `release` is a path, or "demo_v1" for the embedded release."""

    path: Path
    run: Path
    release: Path | Literal["demo_v1"]
    cases: Literal["all"] | CaseSample | tuple[str, ...]
    systems: tuple[SystemSpec, ...]
    judges: tuple[JudgeSpec, ...]
    floors: Floors
    reuse: tuple[Path, ...]
    limits: Limits
    analysis: Analysis
    checks: CheckSample | None = None  # None: all
    shard: Shard | None = None  # None: everything

    def part(self, shard: Shard) -> Experiment:
        """One shard of the experiment: its own run folder beside the whole one's, and its share of `limits.max_usd`."""
        usd = self.limits.max_usd
        limits = self.limits.model_copy(update={"max_usd": usd / shard.of if usd is not None else None})
        return replace(self, run=shard.folder(self.run), limits=limits, shard=shard)

    def holds(self, system: str, case_id: str) -> bool:
        """Whether a pair is in this part of the experiment."""
        return self.shard is None or self.shard.holds(system, case_id)

    def floor_systems(self) -> tuple[SystemSpec, ...]:
        """The floors that are to be judged, as systems of the same name, in fixed order."""
        uses = self.floors.model_dump(by_alias=True)
        return tuple(floor_system(kind) for kind in FLOORS if uses[kind] == "judge")

    def all_systems(self) -> tuple[SystemSpec, ...]:
        """The systems, then the floors."""
        return (*self.systems, *self.floor_systems())


def load_experiment(path: str | Path) -> Experiment:
    """Read an experiment file and everything it names.

    Paths in it are relative to the file; `presets/...` means the shipped presets, for `path` too where no such file
    exists; `${DATASET_MANIFEST}` as the whole release stands for that variable, and no other substitution exists.

    Raises:
        CallError: with every fault of the file and of the systems and judges it names.
    """
    file = _experiment_file(Path(path))
    value = read_yaml(file)
    raw, faults = try_shape(ExperimentFile, value, str(file))
    places = Places(file, faults)
    written = value if isinstance(value, dict) else {}
    systems = places.read_each(SystemSpec, "systems", written.get("systems"))
    judges = places.read_each(JudgeSpec, "judges", written.get("judges"))
    cases = _cases(written.get("cases", "all"), file, faults)
    if raw is None:
        raise CallError(f"{file} cannot be used as written.", faults)
    release = DEMO_RELEASE if raw.release == DEMO_RELEASE else places.release(raw.release)
    experiment = Experiment(
        path=file,
        run=_run_folder(file, places.resolve("run", raw.run)),
        release=release,  # type: ignore[arg-type]  # a Path or the one token
        cases=cases,
        systems=systems,
        judges=judges,
        floors=raw.floors,
        reuse=tuple(places.resolve(f"reuse[{i}]", text) for i, text in enumerate(raw.reuse)),
        limits=raw.limits,
        analysis=_with_files(raw.analysis, places),
        checks=None if raw.checks == "all" else raw.checks,
    )
    faults += _name_faults(file, experiment) if not faults else []
    if faults:
        raise CallError(f"{file} cannot be used as written.", faults)
    return experiment


def _with_files(analysis: Analysis, places: Places) -> Analysis:
    """The analysis with the paths of claims and frozen weights resolved."""
    found: dict[str, str] = {}
    if analysis.claims is not None:
        found["claims"] = str(places.resolve("analysis.claims", analysis.claims))
    if analysis.weights != WITHOUT_FILE:
        path = places.resolve("analysis.weights", analysis.weights)
        if not path.is_file():
            expected = f"{WITHOUT_FILE}, or a file of frozen weights (lb.weights.v1)"
            fix = "Correct the path; it is relative to this file."
            places.faults.append(Fault(f"{places.file} analysis.weights", "missing_file", f"no file {path}", expected, fix))
        found["weights"] = str(path)
    return analysis.model_copy(update=found)


def _experiment_file(path: Path) -> Path:
    if path.exists() or path.parts[:1] != ("presets",):
        return path.absolute()
    preset = presets_folder().joinpath(*path.parts[1:])
    if preset.is_file():
        return preset
    there = sorted(f"presets/experiments/{file.name}" for file in presets_folder().glob("experiments/*.yaml"))
    near = nearest(path.as_posix(), there)
    hint = f"Did you mean {near!r}?" if near else f"There are: {', '.join(there)}."
    raise CallError(f"{path}: found no such file here, and no shipped experiment of that name. {hint}")


def _run_folder(file: Path, run: Path) -> Path:
    """The run folder; that of a shipped experiment lies where this installation writes, for the project may be read-only."""
    if file.is_relative_to(presets_folder()) and run.is_relative_to(project_root()):
        return writable_root() / run.relative_to(project_root())
    return run


def _cases(value: Any, file: Path, faults: list[Fault]) -> Literal["all"] | CaseSample | tuple[str, ...]:
    """The selection as written: "all", a sample, or ids; what is wrong with it is added to `faults`."""
    where = f"{file} cases"
    if value == "all":
        return "all"
    if isinstance(value, dict):
        sample, found = try_shape(CaseSample, value, where)
        faults += found
        return sample or "all"
    if not isinstance(value, list) or not value:
        faults.append(Fault(where, "cases", repr(value), "all, {per_category: n, seed: n}, or a list of ids", "Choose one."))
        return "all"
    for i, case_id in enumerate(value):
        if not isinstance(case_id, str):
            found_text = f"{case_id!r} ({type(case_id).__name__})"
            faults.append(Fault(f"{where}[{i}]", "not_text", found_text, "a text", "Put it in quotes."))
        elif case_id in value[:i]:
            faults.append(Fault(f"{where}[{i}]", "duplicate", f"{case_id!r} again", "each id once", "Remove one."))
    return tuple(case_id for case_id in value if isinstance(case_id, str))


def _name_faults(file: Path, experiment: Experiment) -> list[Fault]:
    """Names given twice (but for case), floors' names taken by systems, and contrasts of systems that are not there."""
    systems = [spec.name for spec in experiment.all_systems()]
    faults = []
    for kind, names in (("systems", systems), ("judges", [spec.name for spec in experiment.judges])):
        repeated = sorted({name for name in names if [other.lower() for other in names].count(name.lower()) > 1})
        faults += [
            Fault(f"{file} {kind}", "duplicate_name", f"{name!r} more than once", "a name of its own for each", "Rename one.")
            for name in repeated
        ]
    for i, pair in enumerate(experiment.analysis.compare):
        faults += _side_faults(f"{file} analysis.compare[{i}]", pair, systems)
        if pair in experiment.analysis.compare[:i] or pair[::-1] in experiment.analysis.compare[:i]:
            fault = Fault(f"{file} analysis.compare[{i}]", "duplicate", repr(pair), "each contrast once", "Remove one.")
            faults.append(fault)
        if pair[0] == pair[1]:
            faults.append(Fault(f"{file} analysis.compare[{i}]", "same_system", repr(pair), "two systems", "Name another."))
    return faults


def _side_faults(where: str, pair: tuple[str, str], systems: list[str]) -> list[Fault]:
    """Sides of a contrast that are no system above and no value of a factor (`workflow=rpr`), or that mix the two."""
    factors = [name.partition("=")[0] if "=" in name else None for name in pair]
    faults = []
    for name, factor in zip(pair, factors, strict=True):
        known = FACTORS if factor is not None else systems
        said = factor if factor is not None else name
        if said not in known:
            near = nearest(said, known)
            fix = f"Did you mean {near!r}?" if near else f"Choose from {', '.join(known)}."
            expected = "a system above, or a factor such as workflow=rpr"
            faults.append(Fault(where, "unknown_system", repr(name), expected, fix))
    if not faults and factors[0] != factors[1]:
        expected = "two systems, or two values of one factor"
        faults.append(Fault(where, "mixed", repr(pair), expected, "Compare like with like."))
    return faults
