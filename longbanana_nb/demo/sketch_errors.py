"""How the sketch errs: what can go wrong, how often in each strength, and how that grows with what it is given and asked."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

ERRORS_VERSION = "errors-2"


@dataclass(frozen=True, slots=True)
class Rates:
    """Chance of each error, before load, in one drawing call.

    `omit`: an object whose picture was given is left out. `miscount`: a group gets one too many or too few. `swap`: an
    object takes another object's colour. `misletter`: a label is written with one letter wrong. `distract`: something seen
    and not asked for is let in (per given image). `slip`: an object stands elsewhere, so that a demand on its place is lost.
    `backdrop`: the backdrop takes another colour. `melt`: an object is drawn beyond recognition. `forget`: an object of the
    carried picture is lost. `lookalike`: where only a look-alike is given (other colour or lettering), it is taken for the thing.
    """

    omit: float
    miscount: float
    swap: float
    misletter: float
    distract: float
    slip: float
    backdrop: float
    melt: float
    forget: float
    lookalike: float


STRENGTHS: Mapping[str, Rates] = MappingProxyType(
    {
        "weak": Rates(0.25, 0.42, 0.22, 0.38, 0.16, 0.34, 0.30, 0.13, 0.16, 0.75),
        "medium": Rates(0.12, 0.24, 0.11, 0.22, 0.075, 0.15, 0.16, 0.06, 0.075, 0.55),
        "strong": Rates(0.05, 0.12, 0.05, 0.10, 0.03, 0.07, 0.06, 0.02, 0.03, 0.30),
    }
)
"""Base rates by strength; `docs/demo.md` prints this table and a test holds it to this one."""

IMAGES_FREE, PER_IMAGE = 3, 0.07
OBJECTS_FREE, PER_OBJECT = 4, 0.04
MOST = 0.92


def load_factor(images: int, objects: int) -> float:
    """What all rates are multiplied by: 1 up to 3 images and 4 objects, 7 % more for each further image, 4 % for each object."""
    return 1.0 + PER_IMAGE * max(0, images - IMAGES_FREE) + PER_OBJECT * max(0, objects - OBJECTS_FREE)


class Dice:
    """The chances of one drawing call; every question is answered by its own name, so one error does not move another."""

    def __init__(self, strength: str, load: float, parts: Iterable[str]) -> None:
        """Take a strength, a load factor, and what the call is made of (seed, prompt, hashes)."""
        self._rates = {each.name: float(getattr(STRENGTHS[strength], each.name)) for each in fields(Rates)}
        self._load = load
        self._root = "\n".join(parts)

    def strikes(self, error: str, subject: str) -> bool:
        """Whether an error happens to a subject in this call."""
        return self.source(error, subject).random() < min(MOST, self._rates[error] * self._load)

    def source(self, *names: str) -> random.Random:
        """A random source of its own for a question."""
        digest = hashlib.sha256("\n".join((self._root, *names)).encode()).digest()
        return random.Random(int.from_bytes(digest[:16], "big"))
