"""The split of variance by case, sample and judge repeat, by hand and by simulation; the figures that show where verdicts go."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from longbanana_nb.reporting.facts import JudgeFacts, RunFacts, SystemFacts
from longbanana_nb.reporting.figures import (
    cost_quality,
    cost_quality_alt,
    failure_heatmap_alt,
    label_shares_alt,
    variance_bars,
    variance_bars_alt,
)
from longbanana_nb.scoring import score_grid
from longbanana_nb.scoring.variance import variance_split

FACTS = RunFacts("r", "1", (SystemFacts("s", "native"), SystemFacts("blank", "blank")), (JudgeFacts("j", "tools"),))


def grid_from(cube, system="s", checks=1):
    """A grid whose case scores are those of the cube (cases x samples x repeats), by labels that need not be whole."""
    rows = [
        ("j", system, f"c{c}", "SCC", s, r, f"k{k}", "valid", cube[c, s, r] / 50, "positive", "Content Fidelity")
        for c, s, r in np.ndindex(cube.shape)
        for k in range(checks)
    ]
    columns = [
        "judge",
        "system",
        "case_id",
        "category",
        "sample",
        "judge_sample",
        "check_id",
        "state",
        "label",
        "polarity",
        "dimension",
    ]
    return pd.DataFrame(rows, columns=columns)


def test_the_split_by_hand():
    # two cases, two samples, two repeats: repeats differ by 2 (variance 2), samples by 10 around their case, cases by 40
    cube = np.array([[[29.0, 31.0], [39.0, 41.0]], [[69.0, 71.0], [79.0, 81.0]]])
    row = variance_split(grid_from(cube)).iloc[0]
    assert row["repeat"] == pytest.approx(2.0)
    assert row["sample"] == pytest.approx((2 * 50 - 2) / 2)  # mean square of samples 2 x 50
    assert row["case"] == pytest.approx((4 * 800 - 100) / 4)
    assert (row["cases"], row["samples"], row["repeats"]) == (2, 2, 2)


def test_the_split_finds_what_was_drawn():
    draw = np.random.default_rng(1)
    shape = (400, 3, 2)
    cube = 50 + draw.normal(0, 12, (400, 1, 1)) + draw.normal(0, 6, (400, 3, 1)) + draw.normal(0, 3, shape)
    row = variance_split(grid_from(cube)).iloc[0]
    assert [row["case"], row["sample"], row["repeat"]] == pytest.approx([144, 36, 9], rel=0.15)


def test_what_was_not_varied_is_unknown_and_incomplete_cases_do_not_count():
    row = variance_split(grid_from(np.array([[[10.0]], [[30.0]]]))).iloc[0]
    assert row["case"] == pytest.approx(200)
    assert np.isnan(row["sample"])
    assert np.isnan(row["repeat"])
    cube = np.array([[[10.0, 12.0]], [[30.0, 30.0]], [[50.0, 54.0]]])
    grid = grid_from(cube)
    torn = grid[~((grid["case_id"] == "c2") & (grid["judge_sample"] == 1))]
    assert variance_split(torn).iloc[0]["cases"] == 2


def test_figures_say_in_words_what_they_show():
    split = variance_split(grid_from(np.array([[[10.0, 12.0]], [[30.0, 30.0]]])))
    assert "judge asked again 1.0" in variance_bars_alt(split, FACTS, "j")
    assert len(variance_bars(split, FACTS, "j").axes) == 1
    grid = pd.concat([grid_from(np.array([[[100.0]], [[0.0]], [[0.0]], [[50.0]]])), grid_from(np.zeros((4, 1, 1)), "blank")])
    assert "s, positive: Pass 25 %, Uncertain 25 %, Fail 50 %" in label_shares_alt(grid, FACTS, "j")
    assert "s fails most on Content Fidelity in SCC (50 %)" in failure_heatmap_alt(grid, FACTS, "j")
    scores = score_grid(grid)
    records = [{"system": name, "cost_usd": usd, "calls": {"image": 3}} for name, usd in (("s", 0.25), ("blank", 0.0))]
    assert "over USD a case: s 37.5 at 0.25; blank 0.0 at 0. Beaten by none in both: blank, s" in cost_quality_alt(
        scores, FACTS, "j", records
    )
    free = [one | {"cost_usd": None} for one in records]
    assert "over image calls a case" in cost_quality_alt(scores, FACTS, "j", free)
    assert cost_quality(scores, FACTS, "j", free).axes[0].get_xlabel().startswith("image calls")


def test_figures_of_floors_alone_and_of_nothing_are_drawn():
    facts = RunFacts("r", "1", (SystemFacts("blank", "blank"),), (JudgeFacts("j", "tools"),))
    scores = score_grid(grid_from(np.zeros((4, 1, 1)), "blank"))
    for records in ([{"system": "blank", "cost_usd": 0.0, "calls": {"image": 0}}], []):
        assert len(cost_quality(scores, facts, "j", records).axes) == 1
