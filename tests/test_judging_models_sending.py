"""Uploads and batches over the wire: laid down once, handed in once, found again, waited for within bounds, read once."""

import datetime as dt
import json
from dataclasses import replace

import msgspec
import pytest
from model_run_fixtures import KEY, QUICK, dialect, judged, make_release, make_run, messages, noise, profile, verdict
from provider_server import Answer, ProviderServer

from longbanana_nb.errors import CallError, Incomplete
from longbanana_nb.judging import preflight
from longbanana_nb.judging.handles import read_handles
from longbanana_nb.judging.sent_pictures import CACHE
from longbanana_nb.providers.catalogue import resolve
from longbanana_nb.runs import parse_judge, spent_in, verdict_grid, verify_run

BATCH = {"batch": True, "images": "uploaded"}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


@pytest.fixture
def release(tmp_path):
    return make_release(tmp_path / "release")


@pytest.fixture
def run(tmp_path, release):
    return make_run(tmp_path / "run", release)


def uploads(server):
    return server.asked("/v1/files", "POST")


def handed_in(server):
    return [seen.json()["requests"] for seen in server.asked("/v1/messages/batches", "POST")]


def spoken_file(name):
    """A file of somebody else on the same account."""
    times = {"expires_at": None, "created_at": "2026-01-01T00:00:00Z"}
    return {
        "id": name,
        "type": "file",
        "filename": "x",
        "mime_type": "image/png",
        "size_bytes": 1,
        "downloadable": False,
        **times,
    }


def states(run):
    return dict(verdict_grid(run)["state"].value_counts())


def test_a_picture_is_uploaded_once_for_all_checks_systems_judges_and_runs(tmp_path, run, release):
    with ProviderServer(dialect()) as server:
        summary = judged(run, release, profile(server, sending={"images": "uploaded"}))
        assert summary.is_complete and summary.money.uploads == 12  # 4 references x 2 cases, 2 candidates x 2 cases
        assert len(uploads(server)) == 12
        sources = {
            json.dumps(block["source"])
            for b in messages(server)
            for block in b["messages"][0]["content"]
            if block["type"] == "image"
        }
        assert len(sources) == 12 and all('"type": "file"' in source for source in sources)
        judged(
            run, release, profile(server, name="second", model={"params": {"max_tokens": 999}}, sending={"images": "uploaded"})
        )
        other = make_run(tmp_path / "other", release)
        third = profile(server, name="third", model={"params": {"max_tokens": 998}}, sending={"images": "uploaded"})
        judged(other, release, third, reuse=[run.path])
        assert len(uploads(server)) == 12


def test_an_upload_that_is_gone_is_made_again(run, release):
    spoken = dialect()
    with ProviderServer(spoken) as server:
        judged(run, release, profile(server, sending={"images": "uploaded"}))
        spoken.files.clear()
        spoken.files["theirs"] = spoken_file("theirs")
        again = profile(server, name="second", model={"params": {"max_tokens": 999}}, sending={"images": "uploaded"})
        assert judged(run, release, again).is_complete
        assert len(uploads(server)) == 24


def test_an_upload_whose_answer_is_lost_is_found_by_its_name_and_not_made_twice(run, release):
    spoken, lost = dialect(), []

    class Cutting:
        def answer(self, seen, server):
            found = spoken.answer(seen, server)
            if seen.path != "/v1/files" or seen.method != "POST" or len(lost) == 3:
                return found
            lost.append(seen)
            return Answer(found.body, cut_after=-1)

    with ProviderServer(Cutting()) as server:
        summary = judged(run, release, profile(server, sending={"images": "uploaded"}))
        assert summary.is_complete and len(lost) == 3
        assert len(uploads(server)) == len(spoken.files) == 12


def test_what_lies_with_the_provider_is_shown_without_opening_it(run, release):
    uploading = {"images": "uploaded"}
    with ProviderServer(dialect()) as server:
        judged(run, release, profile(server, sending=uploading))
        told = [line.made for line in read_handles(run.path / "handles.jsonl") if line.event == "handed_in"]
        assert [(made.width, made.height, made.transcode) for made in told] == [(96, 96, ("jpeg-q90-1568", 3))] * 12
        first = [line.images for line in answers(run)]
        CACHE.__init__()  # as another process would begin
        files = [release.cases[case].inputs[0].file for case in release.cases]
        for file in files:  # the release has been verified before this
            file.write_bytes(noise(4242))
        again = profile(server, name="second", model={"params": {"max_tokens": 999}}, sending=uploading)
        assert judged(run, release, again).is_complete
        assert [line.images for line in answers(run, "second")] == first
        CACHE.__init__()
        server.dialect.files.clear()  # now they have to be opened
        with pytest.raises(Incomplete, match="could not be judged"):
            judged(run, release, profile(server, name="third", model={"params": {"max_tokens": 998}}, sending=uploading))


def test_a_picture_whose_handle_runs_out_is_made_and_laid_down_again(run, release):
    spoken = dialect()
    with ProviderServer(spoken) as server:
        judged(run, release, profile(server, sending={"images": "uploaded"}))
        CACHE.__init__()
        soon = (dt.datetime.now(dt.UTC) + dt.timedelta(seconds=60)).strftime("%Y-%m-%dT%H:%M:%SZ")
        spoken.files["file_1"]["expires_at"] = soon
        handles = run.path / "handles.jsonl"
        lines = [line.replace(_expires(line), soon) if '"file_1"' in line else line for line in handles.read_text().splitlines()]
        handles.write_text("\n".join(lines) + "\n")
        again = profile(server, name="second", model={"params": {"max_tokens": 999}}, sending={"images": "uploaded"})
        assert judged(run, release, again).is_complete
        assert len(uploads(server)) == 13
        assert spoken.file_bytes["file_13"] == spoken.file_bytes["file_1"]


def _expires(line):
    return json.loads(line)["expires_at"]


def answers(run, judge="claude"):
    files = sorted(run.path.glob(f"judgments/{judge}/*/*.jsonl"))
    return [line for file in files for line in sorted(read_judgments(run, judge, file), key=lambda one: one.check_id)]


def read_judgments(run, judge, file):
    return run.judgments(judge, file.parent.name, file.stem).read()


def test_a_batch_is_handed_in_once_and_read(run, release):
    with ProviderServer(dialect(polls=3)) as server:
        summary = judged(run, release, profile(server, sending=BATCH))
        assert (summary.asked, summary.valid) == (16, 16)
        assert [len(requests) for requests in handed_in(server)] == [16]
        assert messages(server) == []
        spent = spent_in(run)
        assert spent.usd == pytest.approx(summary.money.cost_usd) and spent.open_usd == 0
        assert judged(run, release, profile(server, sending=BATCH)).found == 16
        assert len(handed_in(server)) == 1
        assert verify_run(run) == []
        assert [line.event for line in read_handles(run.path / "handles.jsonl") if line.kind == "batch"] == [
            "intent",
            "handed_in",
            "read",
        ]


def test_a_batch_costs_half(tmp_path, release):
    with ProviderServer(dialect()) as server:
        direct = judged(make_run(tmp_path / "a", release), release, profile(server))
        batch = judged(make_run(tmp_path / "b", release), release, profile(server, sending={"batch": True}))
        assert batch.money.cost_usd == pytest.approx(direct.money.cost_usd / 2)


def test_a_batch_that_takes_long_ends_the_call_and_is_waited_for_by_the_next(run, release):
    quick = replace(QUICK, batches=replace(QUICK.batches, most_s=0.1))
    with ProviderServer(dialect(polls=20)) as server:
        with pytest.raises(Incomplete, match="Come back later"):
            judged(run, release, profile(server, sending=BATCH), patience=quick)
        assert states(run) == {"not_asked": 16}
        assert spent_in(run).open_usd > 0
        assert judged(run, release, profile(server, sending=BATCH)).is_complete
        assert len(handed_in(server)) == 1
        assert spent_in(run).open_usd == 0


def test_errored_cancelled_and_expired_items_are_asked_again_by_the_rules(run, release):
    spoken = dialect()
    outcomes = iter(
        ["expired", "canceled", {"type": "api_error", "message": "boom"}, {"type": "invalid_request_error", "message": "odd"}]
    )

    class Failing(dict):
        def get(self, name, usual):
            return self.setdefault(name, next(outcomes, usual))

    spoken.outcomes = Failing()
    with ProviderServer(spoken) as server:
        summary = judged(run, release, profile(server, sending=BATCH))
        assert (summary.valid, summary.asked) == (16, 20)
        assert [len(requests) for requests in handed_in(server)] == [16, 4]


def test_the_answer_to_a_handing_in_that_is_cut_off_does_not_hand_in_twice(run, release):
    spoken = dialect()

    class Cut:
        def answer(self, seen, server):
            found = spoken.answer(seen, server)
            is_batch = seen.method == "POST" and seen.path.endswith("/batches")
            return Answer(found.body, cut_after=3) if is_batch else found

    with ProviderServer(Cut()) as server:
        assert judged(run, release, profile(server, sending=BATCH)).is_complete
        assert len(handed_in(server)) == 1


def test_a_batch_of_somebody_else_of_the_same_size_is_not_taken_for_ours(run, release):
    spoken = dialect()

    class Foreign:
        def answer(self, seen, server):
            found = spoken.answer(seen, server)
            if seen.method == "POST" and seen.path.endswith("/batches") and len(spoken.batches) == 1:
                first = spoken.batch_requests["msgbatch_1"]
                spoken.batch_requests["msgbatch_1"] = [r | {"custom_id": f"theirs-{n}"} for n, r in enumerate(first)]
                spoken.open_batch(seen, server)
                return Answer(found.body, cut_after=3)
            return found

    with ProviderServer(Foreign()) as server:
        assert judged(run, release, profile(server, sending=BATCH)).is_complete
        assert len(handed_in(server)) == 1


def test_batches_are_split_at_the_provider_s_limits(run, release, monkeypatch):
    def resolved(*names, **more):
        found = resolve(*names, **more)
        return replace(found, limits=msgspec.structs.replace(found.limits, batch_requests=7))

    monkeypatch.setattr(preflight, "resolve", resolved)
    with ProviderServer(dialect()) as server:
        assert judged(run, release, profile(server, sending=BATCH)).is_complete
        assert [len(requests) for requests in handed_in(server)] == [7, 7, 2]


def test_the_budget_stops_the_filling_of_a_batch(run, release):
    with ProviderServer(dialect()) as server:
        with pytest.raises(Incomplete, match="budget"):
            judged(run, release, profile(server, sending=BATCH), limits={"max_usd": 0.2})
        sizes = [len(requests) for requests in handed_in(server)]
        assert len(sizes) == 1 and 0 < sizes[0] < 16
        assert spent_in(run).usd <= 0.2
        assert states(run)["valid"] == sizes[0]


def test_an_agentic_judge_takes_no_batches():
    model = {"provider": "anthropic", "id": "claude-sonnet-4-6"}
    with pytest.raises(CallError, match="each turn waits"):
        parse_judge({"name": "a", "protocol": "agentic", "model": model, "sending": {"batch": True}})


def test_checks_asked_together_are_split_fairly(run, release):
    def reply(body):
        text = body["messages"][0]["content"][-1]["text"]
        assert "CHECK" in text
        return json.dumps({"answers": [{"id": f"q{n}", "rationale": "x", "verdict": "Fail"} for n in (1, 2)]})

    with ProviderServer(dialect(reply)) as server:
        summary = judged(run, release, profile(server, checks_per_call=2))
        assert (summary.valid, len(messages(server))) == (16, 8)
        lines = run.judgments("claude", "mine", "case_0").read()
        assert sum(line.cost_usd for line in lines) == pytest.approx(summary.money.cost_usd / 4)
        assert verdict()
