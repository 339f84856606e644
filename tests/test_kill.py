"""kill -9 at twenty random instants: the same commands again give byte-equal scores, and nothing is done twice."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
import yaml
from conftest import run_command

from longbanana_nb.files import sha256_file

KILLS = 20
CASES = ["scc_01", "rgc_01", "gac_01", "tsr_01"]


@pytest.fixture(scope="module")
def files(demo_home, tmp_path_factory):
    """Two experiment files that differ in their run folder only."""
    folder = tmp_path_factory.mktemp("kills")
    manifest = next((demo_home / "data" / "releases").glob("*/manifest.json"))
    made = {}
    for name in ("whole", "killed"):
        experiment = {
            "schema": "lb.experiment.v1",
            "run": name,
            "release": str(manifest),
            "cases": CASES,
            "systems": ["presets/systems/sketch-medium-fp-direct.yaml", "presets/systems/native-minimal-sketch-medium.yaml"],
            "judges": ["presets/judges/tools.yaml", "presets/judges/truth.yaml"],
            "floors": {"blank": "judge", "single-reference": "judge", "collage": "off", "words": "judge"},
        }
        made[name] = folder / f"{name}.yaml"
        made[name].write_text(yaml.safe_dump(experiment), "utf-8")
    return made


def start_and_kill(verb, file, home, delay):
    """Start a verb in its own session, kill -9 its first process after `delay` seconds; True if it was still running."""
    environment = {**os.environ, "LONGBANANA_HOME": str(home), "LONGBANANA_PROGRESS": "off"}
    command = [sys.executable, "-m", "longbanana_nb", verb, str(file)]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def finished(run):
    """Hash of every finished record and of every whole journal line so far."""
    records = {path.relative_to(run): sha256_file(path) for path in run.glob("candidates/*/*/s*/record.json")}
    lines = {path.relative_to(run): path.read_bytes().splitlines(keepends=True) for path in run.glob("judgments/**/*.jsonl")}
    return records, {path: [line for line in found if line.endswith(b"\n")] for path, found in lines.items()}


def kill_many(verb, file, home, rounds, chance, whole_s):
    """Kill the verb `rounds` times, at instants from its start-up to well into its work; the snapshots taken after each kill.

    `whole_s` is how long the verb takes on this machine undisturbed, so that neither a slow nor a quick one spares the work.
    """
    run = file.with_suffix("")
    snapshots, landed = [], 0
    for _ in range(rounds):
        landed += start_and_kill(verb, file, home, chance.uniform(0.2, min(6.0, 0.8 * whole_s)))
        snapshots.append(finished(run))
    return snapshots, landed


@pytest.mark.timeout(1800)
def test_twenty_kills_change_nothing(files, demo_home):
    chance = random.Random(20)
    whole_s = {}
    for verb in ("generate", "judge"):
        begun = time.monotonic()
        run_command(verb, files["whole"], cwd=demo_home, home=demo_home, check=0)
        whole_s[verb] = time.monotonic() - begun
    snapshots, landed = [], 0
    for verb in ("generate", "judge"):
        taken, hits = kill_many(verb, files["killed"], demo_home, KILLS // 2, chance, whole_s[verb])
        run_command(verb, files["killed"], cwd=demo_home, home=demo_home, check=0)
        snapshots, landed = snapshots + taken, landed + hits
    assert landed >= KILLS // 2, "too many commands ended before their kill: the test says too little"

    whole, killed = (files[name].with_suffix("") for name in ("whole", "killed"))
    records, lines = finished(killed)
    for early_records, early_lines in snapshots:
        assert early_records.items() <= records.items(), "a finished candidate was made again"
        for path, early in early_lines.items():
            assert lines[path][: len(early)] == early, "a journal was rewritten"
    for path, found in lines.items():
        units = Counter((row["sample"], row["judge_sample"], row["check_id"]) for row in map(json.loads, found))
        assert set(units.values()) == {1}, f"{path}: a unit was answered twice"

    assert [path for path in killed.rglob("*") if path.name.endswith((".part", ".torn"))] == []
    texts = [run_command("score", run, "--json", cwd=demo_home, home=demo_home, check=0).stdout for run in (whole, killed)]
    assert texts[0] == texts[1]
    run_command("verify", killed, cwd=demo_home, home=demo_home, check=0)
