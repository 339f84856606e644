"""environment.yml and the lock say the same as pyproject.toml."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
CONDA_NAMES = {"matplotlib-base": "matplotlib", "seaborn-base": "seaborn"}
CARD = {
    "jupyterlab",
    "ipywidgets",
    "matplotlib",
    "seaborn",
    "pandas",
    "pillow",
    "scipy",
    "anthropic",
    "google-genai",
    "papermill",
}


def pyproject():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def declared():
    return {r.name: r.specifier for r in map(Requirement, pyproject()["project"]["dependencies"])}


def test_the_ten_packages_of_the_card_are_dependencies():
    assert set(declared()) >= CARD


def test_conda_versions_are_those_of_pyproject():
    listed = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))["dependencies"]
    conda = {r.name: r.specifier for r in map(Requirement, (x for x in listed if isinstance(x, str) and ">=" in x))}
    assert len(conda) >= 9
    ours = declared()
    assert {CONDA_NAMES.get(name, name): spec for name, spec in conda.items()} == {
        CONDA_NAMES.get(name, name): ours[CONDA_NAMES.get(name, name)] for name in conda
    }


def test_conda_installs_the_project_itself_with_pip():
    listed = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))["dependencies"]
    assert {"pip": ["-e ."]} in listed


LOCKS = {"requirements.lock": "dev", "requirements-bench.lock": "bench"}


@pytest.mark.parametrize("lock", LOCKS)
def test_the_lock_satisfies_every_bound_and_has_hashes_and_no_address(lock):
    text = (ROOT / lock).read_text("utf-8")
    assert "://" not in text
    pinned = {}
    for name, version in re.findall(r"^([a-z0-9][a-z0-9._-]*)==([^ ;\\]+)", text, flags=re.M):
        pinned.setdefault(name, []).append(version)
    blocks = re.split(r"^(?=[a-z0-9][a-z0-9._-]*==)", text, flags=re.M)[1:]
    assert all("--hash=sha256:" in block for block in blocks)
    runtime = pyproject()["project"]["dependencies"] if lock == "requirements.lock" else []
    for requirement in map(Requirement, [*runtime, *pyproject()["dependency-groups"][LOCKS[lock]]]):
        versions = pinned[requirement.name.lower()]
        assert versions, requirement.name
        assert all(version in requirement.specifier for version in versions), requirement.name


def test_every_package_that_is_imported_is_declared_with_bounds():
    """What comes along with another package today may not come along tomorrow."""
    ours = {"longbanana_nb", *(file.stem for file in (ROOT / "tests").rglob("*.py"))}
    ours |= {file.parent.name for file in (ROOT / "tests").rglob("__init__.py")}
    providers = packages_distributions()
    extras = [text for listed in pyproject()["project"]["optional-dependencies"].values() for text in listed]
    runtime = {canonicalize_name(name) for name in [*declared(), *(Requirement(text).name for text in extras)]}
    groups = pyproject()["dependency-groups"]
    development = {canonicalize_name(Requirement(text).name) for text in [*groups["dev"], *groups["bench"]]}
    for folder, allowed in (("longbanana_nb", runtime), ("tests", runtime | development)):
        modules = imported_modules(ROOT / folder) - set(sys.stdlib_module_names) - ours
        undeclared = {name for name in modules if not {canonicalize_name(one) for one in providers.get(name, [name])} & allowed}
        assert undeclared == set(), folder
    assert all(specifier for specifier in declared().values())


def imported_modules(folder):
    """The top names of all modules that the files of a folder import."""
    nodes = [node for file in folder.rglob("*.py") for node in ast.walk(ast.parse(file.read_text("utf-8")))]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    return {name.split(".")[0] for name in names}


def test_every_dependency_is_explained():
    page = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    groups = pyproject()["dependency-groups"]
    wanted = [*pyproject()["project"]["dependencies"], *groups["dev"], *groups["bench"]]
    missing = [r.name for r in map(Requirement, wanted) if f"`{r.name}`" not in page]
    assert missing == []
