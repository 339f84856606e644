"""Agent command lines with a scripted model: cases an hour, and what the workbench costs beyond the program itself.

    python tests/bench/bench_agents.py [cases] [name ...]

"alone" starts the program as any process, led straight to the model, for two turns. "over it" is what a whole candidate of the
same two turns takes beyond that: room, copies of 32 references, sandbox, gateway, record. "cases an hour" is a run with one
command, one look and one image call a case, two at a time. The model answers at once, so a real one is slower by its own time.
Nothing is said of quality. OpenCode alone also looks for a package registry, which it cannot reach from the sandbox, so that
"over it" can be less than nothing.
Programs that are not installed are named and left out.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from cli_agents_model import Say, ScriptedModel, Shell, Use, View
from cli_agents_runs import DRAW, KEY, Bench

from longbanana_nb.generation.agents.contracts import Setting
from longbanana_nb.generation.agents.installed import Installed, state_of
from longbanana_nb.generation.agents.placing import write_home
from longbanana_nb.generation.agents.recipes import RECIPES
from longbanana_nb.generation.sandbox.mounts import bare_python
from longbanana_nb.runs import Limits

TRIVIAL = [Shell("true"), Say("done")]
CASE = [Shell("cat prompt.txt"), View("/work/references/ref_01.png"), Use("generate", DRAW), Say("done")]
REFERENCES = 32
NO_TOOLS = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    version = asked.get("params", {}).get("protocolVersion", "2025-06-18")
    began = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}
    answer = {"initialize": began, "tools/list": {"tools": []}}.get(asked["method"], {})
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
"""


def alone(installed: Installed, model: ScriptedModel) -> float:
    """Seconds of the program by itself."""
    recipe = RECIPES[installed.pin.name]
    with tempfile.TemporaryDirectory(prefix="lb-bench-") as folder:
        home, work = Path(folder, "home"), Path(folder, "work")
        home.mkdir()
        work.mkdir()
        setting = Setting(
            program=installed.argv,
            folder=str(installed.folder),
            workspace=str(work),
            home=str(home),
            path="/usr/local/bin:/usr/bin:/bin",
            instruction="Say done.",
            dialect=recipe.dialects[0],
            model="own-model",
            base_url=model.url,
            permit="x",
            image_tool=(str(bare_python()), "-I", "-S", "-c", NO_TOOLS),
            max_turns=12,
            max_tokens=4000,
            context_tokens=200_000,
            timeout_s=120.0,
            request_timeout_s=60.0,
        )
        made = recipe.render(setting)
        write_home(made.files, home)
        began = time.perf_counter()
        subprocess.run(
            list(made.argv), env=dict(made.env), cwd=work, input=made.stdin, capture_output=True, timeout=180, check=False
        )
        return time.perf_counter() - began


def candidate(name: str, model: ScriptedModel, folder: Path) -> float:
    """Seconds of a whole candidate of the same two turns."""
    bench = Bench(folder, model, count=REFERENCES)
    spec = bench.system(name)
    began = time.perf_counter()
    bench.go(spec, TRIVIAL, workers=1)
    return time.perf_counter() - began


def cases_an_hour(name: str, model: ScriptedModel, folder: Path, cases: int) -> float:
    """Cases an hour of a run, two at a time."""
    bench = Bench(folder, model, tuple(f"case-{n}" for n in range(cases)), count=REFERENCES)
    spec = bench.system(name)
    began = time.perf_counter()
    summary = bench.go(spec, CASE, workers=2, limits=Limits(concurrency=2))
    seconds = time.perf_counter() - began
    if summary.outcomes[spec.name]["image"] != cases:
        raise SystemExit(f"{name}: not every case has an image: {summary.outcomes}")
    return 3600 * cases / seconds


def main() -> None:
    """Print a table."""
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    os.environ["LB_TEST_AGENT_KEY"] = KEY
    print("program       alone s   over it s   cases an hour")
    for name in sys.argv[2:] or RECIPES:
        installed = state_of(name).installed
        if installed is None:
            print(f"{name:<12}  {state_of(name).problem}")
            continue
        with ScriptedModel(TRIVIAL) as model, tempfile.TemporaryDirectory(prefix="lb-bench-") as place:
            alone(installed, model)  # the first start reads the program from disk
            base = statistics.median(alone(installed, model) for _ in range(3))
            whole = statistics.median(candidate(name, model, Path(place, f"one-{n}")) for n in range(3))
            rate = cases_an_hour(name, model, Path(place, "many"), cases)
        print(f"{name:<12}  {base:7.2f}   {whole - base:9.2f}   {rate:13.0f}", flush=True)


if __name__ == "__main__":
    main()
