"""What an agent program can reach from inside: its case and its one model; no evaluation, no other case, no key, no network."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_agents_model import Say, ScriptedModel, Shell, Use
from cli_agents_runs import DRAW, KEY, Bench, lines, living

SPY = r"""
import http.client, json, os, socket, subprocess
found = {}
def text(path):
    try:
        return open(path, errors="replace").read()
    except OSError as error:
        return type(error).__name__
found["folder"] = sorted(os.listdir("/work"))
found["references"] = sorted(os.listdir("/work/references"))
found["roots"] = sorted(os.listdir("/"))
found["evaluation"] = text(@EVALUATION@)
found["other case"] = text(@OTHER@)
found["run"] = text(@RUN@)
processes = [f"/proc/{entry}" for entry in os.listdir("/proc") if entry.isdigit()]
found["environment"] = [place for place in processes if "SECRETKEY" in text(f"{place}/environ")]
found["command lines"] = [line for line in (text(f"{place}/cmdline") for place in processes) if "SPIED" not in line]
def connect(host, port):
    try:
        socket.create_connection((host, port), 2).close()
        return "open"
    except OSError as error:
        return type(error).__name__
found["model direct"] = connect("127.0.0.1", @PORT@)
found["outside"] = connect("192.0.2.1", 443)
def post(path, body):
    line = http.client.HTTPConnection("127.0.0.1", 8901, timeout=10)
    line.request("POST", path, json.dumps(body), {"content-type": "application/json", "x-api-key": "x"})
    answer = line.getresponse()
    return [answer.status, answer.read().decode(errors="replace")[:300]]
message = {"model": "@MODEL@", "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}]}
found["web search"] = post("/v1/messages", {**message, "tools": [{"type": "web_search_20250305", "name": "web_search"}]})
found["another model"] = post("/v1/messages", {**message, "model": "claude-opus-4-8"})
picture = {"type": "image", "source": {"type": "url", "url": "http://192.0.2.1/x.png"}}
found["picture by address"] = post("/v1/messages", {**message, "messages": [{"role": "user", "content": [picture]}]})
found["batches"] = post("/v1/messages/batches", {"requests": []})
for name in ("prompt.txt", "references/ref_01.png"):
    try:
        open("/work/" + name, "a").write("x")
        found["wrote " + name] = True
    except OSError as error:
        found["wrote " + name] = type(error).__name__
found["umount"] = subprocess.run(["sh", "-c", "umount /work/references; mount -o remount,rw /"], capture_output=True).returncode
print("SPIED", json.dumps(found))
"""


@pytest.fixture(autouse=True)
def a_key(monkeypatch):
    monkeypatch.setenv("LB_TEST_AGENT_KEY", KEY)


def texts(value):
    """Every text in a request."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)


def spied(requests):
    """What the spy printed, as the model was told it."""
    told = next(text for text in texts(requests[-1][2]) if text.startswith("SPIED "))
    return json.loads(told.removeprefix("SPIED "))


def test_the_spy_finds_its_own_case_and_nothing_else(tmp_path):
    with ScriptedModel() as model:
        bench = Bench(tmp_path, model, ("007", "NA"))
        spec = bench.system("claude-code")
        root = bench.release.root
        other = next((root / "public").rglob("images1/ref_01.png"))
        known = {
            "EVALUATION": repr(str(next(root.rglob("checks.jsonl")))),
            "OTHER": repr(str(other)),
            "RUN": repr(str(bench.run.path / "run.json")),
            "PORT": model.url.rsplit(":", 1)[1],
            "MODEL": spec.agent_model.id,
        }
        spy = SPY
        for name, value in known.items():
            spy = spy.replace(f"@{name}@", value)
        bench.go(spec, [Shell(f"python3 - <<'SPY'\n{spy}\nSPY"), Use("generate", DRAW), Say("done")], case_ids=["007"])
        found = spied(model.requests)
        asked = [body for _, _, body in model.requests]
    assert found["folder"] == ["prompt.txt", "references"]
    assert found["references"] == ["back.png", "ref_01.png", "ref_02.jpg", "ref_03.png", "ref_04.jpg"]
    assert [found[name] for name in ("evaluation", "other case", "run")] == ["FileNotFoundError"] * 3
    assert found["environment"] == []
    assert found["command lines"]
    assert str(tmp_path) not in str(found["command lines"])
    assert found["model direct"] != "open"
    assert found["outside"] != "open"
    for name in ("web search", "another model", "picture by address"):
        assert found[name][0] == 400, name
    assert found["batches"][0] == 404
    assert (found["wrote prompt.txt"], found["wrote references/ref_01.png"]) == ("OSError", "OSError")
    assert found["umount"] != 0
    assert [body for body in asked if "web_search_20250305" in json.dumps(body.get("tools", []))] == []
    record, trace = bench.record(spec), bench.trace(spec)
    assert record.outcome == "image"
    assert [line["name"] for line in lines(trace, "refused")] == ["tool", "model", "image_source", "endpoint"]


GENERATE = """
import sys
sys.path[:0] = [{tests!r}]
from pathlib import Path
from cli_agents_model import Hang, ScriptedModel, Shell
from cli_agents_runs import Bench
with ScriptedModel([Shell("(setsid sleep 48151623 > /dev/null 2>&1 < /dev/null &) ; echo begun"), Hang()]) as model:
    bench = Bench(Path({folder!r}), model)
    bench.go(bench.system({name!r}))
"""


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_a_killed_workbench_leaves_no_process_and_its_case_is_made_again(tmp_path, name):
    with ScriptedModel([Use("generate", DRAW), Say("done")]) as model:
        bench = Bench(tmp_path, model)
        spec = bench.system(name)
        text = GENERATE.format(tests=str(Path(__file__).parent), folder=str(tmp_path / "other"), name=name)
        child = subprocess.Popen([sys.executable, "-c", text], env={**os.environ, "LB_TEST_AGENT_KEY": KEY})
        until = time.monotonic() + 60
        while not living("sleep\x0048151623") and time.monotonic() < until:
            time.sleep(0.1)
        assert living("sleep\x0048151623")
        child.send_signal(signal.SIGKILL)
        child.wait()
        while living("sleep\x0048151623") and time.monotonic() < until:
            time.sleep(0.1)
        assert living("sleep\x0048151623") == []
        assert living("/opt/agent/node_modules") == []
        bench.go(spec)
    assert bench.record(spec).outcome == "image"
