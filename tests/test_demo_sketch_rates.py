"""The documented error rates are the ones in force, and load makes errors likelier."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from longbanana_nb.demo.sketch_errors import STRENGTHS, Dice, Rates, load_factor
from longbanana_nb.paths import project_root


def test_the_table_in_the_docs_is_the_table_in_the_code():
    text = (project_root() / "docs" / "demo.md").read_text("utf-8")
    for each in fields(Rates):
        row = re.search(rf"^\| `{each.name}`: .*$", text, re.MULTILINE)
        told = [float(cell) for cell in row.group().split("|")[2:5]]
        assert told == [getattr(STRENGTHS[name], each.name) for name in ("weak", "medium", "strong")]


def test_ten_images_and_nine_objects_make_errors_1_69_times_as_likely():
    assert load_factor(10, 9) == pytest.approx(1 + 7 * 0.07 + 5 * 0.04)
    assert load_factor(3, 4) == 1.0


def test_errors_strike_about_as_often_as_documented():
    struck = sum(Dice("medium", 1.0, [str(n)]).strikes("omit", "bell") for n in range(2000))
    assert 180 <= struck <= 300  # 0.12 of 2000 is 240, four standard deviations are 58
