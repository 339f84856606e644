"""Notebooks 08 and 10 on the demo: what they write, and that simulated raters are called so."""

import json
import shutil

import pytest
from conftest import run_command

from longbanana_nb.runs import open_run
from longbanana_nb.runs.claims_file import declarations
from longbanana_nb.runs.labels import read_labels


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
