"""Audits and canaries when runs are joined and verified: nothing is lost, asked again or left unchecked; drift is not hidden."""

import json
import shutil

import pytest
from conftest import run_command
from model_run_fixtures import KEY, QUICK, dialect, judged, make_release, make_run, messages, profile, verdict
from provider_server import ProviderServer

from longbanana_nb.auditing import audit_run, canary_run
from longbanana_nb.errors import DataError
from longbanana_nb.reporting.audits import audit_lines
from longbanana_nb.retelling import audit_faults, merged
from longbanana_nb.runs import JudgmentJournal, open_run, spent_in, verify_run


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


@pytest.fixture
def server():
    with ProviderServer(dialect()) as running:
        yield running


@pytest.fixture
def shards(tmp_path, server):
    """Two judged runs of one experiment, of one system each, the first audited with fewer pairs than the second."""
    release, found = make_release(tmp_path / "release", checks=3), []
    for number, system in enumerate(("mine", "other")):
        run = make_run(tmp_path / f"shard-{number}", release, systems=(system,))
        judged(run, release, profile(server))
        audit_run(open_run(run.path), profile(server), pairs=1 + 3 * number, patience=QUICK)
        canary_run(open_run(run.path), profile(server), units=6, patience=QUICK)
        found.append(open_run(run.path))
    return found


def test_a_joined_run_holds_every_answer_call_and_the_fullest_audit(tmp_path, shards, server):
    run = merged(tmp_path / "all", shards)
    for name in ("answers.jsonl", "canary.jsonl"):
        parts = [line.key for shard in shards for line in JudgmentJournal(shard.path / "audits" / "claude" / name).read()]
        assert {line.key for line in JudgmentJournal(run.path / "audits" / "claude" / name).read()} == set(parts)
    assert spent_in(run).usd == pytest.approx(sum(spent_in(shard).usd for shard in shards))
    told = json.loads((run.path / "audits" / "claude" / "audit.json").read_text("utf-8"))
    assert told["pairs"] == json.loads((shards[1].path / "audits" / "claude" / "audit.json").read_text("utf-8"))["pairs"]
    assert told["complete"]
    drift = json.loads((run.path / "audits" / "claude" / "canary.json").read_text("utf-8"))
    assert (drift["units"], drift["rounds"][0]["answered"], drift["complete"]) == (12, 12, True)
    assert verify_run(run) == [] and audit_faults(run) == []
    journal, asked = JudgmentJournal(run.path / "audits" / "claude" / "answers.jsonl"), len(messages(server))
    before = journal.read()
    audit_run(run, profile(server), pairs=1, patience=QUICK)
    new = journal.read()[len(before) :]
    assert not {line.key for line in new} & {line.key for line in before}
    assert len(messages(server)) - asked == sum(line.cost_usd > 0 for line in new) < told["questions"]


def test_verify_sees_a_changed_picture_answer_and_number(tmp_path, shards):
    def spoilt(name):
        copy = tmp_path / name
        shutil.copytree(shards[1].path, copy)
        meta = json.loads((copy / "run.json").read_text("utf-8"))
        meta["release"]["manifest"] = str(shards[1].manifest)
        (copy / "run.json").write_text(json.dumps(meta), "utf-8")
        return open_run(copy), copy / "audits" / "claude"

    run, folder = spoilt("picture")
    picture = next((folder / "pictures").iterdir())
    picture.write_bytes(picture.read_bytes() + b"x")
    assert [(fault.code, fault.where) for fault in verify_run(run)] == [("sha256", f"audits/claude/pictures/{picture.name}")]
    run, folder = spoilt("answer")
    lines = (folder / "answers.jsonl").read_text("utf-8").splitlines(keepends=True)
    (folder / "answers.jsonl").write_text("".join([lines[0].replace('"label":2', '"label":7'), *lines[1:]]), "utf-8")
    assert "judgment" in {fault.code for fault in verify_run(run)}
    run, folder = spoilt("number")
    told = json.loads((folder / "audit.json").read_text("utf-8"))
    told["sensitivity"][0]["rate"] = 1.0
    (folder / "audit.json").write_text(json.dumps(told), "utf-8")
    assert verify_run(run) == []
    (fault,) = audit_faults(run)
    assert "sensitivity[0] rate" in fault.where and (fault.found, fault.expected) == ("1.0", "0.0")
    shown = run_command("verify", run.path, cwd=tmp_path, home=tmp_path, check=1)
    assert "sensitivity[0] rate" in shown.stdout


def test_a_judge_that_moved_is_not_joined_without_a_word(tmp_path, shards, server):
    server.dialect.reply = lambda body: verdict("Fail")
    canary_run(open_run(shards[0].path), profile(server), units=6, patience=QUICK)
    with pytest.raises(DataError, match="6 of 6 canary answers of claude"):
        merged(tmp_path / "refused", shards)
    assert not (tmp_path / "refused").exists()
    names = [tmp_path / "all", *(shard.path for shard in shards)]
    assert "--accept-drift" in run_command("merge", *names, cwd=tmp_path, home=tmp_path, check=1).stderr
    run_command("merge", *names, "--accept-drift", cwd=tmp_path, home=tmp_path, check=0)
    run = open_run(tmp_path / "all")
    assert "6 of 6 canary answers" in audit_lines(run)["claude"]
    assert "accepted" in audit_lines(run)["claude"]
    again = merged(tmp_path / "again", [run, shards[1]])  # what was accepted once is not asked for a second time
    assert "accepted" in audit_lines(again)["claude"]
    assert verify_run(again) == []


def test_the_same_question_is_compared_between_runs(tmp_path, shards, server):
    copy = tmp_path / "later"
    shutil.copytree(shards[0].path, copy)
    (copy / "audits" / "claude" / "canary.jsonl").unlink()
    server.dialect.reply = lambda body: verdict("Uncertain")
    canary_run(open_run(copy), profile(server), units=6, patience=QUICK)
    with pytest.raises(DataError, match="6 of 6 canary answers"):
        merged(tmp_path / "all", [shards[0].path, copy])
