"""A few cases with every system's candidate as small pictures inside the page."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from longbanana_nb.errors import DataError
from longbanana_nb.reporting.shown import thumbnail
from longbanana_nb.taxonomy import SUITE_OF

if TYPE_CHECKING:
    from longbanana_nb.reporting.facts import ScoreFrames
    from longbanana_nb.runs import Run
    from longbanana_nb.runs.plan import PlannedCase

SIDE = 240  # pixels of the longer side


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """One candidate: its system, a `data:` picture or the outcome there is instead, and its score by the page's judge."""

    system: str
    picture: str | None
    outcome: str
    score: float | None


@dataclass(frozen=True, slots=True)
class CaseStrip:
    """One case with its candidates, in the order of the run's systems."""

    case_id: str
    category: str
    prompt: str
    candidates: tuple[Thumbnail, ...]


def case_strips(run: Run, scores: ScoreFrames, judge: str | None) -> list[CaseStrip]:
    """The first planned case of each suite, with the first sample of every system."""
    chosen: dict[str, PlannedCase] = {}
    for case in run.cases():
        chosen.setdefault(SUITE_OF[case.category], case)
    found = _case_scores(scores, judge)
    return [
        CaseStrip(
            case.case_id, case.category, case.prompt, tuple(_thumbnail(run, name, case.case_id, found) for name in run.systems)
        )
        for case in chosen.values()
    ]


def small_picture(path: Path) -> str | None:
    """A picture as a `data:` address of a small JPEG, upright and without any metadata; None where it cannot be decoded."""
    try:
        small = thumbnail(path, SIDE)
    except DataError:
        return None
    return f"data:image/jpeg;base64,{base64.b64encode(small).decode()}"


def _thumbnail(run: Run, system: str, case_id: str, found: dict[tuple[str, str], float]) -> Thumbnail:
    slot = run.candidate(system, case_id)
    record, image = slot.record(), slot.image
    picture = small_picture(image) if image is not None and image.is_file() else None
    outcome: str = "not generated" if record is None else record.outcome
    if outcome == "image" and picture is None:
        outcome = "the image cannot be decoded"
    return Thumbnail(system, picture, outcome, found.get((system, case_id)))


def _case_scores(scores: ScoreFrames, judge: str | None) -> dict[tuple[str, str], float]:
    frame = scores.scores
    frame = frame[(frame["judge"] == judge) & (frame["scope"] == "case") & frame["score"].notna()]
    return {
        (system, name): float(score) for system, name, score in zip(frame["system"], frame["name"], frame["score"], strict=True)
    }
