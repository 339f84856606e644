"""The notebook runner: parameters are checked before a kernel starts, failures are plain, executed copies are the same twice."""

import sys
import time

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from longbanana_nb.errors import CallError, DataError, Incomplete
from longbanana_nb.reporting import declared_parameters, run_notebook
from longbanana_nb.reporting.notebook_parameters import checked_parameters

PARAMETERS = """\
run_dir: str = "x"  # where the run is
limit: int = 3
ratio: float = 0.5
flag: bool = False
names: list[str] = []
note: str | None = None
"""


def write(path, *cells, tagged=PARAMETERS):
    made = [new_markdown_cell("# Title")]
    made += [new_code_cell(tagged, metadata={"tags": ["parameters"]})] if tagged else []
    made += [new_code_cell(source) for source in cells]
    notebook = new_notebook(cells=made, metadata={"kernelspec": {"name": "py39_gone", "display_name": "Gone"}})
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)
    return path


@pytest.fixture
def notebook(tmp_path):
    return write(tmp_path / "n.ipynb")


def test_declared_types_and_defaults_are_read_without_running_anything(notebook):
    assert {p.name: (p.declared, p.default) for p in declared_parameters(notebook).values()} == {
        "run_dir": ("str", "x"), "limit": ("int", 3), "ratio": ("float", 0.5), "flag": ("bool", False),
        "names": ("list[str]", []), "note": ("str | None", None),
    }  # fmt: skip


def test_texts_are_read_by_the_declared_type(notebook):
    given = {"run_dir": "007", "limit": "007", "ratio": "1e-1", "flag": "true", "names": '["1e5", "NA"]', "note": "null"}
    assert checked_parameters(notebook, given) == {
        "run_dir": "007", "limit": 7, "ratio": 0.1, "flag": True, "names": ["1e5", "NA"], "note": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("limt", 3, "Did you mean 'limit'"),
        ("limit", "3.5", "a whole number"),
        ("limit", True, "not bool"),
        ("ratio", "nan", "NaN"),
        ("ratio", float("inf"), "infinity"),
        ("flag", "True", "true or false"),
        ("flag", 1, "not int"),
        ("run_dir", 7, "in quotes"),
        ("names", "a,b", "JSON"),
        ("names", [1], "in quotes"),
        ("run_dir", "sk-ant-REDACTED-" + "a1B2" * 8, "looks like an API key"),
    ],
)
def test_a_wrong_parameter_is_refused_before_a_kernel_starts(notebook, tmp_path, name, value, says):
    started = time.monotonic()
    with pytest.raises(CallError, match=says) as error:
        run_notebook(notebook, {name: value}, tmp_path / "out" / "n.ipynb")
    assert time.monotonic() - started < 1
    assert not (tmp_path / "out").exists()
    assert "a1B2" not in str(error.value)


def test_all_faults_are_named_at_once(notebook):
    with pytest.raises(CallError) as error:
        checked_parameters(notebook, {"limt": 1, "flag": "yes", "ratio": "x"})
    assert len(error.value.faults) == 3


def test_parameters_for_a_notebook_without_a_tagged_cell_are_refused(tmp_path):
    with pytest.raises(CallError, match="no cell tagged 'parameters'"):
        checked_parameters(write(tmp_path / "n.ipynb", tagged=None), {"limit": 1})


def test_a_computed_parameter_is_a_fault_of_the_notebook(tmp_path):
    with pytest.raises(DataError, match="parameters cannot be read"):
        declared_parameters(write(tmp_path / "n.ipynb", tagged="import os\nlimit: int = 3\n"))


def test_a_notebook_runs_on_this_interpreter_and_its_copy_is_the_same_twice(tmp_path):
    source = write(
        tmp_path / "in put" / "n.ipynb",
        "import sys\nfrom pathlib import Path\nPath(run_dir, 'made.txt').write_text(sys.executable)\nobject()",
        "from tqdm.auto import tqdm\nfor _ in tqdm(range(3)): pass\nprint(limit, flag)",
    )
    copies = [tmp_path / "deep" / "a.ipynb", tmp_path / "deep" / "b.ipynb"]
    for copy in copies:
        made = tmp_path / "made.txt"
        assert run_notebook(source, {"run_dir": str(tmp_path), "limit": "4"}, copy, expect_files=[made], quiet=True) == copy
    assert (tmp_path / "made.txt").read_text() == sys.executable
    text = copies[0].read_text("utf-8")
    assert text == copies[1].read_text("utf-8")
    assert "4 False" in text and "py39_gone" not in text and "it/s" not in text
    assert str(source) not in text and "start_time" not in text and "0x" not in text.replace("0x…", "")


def test_a_failing_cell_gives_one_line_and_keeps_the_copy(tmp_path):
    source = write(tmp_path / "n.ipynb", "x = 1", "# Divide the cases\nraise ValueError('nine is bad\\nand more')")
    with pytest.raises(DataError) as error:
        run_notebook(source, {}, tmp_path / "out.ipynb", quiet=True)
    assert error.value.exit_code == 1
    assert "\n" not in str(error.value)
    assert "(Divide the cases) failed with ValueError: nine is bad" in str(error.value)
    assert "nine is bad" in (tmp_path / "out.ipynb").read_text("utf-8")


def test_an_incomplete_run_inside_a_notebook_keeps_its_exit_code(tmp_path):
    source = write(tmp_path / "n.ipynb", "from longbanana_nb.errors import Incomplete\nraise Incomplete('budget reached')")
    with pytest.raises(Incomplete, match="budget reached"):
        run_notebook(source, {}, tmp_path / "out.ipynb", quiet=True)


def test_a_killed_kernel_is_said_plainly(tmp_path):
    source = write(tmp_path / "n.ipynb", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(DataError, match="kernel"):
        run_notebook(source, {}, tmp_path / "out.ipynb", quiet=True)


def test_a_declared_file_that_is_missing_is_a_failure(tmp_path):
    source = write(tmp_path / "n.ipynb", "x = 1")
    with pytest.raises(DataError, match=r"absent\.csv"):
        run_notebook(source, {}, tmp_path / "out.ipynb", expect_files=[tmp_path / "absent.csv"], quiet=True)
    assert (tmp_path / "out.ipynb").is_file()
