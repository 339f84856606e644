"""The command line: help, exit codes, plain words for mistakes, ids that survive, and output on any terminal."""

import json
import os
import subprocess
import sys

import pytest
from conftest import run_command

VERBS = ["demo", "validate-data", "fetch", "plan", "generate", "import-candidates", "judge", "score", "agree", "report", "merge"]
VERBS += ["verify", "notebook", "doctor"]


def table(folder, text):
    path = folder / "verdicts.csv"
    path.write_text(text, "utf-8")
    return path


def test_help_names_every_verb_and_the_way_in(tmp_path):
    done = run_command("--help", cwd=tmp_path, home=tmp_path, check=0)
    assert [verb for verb in VERBS if f"    {verb} " not in done.stdout and f"    {verb}\n" not in done.stdout] == []
    assert "longbanana-nb demo" in done.stdout
    assert "exit codes" in done.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_explains_itself(verb, tmp_path):
    done = run_command(verb, "--help", cwd=tmp_path, home=tmp_path, check=0)
    assert len(done.stdout.splitlines()) >= 4


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["frobnicate"], 2, "invalid choice"),
        (["score"], 2, "required"),
        (["score", "nowhere.csv"], 2, "nowhere.csv"),
        (["validate-data"], 2, "DATASET_MANIFEST"),
        (["validate-data", "nowhere.json"], 1, "nowhere.json"),
        (["score", "nowhere"], 2, "a run folder, or a .csv or .jsonl table"),
        (["judge", "nowhere"], 2, "a run folder, or an experiment file"),
        (["plan", "nowhere.yaml"], 2, "nowhere.yaml"),
        (["plan", "presets/experiments/dmo.yaml"], 2, "Did you mean 'presets/experiments/demo.yaml'?"),
        (["judge", "."], 1, "run.json"),
        (["report", "nowhere"], 1, "run.json"),
        (["verify", "nowhere"], 1, "run.json"),
        (["merge", "out", "nowhere"], 1, "run.json"),
        (["agree"], 2, "--human"),
        (["demo", "--cases", "11"], 2, "10"),
        (["fetch", "open_v1", "--from", "nowhere.tar.zst"], 1, "nowhere.tar.zst"),
    ],
)
def test_mistakes_get_words_and_the_right_exit_code(arguments, code, words, tmp_path):
    done = run_command(*arguments, cwd=tmp_path, home=tmp_path)
    assert done.returncode == code, done.stderr
    assert words in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_ids_survive_a_bare_table(tmp_path):
    ids = ["007", "NA", "1e5", "null", "x,y", "ñ é", "-1"]
    rows = "".join(f'mine,"{case_id}",SCC,01,Pass\n' for case_id in ids)
    done = run_command(
        "score", table(tmp_path, "system,case_id,category,check_id,label\n" + rows), "--json", cwd=tmp_path, home=tmp_path
    )
    assert done.returncode == 0
    found = [row["name"] for row in json.loads(done.stdout)["scores"] if row["scope"] == "case"]
    assert sorted(found) == sorted(ids)


def test_the_card_s_rule_by_hand_and_exit_three_when_something_is_missing(tmp_path):
    text = "system,case_id,category,check_id,label\n"
    text += (
        "mine,a,SCC,1,2\nmine,a,SCC,2,2\n" + "".join(f"mine,b,SCC,{n},0\n" for n in range(8)) + "mine,c,RGC,1,2\nmine,c,RGC,2,\n"
    )
    done = run_command("score", table(tmp_path, text), "--json", cwd=tmp_path, home=tmp_path)
    assert done.returncode == 3
    rows = {(row["scope"], row["name"]): row for row in json.loads(done.stdout)["scores"]}
    assert rows["case", "a"]["score"] == 100
    assert rows["case", "b"]["score"] == 0
    assert rows["category", "SCC"]["score"] == 50  # mean of case means, not pooled (20)
    overall = rows["overall", "overall"]
    assert overall["score"] == pytest.approx(200 / 3)
    assert overall["score_low"] == pytest.approx(50)
    assert (overall["checks_valid"], overall["checks_total"], overall["invalid"]) == (11, 12, 1)
    assert overall["provisional"]


def test_a_table_with_faults_names_the_rows(tmp_path):
    text = "system,case_id,category,check_id,label\nmine,a,SCC,1,2\nmine,a,SCC,1,0\nmine,b,SCC,1,3\nmine,c,XXX,1,1\n"
    done = run_command("score", table(tmp_path, text), cwd=tmp_path, home=tmp_path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert all(word in done.stderr for word in ("'3'", "XXX"))


def test_a_terminal_without_utf8_and_a_strict_encoding_do_not_crash(tmp_path):
    file = table(tmp_path, "system,case_id,category,check_id,label\nmíne,ñ,SCC,1,Pass\n")
    environment = {**os.environ, "PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    code = "import sys, warnings; warnings.filterwarnings('error', category=EncodingWarning, module='longbanana_nb');"
    code += "from longbanana_nb.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-X", "warn_default_encoding", "-c", code, "score", str(file)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "m\\xedne" in done.stdout


def test_doctor_shows_no_key(tmp_path, monkeypatch):
    secret = "sk-ant-" + "A" * 40
    monkeypatch.setenv("ANTHROPIC_API_KEY", secret)
    done = run_command("doctor", cwd=tmp_path, home=tmp_path, check=0)
    assert secret not in done.stdout + done.stderr
    line = next(line for line in done.stdout.splitlines() if "ANTHROPIC_API_KEY" in line)
    assert "set" in line
    assert "not set" not in line


def test_plan_says_what_cannot_run_and_exits_two(tmp_path, demo_home, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    manifest = next((demo_home / "data" / "releases").glob("*/manifest.json"))
    (tmp_path / "e.yaml").write_text(
        f"""
schema: lb.experiment.v1
run: run
release: {json.dumps(str(manifest))}
systems:
  - {{name: stage, harness: {{kind: pd-direct}}, backend: {{provider: sketch, id: sketch-strong}}, privileges: [graph]}}
  - {{name: real, harness: {{kind: fp-direct}}, backend: {{provider: google, id: gemini-3.1-flash-image}}}}
judges:
  - {{name: modelled, protocol: direct, model: {{provider: anthropic, id: claude-sonnet-4-6}}}}
""",
        "utf-8",
    )
    done = run_command("plan", "e.yaml", "--json", cwd=tmp_path, home=demo_home)
    assert done.returncode == 2
    plan = json.loads(done.stdout)
    reasons = {part["system"]: part["cannot_run"] for part in plan["systems"]}
    assert reasons["stage"] is None  # the demo release has its graphs
    assert "google" in reasons["real"]
    assert reasons["blank"] is None
    judge = plan["judges"][0]
    assert judge["cannot_run"] is None  # a plan needs no key; that one is missing is a note
    assert judge["calls"] == judge["answers"] > 0
    assert judge["cost_usd"] > 0
    assert any("ANTHROPIC_API_KEY" in note for note in judge["model"]["notes"])
    assert not (tmp_path / "run").exists()
