"""Two releases scored together: all cases, stratified, only what both have; and what cannot be pooled."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from scoring_fixtures import grid_of, row_of

from longbanana_nb import pool
from longbanana_nb.cli import main
from longbanana_nb.errors import CallError, DataError
from longbanana_nb.runs import open_run
from longbanana_nb.scoring.intervals import stratified_t
from longbanana_nb.scoring.pooling import pooled_cases, pooled_differences, pooled_scores
from longbanana_nb.scoring.scores import case_scores


def parts(extra=None):
    one = grid_of({"SCC": {"a": [2, 2], "b": [2, 0], "c": [0, 0]}})
    two = grid_of({"SCC": {"a": [0, 0], "b": [0, 1], "d": [1, 1]}, "AGG": {"e": [2, 2], "f": [1, 2], "g": [2, 2]}})
    return {"one": case_scores(one), "two": case_scores(two if extra is None else extra)}


def test_the_pooled_score_is_the_mean_of_all_cases_and_a_shared_name_is_two_cases():
    cases = pooled_cases(parts())
    assert len(cases) == 9
    told = row_of(pooled_scores(cases), scope="overall")
    values = np.array([100, 50, 0, 0, 25, 50, 100, 75, 100.0])
    assert told["score"] == pytest.approx(values.mean())
    by_hand = stratified_t(values, np.repeat([0, 1, 2], 3), 0.95)
    assert (told["ci_low"], told["ci_high"]) == pytest.approx((by_hand.low, by_hand.high))
    assert told["method"] == "stratified t, 3 strata, df 6"
    assert row_of(pooled_scores(cases), scope="category", name="SCC")["cases_total"] == 6


def test_differences_pair_cases_within_their_release():
    frames = parts()
    both = dict(frames)
    for name, frame in both.items():
        both[name] = type(frame)(np.vstack([frame, frame.assign(system="t", score=frame["score"] - 10)]), columns=frame.columns)
        both[name] = both[name].astype({"score": float, "score_low": float, "score_high": float})
    told = pooled_differences(pooled_cases(both)).iloc[0]
    assert (told["a"], told["b"], told["cases"]) == ("s", "t", 9)
    assert told["difference"] == pytest.approx(10)


def test_nothing_in_common_or_a_single_release_is_refused():
    with pytest.raises(CallError, match="at least two"):
        pooled_cases({"one": parts()["one"]})
    other = grid_of({"SCC": {"a": [2]}}, system="t")
    with pytest.raises(CallError, match="no system"):
        pooled_cases(parts(other))


@pytest.fixture
def two_runs(demo_home, tmp_path, monkeypatch):
    """The demo's run, and the same answers as if on another release."""
    monkeypatch.setenv("LONGBANANA_HOME", str(demo_home))
    kept_out = shutil.ignore_patterns("labels", "report.html", "notebooks", "figures", "tables", "steps", "scores")
    for name in ("one", "two"):
        shutil.copytree(demo_home / "reports" / "demo", tmp_path / name, ignore=kept_out)
    edited(tmp_path / "two", lambda meta: meta["release"].update(name="demo_v2", revision="2" * 16))
    return tmp_path / "one", tmp_path / "two"


def edited(folder, change):
    path = folder / "run.json"
    meta = json.loads(path.read_text())
    change(meta)
    path.write_text(json.dumps(meta))


def test_runs_on_two_releases_are_pooled_and_the_table_says_so(two_runs, capsys):
    assert main(["score", *map(str, two_runs)]) in (0, 3)
    said = capsys.readouterr().out
    assert "Pooled over demo\\_v1" in said
    assert "demo\\_v2 at 2222222222222222, 9 cases" in said
    main(["score", "--json", *map(str, two_runs)])
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == "lb.pooled.v1"
    assert [one["cases"] for one in told["releases"]] == [9, 9]


def test_runs_on_one_release_and_names_that_changed_are_refused(two_runs):
    with pytest.raises(CallError, match="merge"):
        pool([two_runs[0], two_runs[0]])
    edited(two_runs[1], lambda meta: meta["judges"]["tools"].update(sha256="0" * 64))
    with pytest.raises(DataError, match="judges tools"):
        pool(two_runs)


def test_what_is_not_in_both_runs_is_named(two_runs):
    edited(two_runs[1], lambda meta: meta["systems"].pop("collage"))
    pooled = pool(two_runs)
    assert pooled.left_out == ["collage"]
    assert "collage" not in set(pooled.scores["system"])
    assert "collage" in " ".join(pooled.table().notes)


def test_runs_under_different_policies_are_refused(two_runs):
    edited(two_runs[1], lambda meta: meta["analysis"].update(missing="zero"))
    with pytest.raises(CallError, match="policies"):
        pool([open_run(path) for path in two_runs])
