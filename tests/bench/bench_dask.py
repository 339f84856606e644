"""Compare one local Dask worker with several on the demo in shards: wall time of `scale`, and that both give the same pictures.

python tests/bench/bench_dask.py [--cases N] [--shards N] [--workers N]
"""

import argparse
import dataclasses
import os
import sys
import tempfile
import time
from pathlib import Path


def pictures(run: Path) -> dict[str, bytes]:
    """The bytes of every candidate by its place in the run."""
    return {path.relative_to(run).as_posix(): path.read_bytes() for path in run.glob("candidates/*/*/s*/image.*")}


def main() -> int:
    """Run the demo's experiment once with one worker and once with several; print a line each. Exit 1 if the pictures differ."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--cases", type=int, default=1, help="cases a category")
    arguments.add_argument("--shards", type=int, default=4)
    arguments.add_argument("--workers", type=int, default=4)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(LONGBANANA_HOME=folder, LONGBANANA_PROGRESS="off")
        from longbanana_nb import scaling
        from longbanana_nb.embedded import demo_manifest
        from longbanana_nb.runs import load_experiment

        demo = dataclasses.replace(load_experiment("presets/experiments/demo.yaml"), release=demo_manifest(given.cases))
        made, walls = [], []
        for workers in (1, given.workers):
            experiment = dataclasses.replace(demo, run=Path(folder) / f"by-{workers}")
            begun = time.monotonic()
            done = scaling.scale(experiment, given.shards, workers=workers)
            walls.append(time.monotonic() - begun)
            made.append(pictures(done.run.path))
            taken = len({shard.pid for shard in done.shards})
            print(
                f"{given.shards} shards on {taken} of {workers} workers: {len(made[-1])} pictures, {walls[-1]:.1f} s", flush=True
            )
        same = made[0] == made[1]
        print(f"{walls[0] / walls[1]:.2f} times as fast; pictures {'equal' if same else 'DIFFER'}; {os.cpu_count()} processors")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
