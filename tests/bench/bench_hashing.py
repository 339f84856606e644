"""Hash a full-size release (2,880 files, about 1.5 GB): `load_release` against `sha256sum` on the same files in the same run.

    python tests/bench/bench_hashing.py

Both are run alternately with a warm page cache; the median of each is reported.
"""

import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from longbanana_nb.release import load_release, write_release
from longbanana_nb.taxonomy import CATEGORIES

FILES_A_CASE, FILE_BYTES, ROUNDS = 32, 531_000, 5


def make_release(root: Path) -> Path:
    """Write 90 cases of 32 files of random bytes; hashing looks at bytes only."""
    tasks = []
    for number in range(90):
        case_id = f"case_{number:02d}"
        references = []
        for place in range(FILES_A_CASE):
            path = f"public/images/{case_id}/ref_{place:02d}.jpg"
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(os.urandom(FILE_BYTES))
            references.append({"id": f"ref_{place:02d}", "path": path})
        tasks.append(
            {
                "case_id": case_id,
                "category": CATEGORIES[number // 10],
                "prompt": "x",
                "references": references,
                "background": None,
            }
        )
    return write_release(root, name="bench", revision="1", license="none", tasks=tasks, checks=[])


def seconds(action) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def main() -> None:
    """Print both medians and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        manifest = make_release(Path(folder))
        files = sorted(str(path) for path in Path(folder).rglob("*.jpg"))
        theirs, ours = [], []
        for _ in range(ROUNDS):
            theirs.append(seconds(lambda: subprocess.run(["sha256sum", "--", *files], check=True, stdout=subprocess.DEVNULL)))
            ours.append(seconds(lambda: load_release(manifest)))
        a, b = statistics.median(theirs), statistics.median(ours)
        print(f"{len(files)} files, {len(files) * FILE_BYTES / 1e9:.2f} GB")
        print(f"sha256sum {a:.2f} s, load_release {b:.2f} s, ratio {b / a:.2f}")


if __name__ == "__main__":
    main()
