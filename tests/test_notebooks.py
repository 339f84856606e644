"""The shipped notebooks: their form as files, and all of them executed on the demo run with the files they declare."""

import ast
import json
import re
from pathlib import Path

import pytest
from conftest import run_command

from longbanana_nb.reporting import declared_parameters
from longbanana_nb.runs import looks_like_key

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))
NUMBERED = [path for path in NOTEBOOKS if re.match(r"\d\d_", path.name)]


def read(path):
    return json.loads(path.read_text("utf-8"))


def source(cell):
    return "".join(cell["source"])


REPORTED = [path for path in NUMBERED if read(path)["metadata"]["longbanana"].get("in_report", True)]


def test_the_first_seven_notebooks_are_there():
    wanted = ["00_start_here", "01_explore_dataset", "02_generate", "03_judge", "04_aggregate", "05_paper_tables"]
    assert [path.stem for path in NUMBERED][:7] == [*wanted, "06_backend_comparison"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_form(path):
    notebook = read(path)
    cells = notebook["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    prose = [cell for cell in cells if cell["cell_type"] == "markdown"]
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert notebook["metadata"]["language_info"]["name"] == "python"
    assert source(prose[0]).startswith(f"# {path.stem[:2]} ")
    assert sum(source(cell).startswith("# ") for cell in prose) == 1, "one title"
    assert all(word in source(prose[0]) for word in ("reads", "writes", "takes", "costs"))
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert [cell["metadata"].get("tags", []) for cell in code].count(["parameters"]) == 1
    assert code[0]["metadata"]["tags"] == ["parameters"]
    assert "run_dir" in declared_parameters(path)
    assert 10 <= len(cells) <= 35
    assert len(prose) >= 0.4 * len(cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_key_no_install_no_shell_no_bare_path_no_long_function(path):
    for cell in (cell for cell in read(path)["cells"] if cell["cell_type"] == "code"):
        text = source(cell)
        assert looks_like_key(text) is None
        assert not re.search(r"^\s*[!%]", text, flags=re.M), "no shell lines or magics"
        assert "pip install" not in text
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                assert node.end_lineno - node.lineno < 10
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not re.match(r"(\.{0,2}/|[A-Za-z]:\\)", node.value), f"a bare path: {node.value}"


def test_every_notebook_is_linked_from_the_readme():
    text = (ROOT / "README.md").read_text("utf-8")
    assert [path.name for path in NOTEBOOKS if f"({path.relative_to(ROOT).as_posix()})" not in text] == []


@pytest.mark.parametrize("path", REPORTED, ids=lambda path: path.stem)
def test_it_was_executed_on_the_demo_and_wrote_what_it_declares(path, demo_home):
    run = demo_home / "reports" / "demo"
    executed = read(run / "notebooks" / path.name)
    code = [cell for cell in executed["cells"] if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in code if source(cell).strip())
    assert not [output for cell in code for output in cell["outputs"] if output["output_type"] == "error"]
    for name in read(path)["metadata"]["longbanana"]["writes"]:
        assert (run / name).stat().st_size > 0
    assert (run / "notebooks" / path.name).stat().st_size < 5_000_000
    assert (run / "notebooks" / f"{path.stem}.html").stat().st_size > 10_000


def test_a_wrong_parameter_is_refused_before_anything_starts(demo_home, tmp_path):
    run = demo_home / "reports" / "demo"
    done = run_command("notebook", "04_aggregate", "-p", "run_dri", run, cwd=tmp_path, home=demo_home)
    assert done.returncode == 2
    assert "run_dri" in done.stderr
    assert "run_dir" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_run_the_demo_run_is_opened_and_nothing_is_made(demo_home, tmp_path):
    done = run_command("notebook", "00_start_here", cwd=tmp_path, home=demo_home, check=0)
    assert done.stdout.strip() == str(demo_home / "reports" / "demo" / "notebooks" / "00_start_here.ipynb")
    assert not (demo_home / "reports" / "first-look").exists()


def test_an_unknown_notebook_is_named_with_the_nearest(demo_home, tmp_path):
    done = run_command("notebook", "04_agregate", cwd=tmp_path, home=demo_home)
    assert done.returncode == 2
    assert "04_aggregate" in done.stderr


def test_a_failing_cell_gives_one_line_and_exit_one(demo_home, tmp_path):
    done = run_command("notebook", "04_aggregate", "-p", "run_dir", "no-such-run", cwd=tmp_path, home=demo_home)
    assert done.returncode == 1
    assert "04_aggregate.ipynb: cell" in done.stderr
    assert "Traceback" not in done.stderr


def test_generate_and_judge_notebooks_carry_out_an_experiment(demo_home, tmp_path):
    manifest = next((demo_home / "data" / "releases").glob("*/manifest.json"))
    (tmp_path / "mine.yaml").write_text(
        f"""
schema: lb.experiment.v1
run: my run
release: {json.dumps(str(manifest))}
cases: {{per_category: 1, seed: 1}}
systems: []
judges: [presets/judges/tools.yaml]
floors: {{blank: judge, single-reference: judge, collage: "off", words: "off"}}
""",
        "utf-8",
    )
    for name in ("02_generate", "03_judge"):
        run_command("notebook", name, "-p", "experiment_file", "mine.yaml", cwd=tmp_path, home=demo_home, check=0)
    assert len(list((tmp_path / "my run" / "judgments" / "tools" / "blank").glob("*.jsonl"))) == 9
