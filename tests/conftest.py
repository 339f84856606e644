"""Shared by all tests: quiet progress, and one small demo run made once by the command itself."""

import os
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
