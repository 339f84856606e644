"""Every table of a run as LaTeX, compiled by a TeX that knows no package but booktabs."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from conftest import copy_of_demo

from longbanana_nb import claims, labelling, tables
from longbanana_nb.paths import presets_folder
from longbanana_nb.runs import open_run


@pytest.fixture(scope="module")
def made(demo_home, tmp_path_factory):
    """The tables of a demo run with labels and claims."""
    folder = tmp_path_factory.mktemp("latex") / "run"
    labelling.simulate(copy_of_demo(demo_home, folder, "labels", "tables"), units=200)
    claims(folder, presets_folder() / "claims" / "demo.yaml")
    return folder, tables(open_run(folder))


def test_a_run_has_the_tables_that_a_paper_asks_for(made):
    _, found = made
    wanted = {
        "dataset", "main", "harness_workflow", "backends", "dimensions", "coverage", "labels", "systems", "truth", "pass_rates",
        "contrasts", "claims", "corrected", "label_plan", "losses", "agreement", "agreement_truth",
    }  # fmt: skip
    assert wanted <= set(found)


def test_every_table_says_where_it_is_from(made):
    _, found = made
    for name, table in found.items():
        if name != "label_plan":
            assert any("Release" in note or "release" in note for note in table.notes), name


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_every_table_compiles(made, tmp_path):
    folder, found = made
    pages = "\n\\clearpage\n".join((folder / "tables" / f"{name}.tex").read_text("utf-8") for name in found)
    source = f"\\documentclass[10pt]{{article}}\\usepackage{{booktabs}}\n\\begin{{document}}\n{pages}\n\\end{{document}}\n"
    (tmp_path / "t.tex").write_text(source, "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-2500:]
    assert (tmp_path / "t.pdf").stat().st_size > 20_000
