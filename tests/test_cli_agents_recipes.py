"""Each recipe with the real program, in the sandbox, in every dialect: commands, looking at pictures, the image tool."""

import json

import pytest
from cli_agents_fixtures import leading_to, needed, png, tool_script
from cli_agents_model import Fail, Say, ScriptedModel, Shell, Use, View

from longbanana_nb.generation.agents.contracts import Setting
from longbanana_nb.generation.agents.placing import write_home
from longbanana_nb.generation.agents.recipes import RECIPES
from longbanana_nb.generation.sandbox import Bubblewrap, Cell, case_room
from longbanana_nb.generation.sandbox.mounts import bare_python

PAIRS = [(name, dialect) for name, recipe in RECIPES.items() for dialect in recipe.dialects]
MODELS = {"anthropic-messages": "claude-sonnet-4-6", "openai-responses": "gpt-6.1-sol", "openai-chat": "org/own-model-1"}
WHOLE = [
    Shell("echo seen > heard.txt; cat prompt.txt"),
    View("/work/red.png"),
    Use("generate", {"prompt": "a cat"}),
    Say("done: it is"),
]


def started(name, dialect, script, max_turns=8):
    """What came of a program with a script: the claim, the requests the model saw, and a file the agent wrote."""
    installed, recipe = needed(name), RECIPES[name]
    with case_room() as room, ScriptedModel(script) as model:
        (room.workspace / "prompt.txt").write_text("paint it")
        (room.workspace / "red.png").write_bytes(png("red"))
        setting = Setting(
            program=installed.argv_in("/opt/agent"),
            folder="/opt/agent",
            workspace="/work",
            home="/home/agent",
            path="/usr/local/bin:/usr/bin:/bin",
            instruction='Say "hi",\nthen stop.',
            dialect=dialect,
            model=MODELS[dialect],
            base_url="http://127.0.0.1:8901",
            permit="permit-1",
            image_tool=(str(bare_python()), "/opt/tool.py"),
            max_turns=max_turns,
            max_tokens=4000,
            context_tokens=100_000,
            timeout_s=100.0,
            request_timeout_s=30.0,
        )
        made = recipe.render(setting)
        write_home(made.files, room.home)
        shown = {"/opt/agent": installed.folder, "/opt/tool.py": tool_script(room.shown / "tool.py")}
        cell = Cell(made.argv, made.env, room.workspace, room.home, shown, gate=room.gate, stdin=made.stdin, timeout_s=110)
        with leading_to(int(model.url.rsplit(":", 1)[1]), room.gate / "model.sock"):
            finished = Bubblewrap().run(cell, lambda: False)

        def read_home(name):
            file = room.home / name
            return file.read_bytes() if file.is_file() else None

        claim = recipe.parse(finished.stdout, finished.returncode, read_home)
        heard = room.workspace / "heard.txt"
        return claim, model.requests, heard.read_text() if heard.is_file() else None


@pytest.mark.parametrize(("name", "dialect"), PAIRS)
def test_a_command_a_look_and_a_drawing_reach_the_model_and_it_finishes(name, dialect):
    claim, requests, heard = started(name, dialect, WHOLE)
    assert (claim.end, claim.text) == ("finished", "done: it is")
    assert heard == "seen\n"
    asked = [request for request in requests if request[2].get("tools")]
    assert len(asked) == 4
    last = json.dumps(asked[-1][2])
    assert "paint it" in last  # what the command printed
    assert last.count("base64") >= (1 if name == "hermes" else 2)  # the picture looked at, and the one drawn
    assert {
        headers.get("Authorization", headers.get("authorization", "")).removeprefix("Bearer ")
        or headers.get("x-api-key", headers.get("X-Api-Key"))
        for _, headers, _ in asked
    } == {"permit-1"}
    assert claim.usage == {"in": 4000, "cached": 0, "out": 80}


@pytest.mark.parametrize(
    ("name", "status", "end"),
    [
        ("claude-code", 401, "auth"),
        ("claude-code", 429, "rate_limited"),
        ("codex", 401, "auth"),
        ("codex", 500, "overloaded"),
        ("hermes", 401, "auth"),
        ("opencode", 401, "auth"),
    ],
)
def test_an_error_of_the_server_is_what_the_program_says(name, status, end):
    claim, _, _ = started(name, RECIPES[name].dialects[0], [Fail(status)])
    assert claim.end == end


def test_claude_code_keeps_to_its_turns_and_says_that_they_ran_out():
    claim, requests, _ = started("claude-code", "anthropic-messages", [Shell("true")] * 9, max_turns=3)
    assert claim.end == "max_turns"
    assert len([request for request in requests if request[2].get("tools")]) == 3
