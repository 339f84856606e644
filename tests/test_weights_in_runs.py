"""Frozen weights and declared contrasts in a run: kept in it, bound to its release, checked again, and dated."""

from __future__ import annotations

import json
import shutil

import pytest
from conftest import copy_of_demo

from longbanana_nb import corrected, judge, label_plan, labelling, score, tables, verify
from longbanana_nb.errors import CallError, DataError
from longbanana_nb.runs import open_run
from longbanana_nb.weighing import freeze_weights

EXPERIMENT = """
schema: lb.experiment.v1
run: reports/demo
release: {release}
systems:
  - presets/systems/sketch-weak-fp-direct.yaml
  - presets/systems/sketch-medium-fp-direct.yaml
  - presets/systems/sketch-strong-fp-direct.yaml
  - presets/systems/native-minimal-sketch-medium.yaml
judges: [presets/judges/tools.yaml, presets/judges/truth.yaml]
floors: {{blank: judge, single-reference: judge, collage: judge, words: judge}}
analysis: {{{analysis}}}
"""


@pytest.fixture
def run(demo_home, tmp_path, monkeypatch):
    monkeypatch.setenv("LONGBANANA_HOME", str(demo_home))
    opened = copy_of_demo(demo_home, tmp_path / "reports" / "demo", "labels", "tables", "scores")
    labelling.simulate(opened, units=400, quality="expert")
    return opened


def experiment(run, analysis):
    path = run.path.parent.parent / "experiment.yaml"
    path.write_text(EXPERIMENT.format(release=run.manifest, analysis=analysis), "utf-8")
    return path


def test_weights_are_kept_in_the_run_and_its_numbers_come_from_there(run):
    frozen = freeze_weights(run, run.path.parent.parent / "weights.json")
    judge(experiment(run, "weights: weights.json"))
    frozen.unlink()
    again = open_run(run.path)
    scores = score(again)
    assert scores.policy.weights == "simulated-difficulty-v1"
    assert scores.weights.pool == ("fp-direct-medium", "fp-direct-strong", "fp-direct-weak", "native-medium")
    assert any("simulated-difficulty-v1 (sha256" in note for note in tables(again)["pass_rates"].notes)
    assert not verify(again.path)
    assert score(again, weights="uniform-v1").pass_rates["effective_checks"].max() > scores.pass_rates["effective_checks"].max()


def test_changed_weights_are_found_and_not_used(run):
    freeze_weights(run, run.path.parent.parent / "weights.json")
    judge(experiment(run, "weights: weights.json"))
    kept = run.path / "weights" / "simulated-difficulty-v1.json"
    kept.write_text(kept.read_text().replace("1.0", "1.1"))
    with pytest.raises(DataError, match="frozen"):
        score(open_run(run.path))
    assert any(str(kept) in fault.where for fault in verify(run.path))


def test_frozen_weights_are_not_replaced(run):
    there = run.path.parent.parent / "weights.json"
    freeze_weights(run, there)
    with pytest.raises(CallError, match="not replaced"):
        freeze_weights(run, there)
    judge(experiment(run, "weights: weights.json"))
    there.unlink()
    freeze_weights(run, there, pool=["fp-direct-weak", "fp-direct-strong"])
    with pytest.raises(CallError, match="not replaced"):
        judge(experiment(run, "weights: weights.json"))


def test_weights_of_another_release_are_refused(run):
    there = freeze_weights(run, run.path.parent.parent / "weights.json")
    there.write_text(there.read_text().replace(run.meta.release.revision, "0" * 16))
    with pytest.raises(DataError, match="another release"):
        score(run, weights=str(there))


def test_a_pool_without_labels_or_without_systems_is_refused(run):
    there = run.path.parent.parent / "weights.json"
    with pytest.raises(CallError, match="fp-direct-weak"):
        freeze_weights(run, there, pool=["fp-direct-week"])
    with pytest.raises(DataError, match="two systems"):
        freeze_weights(run, there, pool=["blank"])
    assert json.loads(freeze_weights(run, there, judge="tools").read_text())["name"] == "judge-difficulty-v1"


def test_contrasts_are_dated_with_the_verdicts_that_were_there(run):
    compare = "compare: [[fp-direct-strong, fp-direct-weak], [harness=native, harness=fp-direct]]"
    judge(experiment(run, compare))
    first = tables(open_run(run.path))["contrasts"]
    assert "in sight of" in " ".join(first.notes)
    cells = {row.cells[0].text: [cell.text for cell in row.cells] for group in first.groups for row in group.rows}
    assert cells["harness=native"][7] == "2"
    kept = (run.path / "contrasts.jsonl").read_text()
    judge(experiment(run, compare))
    assert (run.path / "contrasts.jsonl").read_text() == kept  # the same family keeps its date


def test_a_missing_weights_file_is_named_where_the_experiment_names_it(run):
    with pytest.raises(CallError, match=r"analysis\.weights.*no file"):
        judge(experiment(run, "weights: nowhere.json"))


def test_labelled_runs_show_corrected_scores_and_what_more_labels_buy(run):
    made = tables(open_run(run.path))
    rows = {row.cells[0].text: row for group in made["corrected"].groups for row in group.rows}
    assert set(rows) == set(run.systems)
    assert "simulated raters" in " ".join(made["corrected"].notes)
    assert made["corrected"].columns[-1].label == "Truth"
    assert "seen on" in made["label_plan"].notes[0]
    assert "tables/corrected.csv" in {path.relative_to(run.path).as_posix() for path in run.path.glob("tables/*.csv")}


def test_without_labels_the_plan_states_what_it_assumes(run):
    shutil.rmtree(run.path / "labels")
    assert "assumed" in label_plan(run.path).notes[0]
    assert "corrected" not in tables(open_run(run.path))
    with pytest.raises(CallError, match="no design"):
        corrected(run.path)
