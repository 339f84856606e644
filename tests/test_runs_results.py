"""Results are written while another process owns the run; their writers wait for each other, and nothing half-written stays."""

import subprocess
import sys
import threading
import time

import pytest
from runs_fixtures import make_release, make_run

import longbanana_nb as lb
from longbanana_nb.errors import CallError
from longbanana_nb.runs import verify_run, writing_results
from longbanana_nb.runs.lock import RunLock

HOLD = """
import sys, longbanana_nb as lb
with lb.open_run(sys.argv[1], quiet=True).owner():
    print("held", flush=True)
    input()
"""


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path / "my run", make_release(tmp_path / "release"))


def test_scores_are_saved_while_another_process_owns_the_run(run):
    owner = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert owner.stdout.readline() == "held\n"
        with pytest.raises(CallError, match="in use by process"), run.owner():
            pass
        assert lb.save_scores(run, lb.score(run)).is_file()
    finally:
        owner.communicate("\n", timeout=30)


def test_what_a_killed_writer_left_is_removed_by_the_next_of_its_kind(run):
    result, other = run.path / "scores" / ".scores.json.x.part", run.path / "scenes" / ".a.json.x.part"
    for part in (result, other):
        part.parent.mkdir(exist_ok=True)
        part.write_text("half")
    with run.owner():
        assert (result.exists(), other.exists()) == (True, False)
    lb.save_scores(run, lb.score(run))
    assert not result.exists()
    assert verify_run(run) == []


def test_writers_of_results_wait_for_each_other(run):
    order = []

    def second():
        with writing_results(run.path):
            order.append("second")

    with writing_results(run.path):
        waiting = threading.Thread(target=second)
        waiting.start()
        time.sleep(0.2)
        order.append("first")
    waiting.join(timeout=30)
    assert order == ["first", "second"]


def test_a_wait_ends(run):
    with writing_results(run.path), pytest.raises(CallError, match="in use by another process"):
        RunLock(run.path, "results.lock", signed=False).acquire(0.1)
