"""Auditing a model judge over the wire: the same engine, a journal and a ledger of its own, and what odd judges come to."""

import hashlib
import json

import pytest
from model_run_fixtures import KEY, QUICK, dialect, judged, make_release, make_run, messages, profile, verdict
from provider_server import ProviderServer

from longbanana_nb.auditing import audit_run, canary_run
from longbanana_nb.errors import CallError, Incomplete
from longbanana_nb.reporting.audits import audit_line, audit_lines, audit_table
from longbanana_nb.runs import open_run, parse_judge, verdict_grid, verify_run
from longbanana_nb.runs.ledger import spent_on


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path / "run", make_release(tmp_path / "release", checks=3))


@pytest.fixture
def server():
    with ProviderServer(dialect()) as running:
        yield running


@pytest.fixture
def judged_run(run, tmp_path, server):
    from longbanana_nb.release import load_release

    judged(run, load_release(run.manifest), profile(server))
    return open_run(run.path)


def audited(run, server, *, pairs=4, **changes):
    return audit_run(run, profile(server, **changes), pairs=pairs, patience=QUICK)


def overall(told, part):
    return next(one for one in told[part] if one["by"] == "all")


def test_a_judge_that_always_passes_notices_nothing(judged_run, server):
    told = audited(judged_run, server)
    assert (told["source"], told["complete"]) == ("pixels", True)
    assert overall(told, "sensitivity")["rate"] == 0.0
    assert overall(told, "sensitivity")["answered"] == 4  # words; all cases here ask the same
    assert overall(told, "false_alarms")["rate"] == 0.0
    assert {one["kind"] for one in told["left_out"]} >= {"mirror", "other-case", "other-reference"}


def test_what_was_answered_is_never_asked_again_and_stands_apart_from_the_verdicts(judged_run, server):
    before = verdict_grid(judged_run).to_json()
    asked = len(messages(server))
    first = audited(judged_run, server)
    new = len(messages(server)) - asked
    assert 0 < new < first["questions"], "the run's own answers are taken for the candidates as they are"
    ledger = judged_run.path / "audits" / "claude" / "calls.jsonl"
    assert spent_on(ledger).calls == new
    written = (judged_run.path / "audits" / "claude" / "audit.json").read_bytes()
    again = audited(open_run(judged_run.path), server)
    assert len(messages(server)) == asked + new
    assert again == first
    assert (judged_run.path / "audits" / "claude" / "audit.json").read_bytes() == written
    assert verdict_grid(open_run(judged_run.path)).to_json() == before
    assert verify_run(judged_run) == []


def test_a_judge_that_answers_by_chance_is_disturbed_by_harmless_edits(judged_run, server):
    def by_chance(body):
        number = hashlib.sha256(json.dumps(body["messages"]).encode()).digest()[0] % 3
        return verdict(("Fail", "Uncertain", "Pass")[number])

    server.dialect.reply = by_chance
    told = audited(judged_run, server, pairs=10)
    assert 0.3 < overall(told, "false_alarms")["rate"] < 0.95  # 2 of 3 expected
    assert 0.3 < overall(told, "sensitivity")["rate"] < 0.95


def test_refusals_are_invalid_and_no_rate_is_made_of_them(judged_run, server):
    server.dialect.reply = lambda body: {"content": [], "stop_reason": "refusal"}
    told = audited(judged_run, server)
    row = overall(told, "sensitivity")
    assert (row["answered"], row["invalid"], row["rate"]) == (0, 4, None)
    assert row["reasons"] == {"refused": 4}
    assert "without a valid answer" in audit_line("claude", told, told["judge_sha256"])


def test_an_audit_ends_at_its_budget_and_goes_on_later(judged_run, server):
    with pytest.raises(Incomplete, match="budget"):
        audit_run(judged_run, profile(server), pairs=4, max_usd=0.07, patience=QUICK)
    told = json.loads((judged_run.path / "audits" / "claude" / "audit.json").read_text("utf-8"))
    assert not told["complete"]
    assert "unfinished" in audit_line("claude", told, told["judge_sha256"])
    assert audited(open_run(judged_run.path), server)["complete"]


def test_without_verdicts_pairs_from_pixels_are_refused(run, server):
    with pytest.raises(CallError, match="no valid answer"):
        audited(run, server)


def test_samples_of_the_judge_are_compared(judged_run, server):
    said = iter(range(10_000))
    server.dialect.reply = lambda body: verdict("Pass" if next(said) % 2 else "Fail")
    told = audited(judged_run, server, pairs=2, samples=2)
    assert told["repeats"]["samples"] == 2
    assert told["repeats"]["compared"] > 0
    assert told["repeats"]["rate"] < 1


def test_the_line_warns_of_no_audit_and_of_a_stale_one(judged_run, server):
    assert "no audit" in audit_lines(judged_run)["claude"]
    told = audited(judged_run, server)
    assert audit_lines(open_run(judged_run.path))["claude"].startswith("claude: notices 0.0 %")
    assert "stale" in audit_line("claude", told, "another hash")
    table = audit_table(told, "another hash")
    assert table.notes[0].startswith("Stale")
    assert table.csv() == audit_table(json.loads(json.dumps(told)), "another hash").csv()


def test_exchanged_references_reach_the_model_under_the_bound_id(judged_run, server):
    from longbanana_nb.auditing import bench_of
    from longbanana_nb.judging.audit.pairs import Side

    bench = bench_of(judged_run, profile(server), None, QUICK, "audit")
    record = next(judged_run.records())
    file = f"candidates/{record.system}/case_0/s0/{record.image.file}"
    plain = bench.questions().asked("case_0", "k0", Side(record.image.sha256, file), 0)
    other = bench.questions().asked("case_0", "k0", Side(record.image.sha256, file, {"r0": "r3"}), 0)
    assert plain.key != other.key
    before = len(messages(server))
    bench.asker([other], lambda judgments: None)
    (line,) = bench.folder.answers.read()
    case = bench.release.cases["case_0"]
    sent = {image.id: image.source_sha256 for image in line.images}
    assert len(messages(server)) == before + 1
    assert sent["r0"] == case.reference("r3").sha256
    assert sent["r1"] == case.reference("r1").sha256


def test_a_canary_is_frozen_asked_again_and_its_drift_told(judged_run, server):
    spec = profile(server)
    first = canary_run(judged_run, spec, units=6, patience=QUICK)
    assert (first["units"], len(first["rounds"]), first["drift"]) == (6, 1, [])
    frozen = (judged_run.path / "audits" / "canary.jsonl").read_bytes()
    server.dialect.reply = lambda body: verdict("Fail")
    second = canary_run(open_run(judged_run.path), spec, units=50, patience=QUICK)
    assert (judged_run.path / "audits" / "canary.jsonl").read_bytes() == frozen
    (drift,) = second["drift"]
    assert (drift["compared"], drift["down"], drift["up"]) == (6, 6, 0)
    assert drift["p_sign"] == pytest.approx(2 / 64)
    assert drift["same_models"]


def test_a_canary_refuses_a_changed_picture(judged_run, server):
    from longbanana_nb.errors import DataError

    spec = profile(server)
    canary_run(judged_run, spec, units=4, patience=QUICK)
    for file in judged_run.path.glob("candidates/*/*/s0/image.png"):
        file.write_bytes(file.read_bytes() + b"x")
    with pytest.raises(DataError):
        canary_run(open_run(judged_run.path), spec, units=4, patience=QUICK)


def test_the_truth_is_not_audited(judged_run):
    with pytest.raises(CallError, match="no pixel"):
        audit_run(judged_run, parse_judge({"name": "truth", "protocol": "truth"}), pairs=1)
