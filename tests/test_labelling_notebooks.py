"""Notebooks 08 and 10 on the demo: what they write, and that simulated raters are called so."""

import json
import shutil

import pytest
from conftest import run_command

from longbanana_nb.reporting.recompute import table_faults
from longbanana_nb.reporting.report import build_report
from longbanana_nb.runs import merge_runs, open_run
from longbanana_nb.runs.claims_file import declarations
from longbanana_nb.runs.label_design import designs
from longbanana_nb.runs.labels import read_labels
from longbanana_nb.runs.verify import verify_run


@pytest.fixture(scope="module")
def executed(demo_home, tmp_path_factory):
    """A copy of the demo run on which both notebooks were executed."""
    run = tmp_path_factory.mktemp("labelled") / "reports" / "demo"
    shutil.copytree(demo_home / "reports" / "demo", run)
    for name in ("08_label_and_agree", "10_claims"):
        run_command("notebook", name, "-p", "run_dir", run, cwd=run, home=demo_home, check=0)
    return run


def test_simulated_raters_label_and_are_called_simulated(executed):
    labels = read_labels(open_run(executed))
    assert len({label.unit for label in labels if label.round == 1}) == 300
    assert all(label.is_simulated for label in labels)
    assert "(simulated)" in (executed / "notebooks" / "08_label_and_agree.ipynb").read_text("utf-8")


def test_claims_are_declared_with_the_verdicts_that_were_in_sight(executed):
    (declaration,) = declarations(open_run(executed))
    assert declaration.verdicts_before > 0
    assert len(declaration.claims["claims"]) == 4
    page = json.loads((executed / "notebooks" / "10_claims.ipynb").read_text("utf-8"))
    assert "in sight of" in json.dumps(page)
    html = [
        "".join(one["data"]["text/html"])
        for cell in page["cells"]
        for one in cell.get("outputs", ())
        if "text/html" in one.get("data", {})
    ]
    assert any(text.startswith('<img alt="') for text in html)  # the grid of choices as a picture


def test_verify_knows_labels_and_the_tables_made_of_them(executed):
    run = open_run(executed)
    build_report(executed, notebooks=[])
    names = {path.stem for path in (executed / "tables").glob("agreement*.csv")}
    assert names == {"agreement", "agreement_correlations", "agreement_raters", "agreement_truth"}
    assert (executed / "figures" / "agreement.svg").is_file()
    assert verify_run(run) == table_faults(run) == []
    table, labels = executed / "tables" / "agreement_raters.csv", executed / "labels" / "simulated-third.jsonl"
    kept = table.read_text("utf-8"), labels.read_text("utf-8")
    table.write_text(kept[0].replace("Simulated raters,45,", "Simulated raters,46,"), encoding="utf-8")
    labels.write_text(kept[1].replace("simulated-third", "simulated-first"), encoding="utf-8")
    assert any("agreement_raters.csv" in fault.where and fault.expected == "'45'" for fault in table_faults(run))
    assert {fault.code for fault in verify_run(run)} == {"misplaced"}
    table.write_text(kept[0], encoding="utf-8")
    labels.write_text(kept[1], encoding="utf-8")


def test_a_merged_run_keeps_labels_designs_and_claims(executed, tmp_path):
    copy = shutil.copytree(executed, tmp_path / "copy")
    united = merge_runs(tmp_path / "united", [executed, copy])
    assert [one.id for one in designs(united)] == [one.id for one in designs(open_run(executed))]
    assert (read_labels(united), declarations(united)) == (read_labels(open_run(executed)), declarations(open_run(executed)))
    assert verify_run(united) == []
