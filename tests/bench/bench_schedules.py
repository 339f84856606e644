"""Measure the scheduling of ninety cases, ten a category of the demo's recipe, and print the gap of each that is not proved best.

python tests/bench/bench_schedules.py [--per-category N] [--seed N]
"""

import argparse
import statistics
import time

from longbanana_nb.demo.casework import make_case
from longbanana_nb.generation.scheduling import demand_of, schedule
from longbanana_nb.taxonomy import CATEGORIES

LIMIT_S = 30.0


def main() -> int:
    """Schedule every case; exit 1 if all together took longer than the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--per-category", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    graphs = [
        make_case(category, number, asked.seed).graph for category in CATEGORIES for number in range(1, asked.per_category + 1)
    ]
    took, plans = [], []
    for graph in graphs:
        order = [one["id"] for one in graph["references"] if one["role"] != "background"]
        started = time.perf_counter()
        plans.append(schedule(demand_of(graph), order, (7, 6) if graph["background"] else (8, 7)))
        took.append(time.perf_counter() - started)
        if plans[-1].gap > 0:
            print(f"{graph['case_id']}: {plans[-1].status}, gap {plans[-1].gap:.2%}")
    stages = statistics.mean(len(plan.stages) for plan in plans)
    gaps = sum(plan.gap > 0 for plan in plans)
    print(
        f"{len(plans)} cases: {sum(took):.2f} s in all, {max(took):.2f} s longest; {stages:.2f} stages a case; {gaps} not proved"
    )
    return 0 if sum(took) <= LIMIT_S else 1


if __name__ == "__main__":
    raise SystemExit(main())
