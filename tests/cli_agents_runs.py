"""Whole runs of agent command lines for tests: a small release, a scripted model on loopback, the engine, and what is left."""

import contextlib
import json
from pathlib import Path

from cli_agents_fixtures import needed
from cli_agents_model import ScriptedModel
from generation_fixtures import make_release

from longbanana_nb.generation import generate_run
from longbanana_nb.generation.agents.fitting import dialect_of
from longbanana_nb.generation.agents.recipes import RECIPES
from longbanana_nb.runs import create_run, open_run, parse_system

KEY = "sk-test-SECRETKEY0123456789"
PROVIDERS = {"anthropic-messages": "anthropic", "openai-responses": "openai", "openai-chat": "openai-compatible"}
AGENTS = dict.fromkeys(PROVIDERS.values(), "longbanana_nb.generation.agent_models:agent_model")
BACKENDS = {"test": "generation_fixtures:make_backend"}
TOOL = "python3 -I -S /opt/longbanana/image_tool.py"
EVIDENCE = {"findings": [{"demand": "a red pear", "references": ["ref_01"], "seen": "red"}]}
PLAN = {"stages": [{"draws": "the pear", "references": ["ref_01", "ref_02"]}]}
REVIEW = {"rounds": [{"picture": 1, "satisfied": ["a red pear"], "unsatisfied": []}]}
DRAW = {"prompt": "a red pear", "references": ["ref_01", "ref_02"], "keep_current": False}


def leave(name, value):
    """A command that leaves an artefact."""
    return f"cat > {name}.json <<'END'\n{json.dumps(value)}\nEND"


class Bench:
    """A release, a run and a scripted model; `go` makes the candidates of one command line."""

    def __init__(self, folder: Path, model: ScriptedModel, cases=("007",), count=4):
        self.folder, self.model = folder, model
        self.release = make_release(folder / "release", cases, count)
        self.run = create_run(folder / "run", self.release)

    def system(self, name, *, dialect=None, **changes):
        needed(name)
        dialect = dialect or RECIPES[name].dialects[0]
        provider = PROVIDERS[dialect]
        assert dialect_of(RECIPES[name], provider) == dialect
        url = self.model.url if provider == "anthropic" else f"{self.model.url}/v1"
        ids = {"anthropic": "claude-sonnet-4-6", "openai": "gpt-6.1-sol", "openai-compatible": "own-model"}
        harness = {"kind": name, "timeout_s": 120, "max_turns": 12, **changes.pop("harness", {})}
        return parse_system(
            {
                "name": changes.pop("name", name),
                "harness": harness,
                "workflow": "minimal",
                "agent_model": {"provider": provider, "id": ids[provider], "base_url": url, "key_env": "LB_TEST_AGENT_KEY"},
                "backend": {"provider": "test", "id": "paste", "params": changes.pop("backend", {})},
                **changes,
            }
        )

    def go(self, spec, script=None, **settings):
        if script is not None:
            self.model.script = script
        return generate_run(self.run, self.release, [spec], backends=BACKENDS, agents=AGENTS, **settings)

    def record(self, spec, case_id="007"):
        return open_run(self.run.path).candidate(spec.name, case_id, 0).record()

    def trace(self, spec, case_id="007"):
        path = open_run(self.run.path).candidate(spec.name, case_id, 0).folder / "trace.jsonl"
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]

    def made(self, name, script, **changes):
        """One candidate: its record and its transcript."""
        spec = self.system(name, **changes)
        self.go(spec, script)
        return self.record(spec), self.trace(spec)


def lines(trace, kind, name=None):
    return [line for line in trace if line["kind"] == kind and name in (None, line["name"])]


def living(marker):
    """Processes of this machine whose command line holds a text."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found
