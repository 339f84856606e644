"""kill -9 and Ctrl-C in the middle of paid work: what was answered is not asked again, nothing is handed in twice."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from model_run_fixtures import KEY, asked_how_often, dialect, judged, make_release, make_run, messages, profile, question_of
from provider_server import Answer, ProviderServer

from longbanana_nb.errors import Incomplete
from longbanana_nb.judging.handles import read_handles
from longbanana_nb.runs import merge_runs, open_run, spent_in, verdict_grid, verify_run
from longbanana_nb.scored import score_run
from longbanana_nb.workbench import tables

CHECKS = 10
QUESTIONS = 40  # of two systems on two cases


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


@pytest.fixture
def release(tmp_path):
    return make_release(tmp_path / "release", checks=CHECKS)


@pytest.fixture
def run(tmp_path, release):
    return make_run(tmp_path / "run", release)


def started(run, spec, tmp_path):
    """`longbanana-nb judge` in a process of its own."""
    file = tmp_path / f"{spec.name}.yaml"
    file.write_text(spec.model_dump_json(exclude_none=True))  # JSON is YAML
    command = [sys.executable, "-m", "longbanana_nb", "judge", str(run.path), "--profile", str(file)]
    environment = {**os.environ, "LONGBANANA_PROGRESS": "off", "LONGBANANA_HOME": str(tmp_path)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(condition, process, seconds=60):
    ends = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < ends
        time.sleep(0.005)


def killed(process):
    process.kill()
    process.communicate()


def answered(run):
    return [
        line.key for path in run.path.glob("judgments/*/*/*.jsonl") for line in open_run(run.path).judgments(*_place(path)).read()
    ]


def _place(path):
    return path.parent.parent.name, path.parent.name, path.stem


def is_whole(run):
    keys = Counter(answered(run))
    return len(keys) == QUESTIONS and set(keys.values()) == {1} and set(verdict_grid(open_run(run.path))["state"]) == {"valid"}


def test_kill_in_the_middle_of_asking(tmp_path, run, release):
    with ProviderServer(dialect(latency_s=0.1)) as server:
        spec = profile(server)
        process = started(run, spec, tmp_path)
        wait_for(lambda: len(answered(run)) >= 8 and len(messages(server)) > 20, process)
        killed(process)
        before = len(answered(run))
        assert 8 <= before < QUESTIONS
        unclosed = spent_in(run).open_calls
        assert spent_in(run).open_usd > 0 and unclosed <= 16
        asked = len(messages(server))
        assert judged(run, release, spec).is_complete
        assert is_whole(run)
        assert len(messages(server)) - asked == QUESTIONS - before
        assert max(asked_how_often(server).values()) <= 2
        assert spent_in(run).open_calls == unclosed  # what may have been paid stays counted


@pytest.mark.parametrize("instant", ["before they arrive", "before the answers come"])
def test_kill_in_the_middle_of_uploading(tmp_path, run, release, instant):
    """Twelve pictures. What arrived is found by its name, what did not is laid down again, and each is written down."""
    spoken = dialect()
    is_swallowed = [instant == "before they arrive"]

    class Slow:
        def answer(self, seen, server):
            if seen.path != "/v1/files" or seen.method != "POST":
                return spoken.answer(seen, server)
            if is_swallowed[0] and len(spoken.files) >= 2:
                return Answer("", delay_s=30)
            return Answer(spoken.answer(seen, server).body, delay_s=30 if len(spoken.files) > 2 else 0.0)

    with ProviderServer(Slow()) as server:
        spec = profile(server, sending={"images": "uploaded"})
        process = started(run, spec, tmp_path)
        wait_for(lambda: len(uploaded(run, "handed_in")) == 2 and len(server.asked("/v1/files", "POST")) >= 4, process)
        killed(process)
        begun, arrived = len(uploaded(run, "intent")), len(spoken.files)
        assert begun >= 4 and (arrived == 2) is is_swallowed[0]
        sent, is_swallowed[0], spoken.latency_s = len(server.asked("/v1/files", "POST")), False, 0.0
        server.dialect = spoken
        assert judged(run, release, spec).is_complete
        assert is_whole(run)
        assert len(server.asked("/v1/files", "POST")) - sent == 12 - arrived
        assert set(Counter(spoken.file_bytes.values()).values()) == {1} and len(spoken.files) == 12
        assert len(uploaded(run, "handed_in")) == 12 and len(uploaded(run, "lost")) == begun - arrived
        assert {line.handle for line in uploaded(run, "handed_in")} == set(spoken.files)


def uploaded(run, event):
    lines = read_handles(run.path / "handles.jsonl")
    return [line for line in lines if (line.kind, line.event) == ("upload", event)]


@pytest.mark.parametrize("instant", ["before the handle came", "while it was worked on"])
def test_kill_while_a_batch_is_with_the_provider(tmp_path, run, release, instant):
    spoken = dialect(polls=3)
    is_early = instant == "before the handle came"

    class Slow:
        def answer(self, seen, server):
            found = spoken.answer(seen, server)
            is_handing_in = seen.path.endswith("/batches") and seen.method == "POST"
            return Answer(found.body, delay_s=30) if is_early and is_handing_in else found

    with ProviderServer(Slow()) as server:
        spec = profile(server, sending={"batch": True, "images": "uploaded"})
        process = started(run, spec, tmp_path)
        wait_for(lambda: spoken.batches and (is_early or spoken.batch_polls["msgbatch_1"]), process)
        killed(process)
        assert not answered(run)
        assert judged(run, release, spec).is_complete
        assert is_whole(run)
        assert len(spoken.batches) == 1


def test_a_batch_that_never_reached_the_provider_is_handed_in_again(run, release):
    spoken, given = dialect(), {"lost": 1}

    class Deaf:
        def answer(self, seen, server):
            if seen.path.endswith("/batches") and seen.method == "POST" and given["lost"]:
                given["lost"] -= 1
                return Answer(b"", cut_after=-1)
            return spoken.answer(seen, server)

    with ProviderServer(Deaf()) as server:
        spec = profile(server, sending={"batch": True, "images": "uploaded"})
        with pytest.raises(Incomplete, match="did not reach the provider"):
            judged(run, release, spec)
        assert judged(run, release, spec).is_complete
        assert is_whole(run) and len(spoken.batches) == 1 and spent_in(run).open_usd == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_asks_nothing_new_and_keeps_what_comes_back(tmp_path, run, release, number):
    with ProviderServer(dialect(latency_s=0.3)) as server:
        spec = profile(server)
        process = started(run, spec, tmp_path)
        wait_for(lambda: len(messages(server)) >= 5, process)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 3
        assert f"Stopped by {number.name}" in errors
        assert len(answered(run)) == len(messages(server)) < QUESTIONS
        assert spent_in(run).open_usd == 0
        assert judged(run, release, spec).is_complete
        assert set(asked_how_often(server).values()) == {1}


def test_a_stop_while_a_batch_is_waited_for_ends_at_once(tmp_path, run, release):
    spoken = dialect(polls=3)
    with ProviderServer(spoken) as server:
        spec = profile(server, sending={"batch": True, "images": "uploaded"})
        process = started(run, spec, tmp_path)
        wait_for(lambda: spoken.batches and spoken.batch_polls["msgbatch_1"], process)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 3 and "Stopped by SIGINT" in errors
        assert time.monotonic() - began < 4  # it looks every five seconds
        assert judged(run, release, spec).is_complete
        assert len(spoken.batches) == 1


def test_a_judged_run_goes_on_without_a_key(tmp_path, run, release, monkeypatch):
    with ProviderServer(dialect()) as server:
        spec = profile(server)
        judged(run, release, spec)
        other = make_run(tmp_path / "other", release, systems=("third",))
        judged(other, release, spec)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert score_run(open_run(run.path), release=None, missing=None, weights=None).is_complete
    assert "main" in tables(open_run(run.path))
    merged = merge_runs(tmp_path / "merged", [run.path, other.path])
    assert verify_run(merged) == [] and set(verdict_grid(merged)["state"]) == {"valid"}
    assert spent_in(merged).usd == pytest.approx(spent_in(run).usd + spent_in(other).usd)
    assert spent_in(merged).calls == QUESTIONS + CHECKS * 2
    assert question_of(messages(server)[0])
