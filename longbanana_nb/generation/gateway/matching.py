"""Which picture of the case one is that an agent sent to its model: by its bytes, by its pixels, or by what it looks like."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation.gateway.contracts import SeenPicture
from longbanana_nb.generation.images import NotAPictureError, examine, upright
from longbanana_nb.generation.inventory import reference_bytes

if TYPE_CHECKING:
    import numpy as np
    from PIL import Image

    from longbanana_nb.generation.drawing import DrawingBoard
    from longbanana_nb.release import Case

EDGE = 48  # pixels a side of what is compared
ALIKE = 6.0  # mean difference of a channel (0 to 255) up to which two pictures are taken for one, scaled or compressed anew
APART = 1.5  # the next best must differ this many times as much, and by a tenth more, else it is not said which it is
SHAPE = 0.04  # relative difference of the edges' ratio that rounding to whole pixels explains


@dataclass(frozen=True, slots=True)
class _Known:
    """A picture of the case, made small; `is_drawn` where it is no reference."""

    id: str
    is_drawn: bool
    width: int
    height: int
    pixel_sha256: str
    pixels: np.ndarray


class Matcher:
    """Names pictures of one case. Each is decoded once; used from threads, one at a time."""

    def __init__(self, case: Case, board: DrawingBoard) -> None:
        self._case, self._board = case, board
        self._references = {reference.sha256: reference.id for reference in case.inputs}
        self._seen: dict[str, SeenPicture] = {}
        self._made = 0  # pictures drawn and cut when "unknown" was last decided
        self._known: dict[str, _Known] = {}
        self._lock = threading.Lock()

    def match(self, data: bytes) -> SeenPicture:
        """What a picture is. "unknown" is decided anew each time something was drawn or cut since."""
        digest = sha256_bytes(data)
        with self._lock:
            self._forget_unknown()
            found = self._seen.get(digest)
            if found is None:
                found = self._seen[digest] = self._look(digest, data)
            return found

    def _forget_unknown(self) -> None:
        made = len(self._board.draft.steps) + len(self._board.origins.crops)
        if made != self._made:
            self._seen = {digest: seen for digest, seen in self._seen.items() if seen.match != "unknown"}
            self._made = made

    def _look(self, digest: str, data: bytes) -> SeenPicture:
        try:
            picture = upright(data)
        except NotAPictureError:
            return SeenPicture(digest, "unknown", None, 0, 0)
        width, height = picture.size
        if digest in self._references:
            return SeenPicture(digest, "exact", self._references[digest], width, height)
        step = next((one for one in self._board.draft.steps if one.sha256 == digest), None)
        if step is not None:
            return SeenPicture(digest, "picture", f"picture_{step.n}", width, height)
        if digest in self._board.origins.crops:
            source, _ = self._board.origins.crops[digest]
            return SeenPicture(digest, "crop", self._references[source], width, height)
        return self._alike(digest, picture, data)

    def _alike(self, digest: str, picture: Image.Image, data: bytes) -> SeenPicture:
        """The one picture of the case that looks the same, if there is exactly one."""
        import numpy as np

        width, height = picture.size
        shown = _small(picture)
        near = [known for known in self._all() if abs(known.width * height / (known.height * width) - 1) <= SHAPE]
        distances = sorted((float(np.abs(known.pixels - shown).mean()), n) for n, known in enumerate(near))
        if not distances or distances[0][0] > ALIKE:
            return SeenPicture(digest, "unknown", None, width, height)
        if len(distances) > 1 and distances[1][0] < APART * distances[0][0] + 0.1:
            return SeenPicture(digest, "unknown", None, width, height)
        best = near[distances[0][1]]
        if best.is_drawn:
            return SeenPicture(digest, "picture", best.id, width, height)
        same = (best.width, best.height) == (width, height) and best.pixel_sha256 == examine(data, least_edge=1).pixel_sha256
        return SeenPicture(digest, "same_pixels" if same else "resized", best.id, width, height)

    def _all(self) -> list[_Known]:
        for reference in self._case.inputs:
            if reference.sha256 not in self._known:
                self._known[reference.sha256] = _known(reference.id, reference_bytes(reference), is_drawn=False)
        for step in self._board.draft.steps:
            if step.sha256 not in self._known:
                self._known[step.sha256] = _known(f"picture_{step.n}", step.image, is_drawn=True)
        return list(self._known.values())


def _known(name: str, data: bytes, *, is_drawn: bool) -> _Known:
    picture = upright(data)
    return _Known(name, is_drawn, picture.width, picture.height, examine(data, least_edge=1).pixel_sha256, _small(picture))


def _small(picture: Image.Image) -> np.ndarray:
    """The picture as a small square on white, as numbers from 0 to 255."""
    import numpy as np
    from PIL import Image

    flat = picture.convert("RGBA")
    ground = Image.new("RGBA", flat.size, "white")
    ground.alpha_composite(flat)
    return np.asarray(ground.convert("RGB").resize((EDGE, EDGE), Image.Resampling.BOX), dtype=np.float32)
