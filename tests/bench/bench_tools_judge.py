"""The `tools` judge: checks a second on this machine, and how it grows from 27 to 90 cases and from one to ten systems.

    python tests/bench/bench_tools_judge.py

Candidates are made once by the weak, medium and strong sketch; each row judges a fresh run folder.
"""

import tempfile
import time
from pathlib import Path

import yaml

import longbanana_nb as lb
from longbanana_nb.paths import presets_folder

ROWS = ((1, 3), (10, 3), (1, 10))  # systems, cases a category


def experiment(folder: Path, release: str, systems: int, cases: int) -> Path:
    """Write an experiment with that many systems: copies of the medium sketch under other names and sizes of window."""
    preset = yaml.safe_load((presets_folder() / "systems" / "sketch-medium-fp-direct.yaml").read_text("utf-8"))
    many = []
    for number in range(systems):
        one = {
            **preset,
            "name": f"system-{number}",
            "references": {**preset["references"], "size": 8 - number % 5, "stride": 8 - number % 5},
        }
        many.append(one)
    file = folder / "experiment.yaml"
    value = {
        "schema": "lb.experiment.v1",
        "run": f"run-{systems}-{cases}",
        "release": release,
        "cases": "all",
        "systems": many,
        "judges": ["presets/judges/tools.yaml"],
        "floors": {"blank": "off", "single-reference": "off", "collage": "off", "words": "off"},
    }
    file.write_text(yaml.safe_dump(value), "utf-8")
    return file


def main() -> None:
    """Print one line a row."""
    from longbanana_nb.demo import build_demo

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for systems, cases in ROWS:
            manifest = build_demo(folder / f"demo-{cases}", cases_per_category=cases)
            file = experiment(folder, str(manifest), systems, cases)
            lb.generate(file)
            start = time.perf_counter()
            summary = lb.judge(file)[0]
            wall = time.perf_counter() - start
            rate = summary.asked / wall
            print(f"{systems:2d} systems x {9 * cases} cases: {summary.asked} checks in {wall:.1f} s, {rate:.0f} checks a second")


if __name__ == "__main__":
    main()
