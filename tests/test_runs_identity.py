"""Identity by content: what changes a hash, what does not, and refusal of a name whose hash changed."""

import itertools

import pytest
from runs_fixtures import judge, make_release, make_run, system

from longbanana_nb.errors import DataError
from longbanana_nb.runs import create_run, judge_sha256, judgment_key, open_run, system_sha256


def test_name_and_samples_do_not_change_a_system_and_everything_else_does():
    base = system_sha256(system(), {"fp-direct": "1"})
    assert base == system_sha256(system("other", samples=3), {"fp-direct": "1"})
    others = [
        system_sha256(system(), {"fp-direct": "2"}),
        system_sha256(system(backend={"provider": "sketch", "id": "y"}), {"fp-direct": "1"}),
        system_sha256(system(backend={"provider": "sketch", "id": "x", "params": {"t": 1}}), {"fp-direct": "1"}),
        system_sha256(system(references={"policy": "window", "size": 4}), {"fp-direct": "1"}),
        system_sha256(system(limits={"max_image_calls": 3}), {"fp-direct": "1"}),
    ]
    assert len({base, *others}) == 6


def test_defaults_written_out_and_numbers_spelt_differently_are_the_same_system():
    written = system(references={"policy": "window", "size": 8, "stride": 8, "background": "first", "carry_last": True})
    assert system_sha256(system(), {}) == system_sha256(written, {})
    one, other = ({"provider": "sketch", "id": "x", "params": {"t": t, "in": [t]}} for t in (2, 2.0))
    assert system_sha256(system(backend=one), {}) == system_sha256(system(backend=other), {})


def test_reasking_does_not_change_a_judge_and_checks_per_call_do():
    model = {"provider": "a", "id": "b"}
    base = judge("j", protocol="direct", model=model)
    assert judge_sha256(base, {}) == judge_sha256(
        judge("k", protocol="direct", model=model, reask={"truncated": 2}, samples=2), {}
    )
    assert judge_sha256(base, {}) != judge_sha256(judge("j", protocol="direct", model=model, checks_per_call=5), {})
    assert judge_sha256(base, {}) != judge_sha256(base, {"prompt": "2"})


def test_every_part_of_a_judgments_key_counts_the_order_of_references_too():
    parts = [["r1", "r2"], ["c1", "c2"], ["i1", "i2"], [("a", "b"), ("b", "a")], ["j1", "j2"], [0, 1]]
    keys = {judgment_key(*chosen) for chosen in itertools.product(*parts)}
    assert len(keys) == 2**6


def test_a_name_whose_hash_changed_is_refused_naming_the_fields(tmp_path):
    run = make_run(tmp_path / "r", make_release(tmp_path / "release"))
    changed = system(backend={"provider": "sketch", "id": "z"})
    with pytest.raises(DataError, match=r"backend.id: 'x' then, 'z' now.*Choose a new name or a new run"):
        run.add_system(changed, system_sha256(changed, {}))
    with pytest.raises(DataError, match=r"versions.prompt: None then, '2' now"):
        run.add_judge(judge(), judge_sha256(judge(), {"prompt": "2"}), versions={"prompt": "2"})
    assert open_run(run.path).systems["sys-a"].spec["backend"]["id"] == "x"


def test_more_samples_of_the_same_system_are_no_change(tmp_path):
    run = make_run(tmp_path / "r", make_release(tmp_path / "release"))
    run.add_system(system(samples=4), system_sha256(system(), {}))
    assert open_run(run.path).systems["sys-a"].system().samples == 4


def test_a_run_goes_on_with_its_release_and_refuses_another(tmp_path):
    release = make_release(tmp_path / "release")
    run = make_run(tmp_path / "r", release)
    assert create_run(run.path, release).meta == run.meta
    with pytest.raises(DataError, match=r"revision: found the release's r2; expected r1"):
        create_run(run.path, make_release(tmp_path / "next", revision="r2"))
    with pytest.raises(DataError, match="The manifest was changed"):
        create_run(run.path, make_release(tmp_path / "edited", questions="Is it blue?"))


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("x")
    with pytest.raises(DataError, match=r"chapter.tex.*Choose another folder"):
        create_run(tmp_path / "thesis", make_release(tmp_path / "release"))
    with pytest.raises(DataError, match="no such file"):
        open_run(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_a_run_finds_its_release_after_both_moved_together(tmp_path):
    release = make_release(tmp_path / "a" / "release")
    make_run(tmp_path / "a" / "reports" / "r", release)
    (tmp_path / "a").rename(tmp_path / "b")
    assert open_run(tmp_path / "b" / "reports" / "r").manifest == tmp_path / "b" / "release" / "manifest.json"
