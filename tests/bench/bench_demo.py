"""Measure the whole demo: wall time, peak memory of each process, bytes on disk, and the cost of the bare import.

python tests/bench/bench_demo.py [--cases N]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path


def descendants(root_pid: int) -> set[int]:
    """All living descendants of a process, itself included."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError, ValueError):
                continue
    found = {root_pid}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def peak_kb(pid: int) -> int:
    """VmHWM of one process in KB, 0 if it is gone."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1])
    except OSError:
        return 0
    return 0


def watch(process: subprocess.Popen, peaks: dict[int, int]) -> None:
    """Note the peak memory of every process below one until it ends."""
    while process.poll() is None:
        for pid in descendants(process.pid):
            peaks[pid] = max(peaks.get(pid, 0), peak_kb(pid))
        time.sleep(0.2)


def folder_bytes(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def run_demo(cases: int) -> None:
    """Run the demo once in a new home and print what it took."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "longbanana_nb", "demo", "--cases", str(cases)]
        environment = {**os.environ, "LONGBANANA_HOME": home, "LONGBANANA_PROGRESS": "off"}
        peaks: dict[int, int] = {}
        start = time.perf_counter()
        process = subprocess.Popen(command, env=environment)
        watcher = threading.Thread(target=watch, args=(process, peaks))
        watcher.start()
        code = process.wait()
        wall = time.perf_counter() - start
        watcher.join()
        print(f"demo, {9 * cases} cases: exit {code}, {wall:.1f} s wall")
        print(f"largest process: {max(peaks.values()) / 1024:.0f} MB of {len(peaks)} processes")
        for part in ("data", "reports"):
            print(f"{part}: {folder_bytes(Path(home) / part) / 1e6:.1f} MB")


def import_cost(rounds: int = 15) -> None:
    """Median extra time of `import longbanana_nb` over a bare interpreter, interleaved in one run."""
    bare, ours = [], []
    for _ in range(rounds):
        for times, code in ((bare, "pass"), (ours, "import longbanana_nb")):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(time.perf_counter() - start)
    print(f"import longbanana_nb: {1000 * (statistics.median(ours) - statistics.median(bare)):.0f} ms more than bare Python")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=3)
    arguments = parser.parse_args()
    import_cost()
    run_demo(arguments.cases)
