"""A program of the user with models: it reaches the agent model and the image tool through the gateway, and nothing else."""

from __future__ import annotations

import json

import pytest
from gateway_fixtures import provider
from generation_fixtures import make_release
from sandbox_fixtures import BOXES, NO_SANDBOX

from longbanana_nb.errors import CallError
from longbanana_nb.generation import generate_run, prepare
from longbanana_nb.runs import create_run, parse_system, verify_run
from longbanana_nb.runs.keyscan import key_faults

KEY = "sk-test-SECRETKEY0123456789"
AGENTS = dict.fromkeys(("anthropic", "openai-compatible"), "longbanana_nb.generation.agent_models:agent_model")
BACKENDS = {"test": "generation_fixtures:make_backend"}
PROGRAM = """
import json, os, shutil, subprocess, sys, urllib.error, urllib.request
from pathlib import Path
task = json.loads(Path(sys.argv[1]).read_text("utf-8"))
way = task["models"]

def ask(model):
    body = {"model": model, "messages": [{"role": "user", "content": "What is asked for? " + task["prompt"]}]}
    head = {"Content-Type": "application/json", "Authorization": "Bearer " + way["key"]}
    request = urllib.request.Request(way["url"] + "/v1/chat/completions", json.dumps(body).encode(), head)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code

print("asked", ask(way["model"]), ask("another-model"), way["dialect"], flush=True)
draw = ["generate", json.dumps({"prompt": "a red pear", "references": ["ref_02"], "keep_current": False})]
subprocess.run([*way["image_tool"], *draw], check=True)
subprocess.run([*way["image_tool"], "look_at_result", "--save", "seen"], check=True)
shutil.copy(next(Path("seen").iterdir()), task["out"])
print("keys", [name for name, value in os.environ.items() if "SECRETKEY" in value])
"""


def system(folder, url, *, sandbox, **changes):
    folder.mkdir(exist_ok=True)
    (folder / "draw.py").write_text(PROGRAM, "utf-8")
    value = {
        "name": "mine",
        "sandbox": sandbox,
        "harness": {"kind": "command", "argv": ["python", "draw.py", "{task}"], "timeout_s": 60},
        "agent_model": {"provider": "openai-compatible", "id": "some-model", "base_url": url, "key_env": "LB_TEST_AGENT_KEY"},
        "backend": {"provider": "test", "id": "paste", "params": {}},
        **changes,
    }
    return parse_system(value).written_in(folder)


@pytest.fixture
def server():
    with provider() as one:
        yield one


@pytest.mark.parametrize("make_box", BOXES)
def test_it_asks_its_model_and_draws_and_the_record_is_the_gateways(make_box, tmp_path, server, monkeypatch):
    monkeypatch.setenv("LB_TEST_AGENT_KEY", KEY)
    release = make_release(tmp_path / "release", ("007",))
    run = create_run(tmp_path / "run", release)
    spec = system(tmp_path / "program", f"{server.url}/s/success/v1", sandbox=make_box().name)
    generate_run(run, release, [spec], backends=BACKENDS, agents=AGENTS)
    slot = run.candidate("mine", "007")
    record, trace = slot.record(), [json.loads(line) for line in (slot.folder / "trace.jsonl").read_text("utf-8").splitlines()]
    said = next(line["text"] for line in trace if line["name"] == "stdout")
    assert record.outcome == "image", record.reason
    assert said.startswith("asked 200 4")
    assert "openai-chat" in said
    assert said.endswith("keys []")
    assert (record.calls.agent, record.calls.image) == (1, 1)
    assert (record.references.sent, len(record.steps), record.steps[0].file) == (["ref_02"], 1, record.image.file)
    assert record.simulated  # the image model of this test is
    assert [line["n"] for line in trace] == list(range(1, len(trace) + 1))
    assert [line["name"] for line in trace if line["kind"] == "refused"] == ["model"]
    assert (verify_run(run), key_faults(run.path)) == ([], [])
    assert [file for file in run.path.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()] == []


@NO_SANDBOX
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"backend": None}, "must name both"),
        ({"agent_model": None}, "must name both"),
        (
            {
                "agent_model": {
                    "provider": "openai-compatible",
                    "id": "m",
                    "base_url": "http://127.0.0.1:9/v1",
                    "params": {"logprobs": 5},
                }
            },
            "logprobs",
        ),
    ],
)
def test_models_that_cannot_be_reached_are_refused_beforehand(tmp_path, changes, words):
    spec = system(tmp_path / "program", "http://127.0.0.1:9/v1", sandbox="bubblewrap", **changes)
    with pytest.raises(CallError, match=words):
        prepare([spec], [], backends=BACKENDS, agents=AGENTS)


def test_a_budget_that_is_used_up_is_the_outcome(tmp_path, server, monkeypatch):
    monkeypatch.setenv("LB_TEST_AGENT_KEY", KEY)
    release = make_release(tmp_path / "release", ("007",))
    run = create_run(tmp_path / "run", release)
    paid = {"provider": "test", "id": "paste", "params": {"cost": 0.5, "most": 1.0}}
    agent = {
        "provider": "anthropic",
        "id": "claude-sonnet-5-5",
        "base_url": f"{server.url}/s/success",
        "key_env": "LB_TEST_AGENT_KEY",
    }
    spec = system(
        tmp_path / "program",
        "",
        sandbox="none",
        backend=paid,
        agent_model=agent,
        limits={"max_usd_per_case": 0.4},
    )
    generate_run(run, release, [spec], backends=BACKENDS, agents=AGENTS)
    record = run.candidate("mine", "007").record()
    assert (record.outcome, record.reason.code) == ("budget", "max_usd_per_case")
