"""What a program in the sandbox can reach: what its cell lists, and nothing else; each thing is shown to be reachable without."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import uuid
from pathlib import Path

import pytest
from sandbox_fixtures import NO_SANDBOX, PYTHON, SPY, cell, never, run_python, spied

from longbanana_nb.errors import CallError
from longbanana_nb.generation.sandbox import Bubblewrap, Unconfined, bubblewrap, sandbox_named, state

KEY = "sk-live-" + uuid.uuid4().hex
FORBIDDEN = [
    "read the checks",
    "list another case",
    "find a key in some environment",
    "signal a process of the host",
    "reach another port of the loopback",
    "reach an abstract socket",
    "find a network interface",
    "write to a reference",
    "replace a reference",
    "write beside the workspace",
    "unmount what covers the references",
    "mount the root again, writable",
    "make a user namespace of its own",
    "open a setting of the kernel for writing",
]
# These need rights or a network that not every account and machine has: what is tried of them without a sandbox proves nothing.
NOT_EVERYWHERE = {
    "find a network interface",
    "unmount what covers the references",
    "mount the root again, writable",
    "make a user namespace of its own",
    "open a setting of the kernel for writing",
}


def serve_upper_case(listener: socket.socket) -> None:
    """Answer each connection with what it sent, in capitals, once it has sent all."""
    while True:
        try:
            one, _ = listener.accept()
        except OSError:
            return
        with one, one.makefile("rb") as words:
            one.sendall(words.read().upper())


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """A machine worth spying on: checks, another case, a process with a key, a port, an abstract socket, and a gateway."""
    root = tmp_path_factory.mktemp("host")
    for name in ("evaluation", "other case", "references", "gate"):
        (root / name).mkdir()
    (root / "evaluation" / "checks.jsonl").write_text("the answers")
    (root / "other case" / "picture.png").write_text("a candidate")
    abstract = f"longbanana-{uuid.uuid4().hex}"
    with (
        socket.create_server(("127.0.0.1", 0)) as port,
        socket.socket(socket.AF_UNIX) as plain,
        socket.socket(socket.AF_UNIX) as gate,
        subprocess.Popen(["sleep", "300"], env={"SOME_API_KEY": KEY, "PATH": os.environ["PATH"]}) as helper,
    ):
        plain.bind(f"\0{abstract}")
        plain.listen()
        gate.bind(str(root / "gate" / "model.sock"))
        gate.listen()
        threading.Thread(target=serve_upper_case, args=(gate,), daemon=True).start()
        wanted = {
            "checks": str(root / "evaluation" / "checks.jsonl"),
            "other_case": str(root / "other case"),
            "key": KEY,
            "pid": helper.pid,
            "port": port.getsockname()[1],
            "abstract": abstract,
            "references": "/work/references",
            "reference": "/work/references/01.png",
            "scratch": "/work/scratch",
            "beside": str(root / "left by the spy"),
        }
        yield root, wanted
        helper.kill()


def report(host, folder: Path, box: Bubblewrap | Unconfined) -> dict[str, str]:
    root, wanted = host
    (root / "references" / "01.png").write_text("a reference")
    (folder / "work").mkdir(parents=True)
    (folder / "work" / "scratch").write_text("another picture")
    return spied(folder, box, wanted, read_only={"/work/references": root / "references"}, gate=root / "gate")


@pytest.fixture(scope="module")
def inside(host, tmp_path_factory):
    if not state().usable:
        pytest.skip(f"no sandbox here: {state().reason}")
    return report(host, tmp_path_factory.mktemp("inside"), Bubblewrap())


@pytest.fixture(scope="module")
def outside(host, tmp_path_factory):
    told = report(host, tmp_path_factory.mktemp("outside"), Unconfined())
    (host[0] / "left by the spy").unlink()
    return told


@pytest.mark.parametrize("attempt", FORBIDDEN)
def test_in_the_sandbox_it_is_refused(inside, attempt):
    assert inside[attempt].startswith("refused: "), attempt


@pytest.mark.parametrize("attempt", [one for one in FORBIDDEN if one not in NOT_EVERYWHERE])
def test_without_one_the_same_program_can_do_it(outside, attempt):
    assert not str(outside[attempt]).startswith("refused: "), attempt


def test_what_it_may_do_works_both_with_and_without(inside, outside):
    for told in (inside, outside):
        assert told["ask the gateway"] == "HELLO"
    assert inside["work in its workspace"] == "a reference"


def test_the_sandbox_has_few_processes_no_host_paths_and_no_names_of_people(host, inside, outside):
    assert inside["processes"] <= 4 < outside["processes"]
    assert str(host[0]) not in inside["first command line"]
    assert [line.split(":")[0] for line in inside["users"].splitlines()] == ["root", "agent"]
    assert inside["who"] == 1000


def test_nothing_of_the_spy_was_left_on_the_host(host, inside):
    assert not (host[0] / "left by the spy").exists()
    assert sorted(file.name for file in host[0].iterdir()) == ["evaluation", "gate", "other case", "references"]


@NO_SANDBOX
def test_the_environment_is_the_cells_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    done = run_python(tmp_path, Bubblewrap(), "import os; print(sorted(os.environ))")
    assert done.stdout.decode().strip() == "['HOME', 'LANG', 'PATH', 'PWD']"


@NO_SANDBOX
def test_two_cells_see_each_other_in_no_way(tmp_path):
    box = Bubblewrap()
    (tmp_path / "a" / "work").mkdir(parents=True)
    (tmp_path / "a" / "work" / "mine.txt").write_text("a")
    code = (
        f"import os; print(os.listdir('/work'), os.listdir('/tmp'), os.listdir('/home/agent'), os.path.exists({str(tmp_path)!r}))"
    )
    assert run_python(tmp_path / "b", box, code).stdout.decode().strip() == "[] [] [] False"


@NO_SANDBOX
@pytest.mark.parametrize("listed", ["", "evaluation", "evaluation/checks.jsonl"])
def test_what_would_show_a_hidden_folder_is_refused_and_not_run(host, tmp_path, listed):
    box, root = Bubblewrap(), host[0]
    one = cell(tmp_path, box, "true", read_only={"/tool": root / listed}, hidden=(root / "evaluation",))
    with pytest.raises(CallError, match=r"would show .* must not see\. Move one"):
        box.run(one, never)


@NO_SANDBOX
def test_a_neighbour_of_a_hidden_folder_may_be_shown(host, tmp_path):
    box, root = Bubblewrap(), host[0]
    one = cell(tmp_path, box, "ls", "/tool", read_only={"/tool": root / "references"}, hidden=(root / "evaluation",))
    assert box.run(one, never).stdout == b"01.png\n"


@NO_SANDBOX
def test_a_cell_that_cannot_be_set_up_is_an_error_of_the_call_and_not_the_programs(tmp_path):
    box = Bubblewrap()
    one = cell(tmp_path, box, "true", read_only={"/tool": tmp_path / "not there"})
    with pytest.raises(CallError, match=r"The sandbox cannot be used here: .*not there"):
        box.run(one, never)


@NO_SANDBOX
@pytest.mark.parametrize("place", ["/tmp", "/dev/shm"])
def test_folders_in_memory_have_a_size(tmp_path, place):
    code = f"f = open('{place}/full', 'wb')\nwhile True: f.write(bytes(1 << 20))"
    done = run_python(tmp_path, Bubblewrap(), code, timeout_s=50)
    assert b"No space left on device" in done.stderr


def fake_bwrap(folder: Path, script: str) -> str:
    folder.mkdir()
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'bwrap: No permissions to create a new namespace' >&2; exit 1", "forbids user namespaces.*docs/sandbox.md"),
        ("echo 'bwrap: Unknown option --disable-userns' >&2; exit 1", "bubblewrap 0.8 or newer is needed"),
        ("exit 0", "cannot be used here"),
        (None, "bubblewrap .bwrap. is not installed"),
    ],
)
def test_a_machine_without_a_working_sandbox_says_why_and_what_to_do(tmp_path, monkeypatch, script, words):
    (tmp_path / "empty").mkdir()
    folder = fake_bwrap(tmp_path / "bin", script) if script else str(tmp_path / "empty")
    monkeypatch.setenv("PATH", f"{folder}:/usr/sbin" if script else folder)
    bubblewrap._state.cache_clear()
    with pytest.raises(CallError, match=words) as caught:
        sandbox_named("bubblewrap", "mine")
    assert "every table says so" in str(caught.value)
    bubblewrap._state.cache_clear()


ELSEWHERE = """
import os, sys, longbanana_nb.runs, longbanana_nb.release
sys.modules["fcntl"] = sys.modules["resource"] = None
for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "getuid", "memfd_create", "pidfd_open"):
    delattr(os, name)
import longbanana_nb.generation, longbanana_nb.planning
"""


def test_where_there_are_no_posix_modules_everything_else_can_still_be_imported():
    subprocess.run([sys.executable, "-c", ELSEWHERE], check=True, timeout=60)


def test_sandbox_none_needs_nothing():
    assert sandbox_named("none", "mine").name == "none"


def test_the_spy_is_the_same_program_in_both(host):
    assert SPY.count("@attempt(") == len(FORBIDDEN) + 2
    assert sys.platform != "linux" or PYTHON.startswith("/")
