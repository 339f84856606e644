"""The benchmark of model judging still runs: a small one, whose counts are held and whose times are not."""

import re
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parent / "bench" / "bench_model_judge.py"


def test_a_small_benchmark_of_model_judging_runs_and_counts_right(tmp_path):
    command = [sys.executable, str(BENCH), "--folder", str(tmp_path), "--cases", "2", "--checks", "10", "--references", "8"]
    told = subprocess.run(
        [*command, "--side", "64", "--latency", "0.02", "--concurrency", "4", "--unpinned"],
        check=False, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    rows = [line.strip("| ").split(" | ") for line in told.stdout.splitlines() if line.startswith("| ")]
    found = {row[0]: row[1] for row in rows}
    killed = next(name for name in found if name.startswith("kill -9"))
    assert found[killed] == "0 answered checks asked again, each answered once: True"
    assert re.fullmatch(r"kill -9 at \d+ of 20, then again", killed)
    assert float(found["run log"].split(" ")[0]) < 4
    lying = {f"ours, uploaded, {which}: everything lies there" for which in ("a second sample", "another judge")}
    assert {"ours, inline", "bare SDK loop, inline", "ours, uploaded, everything laid down first", *lying} <= set(found)
