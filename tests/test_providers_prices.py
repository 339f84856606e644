"""Prices by day, source and length; what is unknown is None and never 0."""

import datetime as dt

import pytest

from longbanana_nb.providers.catalogue import resolve
from longbanana_nb.providers.contracts import Usage
from longbanana_nb.providers.prices import price

NOVEMBER, DECEMBER, JANUARY = dt.date(2026, 11, 30), dt.date(2026, 12, 1), dt.date(2027, 1, 1)


def of(provider, model_id, on=NOVEMBER, route=None, batch=False, **options):
    return price(resolve(provider, model_id, route, on=on, **options), on, batch=batch)


@pytest.mark.parametrize(
    ("provider", "model_id", "expected"),
    [
        ("anthropic", "claude-sonnet-4-6", (3, 0.30, 3.75, 6, 15, 1.5, 7.5)),
        ("anthropic", "claude-sonnet-5-5", (2, 0.10, 2.5, 4, 10, 1, 5)),
        ("anthropic", "claude-opus-5-5", (4, 0.20, 5, 8, 20, 2, 10)),
        ("anthropic", "claude-haiku-5-5", (0.10, 0.01, 0.125, 0.20, 0.50, 0.05, 0.25)),
        ("anthropic", "claude-haiku-4-5", (1, 0.10, 1.25, 2, 5, 0.5, 2.5)),
        ("google", "gemini-3.8-flash", (0.75, 0.075, None, None, 3.75, 0.375, 1.875)),
        ("google", "gemini-4-argon", (2, 0.10, None, None, 10, 1, 5)),
        ("google", "gemini-4-carbon", (2, 0.10, None, None, 10, 1, 5)),
        ("google", "gemini-4-hydrogen", (1.5, 0.075, None, None, 7.5, 0.75, 3.75)),
        ("google", "gemini-3.5-flash-lite", (0.30, 0.03, None, None, 2.5, 0.15, 1.25)),
        ("openai", "gpt-6.1-sol", (2, 0.10, 2.5, None, 10, 1, 5)),
        ("openai", "gpt-6-luna", (0.10, 0.01, 0.125, None, 0.50, 0.05, 0.25)),
    ],
)
def test_prices_are_those_of_november_2026(provider, model_id, expected):
    full, batch = of(provider, model_id).rates(1000), of(provider, model_id, batch=True).rates(1000)
    found = (full.input, full.cached, full.write_5m, full.write_1h, full.output, batch.input, batch.output)
    assert found == pytest.approx(expected, nan_ok=True) if None not in expected else found == expected


@pytest.mark.parametrize(
    ("model_id", "doubles"), [("gemini-4-argon", DECEMBER), ("gemini-4-carbon", DECEMBER), ("gemini-3.8-flash", JANUARY)]
)
def test_a_price_doubles_on_its_day_and_not_before(model_id, doubles):
    before, after = (of("google", model_id, on=day).rates(1) for day in (doubles - dt.timedelta(days=1), doubles))
    assert (after.input, after.output, after.cached) == (before.input * 2, before.output * 2, before.cached * 2)


def test_what_is_unknown_has_no_price():
    local = {"base_url": "http://127.0.0.1:8000/v1"}
    assert of("openai-compatible", "claude-sonnet-4-6", **local) is None
    assert of("google", "gemini-4-neon") is None
    assert of("anthropic", "claude-sonnet-4-6-of-tomorrow") is None
    assert of("ark", "seedream-5-0-260128", route="byteplus") is None
    assert of("openai", "gpt-image-2.6-flare", batch=True) is None


def test_every_price_names_its_source():
    assert of("anthropic", "claude-sonnet-4-6").source.startswith("genai-prices 0.2.")
    assert of("google", "gemini-4-carbon").source == "LiteLLM 1.110.2, 2026-11-30"
    gateway = of("anthropic", "claude-sonnet-4-6", base_url="https://gateway.example")
    assert gateway.rates(1).input == 3 and "may charge otherwise" in gateway.source


def test_a_call_costs_its_four_kinds_of_tokens():
    usage = Usage(
        1000, 10_000, 3000, 200, {"cache_creation": {"ephemeral_5m_input_tokens": 1000, "ephemeral_1h_input_tokens": 2000}}
    )
    dollars = of("anthropic", "claude-sonnet-4-6").of(usage)
    assert dollars == pytest.approx((1000 * 3 + 10_000 * 0.3 + 1000 * 3.75 + 2000 * 6 + 200 * 15) / 1e6)


def test_a_long_prompt_costs_all_its_tokens_more():
    haiku = of("anthropic", "claude-haiku-5-5")
    assert haiku.of(Usage(100_000)) == pytest.approx(0.01)
    assert haiku.of(Usage(40_000, 60_001)) == pytest.approx((40_000 * 0.5 + 60_001 * 0.05) / 1e6)
    assert haiku.most(100_001, 0) == pytest.approx(100_001 * 0.5 / 1e6)


@pytest.mark.parametrize(("cache", "rate"), [("off", 3), ("5m", 3.75), ("1h", 6)])
def test_the_most_a_call_can_cost_counts_writing_to_a_cache(cache, rate):
    assert of("anthropic", "claude-sonnet-4-6").most(10_000, 300, cache) == pytest.approx((10_000 * rate + 300 * 15) / 1e6)


def test_a_provider_that_caches_unasked_may_charge_for_it():
    assert of("openai", "gpt-6.1-sol").most(1_000_00, 0) == pytest.approx(100_000 * 2.5 / 1e6)
    assert of("google", "gemini-3.8-flash").most(100_000, 0) == pytest.approx(100_000 * 0.75 / 1e6)


def test_pictures_are_priced_each_where_the_provider_does_so():
    assert of("ark", "seedream-4-0-250828", route="byteplus").rates(0).per_image == 0.03
    assert of("google", "gemini-3.1-flash-image", route="vertex").rates(0).image_output == 60
    with pytest.raises(ValueError, match="by the picture"):
        of("ark", "seedream-4-0-250828", route="byteplus").of(Usage(1))


def test_an_unknown_rate_of_cached_tokens_counts_as_the_full_one():
    found = of("google", "gemini-3.1-flash-image", route="vertex")
    assert found.rates(0).cached is None
    assert found.of(Usage(0, 1_000_000)) == 0.5
