"""Judging by a model: processor time and throughput beside Inspect AI and a bare SDK loop, bytes, kill and resume, log, tables.

    python tests/bench/bench_model_judge.py --folder DIR [--inspect PYTHON] [--full]

A loopback provider runs on core 1, each client on core 0 in a process of its own. `--inspect` names the interpreter of an
environment with `requirements-bench.lock` in it (`make bench-environment`); `--full` makes a run of 46,800 judgments and
times its tables. One table is printed; nothing is asserted. DIR keeps the release for the next time.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import model_judge_material as material  # noqa: E402

KEY = "bench-key"


@dataclass(slots=True)
class Bench:
    """One run of the benchmark."""

    folder: Path
    size: material.Size
    url: str
    concurrency: int
    client_core: int | None
    rows: list[tuple[str, str, str]] = field(default_factory=list)

    def server(self, path: str, method: str = "GET") -> dict[str, Any]:
        """What the provider says of itself."""
        with urllib.request.urlopen(urllib.request.Request(self.url + path, method=method), timeout=30) as answer:
            said: dict[str, Any] = json.load(answer)
        return said

    def start(self, python: str, *command: str) -> subprocess.Popen[str]:
        """A client on its core; the provider forgets what came before."""
        self.server("/bench/reset", "POST")
        told = {**os.environ, "ANTHROPIC_API_KEY": KEY, "LONGBANANA_PROGRESS": "off", "LONGBANANA_HOME": str(self.folder)}
        pin = ["taskset", "-c", str(self.client_core)] if self.client_core is not None else []
        told.pop("PYTHONDONTWRITEBYTECODE", None)  # else every start compiles what it imports
        return subprocess.Popen([*pin, python, *command], env=told, stdout=subprocess.PIPE, text=True, cwd=self.folder)

    def client(self, verb: str, *given: str) -> dict[str, Any]:
        """Run one of our clients; what it says, with what the provider saw."""
        return self.said_by(self.start(sys.executable, str(HERE / "model_judge_clients.py"), verb, *given))

    def said_by(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        """The last line of a client, with what the provider saw."""
        out, _ = process.communicate()
        if process.returncode != 0:
            raise SystemExit(f"{process.args}: exit code {process.returncode}")
        return {**json.loads(out.splitlines()[-1]), "server": self.server("/bench/stats")}

    def row(self, what: str, measured: str, target: str = "") -> None:
        """Note one line of the table, and print it at once."""
        self.rows.append((what, measured, target))
        print(f"| {what} | {measured} | {target} |", flush=True)

    def checks(self) -> int:
        """Checks of one system."""
        return self.size.cases * self.size.checks


@contextmanager
def provider(latency_s: float, core: int | None) -> Iterator[str]:
    """The loopback provider, in a process of its own."""
    command = [sys.executable, str(HERE / "fake_provider.py"), "--latency", str(latency_s)]
    process = subprocess.Popen(command + (["--core", str(core)] if core is not None else []), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate()


def per_check(said: dict[str, Any]) -> str:
    """How a client did, a check."""
    count, rate = said["answered"], said["server"]["steady_per_s"] or 0.0
    cpu, whole = 1000 * said["cpu_s"] / count, count / said["wall_s"]
    return f"{cpu:.2f} ms processor a check, {rate:.0f} checks a second, {whole:.0f} as a whole, {said['rss_mb']:.0f} MB"


def bytes_row(bench: Bench, what: str, said: dict[str, Any], inline: dict[str, Any]) -> None:
    """Bytes that a client sent, beside as many checks with their pictures inline, for 90 cases of a system."""
    server, share = said["server"], said["answered"] / inline["answered"]
    mega = server["bytes"] / share / bench.size.cases * 90 / 1e6
    ratio = inline["server"]["bytes"] * share / server["bytes"]
    bench.row(f"bytes, {what}", f"{mega:.0f} MB a system of 90 cases, 1/{ratio:.1f} of inline; {server['files']} uploads", "1/40")


def judge_inline(bench: Bench) -> dict[str, Any]:
    """Ours with pictures in each request, in a fresh run."""
    return _judge(bench, "inline", _fresh(bench, "inline"))


def _fresh(bench: Bench, name: str, systems: int = 1) -> Path:
    """A run with nothing answered, and a provider that holds nothing."""
    bench.server("/bench/forget", "POST")
    path, size = bench.folder / name, replace(bench.size, systems=systems)
    shutil.rmtree(path, ignore_errors=True)
    material.make_run(path, material.make_release(bench.folder / "release", size), size)
    return path


def _judge(bench: Bench, images: str, run: Path, **changes: Any) -> dict[str, Any]:
    profile = material.write_profile(run, bench.url, images=images, **changes)
    return bench.client("judge", str(run), str(profile), str(bench.concurrency))


def compare_uploaded(bench: Bench, inline: dict[str, Any]) -> dict[str, Any]:
    """Pictures laid down once: a first system that uploads all, and whoever asks of the same pictures after it."""
    run = _fresh(bench, "uploaded")
    first = _judge(bench, "uploaded", run)
    bench.row("ours, uploaded, everything laid down first", per_check(first), "3 ms")
    journals = sum(file.stat().st_size for file in run.rglob("*.jsonl") if file.name != "checks.jsonl")
    bench.row("run log", f"{journals / first['answered'] / 1024:.2f} KB a judgment (with the ledger and handles)", "4 KB")
    bytes_row(bench, "a first system, which lays everything down", first, inline)
    again = _judge(bench, "uploaded", run, samples=2)
    bench.row("ours, uploaded, a second sample: everything lies there", per_check(again), "3 ms")
    bytes_row(bench, "a second sample of the same judge", again, inline)
    other = _judge(bench, "uploaded", run, name="another", max_tokens=4000)
    bench.row("ours, uploaded, another judge: everything lies there", per_check(other), "3 ms")
    bytes_row(bench, "another judge of the same run", other, inline)
    return other


def many_systems(bench: Bench, inline: dict[str, Any], systems: int) -> None:
    """Several systems judged at once: they share the references of each case."""
    run = _fresh(bench, "systems", systems)
    said = _judge(bench, "uploaded", run)
    bench.row(f"ours, uploaded, {systems} systems, everything laid down first", per_check(said), "3 ms")
    bytes_row(bench, f"{systems} systems, which lay everything down", said, inline)


def kill_and_resume(bench: Bench) -> None:
    """kill -9 when half has been asked, then the same command again."""
    run = _fresh(bench, "killed")
    profile = material.write_profile(run, bench.url, images="uploaded")
    process = bench.start(
        sys.executable, str(HERE / "model_judge_clients.py"), "judge", str(run), str(profile), str(bench.concurrency)
    )
    while bench.server("/bench/stats")["messages"] < bench.checks() // 2:
        if process.poll() is not None:
            raise SystemExit("the client ended before it was killed")
        time.sleep(0.02)
    process.kill()
    process.communicate()
    answered = _keys(run)
    again = _judge(bench, "uploaded", run)
    whole = _keys(run)
    repeated = again["server"]["messages"] - (bench.checks() - len(answered))
    is_once = set(whole.values()) == {1} and len(whole) == bench.checks()
    bench.row(
        f"kill -9 at {len(answered)} of {bench.checks()}, then again",
        f"{repeated} answered checks asked again, each answered once: {is_once}",
        "0",
    )
    bench.row("first new request after imports", f"{again['server']['first_at'] - again['begun']:.2f} s", "1.5 s")


def _keys(run: Path) -> Counter[str]:
    lines = [line for file in run.glob("judgments/*/*/*.jsonl") for line in file.read_bytes().split(b"\n")[:-1]]
    return Counter(json.loads(line)["key"] for line in lines)


def compare_others(bench: Bench, inline: dict[str, Any], lying: dict[str, Any], inspect: str | None) -> None:
    """The bare SDK loop and Inspect AI on the same questions."""
    release = material.make_release(bench.folder / "release", bench.size)
    from longbanana_nb.runs import open_run

    questions = bench.folder / "questions.json"
    questions.write_text(json.dumps(material.plain_questions(open_run(bench.folder / "inline"), release)), encoding="utf-8")
    loop = bench.client("loop", str(questions), bench.url, str(bench.concurrency))
    bench.row("bare SDK loop, inline", per_check(loop))
    ratio = (inline["cpu_s"] / inline["answered"]) / (loop["cpu_s"] / loop["answered"])
    bench.row("processor time of ours, inline, to the bare loop", f"{ratio:.2f} times", "1.3 times")
    if inspect is None:
        return
    logs = bench.folder / "inspect-logs"
    shutil.rmtree(logs, ignore_errors=True)
    command = (str(HERE / "inspect_client.py"), str(questions), bench.url, str(bench.concurrency), str(logs))
    other = bench.said_by(bench.start(inspect, *command))
    bench.row("Inspect AI, inline, no pictures in its log", per_check(other))
    rate = other["server"]["steady_per_s"]
    uploaded = _judge(bench, "uploaded", _fresh(bench, "beside-inspect"))
    whole = other["answered"] / other["wall_s"]
    for what, said in (("inline", inline), ("uploaded, everything lies there", lying), ("uploaded, laid down first", uploaded)):
        steady, all_of_it = said["server"]["steady_per_s"] / rate, said["answered"] / said["wall_s"] / whole
        bench.row(f"throughput to Inspect AI, {what}", f"{steady:.1f} times steady, {all_of_it:.1f} times as a whole", "10 times")


def full_tables(bench: Bench) -> None:
    """Score and tables of a full-size run, three turns."""
    path = bench.folder / "full-run"
    if not (path / "judgments").is_dir():
        shutil.rmtree(path, ignore_errors=True)
        os.environ.setdefault("ANTHROPIC_API_KEY", KEY)
        material.make_full_run(bench.folder)
    for turn in range(3):
        said = bench.client("tables", str(path))
        scored = said["scored_at"] - said["begun"]
        told = f"{said['wall_s']:.2f} s ({scored:.2f} s of it the scores), {said['cpu_s']:.2f} s processor"
        bench.row(f"46,800 judgments scored and in tables, turn {turn + 1}", told, "3 s")


def main() -> None:
    """Read the command line, run everything, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--inspect", metavar="PYTHON")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--checks", type=int, default=50)
    parser.add_argument("--references", type=int, default=32)
    parser.add_argument("--side", type=int, default=1024)
    parser.add_argument("--systems", type=int, default=10, help="judged together for their bytes; 1 leaves that out")
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--unpinned", action="store_true")
    given = parser.parse_args()
    size = material.Size(given.cases, given.checks, given.references, given.side)
    folder = given.folder.resolve() / f"{size.cases}x{size.checks}x{size.side}"
    folder.mkdir(parents=True, exist_ok=True)
    print(f"load before: {os.getloadavg()[0]:.2f}; {size}\n| what | measured | target |\n|---|---|---|", flush=True)
    with provider(given.latency, None if given.unpinned else 1) as url:
        bench = Bench(folder, size, url, given.concurrency, None if given.unpinned else 0)
        inline = judge_inline(bench)
        bench.row("ours, inline", per_check(inline), "1.3 times the bare loop")
        lying = compare_uploaded(bench, inline)
        if given.systems > 1:
            many_systems(bench, inline, given.systems)
        kill_and_resume(bench)
        compare_others(bench, inline, lying, given.inspect)
        if given.full:
            full_tables(bench)
    print(f"load after: {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
