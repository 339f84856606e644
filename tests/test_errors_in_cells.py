"""In a notebook cell a person's fault shows its words, as on the command line, and a fault of the code its traceback."""

import os
import subprocess
import sys

import pytest

CELLS = {
    "a run that is not there": ("import longbanana_nb as lb; lb.open_run('nowhere')", "DataError: ", "run.json", False),
    "a mistake of one's own": ("1 / 0", "ZeroDivisionError", "division by zero", True),
}


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_shows_what_helps(name, tmp_path):
    code, kind, words, has_traceback = CELLS[name]
    command = [sys.executable, "-m", "IPython", "--no-banner", "--colors=nocolor", "-c", code]
    environment = {**os.environ, "IPYTHONDIR": str(tmp_path / "ipython")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False)
    shown = done.stdout + done.stderr
    assert done.returncode == 1
    assert kind in shown
    assert words in shown
    assert ("Traceback" in shown) is has_traceback
