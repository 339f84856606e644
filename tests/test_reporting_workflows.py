"""Ablation and compliance: counted from records, differences the right way round, flags below 80 %."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest

from longbanana_nb.reporting.ablation import ablation_table, comparisons, difference
from longbanana_nb.reporting.compliance import compliance_of, compliance_table
from longbanana_nb.reporting.facts import JudgeFacts, RunFacts, SystemFacts
from longbanana_nb.reporting.figures import ablation_dots, ablation_dots_alt
from longbanana_nb.runs.records import ArtefactFacts, CallCounts, Reason, Record, WorkflowFacts

GOOD = ArtefactFacts("evidence.json", "0" * 64, True, True, True, True)
LATE = ArtefactFacts("evidence.json", "0" * 64, True, True, False, None)
NONE = ArtefactFacts()


def record(system, evidence=None, *, outcome="no_image", image_calls=1, rounds=0):
    return Record(
        system=system, system_sha256="0" * 64, case_id="c", sample=0, outcome=outcome, reason=Reason("r", "w"),
        workflow=WorkflowFacts(evidence=evidence, rounds=rounds), calls=CallCounts(3, image_calls),
    )  # fmt: skip


def system(name, workflow, agent="planner", backend="sketch"):
    return SystemFacts(name, "native", workflow, agent, backend)


SYSTEMS = (system("plain", "minimal"), system("looks", "react"), system("lesson", "reflect", "planner-judges-eye"))
FACTS = RunFacts("demo", "r1", SYSTEMS, (JudgeFacts("tools", "tools"),))


def run_of(*records):
    return SimpleNamespace(records=lambda: iter(records))


def scores(*differences):
    rows = [
        {"judge": "tools", "system": name, "scope": "overall", "name": "overall", "score": score, "ci_low": score - 5,
         "ci_high": score + 5, "cases_total": 3, "provisional": False}
        for name, score in (("plain", 70.0), ("looks", 75.0), ("lesson", 80.0))
    ]  # fmt: skip
    columns = ["judge", "metric", "a", "b", "scope", "name", "difference", "ci_low", "ci_high"]
    frame = pd.DataFrame([("tools", "score", a, b, "overall", "overall", *rest) for a, b, *rest in differences], columns=columns)
    return SimpleNamespace(scores=pd.DataFrame(rows), differences=frame)


def test_compliance_is_counted_over_finished_candidates_and_flagged_below_four_fifths():
    run = run_of(
        *[record("looks", GOOD)] * 3, record("looks", LATE), record("looks", NONE), record("looks", NONE, outcome="interrupted")
    )
    part = compliance_of(run)["looks"].parts["evidence"]
    assert (part.candidates, part.present, part.valid, part.timely, part.followed, part.followable) == (5, 4, 4, 3, 3, 3)
    assert compliance_of(run)["looks"].is_flagged
    text = compliance_table(run, FACTS).markdown()
    assert "looks§" in text and "3 of 5" in text and "3 of 3" in text
    assert "§" not in compliance_table(run_of(*[record("looks", GOOD)] * 4, record("looks", LATE)), FACTS).markdown()


def test_a_run_without_workflows_has_neither_table():
    run = run_of(record("plain"))
    plain = RunFacts("demo", "r1", (SYSTEMS[0], SystemFacts("floor", "blank")), FACTS.judges)
    assert compliance_table(run, plain) is None
    assert ablation_table(run, scores(), plain, "tools") is None


@pytest.mark.parametrize("pair", [("looks", "plain", 5.0, 1.0, 9.0), ("plain", "looks", -5.0, -9.0, -1.0)])
def test_a_difference_is_turned_the_right_way_round(pair):
    found = difference(scores(pair), "tools", "looks", "plain")
    assert (found.points, found.low, found.high) == (5.0, 1.0, 9.0)
    assert difference(scores(), "tools", "looks", "plain") is None


def test_workflows_are_compared_within_one_harness_and_image_model():
    others = (system("elsewhere", "react", backend="other"), SystemFacts("codex", "codex", "rpr", "planner", "sketch"))
    (found,) = comparisons(RunFacts("demo", "r1", (*SYSTEMS, *others), FACTS.judges))
    assert (found.base, [line.label for line in found.lines]) == (
        "plain",
        ["minimal", "react", "reflect (planner-judges-eye)"],
    )


def test_the_table_has_gains_calls_and_the_warning_of_the_lesson():
    run = run_of(record("plain"), record("looks", LATE, image_calls=3), record("lesson", rounds=2))
    known = scores(("looks", "plain", 5.0, 1.0, 9.0), ("lesson", "plain", 10.0, 6.0, 14.0))
    text = ablation_table(run, known, FACTS, "tools").markdown()
    row = next(line for line in text.splitlines() if line.startswith("| react"))
    assert all(cell in row for cell in ("react§", "75.0", "5.0", "1.0, 9.0", "3.0", "0.0"))
    assert "measurement, and no better picture" in text
    assert "react 75.0 (+5.0)" in ablation_dots_alt(known, FACTS, "tools")
    assert len(ablation_dots(known, FACTS, "tools").axes) == 2
