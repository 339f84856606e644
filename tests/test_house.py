"""The house: which package may import which, and what a bare import costs."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "longbanana_nb"
ROOT = {"errors", "files", "image_formats", "names", "paths", "spreadsheets", "taxonomy"}
MAY_IMPORT = {
    "release": ROOT,
    "providers": ROOT,
    "vision": ROOT,
    "scoring": ROOT,
    "runs": ROOT | {"release"},
    "generation": ROOT | {"release", "runs", "providers", "vision"},
    "judging": ROOT | {"release", "runs", "providers", "vision"},
    "reporting": ROOT | {"runs", "scoring"},
    "demo": ROOT | {"release", "runs", "providers", "vision", "scoring", "generation", "judging", "reporting"},
}


def imported_parts(file: Path) -> set[str]:
    """First parts below `longbanana_nb` of everything a file imports, dynamic imports by literal name included."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
            names = [node.value.replace(":", ".")]
        found |= {name.split(".")[1] for name in names if name.startswith("longbanana_nb.") and " " not in name}
    return found


@pytest.mark.parametrize("package", sorted(MAY_IMPORT))
def test_imports_point_down(package):
    files = sorted((PACKAGE / package).rglob("*.py"))
    allowed = MAY_IMPORT[package] | {package, "__version__"}
    wrong = {str(file.relative_to(PACKAGE)): imported_parts(file) - allowed for file in files}
    assert not {file: parts for file, parts in wrong.items() if parts}


def test_every_module_and_package_has_its_place_in_the_architecture():
    rows = [
        line.split("|")[1]
        for line in (PACKAGE.parent / "docs" / "architecture.md").read_text("utf-8").splitlines()
        if line[:2] == "| "
    ]
    named = {kind: set(re.findall(r"`([a-z_]+)`", row)) for kind in ("root", "top") for row in rows if f"{kind} modules" in row}
    packages = {name for row in rows for name in re.findall(r"`([a-z]+)/`", row)}
    modules = {file.stem for file in PACKAGE.glob("*.py")} - {"__init__"}
    assert named["root"] == ROOT
    assert named["root"] | named["top"] == modules
    assert packages == set(MAY_IMPORT)
    assert {file.parent.name for file in PACKAGE.glob("*/__init__.py")} == packages


def test_root_modules_import_only_each_other():
    for name in ROOT:
        file = PACKAGE / f"{name}.py"
        assert imported_parts(file) <= ROOT, name


def test_relative_imports_are_not_used():
    relative = [
        str(file)
        for file in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == []


def test_a_bare_import_loads_no_third_party_module():
    code = "import sys, longbanana_nb; print(*sorted(m.split('.')[0] for m in sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {
        "numpy",
        "pandas",
        "matplotlib",
        "cv2",
        "PIL",
        "scipy",
        "pydantic",
        "msgspec",
        "anthropic",
        "google",
        "papermill",
        "IPython",
    }
    assert heavy.isdisjoint(loaded)


def test_importing_the_command_line_loads_no_sdk_and_no_figures():
    code = "import sys, longbanana_nb.cli; print(*sorted(m.split('.')[0] for m in sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"anthropic", "google", "matplotlib", "cv2", "pandas", "papermill"}.isdisjoint(loaded)


def test_every_public_name_resolves_to_a_function():
    import longbanana_nb

    assert all(callable(getattr(longbanana_nb, name)) for name in longbanana_nb.__all__)
    packages = {folder.name for folder in PACKAGE.iterdir() if (folder / "__init__.py").is_file()}
    assert packages.isdisjoint(longbanana_nb.__all__)
