"""Prompts are files with versions; what they say, and every change to them, is part of a judge."""

import pytest
from model_judge_fixtures import TODAY, agentic_profile

from longbanana_nb.errors import CallError
from longbanana_nb.judging import prompting
from longbanana_nb.judging.agentic import AgenticProtocol
from longbanana_nb.judging.critics import CRITICS
from longbanana_nb.judging.direct import DirectProtocol
from longbanana_nb.judging.model_protocols import ModelProtocol
from longbanana_nb.paths import presets_folder
from longbanana_nb.providers.catalogue import resolve
from longbanana_nb.runs import judge_sha256, parse_judge
from longbanana_nb.runs.strict_yaml import read_yaml
from longbanana_nb.taxonomy import DIMENSIONS

PROTOCOLS: dict[str, ModelProtocol] = {"direct": DirectProtocol(), "agentic": AgenticProtocol()}


def profile(**more):
    return parse_judge({"name": "j", "protocol": "direct", "model": {"provider": "anthropic", "id": "claude-sonnet-4-6"}} | more)


def sha(given):
    return judge_sha256(given, PROTOCOLS[given.protocol].versions(given))


def test_every_prompt_states_a_version_of_its_own():
    versions = [prompting.prompt(name).version for name in prompting.names()]
    assert len(set(versions)) == len(versions) > 8
    assert all(prompting.prompt(name).text for name in prompting.names())


def test_the_hash_is_of_the_text_alone_and_the_same_on_every_system(tmp_path, monkeypatch):
    monkeypatch.setattr(prompting, "FOLDER", tmp_path)
    (tmp_path / "a.md").write_bytes(b"version: a-1\r\n\r\nJudge.\r\nWell.\r\n")
    (tmp_path / "b.md").write_bytes(b"version: b-9\n\nJudge.\nWell.\n")
    (tmp_path / "c.md").write_bytes(b"Judge.\n")
    read = prompting.prompt.__wrapped__
    assert read("a").text == "Judge.\nWell."
    assert read("a").sha256 == read("b").sha256
    with pytest.raises(CallError, match="version: <name>-<number>"):
        read("c")
    with pytest.raises(CallError, match="there are: a, b, c"):
        read("d")


def test_a_changed_prompt_is_another_judge():
    given = profile()
    versions = PROTOCOLS["direct"].versions(given)
    assert versions["prompt rules"].startswith("judge-rules-")
    assert judge_sha256(given, versions) != judge_sha256(given, versions | {"prompt rules": "judge-rules-2 0"})


def test_an_agentic_judge_is_made_of_its_critics_router_and_tools_too():
    versions = PROTOCOLS["agentic"].versions(profile(**agentic_profile()))
    assert {f"prompt {name}" for name in CRITICS.values()} <= set(versions)
    assert {"prompt router", "prompt reask", "prompt final", "tools", "tool ocr", "router rules", "crops"} <= set(versions)


def test_name_samples_reask_and_sending_are_no_part_of_a_judge_and_a_transcode_is():
    base = sha(profile())
    assert sha(profile(name="k", samples=3, reask={"truncated": 2}, sending={"cache": "5m"})) == base
    assert sha(profile(packet={"transcode": {"name": "jpeg-q90-2576"}})) != base
    assert sha(profile(checks_per_call=5)) != base


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("absence is a pass", "completely absent"),
        ("candidate-only", "without bound references"),
        ("background", "BACKGROUND"),
        ("lettering is no instruction", "never an instruction"),
        ("options by value", "option of value 0"),
        ("uncertain", "Uncertain (1)"),
        ("the viewer's left", "as a viewer sees"),
    ],
)
def test_the_rules_are_told(rule, words):
    assert words in prompting.text("rules"), rule


def test_every_dimension_has_a_critic_of_its_own():
    assert list(CRITICS) == list(DIMENSIONS)
    assert len({prompting.text(name) for name in CRITICS.values()}) == 3
    assert all(dimension in prompting.text(name) for dimension, name in CRITICS.items())


@pytest.mark.parametrize(
    ("more", "match"),
    [
        (agentic_profile(checks_per_call=4), "one check at a time"),
        (agentic_profile(agentic={"tools": ["crop", "colours"]}), "nearest: 'colour'"),
        (agentic_profile(agentic={"tools": ["scene"]}), "no tool 'scene'"),
        ({"packet": {"crops": "bound"}}, "states no boxes"),
    ],
)
def test_what_a_protocol_cannot_do_is_refused_before_anything_is_asked(more, match):
    given = profile(**more)
    with pytest.raises(CallError, match=match):
        PROTOCOLS[given.protocol].versions(given)


PRESETS = sorted(file for file in (presets_folder() / "judges").glob("*.yaml") if file.stem not in ("tools", "truth"))


@pytest.mark.parametrize("file", PRESETS, ids=lambda file: file.stem)
def test_a_preset_asks_a_model_that_can_be_called_in_a_way_that_it_takes(file):
    given = parse_judge(read_yaml(file))
    model = resolve(given.model.provider, given.model.id, given.model.route, base_url=given.model.base_url, on=TODAY)
    model.check_params(given.model.params)
    assert given.name == file.stem
    assert model.lifecycle.state in ("live", "ending", "unknown")
    assert (model.lifecycle.state == "unknown") == (file.stem == "direct-own-endpoint")
    assert len(sha(given)) == 64
    assert given.sending.images == "inline" or model.capabilities.uploads
    assert given.sending.cache == "off" or given.sending.cache in model.capabilities.cache_times
