"""The exemplars of a case, prepared once: cut out, grouped by kind, with what is known of their colour and lettering."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import cv2
import numpy as np
import numpy.typing as npt

from longbanana_nb.judging import texts
from longbanana_nb.judging.looks import Box, Entity, Unanswerable
from longbanana_nb.release import probes as p
from longbanana_nb.vision import colour, kinds, lettering, seeing
from longbanana_nb.vision.cutout import Cutout, backdrop_distance, cut_out
from longbanana_nb.vision.decoding import decode
from longbanana_nb.vision.finding import Finder

Key = tuple[str, Box]
Mask = npt.NDArray[np.bool_]
CACHED_CASES = 1  # of about 150 MB each
NAMED_ALIKE = 0.40  # shape likeness from which an equal name settles that two exemplars are one kind
LEAST_APART = 0.25  # of a cut-out: where less differs from its backdrop, the thing has the backdrop's colour
LEAST_BACKDROP = 400  # pixels around a thing that tell its backdrop
NAMED_APART = 0.90  # shape likeness up to which different names settle that they are two


@dataclass(slots=True)
class Exemplar:
    """One exemplar: its cut-out, the number of its kind, and the looks the probes state of it (None: not stated)."""

    cutout: Cutout
    kind: int = -1
    colours: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    typical: float = 0.0  # mean shape likeness to its kind
    tilt: float = 0.0  # mean turn, in degrees, from it to the others of its kind, regardless of the side
    own_text: str | None = None  # as read from its label; None until it is read
    own_colour: tuple[str | None] | None = None  # the main hue of its painted part; None until it is looked at

    @property
    def colour(self) -> str | None:
        """Its colour: as stated, else the main hue of its painted part."""
        if len(self.colours) == 1:
            return next(iter(self.colours))
        if self.own_colour is None:
            self.own_colour = (seeing.colour_of(self.cutout.pixels, painted_part(self))[0],)
        return self.own_colour[0]

    @property
    def text(self) -> str:
        """Its lettering: as stated, else as read from its label, once; \"\" where it has none."""
        if len(self.texts) == 1:
            return next(iter(self.texts))
        if self.own_text is None:
            self.own_text = _read_own(self.cutout)
        return self.own_text


@dataclass(slots=True)
class Kind:
    """One kind: the cut-out it is searched by, the part of it that its colour names, and where its label sits."""

    cutout: Cutout
    painted: Mask
    label: tuple[float, float, float, float] | None  # in the cut-out's pixels


@dataclass(slots=True)
class Exemplars:
    """All exemplars of a case by (reference id, box), their kinds, and the finder of these kinds."""

    known: dict[Key, Exemplar]
    missing: dict[Key, str]
    kinds: list[Kind]
    finder: Finder

    def of(self, entity: Entity) -> Exemplar:
        """The entity's exemplar; Unanswerable where there is none to search by."""
        key = (entity.reference_id, entity.box)
        if key not in self.known:
            raise Unanswerable(self.missing.get(key, f"reference {entity.reference_id!r} is not there"))
        return self.known[key]


def exemplars(probes: Iterable[p.Probe], read: Callable[[str], bytes | None]) -> Exemplars:
    """Prepare the exemplars of some probes.

    Args:
        read: the bytes of a reference by its id, None if there is none.
    """
    stated = _stated(probes)
    pixels: dict[str, npt.NDArray[np.uint8] | None] = {}
    known: dict[Key, Exemplar] = {}
    missing: dict[Key, str] = {}
    for key, looks in stated.items():
        reference_id, box = key
        if reference_id not in pixels:
            data = read(reference_id)
            pixels[reference_id] = None if data is None else decode(data, f"reference {reference_id!r}").pixels
        picture = pixels[reference_id]
        cutout = None if picture is None else cut_out(picture, box)
        if cutout is None:
            missing[key] = f"reference {reference_id!r} {'is not there' if picture is None else 'shows nothing in that box'}"
            continue
        known[key] = Exemplar(cutout, -1, *looks)
    members = list(known.values())
    shapes, turns = kinds.shape_likeness([one.cutout for one in members])
    likeness = _with_names(shapes, members)
    for exemplar, number in zip(members, kinds.group(likeness), strict=True):
        exemplar.kind = number
    for n, exemplar in enumerate(members):
        others = [m for m, other in enumerate(members) if other.kind == exemplar.kind]
        exemplar.typical = float(likeness[n, others].mean())
        exemplar.tilt = abs(float(turns[n, others].mean()))
    made = [_kind([one for one in members if one.kind == n]) for n in range(1 + max((m.kind for m in members), default=-1))]
    return Exemplars(known, missing, made, Finder([kind.cutout for kind in made]))


def _stated(probes: Iterable[p.Probe]) -> dict[Key, tuple[set[str], set[str], set[str]]]:
    """Every exemplar with the colours, letterings and names that entities naming it ask for."""
    stated: dict[Key, tuple[set[str], set[str], set[str]]] = {}
    for probe in probes:
        for entity in p.entities(probe):
            colours, words, names = stated.setdefault((entity.reference_id, entity.box), (set(), set(), set()))
            names.add(entity.name)
            if entity.colour:
                colours.add(entity.colour)
            if entity.text:
                words.add(texts.normal(entity.text))
        for leaf in p.leaves(probe):
            if isinstance(leaf, p.SameAs):
                stated.setdefault((leaf.reference_id, leaf.box), (set(), set(), set()))[2].add(leaf.entity.name)
    return stated


def _read_own(cutout: Cutout) -> str:
    if not cutout.sticker.any():
        return ""
    ys, xs = np.nonzero(cutout.sticker)
    patch = cutout.pixels[ys.min() : ys.max() + 1, xs.min() : xs.max() + 1]
    return lettering.read_labels([cv2.resize(patch, None, fx=3, fy=3, interpolation=cv2.INTER_CUBIC)])[0][0]


def _with_names(likeness: npt.NDArray[np.float32], members: list[Exemplar]) -> npt.NDArray[np.float32]:
    """Shape likeness moved by names: one name makes one kind unless the shapes clearly differ, two names make two kinds."""
    for i, one in enumerate(members):
        for j, other in enumerate(members):
            if one.names & other.names and likeness[i, j] > NAMED_ALIKE:
                likeness[i, j] = max(likeness[i, j], 0.9)
            elif not one.names & other.names and likeness[i, j] < NAMED_APART:
                likeness[i, j] = min(likeness[i, j], 0.5)
    return likeness


def _filled(cutout: Cutout) -> float:
    """Share of the cut-out's picture that its object's box takes: less where a part of the object was missed."""
    x0, y0, x1, y1 = cutout.box
    return (x1 - x0) * (y1 - y0) / cutout.mask.size


def _oddness(one: Exemplar) -> float:
    """How badly an exemplar stands for its kind: lettered, unlike the others, tilted against them, or incomplete."""
    lettered = bool(one.cutout.sticker.any())
    return 0.03 * lettered + 0.008 * one.tilt - one.typical - 0.5 * _filled(one.cutout)


def _kind(members: list[Exemplar]) -> Kind:
    plain = sorted(members, key=_oddness)
    first = plain[0].cutout
    labels = [_label_box(one.cutout, first) for one in members if one.cutout.sticker.any()]
    label = None if not labels else tuple(float(v) for v in np.median(np.array(labels), axis=0))
    return Kind(first, painted_part(plain[0]), label)  # type: ignore[arg-type]


def painted_part(exemplar: Exemplar) -> Mask:
    """The part of a cut-out that its colour name speaks of: where it has the stated colour, else its main hue."""
    cutout = exemplar.cutout
    mask = cv2.erode(cutout.mask.astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool) & ~cutout.sticker
    apart = mask & ~_like_backdrop(cutout)
    mask = apart if apart.sum() > LEAST_APART * mask.sum() else mask
    names = colour.name_of(colour.to_lab(cutout.pixels))
    counts = np.bincount(names[mask], minlength=len(colour.NAMES))[: len(colour.HUES)]
    stated = [name for name in exemplar.colours if name in colour.HUES]
    best = max(stated or colour.HUES, key=lambda name: int(counts[colour.HUES.index(name)]))
    part: Mask = mask & (names == colour.HUES.index(best))
    return part if part.sum() > 0.04 * mask.sum() else mask


def _like_backdrop(cutout: Cutout) -> Mask:
    """Where a cut-out looks like its photo's backdrop: what is seen through a gap is no part of the thing."""
    rim = cv2.dilate(cutout.mask.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    if (~rim).sum() < LEAST_BACKDROP:
        return np.zeros_like(cutout.mask)
    distance = backdrop_distance(cutout.pixels, ~rim)
    like: Mask = distance < 3 * max(2.0, float(np.median(distance[~rim])))
    return like


def _label_box(cutout: Cutout, target: Cutout) -> tuple[float, float, float, float]:
    """The sticker's box carried from one cut-out's pixels to another's, by their objects' boxes."""
    ys, xs = np.nonzero(cutout.sticker)
    x0, y0, x1, y1 = cutout.box
    a0, b0, a1, b1 = target.box
    fx, fy = (a1 - a0) / (x1 - x0), (b1 - b0) / (y1 - y0)
    return (
        a0 + (float(xs.min()) - x0) * fx,
        b0 + (float(ys.min()) - y0) * fy,
        a0 + (float(xs.max()) + 1 - x0) * fx,
        b0 + (float(ys.max()) + 1 - y0) * fy,
    )


class CaseCache:
    """The last cases' exemplars in this process, by everything they are made of."""

    def __init__(self, size: int = CACHED_CASES) -> None:
        self._size = size
        self._kept: OrderedDict[str, Exemplars] = OrderedDict()

    def get(self, key: str, make: Callable[[], Exemplars]) -> Exemplars:
        """The exemplars kept under `key`, made if they are not."""
        if key not in self._kept:
            while len(self._kept) >= self._size:
                self._kept.popitem(last=False)
            self._kept[key] = make()
        self._kept.move_to_end(key)
        return self._kept[key]


def parsed(probes: Iterable[Mapping[str, object]]) -> list[p.Probe]:
    """Probes as typed trees."""
    from longbanana_nb.release import parse_probe

    return [parse_probe(probe, "probe") for probe in probes]
