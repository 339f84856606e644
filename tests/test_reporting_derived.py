"""Tables say what was derived and not reviewed, wherever it shows."""

import pytest
from release_fixtures import check, small_release

from longbanana_nb.judging.annotate import annotate_release
from longbanana_nb.release import load_release
from longbanana_nb.reporting.facts import derived_probes_note, derived_units_note
from longbanana_nb.reporting.run_facts import facts_of_run
from longbanana_nb.runs import create_run, open_run, parse_judge


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("LONGBANANA_HOME", str(tmp_path / "home"))
    checks = [check("case_a", "c1"), check("case_a", "c2", question="Is the backdrop red?"), check("case_b", "c1", "RGC")]
    manifest = small_release(tmp_path, checks=checks, units=(), probes=())
    annotate_release(load_release(manifest))
    release = load_release(manifest)
    made = create_run(tmp_path / "run", release)
    with made.owner():
        made.index_checks(release, release.evaluation())
        made.add_judge(parse_judge({"name": "tools", "protocol": "tools"}), "0" * 64, versions={}, simulated=False)
        model = {"provider": "anthropic", "id": "claude-sonnet-4-6"}
        made.add_judge(parse_judge({"name": "m", "protocol": "direct", "model": model}), "1" * 64, versions={}, simulated=False)
    return open_run(tmp_path / "run")


def test_derived_units_and_probes_are_counted_in_the_notes(run):
    facts = facts_of_run(run)
    assert derived_units_note(facts) == ("Dimension and polarity of 3 of 3 checks are derived, not reviewed.",)
    assert derived_probes_note(facts, "tools") == ("The probes of 1 of 3 checks are derived, not reviewed.",)
    assert derived_probes_note(facts, "m") == ()  # it answers no probes


def test_a_release_that_states_its_units_needs_no_note(tmp_path):
    release = load_release(small_release(tmp_path))
    made = create_run(tmp_path / "run", release)
    with made.owner():
        made.index_checks(release, release.evaluation())
    assert facts_of_run(open_run(tmp_path / "run")).derived is None
