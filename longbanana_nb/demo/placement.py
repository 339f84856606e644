"""Where everything asked for stands: one layout solved from the whole brief, the same in every call that carries that brief."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Box = tuple[float, float, float, float]
Array = NDArray[np.float64]

STARTS, STEPS, SHRINKS = 32, 220, 6
GAP = 0.018
EDGE = 0.03
RIGID = ("inside", "on", "overlaps")
# The middle of a region, well inside the third that its words name, so that a picture read with a small error still obeys.
REGIONS: dict[str, Box] = {
    "top left": (0.0, 0.0, 0.30, 0.30),
    "top right": (0.70, 0.0, 1.0, 0.30),
    "bottom left": (0.0, 0.70, 0.30, 1.0),
    "bottom right": (0.70, 0.70, 1.0, 1.0),
    "top": (0.0, 0.0, 1.0, 0.28),
    "bottom": (0.0, 0.72, 1.0, 1.0),
    "left": (0.0, 0.0, 0.28, 1.0),
    "right": (0.72, 0.0, 1.0, 1.0),
    "centre": (0.40, 0.40, 0.60, 0.60),
}


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing to place: its key, how many of it, and the width of one divided by its height."""

    key: str
    count: int = 1
    aspect: float = 1.0


@dataclass(frozen=True, slots=True)
class Layout:
    """A placing problem: pieces, relations (kind, a, b), regions (key, words), orders (axis 0 or 1, keys)."""

    pieces: tuple[Piece, ...]
    relations: tuple[tuple[str, str, str], ...] = ()
    regions: tuple[tuple[str, str], ...] = ()
    orders: tuple[tuple[int, tuple[str, ...]], ...] = ()


@dataclass(slots=True)
class _Body:
    """What moves as one: a root piece and the pieces that stand in, on or over it, as offsets from the root's centre."""

    offsets: dict[str, Array]
    sizes: dict[str, Array]
    low: Array
    high: Array


@lru_cache(maxsize=256)
def place(layout: Layout) -> dict[str, tuple[Box, ...]]:
    """Boxes for every member of every piece, as fractions of the picture, by key.

    The solution depends on the layout alone. Pieces shrink together until nothing overlaps that need not; a layout that cannot be
    satisfied gets the arrangement with the least violation. Members of a piece stand in rows inside the piece's own box.
    """
    if not layout.pieces:
        return {}
    seed = int.from_bytes(hashlib.sha256(repr(layout).encode()).digest()[:8], "big")
    side = _side(layout)
    best: tuple[float, dict[str, tuple[Box, ...]]] | None = None
    for attempt in range(SHRINKS):
        bodies, owner = _bodies(layout, side)
        centres, loss = _descend(layout, bodies, owner, np.random.default_rng([seed, attempt]))
        if best is None or loss < best[0]:
            best = (loss, _boxes(layout, bodies, owner, centres))
        if loss < 2e-4:
            break
        side *= 0.93
    assert best is not None  # noqa: S101 - the loop ran at least once
    return best[1]


def member_boxes(box: Box, count: int, aspect: float) -> tuple[Box, ...]:
    """Boxes of `count` equal members in rows inside `box`, each of the given aspect, standing on its row's floor."""
    columns, rows = grid(count, aspect)
    cell_w, cell_h = (box[2] - box[0]) / columns, (box[3] - box[1]) / rows
    width = min(cell_w * 0.94, cell_h * 0.94 * aspect)
    height = width / aspect
    boxes = []
    for n in range(count):
        row, column = divmod(n, columns)
        in_row = min(columns, count - row * columns)
        middle = box[0] + (box[2] - box[0]) / 2 + (column - (in_row - 1) / 2) * cell_w
        floor = box[1] + (row + 1) * cell_h - 0.03 * cell_h
        boxes.append((middle - width / 2, floor - height, middle + width / 2, floor))
    return tuple(boxes)


def grid(count: int, aspect: float) -> tuple[int, int]:
    """Columns and rows that make a group of equal members as square as can be."""
    columns = min(range(1, count + 1), key=lambda c: (abs(math.log(c * aspect / math.ceil(count / c))), c))
    return columns, math.ceil(count / columns)


def _side(layout: Layout) -> float:
    """The nominal side of a single piece, by how many pieces share the picture (groups count for more)."""
    weight = sum(1.0 if piece.count == 1 else 1.0 + 0.45 * (piece.count - 1) for piece in layout.pieces)
    return float(np.clip(0.66 / math.sqrt(max(weight, 1.0)), 0.15, 0.28))


def _sizes(piece: Piece, side: float) -> Array:
    """Width and height of a piece's own box."""
    aspect = float(np.clip(piece.aspect, 0.4, 2.5))
    columns, rows = grid(piece.count, aspect)
    shrink = 1.0 if piece.count == 1 else 0.84
    return np.array([side * math.sqrt(aspect) * columns, side / math.sqrt(aspect) * rows]) * shrink


def _bodies(layout: Layout, side: float) -> tuple[list[_Body], dict[str, int]]:
    sizes = {piece.key: _sizes(piece, side) for piece in layout.pieces}
    parents: dict[str, tuple[str, str]] = {}
    for relation, a, b in layout.relations:
        if relation in RIGID and a in sizes and b in sizes and a not in parents and not _descends(b, a, parents):
            parents[a] = (relation, b)
    for relation, b in {(kind, b) for kind, b in parents.values()}:
        if relation == "inside":
            sizes[b] = sizes[b] * 1.35
    offsets: dict[str, Array] = {}
    roots: dict[str, str] = {}
    for piece in layout.pieces:
        _settle(piece.key, parents, sizes, offsets, roots)
    bodies: list[_Body] = []
    owner: dict[str, int] = {}
    for root in dict.fromkeys(roots[piece.key] for piece in layout.pieces):
        members = [key for key in sizes if roots[key] == root]
        low = np.min([offsets[key] - sizes[key] / 2 for key in members], axis=0)
        high = np.max([offsets[key] + sizes[key] / 2 for key in members], axis=0)
        owner.update(dict.fromkeys(members, len(bodies)))
        bodies.append(_Body({key: offsets[key] for key in members}, {key: sizes[key] for key in members}, low, high))
    return bodies, owner


def _descends(key: str, ancestor: str, parents: dict[str, tuple[str, str]]) -> bool:
    while key in parents:
        key = parents[key][1]
        if key == ancestor:
            return True
    return key == ancestor


def _settle(
    key: str, parents: dict[str, tuple[str, str]], sizes: dict[str, Array], offsets: dict[str, Array], roots: dict[str, str]
) -> None:
    """Work out a piece's root and its offset from the root's centre, parents first; dependents inside another shrink to fit."""
    if key in offsets:
        return
    if key not in parents:
        offsets[key], roots[key] = np.zeros(2), key
        return
    relation, parent = parents[key]
    _settle(parent, parents, sizes, offsets, roots)
    own, host = sizes[key], sizes[parent]
    if relation == "inside":
        own = sizes[key] = own * float(np.min(np.array([0.58, 0.52]) * host / own))
        step = np.array([0.0, host[1] * 0.16])
    elif relation == "on":
        own = sizes[key] = own * min(1.0, float(1.25 * host[0] / own[0]))
        step = np.array([0.0, -(host[1] + own[1]) / 2 + 0.06 * host[1]])
    else:
        step = np.array([(own[0] + host[0]) / 2 * 0.62, (own[1] + host[1]) / 2 * 0.28])
    offsets[key], roots[key] = offsets[parent] + step, roots[parent]


def _descend(layout: Layout, bodies: list[_Body], owner: dict[str, int], rng: np.random.Generator) -> tuple[Array, float]:
    """Gradient descent on hinge penalties from many starts at once; returns the best start's centres (bodies x 2) and loss."""
    low = np.array([body.low for body in bodies])
    high = np.array([body.high for body in bodies])
    terms = _linear_terms(layout, bodies, owner)
    centres = rng.uniform(0.15, 0.85, (STARTS, len(bodies), 2))
    velocity = np.zeros_like(centres)
    for step in range(STEPS):
        gradient, _ = _penalty(centres, low, high, terms)
        velocity = 0.8 * velocity - 0.11 * gradient
        centres = centres + velocity * (1.0 if step < STEPS * 0.8 else 0.5)
        centres = np.clip(centres, EDGE - low, np.maximum(1 - EDGE - high, EDGE - low))
    _, losses = _penalty(centres, low, high, terms)
    winner = int(np.argmin(losses))
    return centres[winner], float(losses[winner])


Term = tuple[float, int, int, int, float, float]  # weight, axis, body a, body b (-1: the picture), offset, least distance


def _linear_terms(layout: Layout, bodies: list[_Body], owner: dict[str, int]) -> list[Term]:
    """Each directional demand as: coordinate of b minus coordinate of a, plus an offset, is at least a distance."""

    def offset(key: str, axis: int) -> float:
        return float(bodies[owner[key]].offsets[key][axis])

    def size(key: str, axis: int) -> float:
        return float(bodies[owner[key]].sizes[key][axis])

    terms: list[Term] = []
    for relation, a, b in layout.relations:
        if relation in RIGID or a not in owner or b not in owner or owner[a] == owner[b]:
            continue
        axis = 0 if relation in ("left_of", "right_of") else 1
        first, second = (a, b) if relation in ("left_of", "above") else (b, a)
        apart = (size(a, axis) + size(b, axis)) / 2 + GAP
        shift = offset(second, axis) - offset(first, axis)
        terms.append((2.0, axis, owner[first], owner[second], shift, apart))
    for axis, keys in layout.orders:
        present = [key for key in keys if key in owner]
        for first, second in pairwise(present):
            shift = offset(second, axis) - offset(first, axis)
            terms.append((2.0, axis, owner[first], owner[second], shift, 0.11))
    for key, words in layout.regions:
        if key in owner and words in REGIONS:
            box = REGIONS[words]
            for axis in (0, 1):
                terms.append((2.0, axis, -1, owner[key], offset(key, axis), box[axis]))
                terms.append((2.0, axis, owner[key], -1, -offset(key, axis), -box[axis + 2]))
    return terms


def _penalty(centres: Array, low: Array, high: Array, terms: list[Term]) -> tuple[Array, Array]:
    """Gradient (starts x bodies x 2) and loss (starts) of all hinge penalties."""
    gradient = np.zeros_like(centres)
    middle = centres + (low + high) / 2
    half = (high - low) / 2
    delta = middle[:, :, None] - middle[:, None]
    depth = (half[:, None] + half[None]) + GAP - np.abs(delta)
    both = np.asarray((depth > 0).all(axis=-1), np.bool_)
    both[:, np.arange(len(low)), np.arange(len(low))] = False
    shallow = depth[..., 0] <= depth[..., 1]
    push = np.stack([np.where(both & shallow, depth[..., 0], 0), np.where(both & ~shallow, depth[..., 1], 0)], axis=-1)
    gradient -= (push * np.where(delta >= 0, 1.0, -1.0)).sum(axis=2)
    loss = 0.5 * (push**2).sum(axis=(1, 2, 3))
    for weight, axis, a, b, shift, least in terms:
        start = centres[:, a, axis] if a >= 0 else 0.0
        end = centres[:, b, axis] if b >= 0 else 0.0
        lack = np.maximum(least - (end - start + shift), 0.0)
        loss = loss + weight * lack**2
        if a >= 0:
            gradient[:, a, axis] += weight * lack
        if b >= 0:
            gradient[:, b, axis] -= weight * lack
    return gradient, loss


def _boxes(layout: Layout, bodies: list[_Body], owner: dict[str, int], centres: Array) -> dict[str, tuple[Box, ...]]:
    boxes = {}
    for piece in layout.pieces:
        body = bodies[owner[piece.key]]
        middle, size = centres[owner[piece.key]] + body.offsets[piece.key], body.sizes[piece.key]
        box = (*(middle - size / 2).tolist(), *(middle + size / 2).tolist())
        boxes[piece.key] = member_boxes((box[0], box[1], box[2], box[3]), piece.count, float(np.clip(piece.aspect, 0.4, 2.5)))
    return boxes
