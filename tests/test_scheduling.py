"""Schedules of stages: best on graphs a person can solve, within capacity, in order, the same twice, honest if there is none."""

from __future__ import annotations

import pytest

from longbanana_nb.errors import DataError
from longbanana_nb.generation.scheduling import Demand, demand_of, schedule

ORDER = [f"r{n}" for n in range(1, 21)]


def chain(count: int) -> Demand:
    """`count` units of one reference each, every neighbouring pair related."""
    units = {f"n{n}": (f"r{n}",) for n in range(1, count + 1)}
    return Demand(units, {f"e{n}": (f"n{n}", f"n{n + 1}") for n in range(1, count)})


def where(plan, kind):
    return {name: n for n, stage in enumerate(plan.stages) for name in getattr(stage, kind)}


def test_all_that_fits_is_one_stage():
    plan = schedule(chain(4), ORDER, (8, 7))
    assert len(plan.stages) == 1
    assert plan.stages[0].references == ("r1", "r2", "r3", "r4")
    assert (plan.cost, plan.gap, plan.status) == (104.0, 0.0, "optimal")  # one stage, four references


def test_a_chain_is_cut_once():
    plan = schedule(chain(6), ORDER, (3, 3))
    assert sorted(stage.units for stage in plan.stages) == [("n1", "n2", "n3"), ("n4", "n5", "n6")]
    # two stages, one relation between them, six references; of five relations two lie in the later stage, and the crossing one
    assert plan.cost == pytest.approx(200 + 10 + 6 + 0.03)


def test_a_shared_reference_keeps_its_units_together():
    demand = Demand({"a": ("r1", "r2"), "b": ("r3",), "c": ("r1", "r2"), "d": ("r4",)}, {})
    plan = schedule(demand, ORDER, (2, 2))
    assert where(plan, "units")["a"] == where(plan, "units")["c"]
    assert [len(stage.references) for stage in plan.stages] == [2, 2]


def test_units_once_relations_after_their_ends_and_no_stage_over_capacity():
    demand = Demand(chain(12).units, {"x": ("n1", "n12"), "y": ("n12", "n5"), "z": ("n3", "n9")})
    plan = schedule(demand, ORDER, (4, 3))
    units, relations = where(plan, "units"), where(plan, "relations")
    assert sum(len(stage.units) for stage in plan.stages) == 12
    assert set(relations) == set(demand.relations)
    assert all(relations[name] >= max(units[a], units[b]) for name, (a, b) in demand.relations.items())
    assert [len(stage.references) <= room for stage, room in zip(plan.stages, (4, 3, 3, 3), strict=True)] == [True] * 4


def test_the_backdrop_comes_first_and_counts():
    plan = schedule(Demand({"a": ("r1",), "b": ("r2",)}, {}, first=("r9",)), ORDER, (2, 2))
    assert "r9" in plan.stages[0].references
    assert len(plan.stages) == 2


def test_the_same_graph_gives_the_same_schedule():
    assert schedule(chain(9), ORDER, (4, 3)) == schedule(chain(9), ORDER, (4, 3))


def test_a_unit_larger_than_a_call_is_named():
    with pytest.raises(DataError) as caught:
        schedule(Demand({"tall": ("r1", "r2", "r3")}, {}), ORDER, (2, 2))
    assert "tall" in str(caught.value)
    assert caught.value.faults[0].code == "capacity"


def test_a_backdrop_larger_than_the_first_call_is_refused():
    with pytest.raises(DataError, match="backdrop"):
        schedule(Demand({"a": ("r1",)}, {}, first=("r8", "r9")), ORDER, (1, 3))


def hard() -> Demand:
    """Sixty units of two references, related across: far more than can be proved best in an instant."""
    units = {f"n{n}": (f"r{n % 20 + 1}", f"r{(n * 7 + 3) % 20 + 1}") for n in range(60)}
    return Demand(units, {f"e{n}": (f"n{n}", f"n{(n * 13 + 5) % 60}") for n in range(60)})


def test_time_that_is_up_is_said_with_a_gap_or_as_a_fault():
    try:
        plan = schedule(hard(), ORDER, (8, 7), time_limit_s=0.2)
    except DataError as error:
        assert error.faults[0].code == "time_limit"
    else:
        assert plan.status == "time limit"
        assert 0 < plan.gap <= 1


def test_a_graph_is_read_by_its_evidence_relations_orders_and_palette_card():
    def node(name, *seen, **fields):
        return {"id": name, "required": True, "evidence": [{"reference_id": one} for one in seen], **fields}

    graph = {
        "case_id": "c",
        "nodes": [node("a", "r1"), node("b", "r2", colour_of="x"), node("d", "r3"), {**node("x", "r4"), "required": False}],
        "edges": [{"id": "e1", "a": "a", "b": "b"}],
        "constraints": [{"id": "g1", "kind": "order", "nodes": ["a", "b", "d"]}, {"id": "g2", "kind": "only"}],
        "references": [{"id": "r9", "role": "card"}, {"id": "r1", "role": "shown"}],
    }
    demand = demand_of(graph)
    assert demand.units == {"a": ("r1",), "b": ("r2", "r4"), "d": ("r3",)}
    assert demand.relations == {"e1": ("a", "b"), "g1.1": ("a", "b"), "g1.2": ("b", "d")}
    assert demand.first == ("r9",)


def test_every_fault_of_a_graph_is_named():
    graph = {"case_id": "c", "nodes": [{"id": "a", "required": True}], "edges": [{"id": "e", "a": "a", "b": "ghost"}]}
    with pytest.raises(DataError) as caught:
        demand_of(graph)
    assert len(caught.value.faults) == 2
