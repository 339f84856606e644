"""Paid calls: in the ledger before and after, within the budget in between, and never paid outside of it."""

from __future__ import annotations

import json
import threading
import time

import pytest
from generation_fixtures import (
    PasteBackend,
    SecretlyPaidBackend,
    direct_system,
    make_agent,
    make_backend,
    make_case,
    make_release,
    native_system,
)

from longbanana_nb.errors import CallError, DataError, Incomplete
from longbanana_nb.generation import ModelChoice, Models, generate_run
from longbanana_nb.generation.harnesses import HARNESSES
from longbanana_nb.runs import Limits, Spent, create_run, floor_system, spent_in, verify_run

WINDOWS_OF_TWO = {"policy": "window", "size": 2, "stride": 2}


@pytest.fixture
def release(tmp_path):
    return make_release(tmp_path / "release")


@pytest.fixture
def run(tmp_path, release):
    return create_run(tmp_path / "run", release)


def paid(**params):
    return {"provider": "test", "id": "paste", "params": {"cost": 0.25, "most": 1.0, **params}}


def generate(run, release, *systems, backend=make_backend, **limits):
    return generate_run(
        run, release, systems, backends={"test": backend}, agents={"test": make_agent}, limits=Limits(**limits), workers=1
    )


def ledger(run, system, case_id):
    return [json.loads(line) for line in run.candidate(system, case_id).calls.read_text("utf-8").splitlines()]


class Crowded(PasteBackend):
    """Counts how many of its calls are in flight at once."""

    now, most_at_once, guard = 0, 0, threading.Lock()

    def draw(self, request):
        with Crowded.guard:
            Crowded.now += 1
            Crowded.most_at_once = max(Crowded.most_at_once, Crowded.now)
        time.sleep(0.1)
        try:
            return super().draw(request)
        finally:
            with Crowded.guard:
                Crowded.now -= 1


def test_every_paid_call_has_its_two_lines_and_free_systems_have_no_ledger(run, release):
    generate(run, release, direct_system(backend=paid(), references=WINDOWS_OF_TWO), floor_system("blank"))
    lines = ledger(run, "direct", "007")
    assert [(line["id"], line["event"]) for line in lines] == [(1, "opened"), (1, "closed"), (2, "opened"), (2, "closed")]
    assert (lines[0]["role"], lines[0]["model"], lines[0]["max_usd"]) == ("backend", "paste", 1.0)
    assert (lines[1]["cost_usd"], lines[1]["outcome"], lines[1]["usage"]) == (0.25, "image", {"in": 10, "cached": 0, "out": 5})
    assert spent_in(run) == Spent(usd=1.5, calls=6)
    assert run.candidate("direct", "007").record().cost_usd == 0.5
    assert not run.candidate("blank", "007").calls.exists()
    assert verify_run(run) == []


def test_the_budget_counts_calls_in_flight(run, release):
    Crowded.most_at_once = 0
    with pytest.raises(Incomplete, match=r"budget of \$2 is used up"):
        generate(run, release, direct_system(backend=paid(cost=0.9)), backend=Crowded, max_usd=2, concurrency=3)
    assert Crowded.most_at_once == 2  # a third could have passed the limit, whatever the two will have cost
    assert spent_in(run).usd == pytest.approx(1.8)


def test_a_candidate_cut_short_by_the_budget_keeps_its_steps_and_is_made_again(run, release):
    system = direct_system(backend=paid(cost=1.0), references=WINDOWS_OF_TWO)
    with pytest.raises(Incomplete, match=r"1 of 3 candidates are made and kept, 1 could not go on") as caught:
        generate(run, release, system, max_usd=3, concurrency=1)
    assert caught.value.exit_code == 3
    records = {record.case_id: record for record in run.records()}
    assert [records[case_id].outcome for case_id in ("007", "NA")] == ["image", "budget"]
    assert (records["NA"].reason.code, len(records["NA"].steps), records["NA"].calls.image) == ("max_usd", 1, 1)
    assert "a.b/c" not in records  # it was not begun
    assert generate(run, release, system, max_usd=10).made == 2
    assert spent_in(run) == Spent(usd=7.0, calls=7)


def test_a_call_that_never_answered_counts_with_its_most(run, release):
    generate(run, release, direct_system(backend=paid(at=1, how="own fault")), concurrency=1)
    assert [line["event"] for line in ledger(run, "direct", "007")] == ["opened"]
    assert spent_in(run) == Spent(usd=0.0, calls=0, open_usd=3.0, open_calls=3)
    with pytest.raises(Incomplete, match=r"\$3.00 spent"):
        generate(run, release, direct_system("other", backend=paid()), max_usd=3)


def test_an_agent_ends_where_the_next_picture_could_pass_what_the_case_may_cost(run, release):
    system = native_system(script="greedy", backend=paid(cost=0.5, most=0.5), limits={"max_usd_per_case": 1})
    generate(run, release, system)
    record = run.candidate("loop", "007").record()
    assert (record.outcome, record.reason.code, record.calls.image, record.cost_usd) == ("budget", "max_usd_per_case", 2, 1.0)
    assert generate(run, release, system).made == 0  # the same system would end there again


def test_nothing_is_paid_outside_the_ledger(tmp_path, run, release):
    with pytest.raises(DataError, match="states no price"):
        generate(run, release, direct_system(backend=paid()), backend=SecretlyPaidBackend)
    backend = PasteBackend(ModelChoice("test", "paste", params={"cost": 1.0}))
    with pytest.raises(CallError, match="no ledger"):
        HARNESSES["fp-direct"](make_case(tmp_path / "case"), direct_system(), Models(backend), 1)
    assert backend.requests == []
