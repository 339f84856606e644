"""Models: until when, what they take, how many tokens; retired ids are refused and never swapped."""

import datetime as dt

import pytest

from longbanana_nb import paths
from longbanana_nb.errors import CallError, DataError
from longbanana_nb.providers.catalogue import resolve
from longbanana_nb.providers.catalogue_file import read_catalogue, shipped
from longbanana_nb.providers.paper_models import paper_models, retired_or_ending
from longbanana_nb.providers.tokens import IMAGE_FORMULAS, TEXT_FORMULAS

DAY = dt.date(2026, 11, 30)


def model(provider, model_id, route=None, on=DAY, **options):
    return resolve(provider, model_id, route, on=on, **options)


@pytest.mark.parametrize(
    ("provider", "model_id", "route", "ends", "successor"),
    [
        ("anthropic", "claude-sonnet-4-5", None, dt.date(2026, 11, 30), "claude-sonnet-5-5"),
        ("anthropic", "claude-sonnet-4-5-20250929", None, dt.date(2026, 11, 30), "claude-sonnet-5-5"),
        ("anthropic", "claude-opus-4-5", None, dt.date(2027, 1, 22), "claude-opus-5-5"),
        ("openai", "gpt-image-1", None, dt.date(2026, 10, 23), "gpt-image-2.5-sunburst"),
        ("openai", "gpt-image-1.5", None, dt.date(2026, 12, 1), "gpt-image-2.5-sunburst"),
        ("openai", "gpt-5-mini", None, dt.date(2026, 12, 11), "gpt-6.1-terra"),
        ("google", "gemini-3.1-flash-image", "developer", dt.date(2026, 10, 29), "gemini-nano-banana-2.1"),
        ("google", "gemini-2.5-pro", "developer", dt.date(2026, 12, 1), "gemini-4-argon"),
        ("ark", "doubao-seedream-4-0-250828", "volcengine", dt.date(2026, 11, 24), "seedream-5-0-260128"),
    ],
)
def test_an_id_is_warned_about_until_its_day_and_refused_from_it_on(provider, model_id, route, ends, successor):
    before = model(provider, model_id, route, on=ends - dt.timedelta(days=1))
    assert (before.id, before.lifecycle.state) == (model_id, "ending")
    assert any(str(ends) in warning and successor in warning for warning in before.warnings)
    with pytest.raises(CallError, match=f"retired on {ends}") as caught:
        model(provider, model_id, route, on=ends)
    assert f"successor is {successor}" in str(caught.value)


def test_a_retired_id_tells_where_else_it_is_served():
    with pytest.raises(CallError, match="route: vertex serves this id"):
        model("google", "gemini-3.1-flash-image")
    cloud = model("google", "gemini-3.1-flash-image", "vertex", on=dt.date(2027, 6, 1))
    assert cloud.lifecycle.state == "ending" and "2027-05-28 or later" in cloud.warnings[0]


def test_every_date_names_its_source_and_a_live_model_is_not_warned_about():
    live = model("anthropic", "claude-sonnet-4-6")
    assert (live.lifecycle.state, live.warnings) == ("live", ())
    assert live.lifecycle.checked == DAY and "anthropic 2.14.0" in live.lifecycle.source


def test_an_unknown_id_is_allowed_and_all_that_is_unknown_said():
    unknown = model("anthropic", "claude-sonnet-4-7")
    assert unknown.id == "claude-sonnet-4-7" and unknown.lifecycle.state == "unknown"
    (warning,) = unknown.warnings
    assert "not in the catalogue of 2026-11-30" in warning and "Nearest known: claude-sonnet-4-6" in warning
    assert unknown.capabilities.vision is None and unknown.image_tokens(100, 100) is None and unknown.text_tokens("a") is None


def test_another_providers_id_is_not_known_there():
    assert model("openai", "claude-sonnet-4-6").lifecycle.state == "unknown"


def test_any_id_is_allowed_behind_an_address_of_ones_own_which_is_needed():
    own = model("openai-compatible", "Qwen/Qwen3-VL-8B", base_url="http://127.0.0.1:8000/v1")
    assert own.base_url == "http://127.0.0.1:8000/v1" and own.has_own_endpoint
    assert "unknown" in own.warnings[0]
    with pytest.raises(CallError, match="needs base_url"):
        model("openai-compatible", "Qwen/Qwen3-VL-8B")


@pytest.mark.parametrize(
    ("provider", "route", "message"),
    [
        ("anthropik", None, "Did you mean 'anthropic'"),
        ("mistral", None, "There are anthropic"),
        ("google", "cloud", "it has developer, vertex"),
    ],
)
def test_what_there_is_is_named_where_something_is_not(provider, route, message):
    with pytest.raises(CallError, match=message):
        model(provider, "x", route)


def test_image_tokens_are_those_of_the_providers_formulas():
    sonnet, opus = model("anthropic", "claude-sonnet-4-6"), model("anthropic", "claude-opus-4-7")
    assert [sonnet.image_tokens(*size) for size in ((1024, 1024), (256, 256), (1920, 1080))] == [1369, 100, 1568]
    assert opus.image_tokens(1920, 1080) == 69 * 39
    assert model("openai", "gpt-6.1-sol").image_tokens(1024, 1024) == 1229
    assert model("google", "gemini-3.8-flash").image_tokens(3000, 200) == 1120


def test_a_picture_that_would_be_scaled_down_is_told():
    sonnet = model("anthropic", "claude-sonnet-4-6")
    assert [sonnet.is_scaled_down(*size) for size in ((1024, 1024), (1569, 10), (1568, 1568))] == [False, True, True]
    assert model("google", "gemini-3.8-flash").is_scaled_down(9000, 9000) is None


def test_text_tokens_are_an_estimate_that_does_not_undercount_other_scripts():
    sonnet, newer = model("anthropic", "claude-sonnet-4-6"), model("anthropic", "claude-sonnet-5-5")
    assert sonnet.text_tokens("a" * 400) == 100 and newer.text_tokens("a" * 400) == 130
    assert sonnet.text_tokens("\u9ec4" * 40) == 40


@pytest.mark.parametrize(
    ("model_id", "params", "message"),
    [
        ("claude-sonnet-4-6", {"temprature": 0}, "did you mean temperature"),
        ("claude-sonnet-5-5", {"temperature": 0}, "it takes no temperature"),
        ("claude-sonnet-4-6", {"temperature": 1.5}, "from 0 to 1"),
        ("claude-sonnet-4-6", {"temperature": True}, "a number"),
        ("claude-sonnet-4-6", {"temperature": float("nan")}, "a number"),
        ("claude-sonnet-4-6", {"effort": "lo"}, "one of low, medium, high, max"),
        ("claude-sonnet-4-6", {"max_tokens": 0}, "a whole number from 1"),
        ("claude-sonnet-4-6", {"max_tokens": 2.5}, "a whole number"),
        ("claude-sonnet-4-6", {"thinking": "enabled"}, "go together"),
        ("claude-sonnet-4-6", {"thinking_budget": 2000}, "go together"),
        ("claude-sonnet-4-6", {"thinking": "adaptive", "temperature": 0}, "do not go together"),
        ("claude-opus-5-5", {"thinking": "disabled"}, "one of adaptive"),
        ("claude-haiku-4-5", {"effort": "low"}, "takes no effort"),
    ],
)
def test_params_that_a_model_does_not_take_are_refused_before_anything_is_sent(model_id, params, message):
    with pytest.raises(CallError, match=message):
        model("anthropic", model_id).check_params(params)


def test_all_faults_of_params_are_told_at_once_and_good_ones_pass():
    sonnet = model("anthropic", "claude-sonnet-4-6")
    sonnet.check_params({"temperature": 0, "effort": "low", "thinking": "disabled", "max_tokens": 300})
    with pytest.raises(CallError, match=r"effort is 'x'.*it takes no top_p"):
        sonnet.check_params({"effort": "x", "top_p": 1})
    with pytest.raises(CallError, match="thinking_level is 'minimal'"):
        model("google", "gemini-4-argon").check_params({"thinking_level": "minimal"})


def test_judges_of_the_catalogue_say_what_planning_and_sending_need():
    for facts in shipped().models:
        if "judge" in facts.roles:
            able = facts.capabilities
            assert able.vision and able.structured_output and able.tools and able.batches is not None, facts.id
            assert facts.text_formula and facts.limits.formats and able.cache, facts.id


def test_the_file_is_consistent():
    known = shipped()
    ids = [(f.provider, f.route, name) for f in known.models for name in (f.id, *f.aliases)]
    assert len(ids) == len(set(ids))
    for facts in known.models:
        successors = {other.id for other in known.models if other.provider == facts.provider and other.ends is None}
        assert facts.ends is None or facts.successor in successors, facts.id
        assert facts.source in known.sources and facts.route in known.providers[facts.provider].routes
        assert facts.image_formula is None or facts.image_formula in IMAGE_FORMULAS
        assert facts.text_formula is None or facts.text_formula in TEXT_FORMULAS


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("vision: true", "visoin: true"),
        ("many_side: 2000", "many_side: two"),
        ("models:\n", "modles:\n"),
        ("like: gpt-6,", "like: gpt-7,"),
    ],
)
def test_a_misspelt_fact_is_an_error_and_not_an_unknown(tmp_path, old, new):

    text = (paths.data_folder() / "models" / "catalogue.yaml").read_text("utf-8")
    wrong = tmp_path / "catalogue.yaml"
    wrong.write_text(text.replace(old, new), "utf-8")
    with pytest.raises(DataError, match=r"catalogue\.yaml"):
        read_catalogue(wrong)


def test_the_page_shows_the_papers_models_as_the_catalogue_has_them():
    page = (paths.project_root() / "docs" / "providers.md").read_text("utf-8")
    block = page.split("<!-- paper models on 2026-11-30 -->\n")[1].split("\n<!-- end -->")[0]
    assert block == paper_models(DAY)
    assert block.count("\n| Nano Banana 2 ") == block.count("\n| Seedream 4 ") == 2


def test_every_id_with_a_last_day_is_listed_nearest_first():
    listed = retired_or_ending(DAY)
    assert ("openai/gpt-image-1 (api)", "no, retired 2026-10-23; successor gpt-image-2.5-sunburst") in listed
    assert listed[0][0].startswith("anthropic/claude-mythos-preview") and len(listed) > 12
