"""Jobs in processes: results as they finish, failures as values, and no process left behind."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from longbanana_nb.errors import DataError, Incomplete
from longbanana_nb.runs import Failure, each, graceful_stop, pool


def double(n):
    return 2 * n


def double_or_fail(n):
    if n == 3:
        raise DataError("the third is bad")
    return 2 * n


def double_or_die(n):
    if n == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * n


def double_or_exit(n):
    if n == 3:
        sys.exit("done with this")
    return 2 * n


def pid_and_threads(_):
    return os.getpid(), os.environ["OMP_NUM_THREADS"]


def unsendable(_):
    return threading.Lock()


@pytest.mark.parametrize("workers", [1, 2])
def test_every_job_gives_its_result(workers):
    assert sorted(each(double, range(9), workers=workers, label="doubling")) == [(n, 2 * n) for n in range(9)]


def test_no_jobs_give_nothing():
    assert list(each(double, [], workers=2, label="nothing")) == []


@pytest.mark.parametrize(("function", "workers"), [(double_or_fail, 1), (double_or_fail, 2), (double_or_exit, 1)])
def test_a_job_that_raises_is_a_failure_and_the_others_go_on(function, workers):
    results = dict(each(function, range(6), workers=workers, label="doubling"))
    failure = results.pop(3)
    assert isinstance(failure, Failure)
    assert failure.reason in ("DataError: the third is bad", "SystemExit: done with this")
    assert "Traceback" in failure.traceback and "\n" not in failure.reason
    assert results == {0: 0, 1: 2, 2: 4, 4: 8, 5: 10}


def test_a_job_that_kills_its_process_is_found_out_and_the_others_go_on():
    results = dict(each(double_or_die, range(8), workers=2, label="doubling"))
    failure = results.pop(3)
    assert (failure.kind, isinstance(failure, Failure)) == ("WorkerDied", True)
    assert "SIGKILL" in failure.reason
    assert results == {n: 2 * n for n in range(8) if n != 3}


def always_die(_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_job_that_is_alone_does_not_take_this_process_with_it():
    (job, failure), = each(always_die, [1], workers=2, label="dying")  # fmt: skip
    assert (job, failure.kind) == (1, "WorkerDied")


def test_after_many_deaths_the_rest_is_given_up_and_said(monkeypatch):
    monkeypatch.setattr(pool, "FRESH_POOLS", 2)
    results = dict(each(always_die, range(9), workers=2, label="dying"))
    assert len(results) == 9
    kinds = [result.kind for result in results.values()]
    assert set(kinds) == {"WorkerDied", "NotRun"} and kinds.count("WorkerDied") >= 1
    assert "fewer workers" in next(result.reason for result in results.values() if result.kind == "NotRun")


def test_a_result_that_cannot_travel_is_a_failure():
    results = dict(each(unsendable, range(2), workers=2, label="sending"))
    assert all(isinstance(result, Failure) and "pickle" in result.reason for result in results.values())


def test_workers_use_one_thread_and_end_when_the_jobs_do():
    results = dict(each(pid_and_threads, range(4), workers=2, label="looking"))
    assert {threads for _, threads in results.values()} == {"1"}
    pids = {pid for pid, _ in results.values()}
    assert os.getpid() not in pids
    assert not any(is_alive(pid) for pid in pids)


def test_leaving_early_ends_the_processes():
    pids = []
    for _, (pid, _) in each(pid_and_threads, range(50), workers=2, label="looking"):
        pids.append(pid)
        if len(pids) == 3:
            break
    assert gone_within(pids, 10)


def test_a_stop_is_asked_between_jobs_and_what_is_done_is_kept():
    for workers in (1, 2):
        done = []
        for job, _ in each(double, range(100), workers=workers, label="doubling", stop=lambda done=done: len(done) >= 5):
            done.append(job)
        assert 5 <= len(done) < 20


def test_the_first_signal_asks_for_a_stop_and_the_second_interrupts():
    before = signal.getsignal(signal.SIGINT)
    with graceful_stop() as stop:
        assert not stop()
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop() and stop.signal_name == "SIGTERM"
        with pytest.raises(Incomplete, match="3 of 7 cases are done and kept"):
            stop.require_complete(3, 7, "cases")
        stop.require_complete(7, 7, "cases")
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
    assert signal.getsignal(signal.SIGINT) is before


LONG = """
    import os, time
    from longbanana_nb.runs import each
    def job(n):
        print(os.getpid(), flush=True)
        time.sleep(60)
    print(os.getpid(), flush=True)
    list(each(job, range(4), workers=2, label="sleeping"))
"""


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(sent):
    """Killed or interrupted: the workers are gone within seconds, though each is in the middle of a minute's job."""
    command = [sys.executable, "-c", textwrap.dedent(LONG)]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        pids = [int(parent.stdout.readline()) for _ in range(3)]
        assert pids[0] == parent.pid
        parent.send_signal(sent)
        assert parent.wait(timeout=20) != 0
        assert gone_within(pids[1:], 10)
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()


def test_a_callable_defined_in_a_notebook_travels_by_value():
    code = """
        from longbanana_nb.runs import each
        base = 5
        print(sorted(each(lambda n: n + base, [1, 2], workers=2, label="adding")))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout == "[(1, 6), (2, 7)]\n"


def is_alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone_within(pids, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while any(is_alive(pid) for pid in pids):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
