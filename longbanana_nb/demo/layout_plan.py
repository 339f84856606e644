"""Demands on places that can all be met at once: read off a hidden arrangement on a grid, then told in part."""

from __future__ import annotations

from itertools import combinations

from longbanana_nb.demo.brief import Order, Region, Relation
from longbanana_nb.demo.plot import CELLS, Plot
from longbanana_nb.demo.recipes import Recipe

CORNERS = {(0, 0): "top left", (3, 0): "top right", (0, 2): "bottom left", (3, 2): "bottom right"}


def arrange(plot: Plot, recipe: Recipe) -> tuple[list[Relation], list[Region], list[Order]]:
    """Give every member a cell of the hidden grid, and choose relations, regions and orders that hold there."""
    cells = plot.rng.permutation(len(CELLS))
    for member, cell in zip(plot.members, cells, strict=False):
        member.cell = CELLS[cell]
    rigid, bound = _rigid(plot, recipe.rigid)
    regions = _regions(plot, recipe.regions, bound)
    orders = [order for along, length in zip("xy", recipe.orders, strict=True) if (order := _order(plot, along, length, bound))]
    return rigid + _relations(plot, recipe.relations), regions, orders


def _rigid(plot: Plot, wanted: int) -> tuple[list[Relation], set[int]]:
    """Pairs that touch: one on another, or two overlapping; the upper or right one moves next to its partner."""
    single = [place for place, member in enumerate(plot.members) if member.count == 1 and not member.text]
    chosen: list[Relation] = []
    used: set[int] = set()
    for name in ("on", "overlaps")[:wanted]:
        free = [place for place in single if place not in used]
        if len(free) < 2:
            break
        a, b = (free[place] for place in plot.rng.permutation(len(free))[:2])
        chosen.append(Relation(a, name, b))
        plot.members[a].cell = plot.members[b].cell
        used |= {a, b}
    return chosen, used


def _regions(plot: Plot, wanted: int, bound: set[int]) -> list[Region]:
    """Corners first, then edges, for members that touch no other."""
    found = []
    for place, member in enumerate(plot.members):
        column, row = member.cell
        if place in bound or member.count > 2:
            continue
        words = CORNERS.get((column, row))
        words = words or {0: "left", 3: "right"}.get(column) or {0: "top", 2: "bottom"}.get(row) or "centre"
        found.append(Region(place, words))
    order = plot.rng.permutation(len(found))
    return [found[n] for n in sorted(order[:wanted])]


def _order(plot: Plot, along: str, length: int, bound: set[int]) -> Order | None:
    """Members of distinct columns (or rows), in their order."""
    if not length:
        return None
    axis = "xy".index(along)
    by_line: dict[int, int] = {}
    for place in plot.rng.permutation(len(plot.members)):
        if place not in bound:
            by_line.setdefault(plot.members[place].cell[axis], int(place))
    places = tuple(by_line[line] for line in sorted(by_line))[:length]
    return Order(along, places) if len(places) >= 2 else None


def _relations(plot: Plot, wanted: int) -> list[Relation]:
    """Side and height relations between members whose cells differ clearly along one axis and little along the other."""
    options = []
    for a, b in combinations(range(len(plot.members)), 2):
        (ax, ay), (bx, by) = plot.members[a].cell, plot.members[b].cell
        if abs(ax - bx) >= 1 and abs(ax - bx) >= abs(ay - by):
            options.append(Relation(a, "left_of" if ax < bx else "right_of", b))
        elif abs(ay - by) >= 1:
            options.append(Relation(a, "above" if ay < by else "below", b))
    order = plot.rng.permutation(len(options))
    return [options[n] for n in order[:wanted]]
