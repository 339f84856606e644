"""Paid calls are written down before and after, and a budget counts those in flight."""

import threading

import pytest
from runs_fixtures import answer, make_release, make_run, save_image

from longbanana_nb.errors import DataError, Incomplete
from longbanana_nb.runs import Budget, Ledger, Spent, spent_in
from longbanana_nb.runs.ledger import spent_on


def test_a_call_without_its_end_counts_with_the_most_it_may_have_cost(tmp_path):
    path = tmp_path / "calls.jsonl"
    ledger = Ledger(path)
    first = ledger.open_call("image", "model-x", 0.40)
    ledger.close_call(first, 0.25, "image", {"in": 10})
    ledger.open_call("image", "model-x", 0.40)
    assert spent_on(path) == Spent(usd=0.25, calls=1, open_usd=0.40, open_calls=1)
    assert Ledger(path).open_call("agent", "model-y", 0.1) == 3  # numbers go on after a kill


def test_a_run_adds_up_generation_and_judging(tmp_path):
    run = make_run(tmp_path / "r", make_release(tmp_path / "release"))
    ledger = Ledger(run.candidate("sys-a", "007").calls)
    ledger.close_call(ledger.open_call("image", "x", 1.0), 0.75, "image")
    sha256 = save_image(run, "sys-a", "007")
    run.judgments("tools", "sys-a", "007").append_many(
        [answer(run, "007", check_id, 2, sha256, cost_usd=0.125) for check_id in ("001", "NA")]
    )
    assert spent_in(run) == Spent(usd=1.0, calls=3)


def test_a_broken_ledger_is_named(tmp_path):
    (tmp_path / "calls.jsonl").write_text('{"id": 1}\n')
    with pytest.raises(DataError, match=r"calls.jsonl.*event"):
        Ledger(tmp_path / "calls.jsonl")


def test_what_is_in_flight_is_as_good_as_spent():
    budget = Budget(1.0, spent_usd=0.2)
    one, _two = budget.reserve(0.4), budget.reserve(0.4)
    with pytest.raises(Incomplete, match=r"\$1.00 is reached: \$0.20 spent, \$0.80 in flight, the next call may cost \$0.10"):
        budget.reserve(0.1)
    one.settle(0.1)
    one.settle(0.1)
    assert budget.spent_usd == pytest.approx(0.3)
    budget.reserve(0.3)
    assert budget.reserved_usd == pytest.approx(0.7)


def test_a_budget_can_be_spent_to_the_cent_and_none_is_no_limit():
    budget = Budget(0.3)
    for _ in range(3):
        budget.reserve(0.1)
    Budget(None).reserve(1e9)
    with pytest.raises(Incomplete):
        Budget(0.0).reserve(0.01)


def test_many_threads_never_pass_the_limit():
    budget, granted = Budget(1.0), []

    def ask():
        for _ in range(50):
            try:
                budget.reserve(0.01)
            except Incomplete:
                return
            granted.append(1)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 100
