"""Notebook 09 on the demo, and what the report makes of an audit; a table written twice is the same bytes."""

import json
import shutil

import pytest
from conftest import run_command

from longbanana_nb.reporting.audits import read_audit
from longbanana_nb.runs import open_run, verify_run


@pytest.fixture(scope="module")
def audited(demo_home, tmp_path_factory):
    """A copy of the demo run on which notebook 09 was executed with one pair a kind."""
    run = tmp_path_factory.mktemp("audited") / "reports" / "demo"
    shutil.copytree(demo_home / "reports" / "demo", run)
    meta = json.loads((run / "run.json").read_text("utf-8"))
    meta["release"]["manifest"] = str(next((demo_home / "data" / "releases").glob("*/manifest.json")))
    (run / "run.json").write_text(json.dumps(meta), "utf-8")
    values = ["-p", "run_dir", run, "-p", "pairs_per_kind", 1]
    run_command("notebook", "09_audit_the_judge", *values, cwd=run, home=demo_home, check=0)
    return run


def test_it_audits_every_kind_of_edit_and_shows_pairs(audited):
    told = read_audit(audited, "tools")
    assert told["complete"]
    assert told["source"] == "graph"
    kinds = {row["name"] for part in ("sensitivity", "false_alarms", "injection") for row in told[part] if row["by"] == "kind"}
    assert len(kinds) >= 13
    executed = (audited / "notebooks" / "09_audit_the_judge.ipynb").read_text("utf-8")
    assert executed.count("data:image/jpeg;base64,") >= 6
    assert verify_run(open_run(audited)) == []


def test_the_notebook_shows_its_figure_and_its_pairs_as_pictures(audited):
    cells = json.loads((audited / "notebooks" / "09_audit_the_judge.ipynb").read_text("utf-8"))["cells"]
    outputs = [one for cell in cells for one in cell.get("outputs", ())]
    html = ["".join(one["data"]["text/html"]) for one in outputs if "text/html" in one.get("data", {})]
    assert any(text.startswith('<img alt="') for text in html)
    assert "<Figure size" not in json.dumps(outputs)


def test_pairs_from_graphs_turn_exactly_and_rise_as_often_as_they_fall(audited):
    pairs = [json.loads(line) for line in (audited / "audits" / "tools" / "pairs.jsonl").read_text("utf-8").splitlines()]
    expected = {"flip_down": [2, 0], "flip_up": [0, 2]}
    assert all(pair["truth"] == expected.get(pair["expected"], [pair["truth"][0]] * 2) for pair in pairs)
    ups, downs = (sum(pair["expected"] == way for pair in pairs) for way in ("flip_up", "flip_down"))
    assert ups >= downs


def test_the_line_stands_under_tables_and_tables_are_the_same_bytes_again(audited, demo_home):
    run_command("report", audited, cwd=audited, home=demo_home, check=0)
    tables = {path.name: path.read_bytes() for path in (audited / "tables").iterdir()}
    for name in ("main.md", "dimensions.md", "truth.md"):
        assert b"tools: notices" in tables[name], name
    assert "audit-tools.tex" in tables
    assert 'id="audit"' in (audited / "report.html").read_text("utf-8")
    run_command("audit", audited, "--pairs", 1, cwd=audited, home=demo_home, check=0)
    run_command("report", audited, cwd=audited, home=demo_home, check=0)
    assert {path.name: path.read_bytes() for path in (audited / "tables").iterdir()} == tables
    run_command("verify", audited, cwd=audited, home=demo_home, check=0)
