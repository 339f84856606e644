"""Every command in the README and the docs pages runs, from a folder that holds a finished demo run."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import run_command

from longbanana_nb.demo import build_demo

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```bash\n(.*?)^```", flags=re.M | re.S)

# Set-up commands would install everything again; the continuous check runs them for real.
SET_UP = ("python3.11 -m venv", ".venv/bin/pip install", ".venv/bin/longbanana-nb demo", "longbanana-nb demo", "git clone", "cd ")
EXIT_CODES = {0, 3}  # 3: the page shows something incomplete


def commands():
    for page in PAGES:
        for block in BLOCK.findall(page.read_text("utf-8")):
            for line in block.replace("\\\n", " ").splitlines():
                if line.strip() and not line.startswith("#"):
                    yield pytest.param(line.split("  #")[0].strip(), id=f"{page.name}: {line[:60]}")


@pytest.fixture(scope="module")
def workplace(demo_home, tmp_path_factory):
    """Where the pages stand: a checkout's folders with a finished run, two shards of it, and the demo release."""
    place = tmp_path_factory.mktemp("workplace")
    for name in ("demo", "shard-1", "shard-2"):
        shutil.copytree(demo_home / "reports" / "demo", place / "reports" / name)
    releases = demo_home / "data" / "releases"
    shutil.copytree(releases / "demo_v1-1", place / "data" / "releases" / "demo_v1-1")
    build_demo(place / "data" / "releases" / "demo_v1")
    (place / "fresh").mkdir()
    (place / "fresh" / "data").symlink_to(place / "data")
    shutil.copytree(ROOT / "docs" / "examples", place / "docs" / "examples")
    return place


@pytest.mark.parametrize("command", list(commands()))
def test_the_command_runs(command, workplace, demo_home):
    if command.startswith(SET_UP):
        assert shlex.split(command)
        return
    if command.startswith("make "):
        done = subprocess.run(["make", "-n", *command.split()[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return
    if command.startswith("longbanana-nb "):
        # the shipped experiments mean the whole demo; the run that stands here is of a smaller one
        home = workplace / "fresh" if "presets/experiments" in command else workplace
        done = run_command(*shlex.split(command)[1:], cwd=workplace, home=home)
    else:
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "LONGBANANA_HOME": str(workplace),
        }
        done = subprocess.run(command, shell=True, cwd=workplace, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in EXIT_CODES, f"{command}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}"


def test_every_verb_is_documented():
    page = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    done = run_command("--help", cwd=ROOT, home=ROOT, check=0)
    verbs = re.findall(r"^    ([a-z-]+) ", done.stdout, flags=re.M)
    assert len(verbs) >= 13
    assert [verb for verb in verbs if f"`{verb}" not in page] == []


def test_every_relative_link_leads_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
