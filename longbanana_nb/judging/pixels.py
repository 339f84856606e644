"""A look through pixels: what the vision tools find in one candidate, each thing computed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from longbanana_nb.files import canonical_json, sha256_bytes
from longbanana_nb.judging import texts
from longbanana_nb.judging.exemplars import CaseCache, Exemplar, Exemplars, Kind, exemplars, parsed
from longbanana_nb.judging.looks import Box, Entity, Lettering, Sighting
from longbanana_nb.vision import (
    colour,
    cutout,
    decoding,
    edges,
    finding,
    kinds,
    layout,
    lettering,
    matching,
    palette,
    searching,
    seeing,
    views,
)
from longbanana_nb.vision.lettering import Reading
from longbanana_nb.vision.poses import Pose

if TYPE_CHECKING:
    from longbanana_nb.judging.protocols import PictureFile

VERSION = "pixels-5"
# Edge score: surety of the kind. What is found at all is at least possible, since a thing half hidden scores no more than that.
SCORE_BOUNDS = ((0.0, 0.0), (finding.ACCEPT, 0.36), (0.60, 0.62), (0.85, 1.0), (1.0, 1.0))
OTHER_LOOKS = 0.25  # likeness of a thing to one of its kind in another colour or with other lettering
READABLE = 0.45
LABEL_CAPITALS = 0.7  # of a label's height: the most that its capitals take
SMALL, SMALL_DOUBT = 0.10, 0.12  # a thing smaller than this share of the picture must agree better: chance finds small shapes

_cases = CaseCache()


def versions() -> dict[str, str]:
    """Versions of every tool that takes part."""
    tools = (decoding, colour, cutout, edges, kinds, searching, views, matching, finding, seeing, lettering, layout, palette)
    named = {tool.__name__.rpartition(".")[2]: str(tool.VERSION) for tool in tools}
    return {**named, "pixels": VERSION, "ocr": lettering.engine_version()}


def exemplars_of(references: Sequence[PictureFile], probes: Sequence[Mapping[str, Any]]) -> Exemplars:
    """The exemplars of a case's probes; the last cases are kept in this process."""
    files = {reference.id: reference for reference in references}
    key = sha256_bytes(canonical_json([[r.id, r.sha256] for r in references] + [dict(probe) for probe in probes]))

    def read(reference_id: str) -> bytes | None:
        return files[reference_id].read() if reference_id in files else None

    return _cases.get(key, lambda: exemplars(parsed(probes), read))


class PixelLook:
    """What pixels say of one candidate. It is given bytes and exemplars, and knows nothing else."""

    def __init__(self, candidate: bytes, known: Exemplars) -> None:
        cv2.setNumThreads(1)
        self._pixels = decoding.decode(candidate, "candidate").pixels
        self._known = known
        self.size: tuple[int, int] = (int(self._pixels.shape[1]), int(self._pixels.shape[0]))
        self._seen: dict[int, tuple[str | None, float]] = {}
        self._read: dict[int, tuple[str, float]] = {}

    @cached_property
    def poses(self) -> list[Pose]:
        """Every instance of every kind of the case."""
        return self._known.finder.find(self._pixels)

    def find(self, entity: Entity) -> list[Sighting]:
        """All instances of the exemplar's kind, best first."""
        exemplar = self._known.of(entity)
        found = [
            self._sighting(n, pose, exemplar, entity.colour) for n, pose in enumerate(self.poses) if pose.kind == exemplar.kind
        ]
        return sorted(found, key=lambda sighting: (-sighting.likeness, -sighting.score))

    def lettering(self, box: Box | None) -> list[Lettering]:
        """All lettering, read once over the whole picture."""
        found = [Lettering(one.text, one.box, one.confidence) for one in self._readings]
        if box is None:
            return found
        return [one for one in found if layout.share_inside(_point(one.box), box) > 0]

    def palette(self, box: Box | None) -> dict[str, float]:
        """Shares of the backdrop by colour, things found left out."""
        return palette.backdrop_shares(self._pixels, [pose.box for pose in self.poses], box)

    @cached_property
    def _readings(self) -> list[Reading]:
        return lettering.read_picture(self._pixels)

    def _sighting(self, n: int, pose: Pose, exemplar: Exemplar, wanted: str | None) -> Sighting:
        w, h = self.size
        box = (max(0.0, pose.box[0] / w), max(0.0, pose.box[1] / h), min(1.0, pose.box[2] / w), min(1.0, pose.box[3] / h))
        name, lead = self._colour(n, pose)
        text, confidence = self._label(n, pose)
        score = pose.visible * surety(pose.score - (SMALL_DOUBT if pose.side < SMALL * max(w, h) else 0.0))
        same = self._has_looks(name, text, exemplar)
        shown = 1.0 if wanted is None else lead if name == wanted else (1.0 - lead) / 2
        return Sighting(box, score, name, shown, (text,) if text else (), (1.0 if same else OTHER_LOOKS) * score, confidence)

    def _colour(self, n: int, pose: Pose) -> tuple[str | None, float]:
        if n not in self._seen:
            kind = self._known.kinds[pose.kind]
            self._seen[n] = seeing.colour_of(seeing.aligned(self._pixels, kind.cutout, pose), kind.painted)
        return self._seen[n]

    def _label(self, n: int, pose: Pose) -> tuple[str, float]:
        """Text and confidence of what is lettered where the kind's label sits; ("", 0) where nothing can be read."""
        if n not in self._read:
            kind = self._known.kinds[pose.kind]
            text, confidence = self._read_anywhere(pose) if kind.label is None else self._read_label(kind, pose, kind.label)
            self._read[n] = (text, confidence) if confidence >= READABLE and len(text) > 1 else ("", 0.0)
        return self._read[n]

    def _read_label(self, kind: Kind, pose: Pose, label: Box) -> tuple[str, float]:
        """What the reading of the whole picture has at the label, else a reading of the label alone."""
        w, h = self.size
        place = seeing.label_place(kind.cutout, pose, label)
        if LABEL_CAPITALS * layout.height(place) < lettering.LEGIBLE_PX:
            return "", 0.0
        place = (place[0] / w, place[1] / h, place[2] / w, place[3] / h)
        text, confidence = self._largest_in(place, 0.5)
        if text:
            return text, confidence
        patch = seeing.label_patch(self._pixels, kind.cutout, pose, label)
        return lettering.read_labels([patch])[0] if seeing.is_lettered(patch) else ("", 0.0)

    def _read_anywhere(self, pose: Pose) -> tuple[str, float]:
        """What the reading of the whole picture has on a thing of which no exemplar shows where its label sits."""
        w, h = self.size
        return self._largest_in((pose.box[0] / w, pose.box[1] / h, pose.box[2] / w, pose.box[3] / h), 0.9)

    def _largest_in(self, place: Box, share: float) -> tuple[str, float]:
        there = [one for one in self._readings if layout.share_inside(one.box, place) > share]
        best = max(there, key=lambda one: layout.area(one.box), default=None)
        return ("", 0.0) if best is None else (best.text, best.confidence)

    @staticmethod
    def _has_looks(name: str | None, text: str, exemplar: Exemplar) -> bool:
        return name == exemplar.colour and texts.equal(text, exemplar.text) == 1.0


def surety(score: float) -> float:
    """How surely a pose's edge score (-1 to 1) means its kind, 0 to 1."""
    xs, ys = zip(*SCORE_BOUNDS, strict=True)
    return float(np.interp(score, xs, ys))


def _point(box: Box) -> Box:
    x, y = layout.centre(box)
    return x - 1e-6, y - 1e-6, x + 1e-6, y + 1e-6
