"""Shards on the workers of a real Dask cluster, one of which is killed at work."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import yaml
from conftest import run_command

from longbanana_nb.errors import CallError, Incomplete
from longbanana_nb.files import sha256_file
from longbanana_nb.runs import all_shards, load_experiment, open_run, verdict_grid

pytest.importorskip("distributed", reason="the extra `dask` is not installed")

CASES = ["scc_01", "rgc_01", "gac_01", "tsr_01"]


@pytest.fixture
def experiment(demo_home, tmp_path):
    """An experiment file of four systems and four cases, into `tmp_path / "run"`."""
    value = {
        "schema": "lb.experiment.v1",
        "run": "run",
        "release": str(next((demo_home / "data" / "releases").glob("*/manifest.json"))),
        "cases": CASES,
        "systems": ["presets/systems/sketch-medium-fp-direct.yaml", "presets/systems/native-minimal-sketch-medium.yaml"],
        "judges": ["presets/judges/truth.yaml"],
        "floors": {"blank": "judge", "single-reference": "judge", "collage": "off", "words": "off"},
    }
    file = tmp_path / "experiment.yaml"
    file.write_text(yaml.safe_dump(value), "utf-8")
    return file


def pictures(run):
    return {path.relative_to(run): sha256_file(path) for path in run.glob("candidates/*/*/s*/image.*")}


def children_of(pid):
    """Processes begun by a process, and by those, as the system lists them now."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, text=True, check=True).stdout.split()[2:]
    parents = dict(zip(map(int, listed[::2]), map(int, listed[1::2]), strict=True))
    found, last = set(), {pid}
    while last:
        last = {child for child, parent in parents.items() if parent in last} - found
        found |= last
    return found


def at_work(pids):
    """Those that still run, but for the trackers that Python keeps until this process ends."""
    words = {pid: Path(f"/proc/{pid}/cmdline") for pid in pids}
    return {pid for pid, file in words.items() if file.exists() and "resource_tracker" not in file.read_text()}


def test_the_command_gives_the_run_that_one_process_gives(experiment, demo_home, tmp_path):
    experiment.write_text(yaml.safe_dump(yaml.safe_load(experiment.read_text()) | {"cases": CASES[:2]}))
    done = run_command("scale", experiment, "--shards", "2", cwd=tmp_path, home=demo_home, check=0)
    assert "2 shards merged into" in done.stdout
    scaled = open_run(tmp_path / "run")
    (tmp_path / "alone.yaml").write_text(experiment.read_text().replace("run: run", "run: alone"))
    for verb in ("generate", "judge"):
        run_command(verb, tmp_path / "alone.yaml", cwd=tmp_path, home=demo_home, check=0)
    assert pictures(scaled.path) == pictures(tmp_path / "alone")
    assert verdict_grid(scaled).equals(verdict_grid(open_run(tmp_path / "alone")))
    again = run_command("scale", experiment, "--shards", "2", cwd=tmp_path, home=demo_home)
    assert again.returncode == 2
    assert "holds a run already" in again.stderr


def first_at_work(run_folders, known):
    """The process that owns the first shard found at work, waited for; it is one of `known`."""
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        for folder in run_folders:
            lock = folder / "run.lock"
            if any(folder.glob("candidates/*/*/s*/record.json")) and lock.exists():
                pid = int(lock.read_text().split('"pid":')[1].split(",")[0])
                if pid in known:
                    return pid, folder
        time.sleep(0.02)
    raise AssertionError("no shard was begun within a minute")


def test_the_shard_of_a_killed_worker_goes_on_in_another(experiment, monkeypatch, demo_home):
    from distributed import Client

    from longbanana_nb.scaling import local_cluster, scale

    monkeypatch.setenv("LONGBANANA_HOME", str(demo_home))
    folders = [one.folder(load_experiment(experiment).run) for one in all_shards(2)]
    killed = []

    def kill_one(known):
        pid, folder = first_at_work(folders, known)
        os.kill(pid, signal.SIGKILL)
        records = {path: path.stat().st_mtime_ns for path in folder.glob("candidates/*/*/s*/record.json")}
        killed.append((pid, records))

    before = children_of(os.getpid())
    with local_cluster(2) as cluster:
        with Client(cluster) as client:
            known = set(client.run(os.getpid).values())
        hunter = threading.Thread(target=kill_one, args=(known,))
        hunter.start()
        done = scale(experiment, 2, scheduler=cluster.scheduler_address)
        hunter.join(60)
    pid, records = killed[0]
    assert pid not in {shard.pid for shard in done.shards}
    assert done.is_complete
    assert set(verdict_grid(done.run)["state"]) == {"valid"}
    assert records, "the worker was killed before anything was finished: the test says too little"
    assert {path: path.stat().st_mtime_ns for path in records} == records, "a finished candidate was made again"
    ends = time.monotonic() + 20
    while (left := at_work(children_of(os.getpid()) - before)) and time.monotonic() < ends:
        time.sleep(0.2)
    assert not left


def test_what_stops_a_shard_is_said_and_nothing_is_merged(experiment, demo_home, tmp_path):
    value = yaml.safe_load(experiment.read_text())
    experiment.write_text(yaml.safe_dump(value | {"cases": ["scc_99"]}))
    done = run_command("scale", experiment, "--shards", "2", cwd=tmp_path, home=demo_home)
    assert done.returncode == CallError.exit_code
    assert "scc_99" in done.stderr
    assert "2 of 2 shards stopped" in done.stderr
    assert not (tmp_path / "run").exists()


def test_bad_calls_are_refused_before_anything_starts(experiment, tmp_path):
    from longbanana_nb.scaling import scale

    for shards in (1, 0, -3):
        with pytest.raises(CallError, match=f"found {shards}"):
            scale(experiment, shards)
    with pytest.raises(CallError, match="no Dask scheduler"):
        scale(experiment, 2, scheduler="tcp://127.0.0.1:9")
    assert not list(tmp_path.glob("run*"))


def test_without_dask_the_extra_is_named(experiment, tmp_path):
    code = (
        "import sys; sys.modules['distributed'] = None\nfrom longbanana_nb.cli import main\n"
        f"sys.exit(main(['scale', {str(experiment)!r}, '--shards', '2']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert "longbanana-nb[dask]" in done.stderr


def test_exit_codes_of_stopped_shards_are_those_of_their_errors():
    from longbanana_nb.scaling import ShardDone, _require_done

    fine, cut = ShardDone("1/2", 1, "", True), ShardDone("2/2", 2, "budget", False, 3)
    with pytest.raises(Incomplete, match="1 of 2 shards stopped"):
        _require_done([fine, cut])
    _require_done([fine, fine])
