"""Weights of checks that a run is scored with: the frozen file is kept in the run, so that numbers come from the run alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import CallError, DataError, Fault
from longbanana_nb.files import read_json, sha256_bytes, sha256_file, write_atomic
from longbanana_nb.names import require_name

if TYPE_CHECKING:
    from longbanana_nb.runs.run import Run

FOLDER = "weights"
WITHOUT_FILE = "uniform-v1"


def with_kept_weights(run: Run, analysis: Mapping[str, Any]) -> dict[str, Any]:
    """The analysis with its weights file copied into the run and named by name and hash; without a file, unchanged.

    Raises:
        CallError: where there is no such file, or the run keeps other weights under that name.
    """
    named = analysis.get("weights")
    if named in (None, WITHOUT_FILE):
        return dict(analysis)
    path = Path(str(named))
    if not path.is_file():
        if kept_weights(run, str(named)) is not None:
            return dict(analysis)
        raise CallError(f"analysis.weights: found no file {path}; expected {WITHOUT_FILE!r} or a file of frozen weights.")
    name, sha256 = keep_weights(run, path)
    return {**analysis, "weights": name, "weights_sha256": sha256}


def keep_weights(run: Run, path: Path) -> tuple[str, str]:
    """Copy a weights file into the run; returns the weights' name and the file's hash."""
    data = path.read_bytes()
    value = read_json(path)
    name = require_name("the name of weights", str(value.get("name", "")) if isinstance(value, dict) else "")
    if name == WITHOUT_FILE:
        raise CallError(f"{path}: the name {WITHOUT_FILE!r} means equal weights. Give these weights a name of their own.")
    sha256, target = sha256_bytes(data), run.path / FOLDER / f"{name}.json"
    with run.owner():
        if target.is_file() and sha256_file(target) != sha256:
            raise CallError(
                f"{run.path}: weights {name!r} stand for another file there (sha256 {sha256_file(target)[:12]}, and {path} has "
                f"{sha256[:12]}). Frozen weights are not replaced: give the new ones another name, or score in another run."
            )
        target.parent.mkdir(exist_ok=True)
        write_atomic(target, data)
    return name, sha256


def kept_weights(run: Run, name: str) -> Path | None:
    """The file of weights that the run keeps under a name; None where it keeps none."""
    if "/" in name or "\\" in name:
        return None
    path = run.path / FOLDER / f"{name}.json"
    return path if path.is_file() else None


def weights_faults(run: Run) -> list[Fault]:
    """What is wrong with the weights that the run says it is scored with: missing, or not the bytes it was given."""
    name, sha256 = run.meta.analysis.get("weights"), run.meta.analysis.get("weights_sha256")
    if name in (None, WITHOUT_FILE):
        return []
    path = kept_weights(run, str(name))
    if path is None:
        where = str(run.path / FOLDER / f"{name}.json")
        return [Fault(where, "missing_file", "no file", "the weights the run is scored with", "Restore it.")]
    found = sha256_file(path)
    if sha256 in (None, found):
        return []
    return [Fault(str(path), "changed", f"sha256 {found}", f"sha256 {sha256}", "Restore the file as it was frozen.")]


def require_weights(run: Run, name: str) -> Path:
    """The kept file of weights; DataError where it is missing or changed."""
    faults = weights_faults(run) if run.meta.analysis.get("weights") == name else []
    path = kept_weights(run, name)
    if faults:
        raise DataError(f"{run.path}: the weights of the run cannot be used.", faults)
    if path is None:
        there = sorted(file.stem for file in (run.path / FOLDER).glob("*.json"))
        raise CallError(f"weights: found {name!r}; expected {', '.join([WITHOUT_FILE, *there])}, or a file of frozen weights.")
    return path
