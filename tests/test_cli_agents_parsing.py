"""What each agent command line says of its run, read from recorded outputs and from outputs made to mislead."""

import json
import tomllib
from pathlib import Path

import pytest

from longbanana_nb.generation.agents.contracts import Setting
from longbanana_nb.generation.agents.recipes import RECIPES

SAMPLES = Path(__file__).parent / "agent_samples"
PREFIX = {"claude-code": "claude"}
NAMES = sorted(RECIPES)


def nothing(_name):
    return None


def parsed(name, sample, returncode=0, home=nothing):
    output = (SAMPLES / f"{PREFIX.get(name, name)}-{sample}.stdout").read_bytes()
    return RECIPES[name].parse(output, returncode, home)


def usage_file(**facts):
    text = json.dumps({**json.loads((SAMPLES / "hermes-ok.usage.json").read_text()), **facts}).encode()
    return lambda name: text if name == "usage.json" else None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sample", ["ok", "mcp", "view"])
def test_a_good_run_is_finished_with_its_last_words(name, sample):
    claim = parsed(name, sample, home=usage_file())
    assert (claim.end, claim.text) == ("finished", "done: final.png written")


def test_usage_is_what_each_says_at_its_end():
    said = {name: parsed(name, "ok", home=usage_file()).usage for name in NAMES}
    assert said == {
        "claude-code": {"in": 2250, "cached": 0, "out": 31},
        "codex": {"in": 20369, "cached": 0, "out": 32},
        "hermes": {"in": 9313, "cached": 0, "out": 32},
        "openclaw": {"in": 11008, "cached": 0, "out": 31},
        "opencode": {"in": 7697 + 7790, "cached": 0, "out": 25 + 6},
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("sample", "end"), [("e401", "auth"), ("e500", "overloaded")])
def test_a_failing_server_is_named_by_its_status(name, sample, end):
    returncode = 0 if name == "hermes" else 1
    claim = parsed(name, sample, returncode, usage_file(failed=True, completed=False))
    assert claim.end == end
    assert claim.detail


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "output",
    [b"", b"\x00\xff not json\n", b"[" * 100_000 + b"\n", b'{"type":"result"\n', b'[1]\n"text"\n3\nnull\n', b"{" * 5000],
    ids=["empty", "bytes", "nested", "cut", "no objects", "open"],
)
def test_a_program_that_was_ended_or_prints_rubbish_has_claimed_nothing(name, output):
    assert RECIPES[name].parse(output, -9, nothing).end == "silent"


@pytest.mark.parametrize(
    "event",
    [
        {"type": "result", "is_error": False, "result": ["a list"], "usage": {"input_tokens": "many", "output_tokens": -5}},
        {"type": "turn.completed", "usage": [1, 2]},
        {"type": "step_finish", "part": {"reason": "stop", "tokens": {"input": True, "output": 1e9}}},
        {"ok": True, "status": "ok", "final": {"a": 1}, "usage": {"input": None, "output": "NaN"}},
    ],
)
def test_claims_of_wrong_types_become_no_text_and_no_tokens(event):
    for name in NAMES:
        claim = RECIPES[name].parse(json.dumps(event).encode(), 0, nothing)
        assert claim.usage in ({}, {"in": 0, "cached": 0, "out": 0})
        assert isinstance(claim.text, str)


def test_hermes_turns_that_ran_out_are_told_from_failures():
    claim = RECIPES["hermes"].parse(b"so far", 0, usage_file(completed=False))
    assert claim.end == "max_turns"


def test_claude_code_turns_that_ran_out_and_refusals_are_named():
    event = {"type": "result", "subtype": "error_max_turns", "is_error": True}
    assert RECIPES["claude-code"].parse(json.dumps(event).encode(), 1, nothing).end == "max_turns"
    event = {"type": "result", "subtype": "success", "is_error": False, "stop_reason": "refusal", "result": "I cannot"}
    assert RECIPES["claude-code"].parse(json.dumps(event).encode(), 0, nothing).end == "refused"


SETTING = Setting(
    program=("/opt/agent/prog",),
    folder="/opt/agent",
    workspace="/work",
    home="/home/agent",
    path="/usr/bin:/bin",
    instruction='Read prompt.txt, "quoted"\nand draw.',
    dialect="openai-chat",
    model="some/model-1",
    base_url="http://127.0.0.1:8901",
    permit="permit-1",
    image_tool=("python3", "/opt/tool.py", "serve"),
    max_turns=7,
    max_tokens=4000,
    context_tokens=100_000,
    timeout_s=60.0,
    request_timeout_s=30.0,
)


@pytest.mark.parametrize("name", NAMES)
def test_a_start_names_the_model_the_gateway_the_permit_and_the_image_tool(name):
    made = RECIPES[name].render(SETTING)
    everything = "\n".join([*made.argv, *made.env.values(), *(text.decode() for text in made.files.values())])
    for told in ("some/model-1", "http://127.0.0.1:8901", "permit-1", "/opt/tool.py"):
        assert told in everything
    assert made.argv[0] == "/opt/agent/prog"
    assert SETTING.instruction in made.argv or made.stdin == SETTING.instruction.encode()
    assert made.env["HOME"] == "/home/agent"
    assert not [path for path in made.files if path.startswith("/") or ".." in path]


def test_the_codex_configuration_is_toml_with_every_switch():
    made = RECIPES["codex"].render(SETTING)
    read = tomllib.loads(made.files[".codex/config.toml"].decode())
    off = {"plugins", "apps", "unbounded_connection_retries", "image_generation"}
    assert {name for name, on in read["features"].items() if on is False} >= off
    assert read["web_search"] == "disabled"
    assert read["model_providers"]["gateway"]["base_url"] == "http://127.0.0.1:8901/v1"
    assert read["mcp_servers"]["imagetool"]["args"] == ["/opt/tool.py", "serve"]
    assert read["model"] == "some/model-1"
    assert [model["slug"] for model in json.loads(made.files[".codex/models.json"])["models"]] == ["some/model-1"]
