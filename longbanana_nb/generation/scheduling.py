"""A case graph as stages of image calls: which things are drawn together, from which references, by an integer programme.

Source: LongBanana's PD-Direct has "privileged access to the construction graph" and solves "its staging schedule with integer
programming". The published objective is not known; this one is stated in `schedule` and in docs/pd-direct.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from longbanana_nb.errors import DataError, Fault

STAGE, CROSSING, SEND, LATE = 100.0, 10.0, 1.0, 0.01
"""What a stage costs, a relation whose ends are in different stages, a reference sent, a stage by which a relation waits."""
TIME_LIMIT_S = 20.0


@dataclass(frozen=True, slots=True)
class Demand:
    """What a graph asks to be drawn: units with the references each needs, and relations between units."""

    units: dict[str, tuple[str, ...]]
    relations: dict[str, tuple[str, str]]
    first: tuple[str, ...] = ()  # references of the backdrop, sent with the first stage


@dataclass(frozen=True, slots=True)
class Stage:
    """One image call: the units drawn in it, the relations settled by it, the references sent, in the case's order."""

    units: tuple[str, ...]
    relations: tuple[str, ...]
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """Stages in order, and how good they are.

    Attributes:
        cost: what the objective came to. gap: relative distance to the best bound, 0 where the schedule is proved best.
        status: "optimal", or "time limit" where the search was ended with a schedule in hand.
    """

    stages: tuple[Stage, ...]
    cost: float
    gap: float
    status: str
    capacity: int

    def as_json(self) -> dict[str, Any]:
        """The record's form (`lb.schedule.v1`)."""
        return {"schema": "lb.schedule.v1", **asdict(self)}


def demand_of(graph: Mapping[str, Any]) -> Demand:
    """Units and relations of a case graph: required nodes with their evidence, and that of what they take their colour from.

    Reads `nodes` (`id`, `required`, `evidence: [{reference_id}]`, `colour_of`), `edges` (`id`, `a`, `b`), the `order` constraints
    (each neighbouring pair is a relation), and references whose `role` is `card` (a palette card).

    Raises:
        DataError: where a required node has no evidence, or a relation names a node that is not required.
    """
    nodes = {str(node["id"]): node for node in graph.get("nodes", ())}
    units = {name: _evidence(nodes, node) for name, node in nodes.items() if node.get("required")}
    relations = {str(edge["id"]): (str(edge["a"]), str(edge["b"])) for edge in graph.get("edges", ())}
    for one in graph.get("constraints", ()):
        if one.get("kind") == "order":
            named = [str(name) for name in one["nodes"]]
            relations |= {f"{one['id']}.{n}": pair for n, pair in enumerate(pairwise(named), start=1)}
    case = str(graph.get("case_id", "?"))
    faults = [
        Fault(f"graph of {case}, node {name}", "graph", "no evidence", "a reference it is seen in", "Correct the graph.", case)
        for name, references in units.items()
        if not references
    ]
    faults += [
        Fault(f"graph of {case}, relation {name}", "graph", f"node {end!r}", "a required node", "Correct the graph.", case)
        for name, ends in relations.items()
        for end in ends
        if end not in units
    ]
    if faults:
        raise DataError("A case graph cannot be scheduled.", faults)
    first = tuple(str(one["id"]) for one in graph.get("references", ()) if one.get("role") == "card")
    return Demand(units, relations, first)


def _evidence(nodes: Mapping[str, Mapping[str, Any]], node: Mapping[str, Any]) -> tuple[str, ...]:
    found = [str(seen["reference_id"]) for seen in node.get("evidence", ())]
    donor = nodes.get(str(node.get("colour_of")))
    found += [str(seen["reference_id"]) for seen in (donor or {}).get("evidence", ())]
    return tuple(dict.fromkeys(found))


def schedule(demand: Demand, order: Sequence[str], rooms: Sequence[int], *, time_limit_s: float = TIME_LIMIT_S) -> Schedule:
    """Put every unit into one stage and every relation no earlier than both of its ends: fewest stages, then least cost.

    Cost: 100 a stage, 10 a relation whose ends lie in different stages (the later call has to fit to what is drawn), 1 a
    reference sent, 0.01 a stage by which a relation waits. A stage sends every reference of its units; the first also those of
    the backdrop.
    The number of stages is the smallest that any schedule can have; whether one more would save crossings is not asked.

    Args:
        order: all reference ids in contract order. rooms: how many references each stage can send; the last for those after.
        time_limit_s: for each number of stages that is tried.

    Raises:
        DataError: where a unit or the backdrop needs more references than a call takes, or the time was up without a schedule.
    """
    needed = {name: set(references) for name, references in demand.units.items()}
    _require_room(demand, needed, rooms)
    every = set(demand.first).union(*needed.values())
    fewest = max(1, -(-len(every) // max(rooms)))
    for count in range(fewest, fewest + len(needed) + 1):
        programme = _Programme(demand, [name for name in order if name in every], [_room(rooms, s) for s in range(count)])
        solved = programme.solve(time_limit_s)
        if solved is not None:
            return solved
    raise _no_schedule("infeasible", f"{len(needed)} units in up to {fewest + len(needed)} stages", "a schedule")


def _require_room(demand: Demand, needed: Mapping[str, set[str]], rooms: Sequence[int]) -> None:
    if tall := [name for name, references in needed.items() if len(references) > max(rooms)]:
        raise _no_schedule(
            "capacity", f"units {', '.join(tall)} need more than a call takes", f"at most {max(rooms)} references a unit"
        )
    if len(demand.first) > rooms[0]:
        raise _no_schedule(
            "capacity", f"{len(demand.first)} references of the backdrop", f"at most {rooms[0]} in the first stage"
        )


def _no_schedule(code: str, found: str, expected: str) -> DataError:
    fix = "Give the program more time." if code == "time_limit" else "Raise references.size, or take a backend with more room."
    return DataError("The case cannot be scheduled.", [Fault("schedule", code, found, expected, fix)])


def _room(rooms: Sequence[int], stage: int) -> int:
    return rooms[min(stage, len(rooms) - 1)]


@dataclass(slots=True)
class _Programme:
    """The integer programme of one number of stages: columns are unit-stage, reference-stage, relation-stage, stage, crossing."""

    demand: Demand
    references: list[str]
    rooms: list[int]
    names: dict[tuple[str, str, int], int] = field(default_factory=dict)
    rows: list[tuple[dict[int, float], float, float]] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        stages = range(len(self.rooms))
        for s in stages:
            self._columns(s)
        for relation in self.demand.relations:
            self._column("crossing", relation, 0, CROSSING)
        self._place_units()
        self._place_relations()
        self._send_references()
        for s in stages[1:]:
            self._row({self._at("stage", "", s - 1): 1, self._at("stage", "", s): -1}, 0, np.inf)

    def _columns(self, s: int) -> None:
        for unit in self.demand.units:
            self._column("unit", unit, s, 0.0)
        for reference in self.references:
            self._column("sent", reference, s, SEND)
        for relation in self.demand.relations:
            self._column("relation", relation, s, LATE * s)
        self._column("stage", "", s, STAGE)

    def _column(self, kind: str, name: str, s: int, cost: float) -> None:
        self.names[kind, name, s] = len(self.cost)
        self.cost.append(cost)

    def _at(self, kind: str, name: str, s: int) -> int:
        return self.names[kind, name, s]

    def _row(self, entries: dict[int, float], low: float, high: float) -> None:
        self.rows.append((entries, low, high))

    def _place_units(self) -> None:
        """Each unit in one stage, and only in a stage that is used."""
        stages = range(len(self.rooms))
        for unit in self.demand.units:
            self._row({self._at("unit", unit, s): 1 for s in stages}, 1, 1)
            for s in stages:
                self._row({self._at("stage", "", s): 1, self._at("unit", unit, s): -1}, 0, np.inf)

    def _place_relations(self) -> None:
        """Each relation in one stage, not before either end; it crosses where its ends are apart."""
        stages = range(len(self.rooms))
        for relation, ends in self.demand.relations.items():
            self._row({self._at("relation", relation, s): 1 for s in stages}, 1, 1)
            for end in ends:
                for s in stages:
                    until = {self._at("unit", end, t): 1.0 for t in range(s + 1)}
                    until |= {self._at("relation", relation, t): -1.0 for t in range(s + 1)}
                    self._row(until, 0, np.inf)
            a, b = ends
            for s in stages:
                if a != b:
                    crossing = self._at("crossing", relation, 0)
                    self._row({crossing: 1, self._at("unit", a, s): -1, self._at("unit", b, s): 1}, 0, np.inf)

    def _send_references(self) -> None:
        """A stage sends what its units need, the first also the backdrop's, and no more than it has room for."""
        for s, room in enumerate(self.rooms):
            self._row({self._at("sent", name, s): 1 for name in self.references}, 0, room)
            for unit, needed in self.demand.units.items():
                for name in needed:
                    self._row({self._at("sent", name, s): 1, self._at("unit", unit, s): -1}, 0, np.inf)
        for name in self.demand.first:
            self._row({self._at("sent", name, 0): 1}, 1, 1)
        if self.demand.first:
            self._row({self._at("stage", "", 0): 1}, 1, 1)

    def solve(self, time_limit_s: float) -> Schedule | None:
        """The best schedule found, None where there is none of this many stages; DataError where time was up first."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        places = [(n, column, value) for n, (entries, _, _) in enumerate(self.rows) for column, value in entries.items()]
        rows, columns, values = zip(*places, strict=True)
        matrix = csr_array((values, (rows, columns)), shape=(len(self.rows), len(self.cost)))
        limits = LinearConstraint(matrix, [low for _, low, _ in self.rows], [high for _, _, high in self.rows])
        found = milp(
            self.cost, constraints=limits, integrality=np.ones(len(self.cost), dtype=np.int64), bounds=Bounds(0, 1),
            options={"time_limit": time_limit_s, "mip_rel_gap": 0.0},
        )  # fmt: skip
        if found.x is None and found.status == 1:
            raise _no_schedule(
                "time_limit", f"none found within {time_limit_s:g} s", f"one of {len(self.rooms)} stages, or a proof of none"
            )
        if found.x is None:
            return None
        status = "optimal" if found.status == 0 else "time limit"
        gap = min(float(found.mip_gap or 0.0), 1.0)
        return Schedule(self._stages(np.round(found.x).astype(bool)), float(found.fun), gap, status, max(self.rooms))

    def _stages(self, x: Any) -> tuple[Stage, ...]:
        def chosen(kind: str, names: Sequence[str], s: int) -> tuple[str, ...]:
            return tuple(name for name in names if x[self._at(kind, name, s)])

        used = [s for s in range(len(self.rooms)) if x[self._at("stage", "", s)]]
        return tuple(
            Stage(
                chosen("unit", list(self.demand.units), s),
                chosen("relation", list(self.demand.relations), s),
                chosen("sent", self.references, s),
            )
            for s in used
        )
