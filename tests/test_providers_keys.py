"""Keys come from the environment, by the name of a variable; they are never shown."""

import datetime as dt

import pytest

from longbanana_nb.errors import CallError
from longbanana_nb.providers.catalogue import resolve
from longbanana_nb.providers.keys import key_of
from longbanana_nb.runs.identity import judge_sha256
from longbanana_nb.runs.judge_spec import parse_judge

DAY = dt.date(2026, 11, 30)


def model(provider="anthropic", model_id="claude-sonnet-4-6", **options):
    return resolve(provider, model_id, on=DAY, **options)


def test_a_key_is_read_from_the_providers_variable():
    assert key_of(model(), {"ANTHROPIC_API_KEY": " abc\n"}) == "abc"
    gemini = model("google", "gemini-3.8-flash")
    assert key_of(gemini, {"GOOGLE_API_KEY": "g"}) == "g"
    assert key_of(gemini, {"GOOGLE_API_KEY": "g", "GEMINI_API_KEY": "first"}) == "first"


def test_a_missing_key_says_which_variable_to_set():
    with pytest.raises(CallError, match=r"set \$GEMINI_API_KEY or \$GOOGLE_API_KEY in the environment"):
        key_of(model("google", "gemini-3.8-flash"), {"GEMINI_API_KEY": " "})


def test_a_profile_names_the_variable_of_its_own_endpoint():
    own = model("openai-compatible", "qwen", base_url="https://gpu.example/v1", key_env="LAB_KEY")
    assert key_of(own, {"LAB_KEY": "k", "OPENAI_API_KEY": "another's"}) == "k"
    with pytest.raises(CallError, match=r"\$LAB_KEY"):
        key_of(own, {"OPENAI_API_KEY": "another's"})


def test_a_local_server_and_google_cloud_need_no_key():
    assert key_of(model("openai-compatible", "qwen", base_url="http://127.0.0.1:8000/v1"), {"OPENAI_API_KEY": "k"}) is None
    assert key_of(model("google", "gemini-3.8-flash", route="vertex"), {}) is None


@pytest.mark.parametrize("value", ["two words", "caf\u00e9", "a\nb", "\u200bkey"])
def test_what_cannot_be_a_key_is_refused_and_not_shown(value):
    with pytest.raises(CallError, match=r"\$ANTHROPIC_API_KEY holds") as caught:
        key_of(model(), {"ANTHROPIC_API_KEY": value})
    assert value not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["sk-ant-abcdefgh12345678", "AIzaSyA1234567890abcdefghijklmnopqrstuv", "my key", "lower", "", "A" * 200]
)
def test_a_key_in_place_of_a_name_is_refused_and_not_shown(name):
    with pytest.raises(CallError, match="name of an environment variable") as caught:
        model(key_env=name)
    assert not name or name not in str(caught.value)


@pytest.mark.parametrize(
    ("base_url", "message"),
    [
        ("https://user:secret@host/v1", "address alone"),
        ("https://host/v1?key=secret", "address alone"),
        ("host/v1", "http:// or https://"),
        ("file:///etc", "http:// or https://"),
        ("http://gateway.example", "unencrypted"),
    ],
)
def test_an_address_that_holds_or_gives_away_a_key_is_refused(base_url, message):
    with pytest.raises(CallError, match=message) as caught:
        model(base_url=base_url)
    assert "secret" not in str(caught.value)


def test_a_plain_address_in_the_network_is_warned_about():
    own = model("openai-compatible", "qwen", base_url="http://gpu.lab:8000/v1")
    assert any("not encrypted" in warning for warning in own.warnings)
    assert not any("not encrypted" in w for w in model("openai-compatible", "qwen", base_url="http://localhost:1/v1").warnings)


KEYS_IN_WRONG_PLACES = [
    ({"key_env": "sk-ant-api03-abcdefgh12345678"}, "sk-ant"),
    ({"key_env": "AIzaSyA1234567890abcdefghijklmnopqrstuv"}, "AIza"),
    ({"key_env": "AKIAABCDEFGHIJKLMNOP"}, "AKIA"),
    ({"base_url": "https://me:secret@host/v1"}, "secret"),
    ({"base_url": "https://host/v1?key=secret"}, "secret"),
    ({"base_url": "https://host/sk-ant-api03-abcdefgh12345678"}, "sk-ant"),
]


@pytest.mark.parametrize(("fields", "shown"), KEYS_IN_WRONG_PLACES)
def test_a_profile_that_holds_a_key_is_refused_without_repeating_it(fields, shown):
    profile = {"name": "j", "protocol": "direct", "model": {"provider": "openai-compatible", "id": "x", **fields}}
    with pytest.raises(CallError, match=r"never|environment variable") as caught:
        parse_judge(profile)
    assert shown not in str(caught.value)


def test_where_a_model_is_asked_is_in_its_hash_and_who_pays_is_not():
    plain = {"provider": "openai-compatible", "id": "x"}
    own = plain | {"base_url": "http://127.0.0.1:8000/v1"}
    models = (plain, own, own | {"key_env": "LAB_KEY"})
    hashes = [judge_sha256(parse_judge({"name": "j", "protocol": "direct", "model": m}), {}) for m in models]
    assert hashes[0] != hashes[1] == hashes[2]
    assert "base_url" not in parse_judge({"name": "j", "protocol": "direct", "model": plain}).model_dump(mode="json")["model"]
