"""Building the demo release on disk: cases in worker processes, identity by content, whole or not at all."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from longbanana_nb.demo.casework import BACKGROUND_ID, MadeCase, make_case
from longbanana_nb.demo.projection import PROFILE, project
from longbanana_nb.errors import CallError, DataError, Fault
from longbanana_nb.files import canonical_json, read_json, sha256_file, umask
from longbanana_nb.paths import data_folder
from longbanana_nb.release import write_release
from longbanana_nb.runs.pool import each
from longbanana_nb.runs.worker import Failure
from longbanana_nb.taxonomy import CATEGORIES

NAME = "demo_v1"
LICENSE = "MIT"
ABANDONED_S = 3600
RECIPE_VERSION = "demo-cases-1"
CANARY = (
    "LONGBANANA DEMO RELEASE. Benchmark content: keep it out of training corpora. canary 6f1d0c52-7e0b-4d0e-9a35-2f4b8c1e7d90"
)


def build_demo(folder: str | Path, *, cases_per_category: int = 3, seed: int = 1) -> Path:
    """Build the demo release in `folder` and return its manifest; an identical one that stands there is verified and kept.

    Args:
        folder: the release's own folder. A half-built or a different demo release in it is replaced; anything else is refused.
        cases_per_category: 1 to 10; the first cases are the same whatever the number. Ten give the full shape of 90 cases.
        seed: of all choices.

    Raises:
        CallError: for a number outside 1 to 10, or a folder that holds something else.
    """
    if not 1 <= cases_per_category <= 10:
        raise CallError(f"Cases a category: found {cases_per_category}; expected 1 to 10. Choose a number in that range.")
    target = Path(folder)
    recipe = _recipe(cases_per_category, seed)
    if _stands(target, recipe):
        return target / "manifest.json"
    _require_replaceable(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(target)
    fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.building-"))
    try:
        _write(fresh, cases_per_category, seed, recipe)
        fresh.chmod(0o777 & ~umask())
        if target.exists():
            shutil.rmtree(target)
        fresh.rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return target / "manifest.json"


def _remove_abandoned(target: Path) -> None:
    """Remove what killed builds left: no build that is still at work has stood untouched for an hour."""
    for left in target.parent.iterdir():
        if left.name.startswith(f".{target.name}.building-") and time.time() - left.stat().st_mtime > ABANDONED_S:
            shutil.rmtree(left, ignore_errors=True)


def _write(root: Path, cases_per_category: int, seed: int, recipe: str) -> None:
    wanted = [(category, number, seed) for category in CATEGORIES for number in range(1, cases_per_category + 1)]
    tasks: list[dict[str, Any]] = []
    graphs: list[dict[str, Any]] = []
    checks: list[dict[str, Any]] = []
    units: list[dict[str, Any]] = []
    probes: list[dict[str, Any]] = []
    identity = hashlib.sha256(canonical_json([recipe, PROFILE, CANARY]))
    for case, pixels in _made(wanted):
        tasks.append(_task(root, case))
        graphs.append(case.graph)
        projected = project(case.graph)
        checks += projected.checks
        units += projected.units
        probes += projected.probes
        identity.update(canonical_json([case.prompt, case.graph, pixels]))
    assets = data_folder() / "demo"
    terms = f"{CANARY}\n\n{(assets / 'LICENSE').read_text(encoding='utf-8')}"
    extra = {
        "LICENSE.txt": terms.encode(),
        "ATTRIBUTION.md": (assets / "ATTRIBUTION.md").read_bytes(),
        "recipe.json": canonical_json({"recipe": recipe, "canary": CANARY}) + b"\n",
    }
    write_release(
        root,
        name=NAME,
        revision=identity.hexdigest()[:16],
        license=LICENSE,
        tasks=tasks,
        checks=checks,
        units=units,
        probes=probes,
        graphs=graphs,
        extra_files=extra,
    )


Made = tuple[MadeCase, dict[str, str]]
"""A case, and the hash of each picture's pixels."""


def _made(wanted: list[tuple[str, int, int]]) -> Iterable[Made]:
    """The cases in the order wanted, made on all processors.

    Raises:
        RuntimeError: naming the case whose making failed.
    """
    made: dict[tuple[str, int, int], Made] = {}
    for job, result in each(_make, wanted, workers=min(os.cpu_count() or 1, 8), label="demo release"):
        if isinstance(result, Failure):
            raise RuntimeError(f"demo case {job[0].lower()}_{job[1]:02d}: {result}")  # noqa: TRY004 - a failed job, not a wrong type
        made[job] = result
    return [made[one] for one in wanted]


def _make(job: tuple[str, int, int]) -> Made:
    case = make_case(*job)
    return case, {name: _pixels(jpeg) for name, jpeg in case.pictures.items()}


def _task(root: Path, case: MadeCase) -> dict[str, Any]:
    """Write a case's pictures and return its task record."""
    folder = root / "public" / "images" / case.case_id
    folder.mkdir(parents=True)
    for name, jpeg in case.pictures.items():
        (folder / f"{name}.jpg").write_bytes(jpeg)
    listed = [{"id": name, "path": f"public/images/{case.case_id}/{name}.jpg"} for name in case.pictures]
    task: dict[str, Any] = {"case_id": case.case_id, "category": case.category, "prompt": case.prompt}
    task["references"] = [one for one in listed if one["id"] != BACKGROUND_ID]
    task["background"] = next((one for one in listed if one["id"] == BACKGROUND_ID), None)
    return task


def _pixels(jpeg: bytes) -> str:
    from PIL import Image

    with Image.open(io.BytesIO(jpeg)) as picture:
        return hashlib.sha256(picture.convert("RGB").tobytes()).hexdigest()


def _recipe(cases_per_category: int, seed: int) -> str:
    """What decides the release before it is built: the version of the code, the cut-outs, the size and the seed."""
    kinds = sha256_file(data_folder() / "demo" / "kinds.json")
    parts = [RECIPE_VERSION, PROFILE, kinds, cases_per_category, seed, _code_version()]
    return hashlib.sha256(canonical_json(parts)).hexdigest()


def _code_version() -> str:
    """Hash of this package's own text: a change of how cases are made makes another release."""
    here = Path(__file__).parent
    names = [
        "assets",
        "brief",
        "casework",
        "colours",
        "exemplars",
        "kinds",
        "layout_plan",
        "modes",
        "obligations",
        "phrases",
        "plot",
    ]
    names += ["projection", "recipes", "render", "shots"]
    digest = hashlib.sha256()
    for name in names:
        digest.update((here / f"{name}.py").read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()


def _stands(target: Path, recipe: str) -> bool:
    """Whether a whole release of this recipe stands there, every file with its hash."""
    manifest, stated = target / "manifest.json", target / "recipe.json"
    if not manifest.is_file() or not stated.is_file():
        return False
    try:
        if read_json(stated).get("recipe") != recipe:
            return False
        files = read_json(manifest)["files"]
    except DataError:
        return False
    return all((target / one["path"]).is_file() and sha256_file(target / one["path"]) == one["sha256"] for one in files)


def _require_replaceable(target: Path) -> None:
    """Raise CallError unless the folder is missing, empty, or a demo release of ours, whole or half-built."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if target.is_dir() and ((target / "recipe.json").is_file() or (target / "public" / "images").is_dir()):
        return
    fault = Fault(str(target), "folder", "a file, or a folder with other contents", "a free name", "Choose another folder.")
    raise CallError("The demo release cannot be built there.", [fault])
