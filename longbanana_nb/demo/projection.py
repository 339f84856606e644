"""From a case graph to checks: the versioned profile `graph-check-projection-1`, for graphs that anyone authors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from longbanana_nb.demo.graph import require_graph
from longbanana_nb.demo.obligations import Obligation, obligations
from longbanana_nb.errors import CallError
from longbanana_nb.release import parse_probe

PROFILE = "graph-check-projection-1"
OPTIONS = [{"value": 2, "name": "Pass"}, {"value": 1, "name": "Uncertain"}, {"value": 0, "name": "Fail"}]


@dataclass(frozen=True, slots=True)
class Projection:
    """Records of checks.jsonl, check_units.jsonl and probes.jsonl for one case, in the same order."""

    profile: str
    checks: tuple[dict[str, Any], ...]
    units: tuple[dict[str, Any], ...]
    probes: tuple[dict[str, Any], ...]


def project(graph: Mapping[str, Any], profile: str = PROFILE) -> Projection:
    """The checks of a graph, each with the unit it comes from and a probe that answers it from pixels.

    Args:
        graph: an `lb.graph.v1` value (docs/demo.md). Kinds may be any names; looks come from the evidence boxes alone.
        profile: the rules to project by; there is one, and a later one will have another name.

    Returns:
        For each required node: presence, number, colour and lettering where they are set, and likeness where the prompt does
        not say the looks; for each node with `against`: its absence; for each edge and constraint: whether it holds, with its
        negative side.

    Raises:
        CallError: for an unknown profile.
        DataError: naming every fault of the graph.
    """
    if profile != PROFILE:
        raise CallError(f"Projection profile: found {profile!r}; expected {PROFILE!r}. Use that name.")
    require_graph(graph)
    checks: list[dict[str, Any]] = []
    units: list[dict[str, Any]] = []
    probes: list[dict[str, Any]] = []
    for number, one in enumerate(obligations(graph), start=1):
        key = {"case_id": graph["case_id"], "check_id": f"c{number:02d}"}
        checks.append({**key, "category": graph["category"], **_check(one)})
        units.append({**key, "unit": one.unit, "dimension": one.dimension, "polarity": one.polarity})
        parse_probe(one.probe, f"projected probe {key['check_id']}")
        probes.append({**key, "probe": one.probe})
    return Projection(PROFILE, tuple(checks), tuple(units), tuple(probes))


def _check(one: Obligation) -> dict[str, Any]:
    """The record of a check: what is asked, the rule in words, the options, and what it is bound to."""
    rule = (
        f"{one.aim} Pass (2): {one.passes} Uncertain (1): it cannot be decided from the picture, or it holds only in part. "
        f"Fail (0): {one.fails}"
    )
    described = {"Pass": one.passes, "Uncertain": "It cannot be decided, or holds only in part.", "Fail": one.fails}
    return {
        "question": one.question,
        "guide": rule,
        "options": [dict(option) for option in OPTIONS],
        "option_desc": described,
        "reference_ids": list(one.reference_ids),
        "candidate_only_reason": None if one.reference_ids else one.candidate_only_reason,
    }
