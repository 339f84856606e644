"""The lessons: each stops until its reader has predicted and repaired, passes with its solution, and tells no right number."""

import ast
import itertools
import re
import shutil
from pathlib import Path

import nbformat
import numpy as np
import pytest
from conftest import run_command

import longbanana_nb as lb
from longbanana_nb.errors import CallError, DataError, Incomplete
from longbanana_nb.scoring.contrasts import holm
from longbanana_nb.teaching import check, goodhart_run, predict, same, solutions, verdicts_of, write_solved
from longbanana_nb.teaching_trials import TRIALS

FOLDER = Path(__file__).parent.parent / "notebooks" / "lessons"
LESSONS = sorted(FOLDER.glob("*.ipynb"))
NAMES = [path.stem for path in LESSONS]


def code_cells(path):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    return [(cell.source, cell.metadata.get("tags", [])) for cell in cells]


def tagged(path, tag):
    return next(source for source, tags in code_cells(path) if tag in tags)


def function_of(source):
    return next(node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))


def execute(path, run, filled):
    """The lesson's cells in one namespace, with these cells filled in; agents are not run."""
    space = {}
    for source, tags in code_cells(path):
        for tag in tags:
            source = filled.get(tag, source)
        exec(compile(source, path.name, "exec"), space)
        if "parameters" in tags:
            space |= {"run_dir": str(run)} | ({"agent_cases": 0} if "agent_cases" in space else {})
    return space


@pytest.fixture(scope="module")
def run_dir(demo_home):
    return demo_home / "reports" / "demo"


def test_there_are_seven_lessons_and_each_has_a_solution_of_just_its_two_cells():
    assert [name[:2] for name in NAMES] == [f"L{number}" for number in range(1, 8)]
    assert sorted(path.stem for path in (FOLDER / "solutions").glob("*.py")) == NAMES
    for path in LESSONS:
        assert set(solutions(path)) == {"prediction", "fix"}
        assert function_of(solutions(path)["fix"]) == function_of(tagged(path, "fix"))
        assert "**Wrong on purpose.**" in path.read_text("utf-8")
    assert len({re.search(r'check\("(\w+)"', tagged(path, "check"))[1] for path in LESSONS} & set(TRIALS)) == 7


@pytest.mark.parametrize("path", LESSONS, ids=NAMES)
def test_with_its_solution_a_lesson_runs_to_its_end(path, run_dir, capsys):
    execute(path, run_dir, solutions(path))
    assert "Yes: your function gives" in capsys.readouterr().out


@pytest.mark.parametrize("path", LESSONS, ids=NAMES)
def test_it_stops_until_something_is_predicted_and_then_until_it_is_repaired(path, run_dir):
    with pytest.raises(Incomplete, match="Predict first"):
        execute(path, run_dir, {})
    with pytest.raises(Incomplete, match="nothing yet"):
        execute(path, run_dir, {"prediction": solutions(path)["prediction"]})


@pytest.mark.parametrize("path", LESSONS, ids=NAMES)
def test_the_code_that_is_wrong_on_purpose_is_no_answer_and_no_hint_tells_the_right_number(path, run_dir):
    wrong, asked = function_of(tagged(path, "wrong")), function_of(tagged(path, "fix"))
    with pytest.raises(Incomplete, match="Not yet") as refused:
        execute(path, run_dir, {**solutions(path), "fix": f"{asked} = {wrong}"})
    lesson = re.search(r'check\("(\w+)"', tagged(path, "check"))[1]
    told = set(re.findall(r"\d+\.\d+|\d{2,}", str(refused.value))) - {"100"}
    assert told == set()
    assert any(trial.hint in str(refused.value) for trial in TRIALS[lesson]())


def test_what_the_solutions_compute_is_what_the_workbench_computes(run_dir, capsys):
    space = execute(LESSONS[0], run_dir, solutions(LESSONS[0]))
    scores = lb.score(run_dir).scores
    row = scores[(scores["judge"] == "tools") & (scores["system"] == "fp-direct-medium") & (scores["scope"] == "overall")]
    assert space["my_score"](space["verdicts"]) == pytest.approx(row["score"].item())
    exec(solutions(LESSONS[5])["fix"], space)
    draw = np.random.default_rng(3)
    for size in (1, 2, 7, 45):
        p = list(draw.random(size) ** 3)
        assert space["my_holm"](p) == pytest.approx(holm(p))


def test_pooling_moves_by_rewording_and_the_equal_twin_wins_unpaired(run_dir):
    first = execute(LESSONS[0], run_dir, solutions(LESSONS[0]))
    assert first["after"] - first["before"] > 2
    fourth = execute(LESSONS[3], run_dir, solutions(LESSONS[3]))
    assert fourth["unpaired"](fourth["a"], fourth["b"])[0] > 2
    assert fourth["compare_systems"](fourth["a"], fourth["b"])[0] == 0


def test_a_favour_makes_a_winner_of_equals_and_labels_take_it_back(run_dir):
    fifth = execute(LESSONS[4], run_dir, solutions(LESSONS[4]))
    assert fifth["winners"]["judge"] > 70
    assert fifth["winners"]["corrected"] < 15
    sixth = execute(LESSONS[5], run_dir, solutions(LESSONS[5]))
    assert sixth["raw"] > 40
    assert sixth["kept"] <= 12
    assert sixth["declared"] <= 12


def test_the_agent_with_the_judges_eye_is_run_on_the_cases_asked_for_and_only_once(demo_home, monkeypatch, capsys):
    monkeypatch.setenv("LONGBANANA_HOME", str(demo_home))
    agents = goodhart_run(2)
    assert agents.path == demo_home / "reports" / "lesson-goodhart-2"
    assert set(verdicts_of(agents, "truth")["system"]) == {"minimal", "reflect", "reflect-judges-eye"}
    assert verdicts_of(agents, "tools")["case_id"].nunique() == 2
    capsys.readouterr()
    goodhart_run(2)
    assert "0 candidates made, 6 were there" in capsys.readouterr().out
    for cases in (1, 10):
        with pytest.raises(CallError, match="expected 2 to 9"):
            goodhart_run(cases)


def test_a_copied_run_is_enough_for_a_room_without_network_and_the_report_has_no_lessons(demo_home, tmp_path):
    home = tmp_path / "the room"
    shutil.copytree(demo_home / "reports" / "demo", home / "reports" / "demo")  # the release stays behind
    assert "L3 The empty picture" not in (home / "reports" / "demo" / "report.html").read_text("utf-8")
    unsolved = run_command("notebook", "L3_empty_picture", cwd=tmp_path, home=home, check=3)
    assert "Predict first" in unsolved.stderr
    assert "Traceback" not in unsolved.stderr
    solved = write_solved("L3_empty_picture", tmp_path / "solved")
    run_command("notebook", solved, cwd=tmp_path, home=home, check=0)
    executed = nbformat.read(home / "reports" / "demo" / "notebooks" / "L3_empty_picture.ipynb", as_version=4)
    shown = [output for cell in executed.cells for output in cell.get("outputs", [])]
    assert any("image/png;base64" in output.get("data", {}).get("text/html", "") for output in shown)
    assert [path.name for path in home.iterdir()] == ["reports"]


def test_predictions_that_cannot_be_are_refused():
    for value in ("eight", True, -1, 101, float("nan")):
        with pytest.raises(CallError, match="a number from 0 to 100"):
            predict(value, 0, 100, "a score")


def test_an_answer_that_fails_or_gives_something_else_is_told_so():
    with pytest.raises(Incomplete, match="KeyError: 'labels'"):
        check("pooling", lambda verdicts: verdicts["labels"].mean())
    for other in ("50", "much", [50], {"positive": 1}, lambda: 1):
        with pytest.raises(Incomplete, match="Not yet"):
            check("pooling", lambda verdicts, other=other: other)
    with pytest.raises(CallError, match="expected pooling"):
        check("poling", len)
    with pytest.raises(DataError, match="expected the solution"):
        solutions(FOLDER / "L9.ipynb")


def test_an_answer_is_right_to_six_decimals_with_nan_for_none():
    right = [(2 / 3, 2 / 3 + 1e-9), (None, float("nan")), ((1.0, None), np.array([1.0, np.nan])), ([0.02], (0.02,))]
    assert all(same(found, wanted) for wanted, found in right)
    wrong = [(2 / 3, 0.6667), (None, 0.0), ((1.0, 2.0), (1.0,)), (1.0, "x"), ({"a": 1.0}, {"b": 1.0}), ([1.0], "1")]
    assert not any(same(found, wanted) for wanted, found in wrong)


def test_a_reader_cannot_spoil_the_examples_of_the_next_try():
    def spoils(judged, people, p):
        judged.clear()
        return 0.0

    messages = set()
    for _ in itertools.repeat(None, 2):
        with pytest.raises(Incomplete) as refused:
            check("favour", spoils)
        messages.add(str(refused.value))
    assert len(messages) == 1
