"""What ends a program: its own end, time, a stop, disk, memory, processes, output; and that nothing of it is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import uuid

import pytest
from sandbox_fixtures import BOXES, PYTHON, cell, never, none_running, run_python, running

from longbanana_nb.generation.sandbox import case_room

pytestmark = pytest.mark.parametrize("make_box", BOXES)

ORPHAN = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-I", "-c", "import time, sys; time.sleep(300)", sys.argv[1]], start_new_session=True)
subprocess.Popen(["sh", "-c", "trap '' TERM HUP; (sleep 300; : " + sys.argv[1] + ") & wait"], start_new_session=True)
time.sleep(float(sys.argv[2]))
"""


@pytest.fixture
def marker():
    return f"longbanana-orphan-{uuid.uuid4().hex}"


EXITS = [("pass", 0), ("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 11)", 139)]


@pytest.mark.parametrize(("code", "returncode"), EXITS)
def test_an_exit_code_is_the_programs_own_and_a_signal_is_128_more(make_box, tmp_path, code, returncode):
    done = run_python(tmp_path, make_box(), code)
    assert (done.ended, done.returncode, done.detail) == ("exit", returncode, "")


def test_a_program_that_is_not_there_ends_with_127_and_says_so(make_box, tmp_path):
    box = make_box()
    done = box.run(cell(tmp_path, box, "no-such-program"), never)
    assert (done.returncode, done.stderr) == (127, b"no-such-program: No such file or directory\n")


def test_input_is_given_whole_and_output_taken_whole(make_box, tmp_path):
    text = os.urandom(3 << 20)
    done = run_python(tmp_path, make_box(), "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()[::-1])", stdin=text)
    assert done.stdout == text[::-1]


def test_a_program_that_waits_for_input_gets_its_end(make_box, tmp_path):
    done = run_python(tmp_path, make_box(), "print(repr(input()))", timeout_s=20)
    assert (done.ended, done.returncode) == ("exit", 1)
    assert b"EOFError" in done.stderr


@pytest.mark.parametrize("waits", ["0.3", "300"])
def test_what_a_program_leaves_behind_ends_with_it(make_box, tmp_path, marker, waits):
    done = run_python(tmp_path, make_box(), ORPHAN, marker, waits, timeout_s=1.5)
    assert done.ended == ("exit" if waits == "0.3" else "timeout")
    assert running(marker) == []


def test_without_either_the_same_program_leaves_two_behind(make_box, tmp_path, marker):
    subprocess.run([sys.executable, "-c", ORPHAN, marker, "0.1"], check=True, timeout=20)
    left = running(marker)
    for pid in left:
        os.killpg(os.getpgid(pid), signal.SIGKILL)
    assert len(left) >= 2
    assert none_running(marker)


def test_a_stop_ends_it_soon(make_box, tmp_path, marker):
    box, stop = make_box(), threading.Event()
    threading.Timer(0.5, stop.set).start()
    began = time.monotonic()
    done = box.run(cell(tmp_path, box, PYTHON, "-c", "import time; time.sleep(300)", marker), stop.is_set)
    assert (done.ended, done.returncode) == ("stopped", None)
    assert time.monotonic() - began < 5
    assert running(marker) == []


def test_what_it_printed_before_its_time_was_up_is_kept(make_box, tmp_path):
    done = run_python(tmp_path, make_box(), "import time; print('so far', flush=True); time.sleep(300)", timeout_s=1)
    assert (done.ended, done.stdout, done.detail) == ("timeout", b"so far\n", "1 s were allowed for the case")


FULL = """
import os, time
for n in range(400):
    with open(f"part{n}", "wb") as file:
        file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
time.sleep(60)
"""
DEEP = "import os, time\nfor _ in range(30): os.mkdir('d' * 200); os.chdir('d' * 200)\ntime.sleep(60)"
TOO_LARGE = {
    "many files": (FULL, {"disk_mb": 50}, "MB to its workspace and home; 50 MB were allowed"),
    "output": ("while True: print('x' * 100000)", {"output_mb": 1}, "more than 1 MB to standard output"),
    "memory": ("x = bytearray(180 << 20); import time; time.sleep(60)", {"memory_mb": 100}, "MB of memory; 100 MB were allowed"),
    "a folder too deep": (DEEP, {}, "cannot be looked into: ddd"),
}


@pytest.mark.parametrize("what", TOO_LARGE)
def test_what_takes_too_much_is_ended_with_the_reason(make_box, tmp_path, what):
    code, limits, words = TOO_LARGE[what]
    done = run_python(tmp_path, make_box(), code, timeout_s=50, **limits)
    assert done.ended == "too_large", done
    assert words in done.detail
    assert len(done.stdout) <= 16 << 20


def test_one_file_cannot_be_larger_than_the_disk_limit(make_box, tmp_path):
    done = run_python(tmp_path, make_box(), "f = open('big', 'wb'); f.truncate(60 << 20)", disk_mb=50)
    assert done.returncode == 1
    assert b"File too large" in done.stderr


def test_endless_forking_is_ended(make_box, tmp_path, marker):
    code = "import os, time\nfor _ in range(700):\n if os.fork() == 0: time.sleep(60); break\ntime.sleep(60)"
    done = run_python(tmp_path, make_box(), code, marker, timeout_s=50)
    assert done.ended == "too_large"
    assert "processes at once; 512 were allowed" in done.detail
    assert running(marker) == []


def test_its_memory_is_measured(make_box, tmp_path):
    done = run_python(tmp_path, make_box(), "x = bytearray(120 << 20); import time; time.sleep(0.6)")
    assert 120 < done.peak_mb < 250


WORKBENCH = """
import sys, tempfile
from pathlib import Path
from longbanana_nb.generation.sandbox import Bubblewrap, Cell, Unconfined, case_room
box = {"Bubblewrap": Bubblewrap, "Unconfined": Unconfined}[sys.argv[1]]()
with case_room() as room:
    places = box.places(room.workspace, room.home, {})
    argv = (sys.argv[4], "-I", "-c", sys.argv[2], sys.argv[3], "300")
    box.run(Cell(argv, {"PATH": "/usr/bin:/bin"}, room.workspace, room.home, port=places.port), lambda: False)
"""


def test_kill_9_of_the_workbench_leaves_no_program_and_the_next_start_no_folder(make_box, tmp_path, marker):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", WORKBENCH, make_box.__name__, ORPHAN, marker, PYTHON]
    with subprocess.Popen(command, env=environment) as workbench:
        ends = time.monotonic() + 20
        while len(running(marker)) < 4 and time.monotonic() < ends:
            time.sleep(0.05)
        assert len(running(marker)) >= 4
        workbench.send_signal(signal.SIGKILL)
    assert none_running(marker)
    rooms = tmp_path / f"longbanana-cases-{os.getuid()}"
    assert len(list(rooms.glob("case-*"))) == 1
    again = "from longbanana_nb.generation.sandbox import case_room\nwith case_room() as room: print(room.home)"
    subprocess.run([sys.executable, "-c", again], env=environment, check=True, timeout=60)
    assert list(rooms.glob("case-*")) == []


def test_rooms_in_use_are_left_alone_and_strange_trees_are_removed(make_box, tmp_path):
    with case_room() as room:
        again = "from longbanana_nb.generation.sandbox import case_room\nwith case_room() as room: print(room.home)"
        subprocess.run([sys.executable, "-c", again], check=True, timeout=60, stdout=subprocess.DEVNULL)
        (room.workspace / "a" / "b").mkdir(parents=True)
        (room.workspace / "link").symlink_to(tmp_path)
        (room.workspace / "a").chmod(0)
        folder = room.workspace.parent
        assert folder.is_dir()
    assert not folder.exists()
    assert tmp_path.is_dir()
