"""What becomes of an agent's run, by what the sandbox, the gateway and the workspace say, and what it claims; which pairs fit."""

import dataclasses

import pytest
import yaml

from longbanana_nb.errors import CallError
from longbanana_nb.generation.agents.contracts import Claim
from longbanana_nb.generation.agents.fitting import refuse_what_does_not_fit
from longbanana_nb.generation.agents.outcomes import Seen, ending
from longbanana_nb.generation.agents.pins import PINS
from longbanana_nb.generation.contracts import Reason
from longbanana_nb.generation.sandbox.contracts import Finished
from longbanana_nb.paths import presets_folder
from longbanana_nb.runs import parse_system

DONE = Finished(0, "exit", b"", b"", 1.0)
FAILED = dataclasses.replace(DONE, returncode=1, stderr=b"Segmentation fault")
OVERTIME = Finished(None, "timeout", b"", b"", 60.0, detail="60 s were allowed for the case")
NOTHING = Seen()
DREW = Seen(drawn=b"drawn")
FINISHED = Claim("finished", "done")
LINK = Reason("linked_picture", "final.png", "a link, which is not followed")
OUT_OF_MONEY = Reason("max_usd_per_case", "image call 3", "$2 were allowed")
BLOCKED = ("blocked", Reason("safety", "image call 1", "no"))
OVERLOADED = ("failed", Reason("overloaded", "turn 2", "529"))

CASES = {
    "the picture drawn last": (DONE, DREW, None, FINISHED, "image", b"drawn"),
    "a picture left as the answer": (DONE, DREW, b"left", FINISHED, "image", b"left"),
    "a bad exit code with a picture left": (FAILED, NOTHING, b"left", Claim("silent"), "image", b"left"),
    "out of money with a picture left": (FAILED, Seen(limit=OUT_OF_MONEY), b"left", Claim("failed"), "image", b"left"),
    "a link left as the answer": (DONE, DREW, LINK, FINISHED, "failed", "linked_picture"),
    "time used up": (OVERTIME, DREW, b"left", FINISHED, "timeout", "timeout"),
    "stopped by a person": (dataclasses.replace(OVERTIME, ended="stopped"), DREW, None, FINISHED, "interrupted", "stopped"),
    "too much output": (dataclasses.replace(OVERTIME, ended="too_large"), DREW, None, FINISHED, "failed", "limit_passed"),
    "out of money": (FAILED, Seen(b"drawn", OUT_OF_MONEY), None, Claim("failed"), "budget", "max_usd_per_case"),
    "out of money, and a forged good end": (DONE, Seen(b"drawn", OUT_OF_MONEY), None, FINISHED, "budget", "max_usd_per_case"),
    "turns used up": (FAILED, DREW, None, Claim("max_turns"), "budget", "max_turns"),
    "finished and drew nothing": (DONE, NOTHING, None, FINISHED, "no_image", "finished_without_drawing"),
    "finished, and the image model refused": (DONE, Seen(undrawn=BLOCKED), None, FINISHED, "blocked", "safety"),
    "the agent model refused": (DONE, NOTHING, None, Claim("refused"), "blocked", "agent_refused"),
    "the server failed, and the program says so": (FAILED, NOTHING, None, Claim("overloaded"), "failed", "overloaded"),
    "the server failed, and the gateway saw it": (
        FAILED,
        Seen(trouble=OVERLOADED),
        None,
        Claim("failed"),
        "failed",
        "overloaded",
    ),
    "the server failed, and the program says it finished": (
        DONE,
        Seen(trouble=OVERLOADED),
        None,
        FINISHED,
        "failed",
        "overloaded",
    ),
    "a forged good end": (
        DONE,
        Seen(b"drawn", trouble=OVERLOADED),
        None,
        FINISHED,
        "failed",
        "overloaded",
    ),
    "no key": (FAILED, NOTHING, None, Claim("auth"), "failed", "auth"),
    "it crashed after a picture": (FAILED, DREW, None, Claim("silent"), "failed", "agent_crashed"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_becomes_of_a_run(name):
    finished, seen, left, claim, outcome, made = CASES[name]
    became = ending(finished, seen, left, claim)
    assert became.outcome == outcome
    assert (became.image if outcome == "image" else became.reason.code) == made
    assert (became.image is None) == (became.reason is not None)


def test_a_crash_says_its_exit_code_and_last_words():
    reason = ending(FAILED, NOTHING, None, Claim("silent")).reason
    assert reason.raw == "exit code 1\nSegmentation fault"


def system(kind="codex", provider="openai", **changes):
    spec = {
        "name": "s",
        "harness": {"kind": kind},
        "workflow": "minimal",
        "agent_model": {"provider": provider, "id": "m", **changes.pop("model", {})},
        "backend": {"provider": "sketch", "id": "sketch-medium"},
        **changes,
    }
    return parse_system(spec)


@pytest.mark.parametrize(
    ("kind", "provider", "dialect"),
    [
        ("claude-code", "anthropic", "anthropic-messages"),
        ("codex", "openai", "openai-responses"),
        ("openclaw", "anthropic", "anthropic-messages"),
        ("openclaw", "openai", "openai-responses"),
        ("opencode", "openai-compatible", "openai-chat"),
        ("hermes", "openai-compatible", "openai-chat"),
    ],
)
def test_a_pair_that_fits_speaks_the_dialect_of_the_provider(kind, provider, dialect):
    assert refuse_what_does_not_fit(system(kind, provider)) == dialect


@pytest.mark.parametrize(
    ("kind", "provider", "told"),
    [
        (
            "claude-code",
            "openai",
            [
                "claude-code speaks anthropic-messages",
                "provider: anthropic",
                "run with openclaw, opencode, hermes, codex, native",
            ],
        ),
        (
            "codex",
            "anthropic",
            ["codex speaks openai-responses", "provider: openai", "openclaw, opencode, hermes, claude-code, native"],
        ),
        ("codex", "openai-compatible", ["spoken to by openai-chat", "run with openclaw, opencode, hermes, native"]),
        ("hermes", "google", ["none of the dialects", "this model may run with native"]),
    ],
)
def test_a_pair_that_cannot_speak_is_refused_with_the_nearest_that_can(kind, provider, told):
    with pytest.raises(CallError) as refused:
        refuse_what_does_not_fit(system(kind, provider))
    for words in told:
        assert words in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"sandbox": "none"}, "Write sandbox: bubblewrap"),
        ({"model": {"params": {"context": "stop"}}}, "params: context"),
        ({"references": {"policy": "window"}}, "expected 'agent'"),
        ({"harness": {"kind": "codex", "version": "0.1.0"}}, r"0\.171\.0"),
    ],
)
def test_what_a_command_line_cannot_keep_to_is_refused(changes, told):
    with pytest.raises(CallError, match=told):
        refuse_what_does_not_fit(system(**changes))


@pytest.mark.parametrize("name", sorted(PINS))
def test_the_shipped_systems_fit_and_name_the_pinned_version(name):
    spec = parse_system(yaml.safe_load((presets_folder() / "systems" / f"{name}-rpr.yaml").read_text("utf-8")))
    assert refuse_what_does_not_fit(spec) in ("anthropic-messages", "openai-responses")
    assert (spec.harness.kind, spec.harness.version, spec.sandbox) == (name, PINS[name].version, "bubblewrap")
