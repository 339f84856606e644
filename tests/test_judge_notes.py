"""Under every table that shows a judge's answers stands what its audit says of it, and how far its repeats agree."""

import json

import pandas as pd
import pytest
from model_run_fixtures import KEY, QUICK, dialect, judged, make_release, make_run, profile, verdict
from provider_server import ProviderServer

from longbanana_nb.auditing import audit_run
from longbanana_nb.reporting.judge_notes import repeat_lines
from longbanana_nb.runs import open_run
from longbanana_nb.workbench import tables

WITH_ANSWERS = {"main", "dimensions", "coverage", "labels", "pass_rates"}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def notes_of(run):
    """The lines under every table that shows answers of the judge: the usual ones, and whatever other table names it."""
    made = {name: "\n".join(table.notes) for name, table in tables(run).items() if not name.startswith("audit-")}
    assert set(made) >= WITH_ANSWERS
    assert "claude" not in made["systems"]
    return {name: text for name, text in made.items() if name in WITH_ANSWERS or "Judge: claude" in text}


def test_every_table_with_answers_warns_until_there_is_an_audit(tmp_path):
    release = make_release(tmp_path / "release", checks=3)
    run = make_run(tmp_path / "run", release)
    with ProviderServer(dialect()) as server:
        judged(run, release, profile(server))
        before = notes_of(open_run(run.path))
        for name, text in before.items():
            assert text.count("Warning: claude has no audit") == 1, name
        audit_run(open_run(run.path), profile(server), pairs=2, patience=QUICK)
        for name, text in notes_of(open_run(run.path)).items():
            assert text.count("claude: notices 0.0 %") == 1, name
            assert "no audit" not in text


def test_repeats_of_a_judge_are_compared_under_its_tables(tmp_path):
    release = make_release(tmp_path / "release", checks=2)
    run = make_run(tmp_path / "run", release, systems=("mine",))
    seen = {}

    def by_turns(body):
        """Always Pass where nothing is bound; else Pass, and Fail when it is asked again."""
        said = json.dumps(body["messages"])
        seen[said] = seen.get(said, 0) + 1
        return verdict("Fail" if "REFERENCE" in said and seen[said] > 1 else "Pass")

    with ProviderServer(dialect(by_turns)) as server:
        judged(run, release, profile(server, samples=2), limits={"concurrency": 1})
    line = "claude is asked 2 times: on 50.0 % of 4 checks its answers agree; they differ by 1.00 of 2 on average."
    for name, text in notes_of(open_run(run.path)).items():
        assert line in text, name


def test_repeats_without_two_valid_answers_are_said_to_be_unknown():
    row = {"judge": "j", "system": "s", "case_id": "c", "sample": 0, "check_id": "k"}
    rows = [
        {**row, "judge_sample": n, "state": state, "label": label} for n, state, label in ((0, "valid", 2), (1, "invalid", None))
    ]
    grid = pd.DataFrame(rows).astype({"label": "Int64"})
    assert "no check has two valid answers" in repeat_lines(grid)["j"]
    assert repeat_lines(grid[grid["judge_sample"] == 0]) == {}
