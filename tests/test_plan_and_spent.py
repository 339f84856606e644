"""What judging was expected to take, kept before the first call, beside what it took; and no key where nothing is asked."""

import pytest
from model_run_fixtures import KEY, dialect, judged, make_release, make_run, messages, profile
from provider_server import ProviderServer

from longbanana_nb.errors import CallError, Incomplete
from longbanana_nb.runs import merge_runs, open_run, spent_in, verify_run
from longbanana_nb.runs.judging_plans import planned_and_taken, read_plans
from longbanana_nb.workbench import tables

AGENTIC = {"protocol": "agentic", "agentic": {"max_turns": 3, "tools": ["crop"]}}


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with ProviderServer(dialect()) as running:
        yield running


@pytest.fixture
def release(tmp_path):
    return make_release(tmp_path / "release")


@pytest.fixture
def run(tmp_path, release):
    return make_run(tmp_path / "run", release)


def test_the_plan_is_kept_before_and_shown_beside_what_was_spent(run, release, server):
    summary = judged(run, release, profile(server))
    (plan,) = read_plans(run.path / "judgments" / "claude" / "plans.jsonl")
    assert summary.planned == plan
    assert (plan.open, plan.calls, plan.most_calls, plan.pictures, plan.uncounted) == (16, 16, 16, 40, 0)
    assert plan.usd == pytest.approx(plan.most_usd) and plan.usd > 0
    first = messages(server)[0]
    assert sum(block["type"] == "image" for body in messages(server) for block in body["messages"][0]["content"]) == 40
    ((_, taken),) = planned_and_taken(run.path / "judgments" / "claude")
    assert (taken.calls, taken.pictures, taken.tokens_out) == (16, 40, 16 * 40)
    assert taken.usd == pytest.approx(spent_in(run).usd)
    text = summary.text()
    assert "planned: 16 calls, 40 pictures" in text and "spent: 16 calls" in text and "formulas" not in text
    row = tables(open_run(run.path))["judging_cost"].groups[0].rows[0]
    assert [cell.text for cell in row.cells[2:5]] == ["16", "16", "40"]
    assert [cell.text for cell in row.cells[8:10]] == ["16", "40"]
    assert first["model"] == "claude-sonnet-4-6"
    again = judged(open_run(run.path), release, profile(server))
    assert again.planned is None and len(read_plans(run.path / "judgments" / "claude" / "plans.jsonl")) == 1


def test_an_interrupted_judge_has_a_second_plan_for_what_was_left(run, release, server):
    with pytest.raises(Incomplete, match="budget"):
        judged(run, release, profile(server), limits={"max_usd": 0.2, "concurrency": 1})
    judged(open_run(run.path), release, profile(server))
    (first, taken), (second, rest) = planned_and_taken(run.path / "judgments" / "claude")
    assert (first.open, second.open) == (16, 16 - taken.calls) and 0 < taken.calls < 16
    assert taken.calls + rest.calls == 16
    assert taken.usd + rest.usd == pytest.approx(spent_in(run).usd)
    assert len(tables(open_run(run.path))["judging_cost"].groups[0].rows) == 2


def test_a_judge_with_turns_is_planned_from_least_to_most(run, release, server):
    summary = judged(run, release, profile(server, **AGENTIC))
    assert (summary.planned.calls, summary.planned.most_calls) == (16, 64)
    assert summary.planned.usd < summary.planned.most_usd
    assert "16 to 64 calls" in summary.text()


def test_plans_are_merged_and_verified(tmp_path, run, release, server):
    other = make_run(tmp_path / "other", release, systems=("third",))
    for one in (run, other):
        judged(one, release, profile(server))
    merged = merge_runs(tmp_path / "all", [run.path, other.path])
    assert [plan.open for plan in read_plans(merged.path / "judgments" / "claude" / "plans.jsonl")] == [16, 8]
    assert verify_run(merged) == []
    (merged.path / "judgments" / "claude" / "plans.jsonl").write_text('{"at": 3}\n')
    assert [fault.code for fault in verify_run(merged)] == ["plan"]


def test_no_key_is_needed_where_everything_is_answered(run, release, server, monkeypatch):
    spec = profile(server)
    judged(run, release, spec)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    again = judged(open_run(run.path), release, spec)
    assert (again.asked, again.found, again.is_complete) == (0, 16, True)
    assert len(messages(server)) == 16


def test_no_key_is_needed_where_everything_is_adopted(tmp_path, run, release, server, monkeypatch):
    spec = profile(server)
    judged(run, release, spec)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    copy = make_run(tmp_path / "copy", release)
    summary = judged(copy, release, spec, reuse=[run.path])
    assert (summary.asked, summary.reused, summary.is_complete) == (0, 16, True)
    assert len(messages(server)) == 16 and spent_in(open_run(copy.path)).usd == 0


def test_where_one_question_is_open_the_key_is_asked_for_before_anything_is_written(tmp_path, run, release, server, monkeypatch):
    spec = profile(server)
    part = make_run(tmp_path / "part", release, systems=("mine",))
    judged(part, release, spec)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(CallError, match="ANTHROPIC_API_KEY"):
        judged(run, release, spec, reuse=[part.path])
    assert "claude" not in open_run(run.path).judges
    assert not list(run.path.glob("judgments/*")) and len(messages(server)) == 8
