"""Making one case: its prompt, its graph and its pictures, all from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from longbanana_nb.demo.brief import BACKGROUND_PICTURE, PALETTE_CARD, REGIONS, Brief, Order, Region, Relation, render
from longbanana_nb.demo.colours import COLOURS
from longbanana_nb.demo.layout_plan import arrange
from longbanana_nb.demo.modes import MODES, more_misleading
from longbanana_nb.demo.plot import Photo, Plot, Seen
from longbanana_nb.demo.recipes import RECIPES, Recipe
from longbanana_nb.demo.render import photograph
from longbanana_nb.demo.shots import backdrop_shot, shot_of, tint_of
from longbanana_nb.taxonomy import CATEGORIES

REFERENCES = 32
LEAST_MISLEADING = 8
BACKGROUND_ID = "background"
PALETTE_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class MadeCase:
    """One case: task text, graph (`lb.graph.v1`) and JPEG bytes by reference id (and `BACKGROUND_ID`)."""

    case_id: str
    category: str
    prompt: str
    graph: dict[str, Any]
    pictures: dict[str, bytes]


def make_case(category: str, number: int, seed: int) -> MadeCase:
    """Case `number` (from 1) of a category; the same for the same arguments."""
    rng = np.random.default_rng([seed, CATEGORIES.index(category), number])
    recipe = RECIPES[category]
    backdrop = list(COLOURS)[int(rng.integers(len(COLOURS)))]
    plot = Plot(category, backdrop, rng)
    for mode in recipe.modes:
        MODES[mode](plot)
    source = recipe.backdrops[(number - 1) % len(recipe.backdrops)]
    _fill(plot, source)
    relations, regions, orders = arrange(plot, recipe)
    brief = _brief(plot, recipe, source, (relations, regions, orders), number)
    case_id = f"{category.lower()}_{number:02d}"
    pictures, references = _photographed(plot, recipe)
    graph = _graph(plot, brief, references, case_id)
    if source == "picture":
        pictures = {BACKGROUND_ID: photograph(backdrop_shot(backdrop, rng)).jpeg, **pictures}
        graph["background"] = {"colour": backdrop}
        graph["references"].append({"id": BACKGROUND_ID, "role": "background", "mark": None, "shows": [], "backdrop": backdrop})
    return MadeCase(case_id, category, render(brief), graph, pictures)


def _fill(plot: Plot, source: str) -> None:
    """Second looks, further hard negatives, the palette card, and strays, up to the number of references."""
    if source == "card":
        plot.photos.append(Photo("card", card=plot.backdrop))
    singles = [member for member in plot.members if member.named_by in ("colour", "text", "plain") and not member.thing.colour_of]
    for place in plot.rng.permutation(len(singles))[:3]:
        plot.show(singles[place])
    targets = [member for member in plot.members if member.named_by in ("colour", "text", "beside", "tally")]
    turns = 0
    while sum(photo.role == "hard_negative" for photo in plot.photos) < LEAST_MISLEADING:
        member = targets[turns % len(targets)]
        if len(set(plot.colours_of(member.kind))) < len(COLOURS) - 1:
            more_misleading(plot, member)
        turns += 1
    while len(plot.photos) < REFERENCES:
        lettered = plot.rng.random() < 0.2 and len(plot.words) > 2
        stray = Seen(None, plot.new_kind(lettered=lettered), plot.colour(), plot.new_word() if lettered else None)
        pair = [Seen(None, plot.new_kind(), plot.colour(stray.colour))] if plot.rng.random() < 0.25 else []
        plot.photos.append(Photo("stray", [stray, *pair]))


def _photographed(plot: Plot, recipe: Recipe) -> tuple[dict[str, bytes], list[dict[str, Any]]]:
    """Shuffle the pictures, take them, and say what each shows where."""
    pictures, references = {}, []
    for n, place in enumerate(plot.rng.permutation(len(plot.photos)), start=1):
        photo, reference_id = plot.photos[place], f"ref_{n:02d}"
        shot = shot_of(photo, plot.rng, tint_of(plot.rng) if recipe.tinted else None)
        taken = photograph(shot)
        pictures[reference_id] = taken.jpeg
        shows = [
            {"node": seen.node, "kind": seen.kind, "colour": seen.colour, "text": seen.text, "box": [round(v, 4) for v in box]}
            for seen, box in zip(photo.objects, taken.boxes, strict=True)
        ]
        backdrop = shot.backdrop if shot.backdrop in COLOURS else None
        card = {"card": photo.card} if photo.card else {}
        references.append(
            {"id": reference_id, "role": photo.role, "mark": photo.mark, "shows": shows, "backdrop": backdrop, **card}
        )
    return pictures, references


def _brief(
    plot: Plot, recipe: Recipe, source: str, places: tuple[list[Relation], list[Region], list[Order]], number: int
) -> Brief:
    relations, regions, orders = places
    backdrop = {"colour": plot.backdrop, "card": PALETTE_CARD, "picture": BACKGROUND_PICTURE}[source]
    title = recipe.titles[(number - 1) % len(recipe.titles)]
    things = tuple(member.thing for member in plot.members)
    return Brief(title, things, tuple(relations), tuple(regions), tuple(orders), backdrop, True, True)


def _graph(plot: Plot, brief: Brief, references: list[dict[str, Any]], case_id: str) -> dict[str, Any]:
    nodes = [_node(plot, place) for place in range(len(plot.members))]
    nodes += [
        {**_blank(), "id": f"d{member.id}", "kind": member.thing.colour_of.kind, "colour": member.colour}
        for member in plot.members
        if member.thing.colour_of
    ]
    nodes += [{**_blank(), **wrong} for wrong in plot.wrong]
    for node in nodes:
        node["evidence"] = [
            {"reference_id": reference["id"], "box": shown["box"]}
            for reference in references
            for shown in reference["shows"]
            if shown["node"] == node["id"] or (node["colour_of"] and shown["kind"] == node["kind"])
        ]
    ids = [member.id for member in plot.members]
    edges = [
        {"id": f"e{n:02d}", "relation": one.relation, "a": ids[one.a], "b": ids[one.b]}
        for n, one in enumerate(brief.relations, start=1)
    ]
    return {
        "schema": "lb.graph.v1",
        "case_id": case_id,
        "category": plot.category,
        "nodes": nodes,
        "edges": edges,
        "constraints": _constraints(plot, brief, ids),
        "references": references,
        "background": None,
    }


def _constraints(plot: Plot, brief: Brief, ids: list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    found += [
        {"kind": "region", "node": ids[region.thing], "within": list(REGIONS[region.words]), "words": region.words}
        for region in brief.regions
    ]
    found += [{"kind": "order", "nodes": [ids[place] for place in one.things], "along": one.along} for one in brief.orders]
    found.append({"kind": "palette", "colour": plot.backdrop, "share": PALETTE_SHARE})
    many = [member for member in plot.members if member.count > 1]
    if len(many) > 1:
        found.append({"kind": "total", "kinds": [one.kind for one in many], "equals": sum(one.count for one in many)})
    found.append({"kind": "only"})
    found.append({"kind": "lettering", "texts": sorted({member.text for member in plot.members if member.text})})
    return [{"id": f"g{n:02d}", **one} for n, one in enumerate(found, start=1)]


def _blank() -> dict[str, Any]:
    blank: dict[str, Any] = dict.fromkeys(("text", "day", "beside", "colour_of", "against", "differs_in"))
    return {**blank, "count": 1, "required": False, "named_by": "plain"}


def _node(plot: Plot, place: int) -> dict[str, Any]:
    member = plot.members[place]
    thing = member.thing
    node = {**_blank(), "id": member.id, "kind": member.kind, "colour": member.colour, "text": member.text}
    node |= {"count": member.count, "required": True, "named_by": member.named_by, "day": thing.day, "beside": thing.beside}
    node["colour_of"] = f"d{member.id}" if thing.colour_of else None
    return node
