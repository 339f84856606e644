"""What a case graph (`lb.graph.v1`) may hold, checked whole: every fault of a graph at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.release.probes import AXES, COLOURS, RELATIONS
from longbanana_nb.taxonomy import CATEGORIES

SCHEMA = "lb.graph.v1"
CONSTRAINTS: Mapping[str, tuple[str, ...]] = {
    "region": ("node", "within", "words"),
    "order": ("nodes", "along"),
    "palette": ("colour", "share"),
    "total": ("kinds", "equals"),
    "only": (),
    "lettering": ("texts",),
}


def require_graph(graph: Mapping[str, Any]) -> None:
    """Raise DataError, naming every fault, unless the value is a graph that can be projected to checks."""
    faults = list(_Walk(graph).faults())
    if faults:
        raise DataError("A case graph cannot be used.", faults)


class _Walk:
    def __init__(self, graph: Mapping[str, Any]) -> None:
        self.graph = graph
        self.case_id = str(graph.get("case_id", "?"))
        self.nodes = {str(node.get("id")): node for node in self._rows("nodes")}
        self.references = {str(reference.get("id")) for reference in self._rows("references")}

    def _rows(self, key: str) -> list[dict[str, Any]]:
        rows = self.graph.get(key)
        return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []

    def faults(self) -> Iterable[Fault]:
        if self.graph.get("schema") != SCHEMA:
            yield self._fault("schema", repr(self.graph.get("schema")), repr(SCHEMA))
        if self.graph.get("category") not in CATEGORIES:
            yield self._fault("category", repr(self.graph.get("category")), f"one of {', '.join(CATEGORIES)}")
        for key in ("nodes", "edges", "constraints", "references"):
            rows = self.graph.get(key)
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                yield self._fault(key, type(rows).__name__, "a list of mappings")
            counted = Counter(str(row.get("id")) for row in self._rows(key))
            yield from (self._fault(f"{key} {name}", f"{n} of this id", "one") for name, n in counted.items() if n > 1)
        for node in self._rows("nodes"):
            yield from self._node(node)
        for edge in self._rows("edges"):
            yield from self._edge(edge)
        for constraint in self._rows("constraints"):
            yield from self._constraint(constraint)

    def _node(self, node: Mapping[str, Any]) -> Iterable[Fault]:
        at = f"node {node.get('id')}"
        if not isinstance(node.get("kind"), str) or not node["kind"].strip():
            yield self._fault(at, f"kind {node.get('kind')!r}", "a name")
        if node.get("colour") is not None and node["colour"] not in COLOURS:
            yield self._fault(at, f"colour {node['colour']!r}", f"one of {', '.join(COLOURS)}, or null")
        count = node.get("count", 1)
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            yield self._fault(at, f"count {count!r}", "a whole number from 1")
        for key in ("colour_of", "against"):
            if node.get(key) is not None:
                yield from self._known(f"{at} {key}", node[key])
        evidence = node.get("evidence")
        if not isinstance(evidence, list) or not evidence:
            if node.get("required") or node.get("against"):
                yield self._fault(at, "no evidence", "at least one {reference_id, box}")
            return
        for seen in evidence:
            if not isinstance(seen, dict) or str(seen.get("reference_id")) not in self.references:
                yield self._fault(f"{at} evidence", repr(seen), "a reference of this graph")
            elif not _is_box(seen.get("box")):
                yield self._fault(f"{at} evidence", f"box {seen.get('box')!r}", "[x0, y0, x1, y1] within 0..1")

    def _edge(self, edge: Mapping[str, Any]) -> Iterable[Fault]:
        at = f"edge {edge.get('id')}"
        if edge.get("relation") not in RELATIONS:
            yield self._fault(at, f"relation {edge.get('relation')!r}", f"one of {', '.join(RELATIONS)}")
        for end in ("a", "b"):
            yield from self._known(f"{at} {end}", edge.get(end), required=True)

    def _constraint(self, one: Mapping[str, Any]) -> Iterable[Fault]:
        at, kind = f"constraint {one.get('id')}", str(one.get("kind"))
        if kind not in CONSTRAINTS:
            yield self._fault(at, f"kind {kind!r}", f"one of {', '.join(CONSTRAINTS)}")
            return
        yield from (
            self._fault(at, f"no {key!r}", f"a {kind} constraint with {key}") for key in CONSTRAINTS[kind] if key not in one
        )
        named = one.get("nodes", []) if kind == "order" else [one["node"]] if "node" in one else []
        for name in named if isinstance(named, list) else []:
            yield from self._known(at, name, required=True)
        if kind == "order" and (one.get("along") not in AXES or not isinstance(named, list) or len(named) < 2):
            yield self._fault(at, f"along {one.get('along')!r} over {named!r}", "x or y over at least two nodes")
        if kind == "region" and not _is_box(one.get("within")):
            yield self._fault(at, f"within {one.get('within')!r}", "[x0, y0, x1, y1] within 0..1")
        if kind == "palette" and (one.get("colour") not in COLOURS or not _is_share(one.get("share"))):
            yield self._fault(
                at, f"{one.get('colour')!r} on {one.get('share')!r}", "a colour name and a share above 0, at most 1"
            )

    def _known(self, at: str, name: object, *, required: bool = False) -> Iterable[Fault]:
        node = self.nodes.get(str(name))
        if node is None:
            yield self._fault(at, f"node {name!r}", "a node of this graph")
        elif required and not node.get("required"):
            yield self._fault(at, f"node {name!r}, which is not required", "a node that must be shown")

    def _fault(self, at: str, found: str, expected: str) -> Fault:
        return Fault(f"graph, {at}", "graph", found, expected, "Correct the graph.", self.case_id)


def _is_box(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 4 or not all(_is_number(part) for part in value):
        return False
    return bool(0 <= value[0] < value[2] <= 1 and 0 <= value[1] < value[3] <= 1)


def _is_share(value: object) -> bool:
    return _is_number(value) and 0 < value <= 1  # type: ignore[operator]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
