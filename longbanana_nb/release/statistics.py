"""What the cases of a release ask for, counted: checks, bindings, constraints and hard negatives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from longbanana_nb.release.contract import Evaluation, Release

Graphs = Mapping[str, Mapping[str, Any]]


def case_statistics(release: Release, evaluation: Evaluation, graphs: Graphs | None = None) -> pd.DataFrame:
    """One row a case: what it shows and what it is checked for.

    Columns: `case_id`, `category`, `references`, `checks`, `candidate_only` (checks bound to no reference), `bound_references`
    (distinct references some check is bound to), `negative` (checks of negative polarity, <NA> without units); with graphs
    also `constraints`, `hard_negatives` and `evidence_references`, else <NA>.
    """
    import pandas as pd

    rows = []
    for case_id, case in release.cases.items():
        checks = evaluation.checks.get(case_id, ())
        bound = {reference for check in checks for reference in check.reference_ids}
        units = [evaluation.units.get((case_id, check.check_id)) for check in checks]
        graph = (graphs or {}).get(case_id)
        rows.append(
            {
                "case_id": case_id,
                "category": case.category,
                "references": len(case.references),
                "checks": len(checks),
                "candidate_only": sum(not check.reference_ids for check in checks),
                "bound_references": len(bound),
                "negative": sum(u is not None and u.polarity == "negative" for u in units) if any(units) else None,
                "constraints": count_constraints(graph) if graph else None,
                "hard_negatives": count_hard_negatives(graph) if graph else None,
                "evidence_references": len(_evidence(graph)) if graph else None,
            }
        )
    return pd.DataFrame(rows).convert_dtypes()


def count_constraints(graph: Mapping[str, Any]) -> int:
    """Obligations of one graph: each required node's stated attributes, each edge, each whole-graph constraint.

    A node counts once for being there, and once more for its colour, its lettering, a number other than one, and for taking
    its colour from another pictured object.
    """
    required = [node for node in graph["nodes"] if node.get("required", True)]
    attributes = sum(
        1 + sum((bool(n.get("colour")), bool(n.get("text")), n.get("count", 1) != 1, bool(n.get("colour_of")))) for n in required
    )
    return int(attributes + len(graph.get("edges", ())) + len(graph.get("constraints", ())))


def count_hard_negatives(graph: Mapping[str, Any]) -> int:
    """Pictured look-alikes that were not asked for: nodes that stand against a required one."""
    return sum(1 for node in graph["nodes"] if not node.get("required", True) and node.get("against"))


def reference_use(release: Release, evaluation: Evaluation) -> pd.DataFrame:
    """One row a reference in contract order: `case_id`, `category`, `reference_id`, `position` (from 1), `checks` bound to it."""
    import pandas as pd

    rows = []
    for case_id, case in release.cases.items():
        uses = Counter(reference for check in evaluation.checks.get(case_id, ()) for reference in check.reference_ids)
        rows += [
            {"case_id": case_id, "category": case.category, "reference_id": r.id, "position": n, "checks": uses[r.id]}
            for n, r in enumerate(case.references, start=1)
        ]
    return pd.DataFrame(rows).convert_dtypes()


def _evidence(graph: Mapping[str, Any]) -> set[str]:
    required = (node for node in graph["nodes"] if node.get("required", True))
    return {shown["reference_id"] for node in required for shown in node.get("evidence", ())}
