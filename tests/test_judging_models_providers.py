"""The same run judged through each provider's own formats: asked, laid down, handed in together, read."""

import pytest
from model_run_fixtures import KEY, judged, make_release, make_run, profile, verdict
from provider_server import ProviderServer
from provider_server.google import GoogleDialect
from provider_server.openai import ChatDialect, OpenAIDialect

from longbanana_nb.runs import spent_in, verify_run

WAYS = [
    ("openai", "gpt-6.1-sol", OpenAIDialect, {"effort": "low"}),
    ("google", "gemini-3.8-flash", GoogleDialect, {"thinking_level": "low"}),
]


@pytest.fixture(autouse=True)
def key(monkeypatch):
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OWN_KEY"):
        monkeypatch.setenv(name, KEY)


@pytest.mark.parametrize(("provider", "model", "speaks", "params"), WAYS)
@pytest.mark.parametrize("sending", [{}, {"images": "uploaded"}, {"batch": True, "images": "uploaded"}, {"batch": True}])
def test_each_provider_each_way(tmp_path, provider, model, speaks, params, sending):
    release = make_release(tmp_path / "release")
    run = make_run(tmp_path / "run", release)
    with ProviderServer(speaks(lambda body: verdict(), key=KEY, polls=2)) as server:
        url = f"{server.url}/v1" if provider == "openai" else server.url
        named = {"provider": provider, "id": model, "params": params, "base_url": url}
        spec = profile(server, model=named, sending=sending)
        summary = judged(run, release, spec)
        assert (summary.valid, summary.asked) == (16, 16)
        assert summary.money.cost_usd > 0 and spent_in(run).open_usd == 0
        assert judged(run, release, spec).found == 16
        assert verify_run(run) == []


def test_an_endpoint_of_one_s_own_runs_at_unknown_cost(tmp_path):
    release = make_release(tmp_path / "release")
    run = make_run(tmp_path / "run", release)
    with ProviderServer(ChatDialect(lambda body: verdict(), key=KEY)) as server:
        named = {"provider": "openai-compatible", "id": "mine", "base_url": f"{server.url}/v1", "key_env": "OWN_KEY"}
        summary = judged(run, release, profile(server, model=named))
        assert summary.is_complete and summary.money.cost_usd is None
