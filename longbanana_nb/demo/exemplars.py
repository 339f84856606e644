"""What the references of a graph show of each node: exemplars for probes, bindings for checks, names for questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longbanana_nb.release.probes import COLOURS

Node = Mapping[str, Any]
Entity = dict[str, Any]


class Exemplars:
    """Looks up, for the nodes of one valid graph, where they are pictured and how they are told apart."""

    def __init__(self, graph: Mapping[str, Any]) -> None:
        self.nodes: dict[str, Node] = {node["id"]: node for node in graph["nodes"]}
        self.references: list[Mapping[str, Any]] = list(graph["references"])
        givers = {node["colour_of"] for node in graph["nodes"] if node.get("colour_of")}
        self.required = [node for node in graph["nodes"] if node.get("required")]
        self.misleading = [node for node in graph["nodes"] if node.get("against") and not node.get("required")]
        kinds = {node["kind"] for node in self.required}
        self.donors = [node for node in graph["nodes"] if node["id"] in givers and node["kind"] not in kinds]

    # -- names ---------------------------------------------------------------------------------------------------------------

    @staticmethod
    def a_or_an(name: str) -> str:
        """The name with its indefinite article."""
        return f"{'an' if name[0] in 'aeio' or name.startswith('umb') else 'a'} {name}"

    def called(self, node: Node) -> str:
        """How questions name a required node: its kind, with colour or lettering where two share a kind or the prompt says it."""
        if node.get("text"):
            return f'{node["kind"]} lettered "{node["text"]}"'
        if node.get("named_by") == "colour" and node.get("colour"):
            return f"{node['colour']} {node['kind']}"
        return str(node["kind"])

    def is_alone(self, node: Node) -> bool:
        """Whether no other required node has the same kind."""
        return bool(sum(other["kind"] == node["kind"] for other in self.required) == 1)

    # -- entities ------------------------------------------------------------------------------------------------------------

    def entity(self, node: Node, *, bare: bool = False) -> Entity:
        """The probe entity of a node: its kind by exemplar, with lettering or colour only where another node shares the kind."""
        entity: Entity = {"name": node["kind"], "exemplar": self.best(node)}
        if bare or self.is_alone(node):
            return entity
        if node.get("text"):
            return {**entity, "text": node["text"]}
        return {**entity, "colour": node["colour"]} if node.get("colour") else entity

    def best(self, node: Node) -> dict[str, Any]:
        """The evidence that shows a node alone and large, as {reference_id, box}."""
        crowd = {reference["id"]: len(reference.get("shows", ())) for reference in self.references}
        seen = min(node["evidence"], key=lambda one: (crowd[one["reference_id"]], -_area(one["box"])))
        return {"reference_id": seen["reference_id"], "box": seen["box"]}

    def bound(self, node: Node) -> tuple[str, ...]:
        """The references that show a node, each once, in order."""
        return tuple(dict.fromkeys(seen["reference_id"] for seen in node["evidence"]))

    def donor_bound(self, node: Node) -> tuple[str, ...]:
        """The references that show the object whose colour a node takes."""
        return self.bound(self.nodes[node["colour_of"]]) if node.get("colour_of") else ()

    # -- what must not be there ----------------------------------------------------------------------------------------------

    def distinction(self, node: Node) -> dict[str, Any]:
        """The looks by which a hard negative is told apart: its lettering where that differs, else its colour."""
        if node.get("differs_in") == "text" and node.get("text"):
            return {"text": node["text"]}
        if node.get("colour"):
            return {"colour": node["colour"]}
        return {"text": node["text"]} if node.get("text") else {}

    def is_distinct(self, node: Node) -> bool:
        """Whether its absence can be asked for: something tells it from every wanted node of its kind, and it comes first."""
        looked = self.distinction(node)
        same = [other for other in self.required if other["kind"] == node["kind"]]
        differs = bool(looked) and all(any(other.get(key) != value for key, value in looked.items()) for other in same)
        twins = [other for other in self.misleading if other["kind"] == node["kind"] and self.distinction(other) == looked]
        return differs and twins[0]["id"] == node["id"]

    def strays(self) -> list[tuple[str, Entity, str]]:
        """Kinds pictured alone that the graph knows nothing of: (kind, entity, reference id), in the order of the references."""
        known = {node["kind"] for node in self.nodes.values()}
        found: dict[str, tuple[str, Entity, str]] = {}
        for reference in self.references:
            shows = reference.get("shows", ())
            if len(shows) == 1 and shows[0]["kind"] not in known:
                kind, exemplar = shows[0]["kind"], {"reference_id": reference["id"], "box": shows[0]["box"]}
                found.setdefault(kind, (kind, {"name": kind, "exemplar": exemplar}, reference["id"]))
        return list(found.values())

    def unwanted_lettering(self, wanted: list[str]) -> list[tuple[str, str]]:
        """Lettering and tags of the references that were not asked for: (text, reference id), each text once; tags last."""
        texts = [(shown["text"], reference["id"]) for reference in self.references for shown in reference.get("shows", ())]
        texts += [(reference.get("mark"), reference["id"]) for reference in self.references]
        found: dict[str, str] = {}
        for text, reference_id in texts:
            if text and text not in wanted:
                found.setdefault(text, reference_id)
        return list(found.items())

    # -- the backdrop --------------------------------------------------------------------------------------------------------

    def backdrop_sources(self, colour: str) -> tuple[str, ...]:
        """The references that say the backdrop's colour: cards and background; none if the instruction says it."""
        cards = (one["id"] for one in self.references if one.get("role") == "card" and one.get("card") == colour)
        stages = (one["id"] for one in self.references if one.get("role") == "background" and one.get("backdrop") == colour)
        return (*cards, *stages)

    def other_backdrop(self, colour: str) -> str:
        """The wrong colour most often behind the references; the first other colour if they all stand before neutral ones."""
        seen = [one["backdrop"] for one in self.references if one.get("backdrop") in COLOURS and one["backdrop"] != colour]
        return max(COLOURS, key=lambda name: (seen.count(name), name != colour, -COLOURS.index(name)))


def _area(box: list[float]) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
