"""Time scoring of a full-size run: 90 cases x 52 checks x 10 systems, intervals included. Run it; nothing here is asserted."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

START = time.perf_counter()
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

IMPORTED = time.perf_counter()

from longbanana_nb.scoring import read_verdict_table, score_grid  # noqa: E402
from longbanana_nb.taxonomy import CATEGORIES, DIMENSIONS  # noqa: E402

READY = time.perf_counter()


def full_size_table(path: Path, systems: int = 10) -> int:
    """Write seeded verdicts as CSV; returns how many."""
    draw = np.random.default_rng(1)
    lines = ["system,judge,case_id,category,check_id,dimension,polarity,label"]
    for system in range(systems):
        for case in range(90):
            labels = draw.choice(["0", "1", "2", ""], size=52, p=[0.28, 0.1, 0.6, 0.02])
            for check, label in enumerate(labels):
                polarity = "negative" if check % 5 == 0 else "positive"
                facts = f"case_{case:03d},{CATEGORIES[case // 10]},check_{check:02d},{DIMENSIONS[check % 3]},{polarity}"
                lines.append(f"system-{system},judge,{facts},{label}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(lines) - 1


def main() -> None:
    """Print seconds of each step."""
    print(f"import pandas {IMPORTED - START:.3f} s; import scoring {READY - IMPORTED:.3f} s more")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "verdicts.csv"
        count = full_size_table(path)
        for turn in range(3):
            begin, cpu = time.perf_counter(), time.process_time()
            grid = read_verdict_table(path)
            read = time.perf_counter()
            scores = score_grid(grid)
            scored = time.perf_counter()
            size = len(json.dumps(scores.as_json(), allow_nan=False))
            done = time.perf_counter()
            print(
                f"turn {turn}: {count} verdicts; read {read - begin:.3f} s, score {scored - read:.3f} s, "
                f"JSON {done - scored:.3f} s ({size / 1e6:.2f} MB); together {done - begin:.3f} s "
                f"(processor time {time.process_time() - cpu:.3f} s)"
            )
        totals = pd.DataFrame(grid[["case_id", "check_id", "category"]]).drop_duplicates()
        begin = time.perf_counter()
        score_grid(read_verdict_table(path, totals), totals=totals)
        print(f"with the totals of a release: {time.perf_counter() - begin:.3f} s")


if __name__ == "__main__":
    main()
