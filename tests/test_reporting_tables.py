"""Tables: order, gaps, ranks on shown values, coverage that never rounds up, and a judge against the truth worked out by hand."""

import pandas as pd
import pytest
from reporting_fixtures import facts, frames, rate_row, score_row

from longbanana_nb.reporting.numbers import percent
from longbanana_nb.reporting.table import Cell, Column, Row, RowGroup, Table, ranked
from longbanana_nb.reporting.tables import dimension_table, main_table
from longbanana_nb.reporting.verdict_tables import coverage_table, label_shares_table, truth_table
from longbanana_nb.taxonomy import CATEGORIES, SUITES


def numbers(*texts, **more):
    return [Cell(text, number=True, **more) for text in texts]


def column_of(*cells, better="high", ranked_rows=None):
    rows = tuple(Row((Cell(f"s{n}"), cell), ranked=ranked_rows is None or ranked_rows[n]) for n, cell in enumerate(cells))
    table = ranked(Table("t", "t", (Column("System"), Column("x", better=better)), (RowGroup("", rows),)))
    return [row.cells[1].mark for row in table.rows()]


def marks(table, column):
    place = [c.label for c in table.columns].index(column)
    return {row.cells[0].text: row.cells[place].mark for row in table.rows()}


def shown(table, column):
    place = [c.label for c in table.columns].index(column)
    return {row.cells[0].text: row.cells[place].text for row in table.rows()}


def test_equal_as_shown_share_the_best_mark_and_the_next_value_is_second():
    assert column_of(*numbers("71.2", "71.2", "70.0", "69.9")) == ["best", "best", "second", None]


def test_lower_is_better_where_the_column_says_so():
    assert column_of(*numbers("9.0", "10.0", "11.0"), better="low") == ["best", "second", None]


def test_provisional_numbers_floors_and_missing_cells_never_rank():
    cells = [*numbers("99.0", flags=("provisional",)), *numbers("98.0", "50.0", "40.0"), Cell("no data (n=0/3)", missing=True)]
    assert column_of(*cells, ranked_rows=[True, False, True, True, True]) == [None, None, "best", "second", None]


def test_a_single_competitor_is_not_called_best():
    assert column_of(*numbers("50.0")) == [None]


def test_values_that_round_alike_are_marked_alike():
    rows = [score_row("a", "category", "SCC", 71.24), score_row("b", "category", "SCC", 71.16)]
    table = main_table(frames(rows), facts("a", "b", floors=False, truth=False), "tools-1")
    assert shown(table, "SCC") == {"a": "71.2", "b": "71.2"}
    assert marks(table, "SCC") == {"a": "best", "b": "best"}


def test_categories_stand_in_card_order_under_their_suites_whatever_the_frame_holds():
    rows = [score_row("a", "category", code, 50.0) for code in ("AGG", "SCC")]
    table = main_table(frames(rows), facts("a", floors=False, truth=False), "tools-1")
    assert tuple(c.label for c in table.columns if c.label in CATEGORIES) == CATEGORIES
    spans = [(label, width) for label, width in table.spans() if label in SUITES]
    assert spans == [("Scene Composition", 3), ("Visual Appearance", 3), ("Reference Reasoning", 3)]


def test_a_category_without_data_says_so_and_a_system_without_scores_keeps_its_row():
    rows = [score_row("a", "category", "AGG", None, cases_scored=0), score_row("a", "overall", "overall", 50.0, provisional=True)]
    table = main_table(frames(rows), facts("a", "b", floors=False, truth=False), "tools-1")
    assert shown(table, "AGG") == {"a": "no data (n=0/10)", "b": "—"}
    assert "no data (n=0/10)" in table.html() and "no data (n=0/10)" in table.csv()


def test_a_provisional_overall_shows_its_bounds_and_is_flagged_in_every_sink():
    rows = [
        score_row("a", "overall", "overall", 60.0, score_low=55.0, score_high=66.5, provisional=True, checks_valid=499, invalid=1)
    ]
    table = main_table(frames(rows, [rate_row("a", 0.5)]), facts("a", floors=False, truth=False), "tools-1")
    assert shown(table, "Bounds") == {"a": "[55.0, 66.5]"}
    assert shown(table, "P@70") == {"a": "50.0"}
    assert shown(table, "Coverage %") == {"a": "99.8"}
    assert "<sup>*</sup>" in table.html() and r"$^{\ast}$" in table.latex() and r"60.0\*" in table.markdown()
    assert "Score provisional" in table.csv()


def test_the_truth_score_stands_beside_the_judges_score():
    rows = [score_row("a", "overall", "overall", 60.0), score_row("a", "overall", "overall", 58.0, judge="truth-1")]
    table = main_table(frames(rows), facts("a", floors=False), "tools-1")
    assert (shown(table, "Score"), shown(table, "Truth")) == ({"a": "60.0"}, {"a": "58.0"})


def test_the_footer_names_release_revision_judge_coverage_policy_and_what_intervals_hold():
    rows = [score_row("a", "overall", "overall", 60.0, checks_valid=499, invalid=1)]
    notes = " ".join(main_table(frames(rows), facts("a", floors=False), "tools-1").legend())
    for words in (
        "demo_v1", "revision r1", "longbanana-nb 0.1.0", "tools-1 (protocol tools; simulated)", "coverage 99.8 % (499 of 500",
        "missing delivered", "judge error is not included", "dominant demand, not an exclusive content", "simulated: made by",
    ):  # fmt: skip
        assert words in notes


def test_dimensions_are_shown_on_ten_as_in_the_paper():
    rows = [score_row("a", "dimension", "Relational Binding", 71.25)]
    table = dimension_table(frames(rows), facts("a", floors=False), "tools-1")
    assert shown(table, "Relational Binding") == {"a": "7.12"}


@pytest.mark.parametrize(
    ("part", "whole", "text"), [(4669, 4670, "99.9"), (4670, 4670, "100.0"), (1, 4670, "0.1"), (0, 4670, "0.0"), (1, 2, "50.0")]
)
def test_coverage_reads_100_only_when_complete(part, whole, text):
    assert percent(part, whole) == text


def verdicts(*rows):
    columns = ["judge", "system", "case_id", "category", "sample", "judge_sample", "check_id", "polarity", "state", "label"]
    made = [
        (j, "a", case, "SCC", 0, 0, check, "negative" if check == "n" else "positive", state, label)
        for j, case, check, state, label in rows
    ]
    return pd.DataFrame(made, columns=columns).astype({"label": "Int64"})


def test_the_truth_table_matches_hand_worked_numbers():
    grid = verdicts(
        ("tools-1", "c1", "p", "valid", 2), ("truth-1", "c1", "p", "valid", 2),
        ("tools-1", "c1", "n", "valid", 0), ("truth-1", "c1", "n", "valid", 2),
        ("tools-1", "c2", "p", "valid", 1), ("truth-1", "c2", "p", "valid", 2),
        ("tools-1", "c2", "n", "valid", 2), ("truth-1", "c2", "n", "invalid", None),
    )  # fmt: skip
    table = truth_table(grid, facts("a", floors=False), "tools-1")
    # judge: case 1 is 50, case 2 is 50; truth: 100 and 100, over the three checks both answered
    for name, text in (
        ("Judge", "50.0"),
        ("Truth", "100.0"),
        ("Difference", "-50.00"),
        ("exact %", "33.3"),
        ("opposite %", "33.33"),
        ("n", "3"),
    ):
        assert shown(table, name) == {"a": text, "all of the above": text}
    assert "1 valid verdicts of the judge have no counterpart" in " ".join(table.notes)


def test_there_is_no_truth_table_without_a_truth():
    assert truth_table(verdicts(("tools-1", "c1", "p", "valid", 2)), facts("a", floors=False, truth=False), "tools-1") is None


def test_label_shares_are_split_by_polarity():
    grid = verdicts(("tools-1", "c1", "p", "valid", 2), ("tools-1", "c2", "p", "valid", 0), ("tools-1", "c1", "n", "valid", 2))
    table = label_shares_table(grid, facts("a", floors=False, truth=False), "tools-1")
    assert [cell.text for cell in next(table.rows()).cells] == ["a", "50.0", "0.0", "50.0", "2", "100.0", "0.0", "0.0", "1"]


def test_every_verdict_and_outcome_is_counted():
    grid = verdicts(
        ("tools-1", "c1", "p", "valid", 2), ("tools-1", "c1", "n", "invalid", None), ("tools-1", "c2", "p", "no_candidate", None),
        ("tools-1", "c2", "n", "not_asked", None),
    )  # fmt: skip
    records = [
        {"system": "a", "outcome": "image", "calls": {"agent": 3, "image": 2}, "cost_usd": 0.25},
        {"system": "a", "outcome": "blocked", "calls": {"agent": 1, "image": 1}, "cost_usd": 0.5},
    ]
    table = coverage_table(grid, records, facts("a", floors=False, truth=False))
    cells = {column.label: cell.text for column, cell in zip(table.columns, next(table.rows()).cells, strict=True)}
    assert cells == {
        "System": "a", "image": "1", "blocked": "1", "valid": "1", "invalid": "1", "no candidate": "1", "not asked": "1",
        "coverage %": "25.0", "state": "provisional", "agent calls": "4", "image calls": "3", "USD": "0.75",
    }  # fmt: skip
