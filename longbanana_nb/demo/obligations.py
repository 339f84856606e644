"""What a graph obliges a picture to show or not to show, as questions with rules, bindings and probes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from longbanana_nb.demo.brief import NUMBERS, RELATION_WORDS
from longbanana_nb.demo.exemplars import Exemplars

CONTENT, RELATIONAL, GLOBAL = "Content Fidelity", "Relational Binding", "Global Constraint Satisfaction"
STRAY_CHECKS = 5
LETTERING_CHECKS = 4
WHOLE = [0.0, 0.0, 1.0, 1.0]
FROM_CANDIDATE = "The instruction says all that this check needs; the candidate alone decides it."


@dataclass(frozen=True, slots=True)
class Obligation:
    """One check in the making; texts are full sentences."""

    unit: str
    dimension: str
    polarity: str
    question: str
    aim: str
    passes: str
    fails: str
    probe: dict[str, Any]
    reference_ids: tuple[str, ...] = ()
    candidate_only_reason: str | None = FROM_CANDIDATE


def obligations(graph: Mapping[str, Any]) -> list[Obligation]:
    """Every obligation of a valid graph: nodes, then what must be absent, then edges, then constraints."""
    looks = Exemplars(graph)
    found = [one for node in looks.required for one in _node(node, looks)]
    found += [_absent(node, looks) for node in looks.misleading if looks.is_distinct(node)]
    found += [_donor_absent(node, looks) for node in looks.donors]
    found += [_edge(edge, looks) for edge in graph["edges"]]
    for constraint in graph["constraints"]:
        found += _CONSTRAINTS[constraint["kind"]](constraint, looks)
    return found


def _node(node: Mapping[str, Any], looks: Exemplars) -> Iterator[Obligation]:
    name, entity, bound = looks.called(node), looks.entity(node), looks.bound(node)
    unit, kind = node["id"], node["kind"]
    yield Obligation(
        *(unit, CONTENT, "positive", f"Is {looks.a_or_an(name)} visible in the picture?"),
        f"The object is the {kind} of the bound references.",
        *(f"a {kind} can be clearly recognised.", f"no {kind} can be seen."),
        *({"present": entity}, bound),
    )
    if node.get("count", 1) > 1 or looks.is_alone(node):
        number = node.get("count", 1)
        yield Obligation(
            *(
                unit,
                CONTENT,
                "positive",
                f"Does the picture show exactly {NUMBERS[number] if number < 13 else number} of this: {name}?",
            ),
            _counting(node),
            *(f"exactly {number} can be counted.", "another number can be counted."),
            *({"count": entity, "equals": number}, bound),
        )
    if node.get("colour"):
        yield Obligation(
            *(unit, RELATIONAL if node.get("colour_of") else CONTENT, "positive", _colour_question(node, name, looks)),
            "Judge the main colour of the object's painted part, under neutral light.",
            *(f"the {kind} is {node['colour']}.", f"the {kind} is missing or has another colour."),
            *({"colour": entity, "is": node["colour"]}, bound + looks.donor_bound(node)),
        )
    if node.get("text"):
        yield Obligation(
            *(unit, RELATIONAL, "positive", f'Does the {kind} bear the lettering "{node["text"]}"?'),
            "The lettering must stand on this very object, complete and legible.",
            *(f'"{node["text"]}" can be read on the {kind}.', "it is missing, misspelt, illegible or on another object."),
            *({"text": {"in": looks.entity(node, bare=True), "equals": node["text"]}}, bound),
        )
    if node.get("named_by") in ("beside", "day"):
        best = looks.best(node)
        yield Obligation(
            *(unit, CONTENT, "positive", f"Does the {kind} look like the one in its bound reference?"),
            "Compare shape, colour and lettering; place, size, angle and light do not matter.",
            *("it is recognisably the same object.", "it is missing, or differs in shape, colour or lettering."),
            *({"same_as": {"entity": entity, **best}}, bound),
        )


def _counting(node: Mapping[str, Any]) -> str:
    if node.get("named_by") == "tally":
        return "The number is the sum over the bound references tagged TRAY. Count whole and partly hidden ones alike."
    return "Count whole and partly hidden ones alike, whatever their colour."


def _colour_question(node: Mapping[str, Any], name: str, looks: Exemplars) -> str:
    kind, colour = node["kind"], node["colour"]
    if node.get("colour_of"):
        return f"Is the {kind} {colour}, the colour of the {looks.nodes[node['colour_of']]['kind']} in its reference?"
    said = node.get("named_by") == "colour"
    return f"Is the {kind} {colour}?" if said and looks.is_alone(node) else f"Is the {name} {colour}, as in its reference?"


def _absent(node: Mapping[str, Any], looks: Exemplars) -> Obligation:
    """A hard negative must not be shown; a wrong lettering decides where it is what differs."""
    wanted = looks.nodes[node["against"]]
    looked = looks.distinction(node)
    name = (
        f'{node["kind"]} lettered "{node["text"]}"' if "text" in looked else f"{node.get('colour') or ''} {node['kind']}".strip()
    )
    return Obligation(
        *(node["id"], CONTENT, "negative", f"Is the picture free of {looks.a_or_an(name)}?"),
        f"It looks like what is wanted ({looks.called(wanted)}) but is the wrong one.",
        *("no such object can be seen.", "such an object can be seen."),
        *({"absent": {**looks.entity(node, bare=True), **looked}}, tuple(dict.fromkeys(looks.bound(node) + looks.bound(wanted)))),
    )


def _donor_absent(node: Mapping[str, Any], looks: Exemplars) -> Obligation:
    kind = node["kind"]
    return Obligation(
        *(node["id"], CONTENT, "negative", f"Is the picture free of {looks.a_or_an(kind)}?"),
        f"Only the colour of the {kind} is asked for, not the {kind} itself.",
        *(f"no {kind} can be seen.", f"a {kind} can be seen."),
        *({"absent": looks.entity(node, bare=True)}, looks.bound(node)),
    )


def _edge(edge: Mapping[str, Any], looks: Exemplars) -> Obligation:
    a, b = looks.nodes[edge["a"]], looks.nodes[edge["b"]]
    words = RELATION_WORDS[edge["relation"]]
    return Obligation(
        *(edge["id"], RELATIONAL, "positive", f"Is the {looks.called(a)} {words} the {looks.called(b)}?"),
        "Judge by the places of the two objects in the picture plane, as the viewer sees them; both must be visible.",
        *("the relation clearly holds.", "it does not hold, or one of the two is missing."),
        {"relation": {"a": looks.entity(a), "is": edge["relation"], "b": looks.entity(b)}},
        tuple(dict.fromkeys(looks.bound(a) + looks.bound(b))),
    )


def _region(one: Mapping[str, Any], looks: Exemplars) -> list[Obligation]:
    node = looks.nodes[one["node"]]
    words = one["words"]
    return [
        Obligation(
            *(one["id"], GLOBAL, "positive", f"Is the {looks.called(node)} in the {words} of the picture?"),
            "More than half of the object lies in that part (a half, a quarter, or the middle half of the picture each way).",
            *(f"it lies in the {words}.", "it lies elsewhere or is missing."),
            *({"region": looks.entity(node), "within": one["within"]}, looks.bound(node)),
        )
    ]


def _order(one: Mapping[str, Any], looks: Exemplars) -> list[Obligation]:
    nodes = [looks.nodes[name] for name in one["nodes"]]
    listed = ", ".join(f"the {looks.called(node)}" for node in nodes)
    way = "left to right" if one["along"] == "x" else "top to bottom"
    bound = tuple(dict.fromkeys(name for node in nodes for name in looks.bound(node)))
    probe = {"order": [looks.entity(node) for node in nodes], "along": one["along"]}
    return [
        Obligation(
            *(one["id"], GLOBAL, "positive", f"Do these stand in this order from {way}: {listed}?"),
            "Judge by the middles of the objects; all must be visible.",
            *("the order holds throughout.", "two are swapped or one is missing."),
            *(probe, bound),
        )
    ]


def _palette(one: Mapping[str, Any], looks: Exemplars) -> list[Obligation]:
    colour, share = one["colour"], one["share"]
    bound = looks.backdrop_sources(colour)
    other = looks.other_backdrop(colour)
    aim = "Judge the surface behind and under the objects, not the objects."
    return [
        Obligation(
            *(one["id"], GLOBAL, "positive", f"Is the backdrop {colour}?"),
            *(aim, f"at least {share:.0%} of it is {colour}.", "most of it has another colour."),
            *({"palette": {"colour": colour, "share": share}}, bound),
        ),
        Obligation(
            *(one["id"], GLOBAL, "negative", f"Is the backdrop free of large {other} areas?"),
            *(aim, f"it is not {other}.", f"most of it is {other}."),
            {"not": {"palette": {"colour": other, "share": share}}},
        ),
    ]


def _total(one: Mapping[str, Any], looks: Exemplars) -> list[Obligation]:
    nodes = [node for node in looks.required if node["kind"] in one["kinds"]]
    names = " and ".join(node["kind"] for node in nodes)
    bound = tuple(dict.fromkeys(name for node in nodes for name in looks.bound(node)))
    probe = {"all": [{"count": looks.entity(node), "equals": node.get("count", 1)} for node in nodes]}
    return [
        Obligation(
            *(
                one["id"],
                GLOBAL,
                "positive",
                f"Are there {one['equals']} of these in all, each kind in its right number: {names}?",
            ),
            "Each kind must have the number that the instruction and the references give, so that the total is right too.",
            *("every number is right.", "a number is wrong."),
            *(probe, bound),
        )
    ]


def _only(one: Mapping[str, Any], looks: Exemplars) -> list[Obligation]:
    return [
        Obligation(
            *(one["id"], GLOBAL, "negative", f"Is the picture free of {looks.a_or_an(kind)}?"),
            f"A {kind} is pictured in the bound reference but was not asked for.",
            *(f"no {kind} can be seen.", f"a {kind} can be seen."),
            *({"absent": entity}, (reference_id,)),
        )
        for kind, entity, reference_id in looks.strays()[:STRAY_CHECKS]
    ]


def _lettering(one: Mapping[str, Any], looks: Exemplars) -> list[Obligation]:
    return [
        Obligation(
            *(one["id"], GLOBAL, "negative", f'Is the lettering "{text}" absent from the picture?'),
            "It stands in the bound reference but was not asked for.",
            *("it cannot be read anywhere.", "it can be read somewhere."),
            *({"not": {"text": {"in": WHOLE, "contains": text}}}, (reference_id,)),
        )
        for text, reference_id in looks.unwanted_lettering(one["texts"])[:LETTERING_CHECKS]
    ]


_CONSTRAINTS = {
    "region": _region,
    "order": _order,
    "palette": _palette,
    "total": _total,
    "only": _only,
    "lettering": _lettering,
}
