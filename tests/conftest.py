"""Shared by all tests: quiet progress, and one small demo run made once by the command itself."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

os.environ.setdefault("LONGBANANA_PROGRESS", "off")


def run_command(*arguments, cwd, home, check=None):
    """Run `longbanana-nb` in a process of its own, as a person would."""
    environment = {**os.environ, "LONGBANANA_HOME": str(home), "LONGBANANA_PROGRESS": "off"}
    environment.pop("DATASET_MANIFEST", None)
    command = [sys.executable, "-m", "longbanana_nb", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=900, check=False)
    if check is not None:
        assert done.returncode == check, f"exit {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done


@pytest.fixture(scope="session")
def demo_home(tmp_path_factory) -> Path:
    """A home with `reports/demo`: the whole loop on one case a category, run once by `longbanana-nb demo`."""
    home = tmp_path_factory.mktemp("home with space")
    run_command("demo", "--cases", "1", "--run", home / "reports" / "demo", cwd=home, home=home, check=0)
    return home


def copy_of_demo(demo_home: Path, folder: Path, *without: str):
    """A copy of the demo's run in `folder`, opened; pages and what `without` names (patterns of file names) stay behind."""
    from longbanana_nb.runs import open_run

    source = open_run(demo_home / "reports" / "demo")
    shutil.copytree(source.path, folder, ignore=shutil.ignore_patterns("report.html", "notebooks", "figures", *without))
    meta = json.loads((folder / "run.json").read_text())
    meta["release"]["manifest"] = str(source.manifest)
    (folder / "run.json").write_text(json.dumps(meta))
    return open_run(folder)
