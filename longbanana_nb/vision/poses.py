"""A kind at a place of a picture."""

from __future__ import annotations

from dataclasses import dataclass

from longbanana_nb.vision.layout import Box


@dataclass(frozen=True, slots=True)
class Pose:
    """A kind at a place: kind number, score (-1 to 1), centre and longer side in pixels of the picture, angle in degrees.

    `box` is the silhouette's box in pixels of the picture; `visible` the share of its surface that is not behind others.
    """

    kind: int
    score: float
    centre: tuple[float, float]
    side: float
    angle: float
    box: Box
    visible: float = 1.0
