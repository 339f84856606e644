"""A plan of model judges: calls and pictures are those that are then made; dollars are of the order that the prices give."""

import io

import pytest
import yaml
from model_run_fixtures import KEY, dialect, judged, make_release, make_run, messages, profile
from PIL import Image
from provider_server import ProviderServer

from longbanana_nb.embedded import model_protocols
from longbanana_nb.planning import make_plan
from longbanana_nb.release import load_release, write_release
from longbanana_nb.runs import load_experiment

CHECKS_OF_A_RELEASE = 5170
CASE_CHECKS = 57


def planned(tmp_path, release, judge, *, run="run", systems=("mine",), floors="off", **more):
    """The plan of one judge in an experiment of imported systems."""
    experiment = {
        "schema": "lb.experiment.v1", "run": run, "release": str(release.manifest), "judges": [judge],
        "systems": [{"name": name, "harness": {"kind": "imported"}} for name in systems],
        "floors": {"blank": floors, "single-reference": "off"}, **more,
    }  # fmt: skip
    file = tmp_path / "experiment.yaml"
    file.write_text(yaml.safe_dump(experiment), "utf-8")
    made = make_plan(load_experiment(file), release, backends={}, agents={}, model_protocols=model_protocols())
    return made.judges[0], made


def spec(**changes):
    model = {"provider": "anthropic", "id": "claude-sonnet-4-6", **changes.pop("model", {})}
    return {"name": "claude", "protocol": "direct", "model": model, **changes}


@pytest.fixture(scope="module")
def like_open_v1p5(tmp_path_factory):
    """Cases of 57 checks with three bound references of 1024 x 1024 each; fewer cases, for tokens add up."""
    root = tmp_path_factory.mktemp("release")
    stream = io.BytesIO()
    Image.new("RGB", (1024, 1024), (90, 120, 30)).save(stream, "JPEG")
    names = [f"ref_{n:02d}" for n in range(1, 33)]
    files = {f"public/images/{name}.jpg": stream.getvalue() for name in names}
    words = "Does the object keep the shape, colour and lettering that its reference shows, at the place the task names? " * 2
    task = {
        "case_id": "a", "category": "SCC", "prompt": "Draw.",
        "references": [{"id": name, "path": f"public/images/{name}.jpg"} for name in names],
    }  # fmt: skip
    checks = [
        {
            "check_id": f"c{n}", "case_id": "a", "category": "SCC", "question": f"{n}: {words}", "guide": words,
            "options": ["0", "1", "2"], "option_desc": {"0": "no", "1": "unclear", "2": "yes"},
            "reference_ids": [names[(n + k) % 32] for k in (0, 7 + n // 32, 13)],
        }
        for n in range(CASE_CHECKS)
    ]  # fmt: skip
    return load_release(
        write_release(root, name="like", revision="1", license="CC0-1.0", tasks=[task], checks=checks, extra_files=files)
    )


def test_dollars_are_of_the_order_of_the_measured_schemes(tmp_path, like_open_v1p5):
    """One check a call with three bound references, 5,170 checks: $108 alone, $80 with the candidate cached, $54 in batches."""
    found, _ = planned(tmp_path, like_open_v1p5, spec(sending={"cache": "5m"}))
    scale = CHECKS_OF_A_RELEASE / CASE_CHECKS
    usd = found.model.systems.usd
    tokens = found.model.systems.tokens
    assert (tokens.input + tokens.cached + tokens.cache_written) * scale == pytest.approx(33.0e6, rel=0.2)
    assert usd["each check alone"] * scale == pytest.approx(108, rel=0.2)
    assert usd["cached for 5 minutes"] * scale == pytest.approx(80, rel=0.2)
    assert usd["in batches"] == pytest.approx(usd["each check alone"] / 2)
    assert found.cost_usd == usd["cached for 5 minutes"] < usd["cached for an hour"] < usd["each check alone"]
    assert found.model.price.startswith("genai-prices")


def test_calls_and_pictures_are_those_that_are_then_made(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    release = make_release(tmp_path / "release", checks=6)
    run = make_run(tmp_path / "run", release, systems=("mine",))
    with ProviderServer(dialect()) as server:
        judge = profile(server)
        written = judge.model_dump(mode="json", exclude_none=True)
        before, _ = planned(tmp_path, release, written)
        judged(run, release, judge)
        made = messages(server)
        pictures = sum(block["type"] == "image" for body in made for block in body["messages"][0]["content"])
        assert (before.calls, before.model.systems.pictures) == (len(made), pictures) == (12, 32)
        after, _ = planned(tmp_path, release, written)
        assert (after.calls, after.answered, after.cost_usd) == (0, 12, 0.0)


def test_floors_stand_apart_and_what_is_not_made_yet_is_said(tmp_path):
    release = make_release(tmp_path / "release")
    found, whole = planned(tmp_path, release, spec(), floors="judge")
    assert found.model.systems.calls == found.model.floors.calls == 8
    assert found.model.assumed_candidates == 4
    text = whole.text()
    assert "floors: 8 checks open, 8 calls" in text and "not made yet" in text and "genai-prices" in text
    assert whole.as_json()["judges"][0]["model"]["floors"]["calls"] == 8


def test_an_agentic_judge_has_bounds(tmp_path):
    release = make_release(tmp_path / "release")
    judge = spec(protocol="agentic", agentic={"max_turns": 3, "tools": ["crop"]})
    share = planned(tmp_path, release, judge)[0].model.systems
    assert (share.calls, share.most_calls) == (8, 32)
    assert share.most_usd > 2 * share.chosen_usd > 0


def test_an_unknown_price_stays_unknown(tmp_path):
    release = make_release(tmp_path / "release")
    judge = spec(model={"id": "claude-of-tomorrow"})
    found, _ = planned(tmp_path, release, judge, limits={"max_usd": None})
    assert found.cost_usd is None and found.cannot_run is None and found.calls == 8
    refused, _ = planned(tmp_path, release, judge, limits={"max_usd": 5})
    assert "price is unknown" in refused.cannot_run


def test_a_retired_model_cannot_run(tmp_path):
    found, whole = planned(tmp_path, make_release(tmp_path / "release"), spec(model={"id": "claude-sonnet-4-5"}))
    assert "retired" in found.cannot_run and not whole.can_run


def test_a_sample_of_checks_is_planned_for(tmp_path):
    release = make_release(tmp_path / "release", checks=6)
    found, _ = planned(tmp_path, release, spec(), checks={"per_case": 2, "seed": 1})
    assert (found.answers, found.calls) == (4, 4)


def test_a_plan_takes_no_answers_of_other_runs_into_the_journals(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    release = make_release(tmp_path / "release")
    earlier = make_run(tmp_path / "earlier", release, systems=("mine",))
    run = make_run(tmp_path / "run", release, systems=("mine",))
    with ProviderServer(dialect()) as server:
        judge = profile(server)
        judged(earlier, release, judge)
        found, _ = planned(tmp_path, release, judge.model_dump(mode="json", exclude_none=True), reuse=["earlier"])
    assert (found.answers, found.calls) == (8, 0)
    assert not list(run.path.glob("judgments/**/*.jsonl"))


def test_systems_that_only_the_run_holds_are_judged_and_so_counted(tmp_path):
    release = make_release(tmp_path / "release")
    make_run(tmp_path / "run", release, systems=("mine", "other"))
    found, whole = planned(tmp_path, release, spec())
    assert found.calls == 16 and "other systems" in whole.text()
