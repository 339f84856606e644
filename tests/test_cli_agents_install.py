"""Installing agent command lines: what counts as installed, what is refused, and that bytes are held against the lock."""

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import run_command

from longbanana_nb.errors import CallError, DataError
from longbanana_nb.generation.agents import pins
from longbanana_nb.generation.agents.installed import NOTE, require_installed, state_of
from longbanana_nb.generation.agents.installing import install


@pytest.fixture
def agents(tmp_path, monkeypatch):
    monkeypatch.setenv("LONGBANANA_AGENTS", str(tmp_path / "agents"))
    return tmp_path / "agents"


def pretend_installed(agents, name="opencode", lock=None, script="#!/bin/sh\necho 1.18.33\n"):
    """A folder that looks like an installation, with a small program in place of the real one."""
    pin = pins.PINS[name]
    folder = agents / pin.folder_name
    program = folder / pin.program[0]
    program.parent.mkdir(parents=True)
    program.write_text(script)
    program.chmod(0o755)
    (folder / NOTE).write_text(json.dumps({"lock_sha256": lock or pin.lock_sha256}))
    return folder


def test_each_pin_has_a_lock_that_names_its_version_and_every_hash():
    for pin in pins.PINS.values():
        text = pin.lock.read_text("utf-8")
        if pin.source == "npm":
            packages = {path: found for path, found in json.loads(text)["packages"].items() if path}
            assert packages
            fetched = {path: found for path, found in packages.items() if not found.get("inBundle")}  # in their parent's bytes
            assert [path for path, found in fetched.items() if not found.get("integrity", "").startswith("sha512-")] == []
            assert "resolved" not in text
            assert any(found["version"].startswith(pin.version) for found in packages.values())
        else:
            required = [block for block in text.split("\n") if "==" in block]
            assert f"hermes-agent=={pin.version} " in text
            assert text.count("--hash=sha256:") >= len(required) > 50


def test_nothing_there_is_said_with_the_command_that_changes_it(agents):
    with pytest.raises(CallError, match=r"Codex CLI 0\.171\.0 cannot be used: it is not installed.*agents install codex"):
        require_installed("codex")
    with pytest.raises(CallError, match="Did you mean 'codex'"):
        state_of("codx")


def test_a_folder_without_its_note_or_of_another_lock_does_not_count(agents):
    folder = pretend_installed(agents, lock="0" * 64)
    assert "another lock" in state_of("opencode").problem
    (folder / NOTE).unlink()
    assert "not whole" in state_of("opencode").problem
    (folder / NOTE).write_text("[")
    assert "not whole" in state_of("opencode").problem


def test_what_is_there_and_starts_is_not_installed_again(agents):
    folder = pretend_installed(agents)
    said = []
    assert install("opencode", said.append)[0].folder == folder
    assert said == [f"OpenCode 1.18.33 is installed in {folder}."]


def test_an_older_version_beside_it_is_named(agents):
    pretend_installed(agents)
    old = agents / "opencode-1.0.0"
    old.mkdir()
    (old / NOTE).write_text("{}")
    assert state_of("opencode").others == ("opencode-1.0.0",)


def test_list_says_what_is_there_and_fails_for_one_that_does_not_start(agents, tmp_path):
    pretend_installed(agents, script="#!/bin/sh\necho 0.0.1\n")
    done = run_command("agents", "list", cwd=tmp_path, home=tmp_path, check=1)
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert set(lines) == set(pins.PINS)
    assert "answered '0.0.1'" in lines["opencode"]
    assert "not installed" in lines["codex"]


def test_another_platform_is_refused_with_the_reason(agents, monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    with pytest.raises(CallError, match="for Linux x86_64; this is Darwin arm64"):
        install("all", print)
    assert not agents.exists()
    with pytest.raises(CallError) as refused:
        require_installed("codex")
    assert "agents install" not in str(refused.value)


def test_too_little_disk_is_refused_before_anything_is_fetched(agents, monkeypatch):
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=100_000_000))
    with pytest.raises(DataError, match=r"takes about 177 MB .* has 100 MB free"):
        install("opencode", print)


def test_without_npm_it_says_what_to_install(agents, monkeypatch):
    monkeypatch.setenv("PATH", str(agents))
    with pytest.raises(CallError, match=r"npm, which is not here\. Install Node"):
        install("codex", print)


def test_bytes_that_differ_from_the_lock_are_refused_and_leave_nothing(agents, tmp_path, monkeypatch):
    locks = tmp_path / "locks"
    shutil.copytree(pins.LOCKS / "opencode", locks / "opencode")
    lock = locks / "opencode" / "package-lock.json"
    read = json.loads(lock.read_text("utf-8"))
    (package,) = [found for path, found in read["packages"].items() if path]
    package["integrity"] = "sha512-" + "A" * 86 + "=="
    lock.write_text(json.dumps(read))
    monkeypatch.setattr(pins, "LOCKS", locks)
    with pytest.raises(DataError, match="EINTEGRITY"):
        install("opencode", print)
    assert state_of("opencode").installed is None


def test_an_installation_killed_at_any_time_does_not_count_and_the_next_one_does(agents):
    command = [sys.executable, "-m", "longbanana_nb", "agents", "install", "opencode"]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    until = time.monotonic() + 60
    while not list(agents.glob(".new-*")) and time.monotonic() < until:
        time.sleep(0.02)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    assert state_of("opencode").installed is None
    said = []
    made = install("opencode", said.append)[0]
    assert Path(made.argv[0]).is_file()
    assert "Licence: MIT" in said[0]
    assert sorted(path.name for path in agents.iterdir() if path.is_dir()) == ["opencode-1.18.33"]


def test_installing_twice_at_once_is_refused(agents):
    import fcntl

    agents.mkdir()
    with (agents / ".codex.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(CallError, match="being installed by another process"):
            install("codex", print)
