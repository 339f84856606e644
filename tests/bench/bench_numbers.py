"""A full-size run with weights, contrasts, labels and claims: how long tables, figures and the grid of choices take.

    python tests/bench/bench_numbers.py --folder DIR

Ten systems, ninety cases, 52 checks. Run it on a quiet machine; nothing here is asserted. Each part is a process of its own,
tables and figures side by side as in a report; imports are not counted. Targets: both within 10 s on two cores, and 200 choices
of claims within 10 s.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import model_judge_material as material

from longbanana_nb.examining import label
from longbanana_nb.runs import Run, open_run
from longbanana_nb.weighing import freeze_weights

CLAIMS = """
schema: lb.claims.v1
claims:
  - {name: first, a: system-0, b: system-1, metric: score}
  - {name: second, a: system-2, b: system-3, metric: pass_rate}
"""
PART = """
import json, resource, sys, time
import longbanana_nb as lb
import matplotlib.figure, pandas, scipy.stats, longbanana_nb.reporting.figures, longbanana_nb.reporting.report  # not counted
import longbanana_nb.reporting.claimed, longbanana_nb.reporting.gallery
begun, cpu = time.perf_counter(), time.process_time()
told = {}
run = lb.open_run(sys.argv[1], quiet=True)
if sys.argv[2] == "tables":
    told["tables"] = len(lb.tables(run))
elif sys.argv[2] == "figures":
    told["figures"] = len([drawing.svg for drawing in lb.figures(run).values()])
else:
    told["cells"] = len(lb.claims(run).found.cells)
told |= {"wall_s": time.perf_counter() - begun, "cpu_s": time.process_time() - cpu}
told["rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps(told))
"""


def prepared(folder: Path) -> Run:
    """The run with everything a paper's numbers need: frozen weights, nine contrasts, 720 labels, two claims."""
    path = folder / "full-run"
    if not (path / "weights").is_dir():
        os.environ.setdefault("ANTHROPIC_API_KEY", "bench")
        run = material.make_full_run(folder)
        weights = freeze_weights(run, folder / "weights.json", pool=[f"system-{n}" for n in range(5)], judge="claude")
        claims = folder / "claims.yaml"
        claims.write_text(CLAIMS, "utf-8")
        pairs = [["system-0", f"system-{n}"] for n in range(1, 10)]
        meta = json.loads((path / "run.json").read_text())
        (path / "weights").mkdir()
        (path / "weights" / "judge-difficulty-v1.json").write_bytes(weights.read_bytes())
        meta["analysis"] = {"weights": "judge-difficulty-v1", "compare": pairs, "claims": str(claims)}
        (path / "run.json").write_text(json.dumps(meta))
        label(open_run(path), raters=("anna", "ben"), units=720, judge="claude")
        fill_sheets(open_run(path))
    return open_run(path)


def fill_sheets(run: Run) -> None:
    """Each rater says 2 on every third unit and 0 on the rest: what is said does not matter to the time."""
    import csv

    for sheet in sorted(run.path.glob("labels/sheets/*.csv")):
        rows = list(csv.DictReader(sheet.read_text("utf-8-sig").splitlines()))
        filled = sheet.with_name(f"filled-{sheet.name}")
        with filled.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(row | {"label": "2" if n % 3 else "0"} for n, row in enumerate(rows))
        rater = next(name for name in ("anna", "ben") if name in sheet.stem)
        label(run, take=filled, rater=rater)
        filled.unlink()


def main() -> None:
    """Read the command line, prepare the run, time both parts three times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--folder", type=Path, required=True)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    begun = time.perf_counter()
    run = prepared(folder)
    print(f"prepared in {time.perf_counter() - begun:.0f} s: {run.path}")
    for turn in range(3):
        for kept in run.path.glob("figures/*"):
            if kept.is_file():
                kept.unlink()
        for parts in (("tables", "figures"), ("claims",)):
            for part, said in zip(parts, together(run, parts), strict=True):
                print(f"turn {turn + 1}, {part}: {said}")


def together(run: Run, parts: Sequence[str]) -> list[str]:
    """What the parts say, each in a process of its own, all at once: a report draws its figures beside its other work."""
    environment = os.environ | {"LONGBANANA_PROGRESS": "off"}
    commands = [[sys.executable, "-c", PART, str(run.path), part] for part in parts]
    begun = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for command in commands]
    return [process.communicate()[0].strip() for process in begun]


if __name__ == "__main__":
    main()
