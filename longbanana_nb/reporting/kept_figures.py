"""Figures kept on disk: shown again while all they were drawn from is the same, drawn anew as soon as it is not."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from longbanana_nb import taxonomy
from longbanana_nb.files import canonical_json, sha256_bytes, sha256_file, write_atomic

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from longbanana_nb.reporting.facts import RunFacts, ScoreFrames

SHOWN = "shown"  # the folder in `figures/` for what pages show: SVG with outlined letters, and from what each was drawn
LIBRARIES = ("matplotlib", "numpy", "pandas", "seaborn")


@dataclass(frozen=True, slots=True)
class KeptFigures:
    """The figures of a run as files. A figure counts only with the key it was asked for and with every file unchanged."""

    folder: Path
    drawn_from: str  # as `drawn_from` gives it

    def find(self, name: str) -> bytes | None:
        """What pages show of a figure, or None where it has to be drawn."""
        try:
            note = json.loads(self._note(name).read_bytes())
            if note["drawn_from"] != self.drawn_from:
                return None
            if any(sha256_file(self.folder / file) != sha256 for file, sha256 in note["files"].items()):
                return None
            return (self.folder / SHOWN / f"{name}.svg").read_bytes()
        except (OSError, ValueError, KeyError, TypeError, AttributeError):  # no note, or none that this workbench wrote
            return None

    def keep(self, name: str, figure: Figure, alt: str) -> bytes:
        """Write a figure as PDF, SVG and PNG and as pages show it; what it was drawn from last. Returns what pages show."""
        from longbanana_nb.reporting.figures import figure_bytes, save_figure

        written = list(save_figure(figure, self.folder, name, alt=alt).values())
        shown, svg = self.folder / SHOWN / f"{name}.svg", figure_bytes(figure, "svg", outlines=True)
        write_atomic(shown, svg)
        files = {path.relative_to(self.folder).as_posix(): sha256_file(path) for path in [*written, shown]}
        note = json.dumps({"drawn_from": self.drawn_from, "files": files}, indent=1)
        write_atomic(self._note(name), f"{note}\n".encode())
        return svg

    def _note(self, name: str) -> Path:
        return self.folder / SHOWN / f"{name}.json"


def drawn_from(scores: ScoreFrames, grid: pd.DataFrame, facts: RunFacts, *more: object) -> str:
    """The key of all that a run's figures are drawn from: scores, verdicts, facts, and the code and libraries that draw.

    Args:
        more: whatever else a figure shows, as JSON values.
    """
    parts = [_frame_sha256(scores.scores), _frame_sha256(grid), asdict(facts), list(more), _drawing_sha256()]
    return sha256_bytes(canonical_json(parts))


def _frame_sha256(frame: pd.DataFrame) -> str:
    import pandas as pd

    rows = pd.util.hash_pandas_object(frame, index=False).to_numpy()
    return sha256_bytes(canonical_json(list(map(str, frame.columns))) + rows.tobytes())


@cache
def _drawing_sha256() -> str:
    here = Path(__file__).parent
    files = [*sorted(here.rglob("*.py")), Path(taxonomy.__file__)]
    code = [[file.name, sha256_file(file)] for file in files]
    return sha256_bytes(canonical_json([code, {name: version(name) for name in LIBRARIES}]))
