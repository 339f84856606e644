"""A sample of each case's checks: proportional, nested, unbiased, told with every number; its intervals hold what they say."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from runs_fixtures import make_release, make_run

from longbanana_nb.reporting import write_tables
from longbanana_nb.reporting.run_facts import facts_of_run, scores_of_run
from longbanana_nb.runs import load_experiment, open_run, verdict_grid
from longbanana_nb.runs.experiment import CheckSample
from longbanana_nb.runs.plan import PlannedCheck
from longbanana_nb.runs.selection import select_checks
from longbanana_nb.scoring import score_grid

DIMENSIONS = ["Content Fidelity"] * 30 + ["Relational Binding"] * 20 + ["Global Constraint Satisfaction"] * 7


def checks(case_id="a"):
    signs = ["negative" if n % 3 == 0 else "positive" for n in range(len(DIMENSIONS))]
    return [
        PlannedCheck(case_id, f"c{n:02d}", "SCC", "0" * 64, dimension, sign, "units", None, "?", [], None, {})
        for n, (dimension, sign) in enumerate(zip(DIMENSIONS, signs, strict=True))
    ]


def ids(found):
    return [check.check_id for check in found]


def test_a_larger_sample_holds_the_smaller_and_order_is_kept():
    drawn = [ids(select_checks(checks(), CheckSample(per_case=n, seed=3))) for n in range(1, 58)]
    assert [len(found) for found in drawn] == list(range(1, 58))
    assert all(set(small) < set(large) for small, large in pairwise(drawn))
    assert all(found == sorted(found) for found in drawn)
    assert ids(select_checks(checks(), None)) == ids(select_checks(checks(), CheckSample(per_case=99))) == ids(checks())
    assert ids(select_checks(checks("b"), CheckSample(per_case=9, seed=3))) != drawn[8]


def test_strata_are_drawn_in_proportion_and_no_check_is_favoured():
    times, wholly = np.zeros(57), []
    for seed in range(3000):
        chosen = select_checks(checks(), CheckSample(per_case=12, seed=seed))
        times[[int(check.check_id[1:]) for check in chosen]] += 1
        wholly.append(sum(check.dimension == "Content Fidelity" for check in chosen))
    assert np.ptp(wholly) <= 4 and np.mean(wholly) == pytest.approx(12 * 30 / 57, abs=0.1)
    assert times / 3000 == pytest.approx(np.full(57, 12 / 57), abs=0.05)


def test_intervals_over_cases_hold_the_drawing_of_checks_too():
    """The spread of observed case scores already has both stages in it, so the interval widens by itself and still covers."""
    chance, rounds, cases = np.random.default_rng(5), 200, 27
    frame = pd.DataFrame(
        {"case_id": f"k{c}", "check_id": check.check_id, "category": ("SCC", "RGC", "GAC")[c % 3]}
        for c in range(cases)
        for check in checks()
    )
    parts = {n: [] for n in (12, 57)}
    for r in range(rounds):
        labels = chance.binomial(1, np.repeat(chance.beta(4, 3, cases), 57)) * 2
        for n, found in parts.items():
            chosen = [select_checks(checks(f"k{c}"), CheckSample(per_case=n, seed=r)) for c in range(cases)]
            kept = [57 * c + int(check.check_id[1:]) for c, some in enumerate(chosen) for check in some]
            known = {"judge": f"j{r}", "system": "s", "state": "valid", "dimension": "", "polarity": "", "invalid": None}
            found.append(frame.iloc[kept].assign(label=labels[kept], **known))
    rows = {n: score_grid(pd.concat(found)).scores.query("scope == 'overall'") for n, found in parts.items()}
    covered = rows[12]["ci_low"].le(400 / 7) & rows[12]["ci_high"].ge(400 / 7)
    assert 0.91 <= covered.mean() <= 0.99
    assert (rows[12]["ci_high"] - rows[12]["ci_low"]).mean() > 1.1 * (rows[57]["ci_high"] - rows[57]["ci_low"]).mean()


def test_a_run_says_its_sample_with_every_number_and_grows(tmp_path):
    release = make_release(tmp_path / "release")
    run = make_run(tmp_path / "run", release)
    run.index_checks(release, release.evaluation(), None, CheckSample(per_case=1, seed=4))
    again = open_run(run.path)
    assert len(again.checks()) == 4 and again.check_sample == CheckSample(per_case=1, seed=4)
    grid = verdict_grid(again)
    scores, facts = scores_of_run(again, grid), facts_of_run(again)
    assert scores.as_json()["policy"]["checks"] == "1 a case (seed 4)"
    notes = " ".join(write_tables(again, scores, grid, facts)["main"].notes)
    assert "checks 1 a case (seed 4)" in notes and "Only a sample of each case's checks" in notes
    run.index_checks(release, release.evaluation(), None, CheckSample(per_case=2, seed=4))
    assert {check.check_id for check in again.checks()} and len(open_run(run.path).checks()) == 8
    run.index_checks(release, release.evaluation())
    whole = open_run(run.path)
    assert whole.check_sample is None and "checks" not in scores_of_run(whole, verdict_grid(whole)).as_json()["policy"]


def test_an_experiment_asks_for_a_sample(tmp_path):
    file = tmp_path / "e.yaml"
    file.write_text("schema: lb.experiment.v1\nrun: r\nrelease: demo_v1\nchecks: {per_case: 10, seed: 2}\n")
    assert load_experiment(file).checks == CheckSample(per_case=10, seed=2)
    file.write_text("schema: lb.experiment.v1\nrun: r\nrelease: demo_v1\n")
    assert load_experiment(file).checks is None
