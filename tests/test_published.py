"""Published numbers: as printed, consistent with themselves, never in a column with ours."""

import re

import pytest
import yaml

from longbanana_nb.errors import DataError
from longbanana_nb.paths import data_folder
from longbanana_nb.reporting.published import (
    is_possible,
    is_share,
    published_judging_table,
    published_systems_table,
    read_published,
)

FILE = data_folder() / "paper" / "published.yaml"


def changed(tmp_path, change):
    value = yaml.safe_load(FILE.read_text("utf-8"))
    change(value)
    path = tmp_path / "published.yaml"
    path.write_text(yaml.safe_dump(value, allow_unicode=True), "utf-8")
    return path


@pytest.mark.parametrize(
    ("printed", "count"),
    [("47.8", 43), ("43.3", 39), ("40.0", 36), ("35.6", 32), ("24.4", 22), ("18.9", 17), ("17.8", 16)],
)
def test_every_published_pass_rate_is_a_number_of_ninety_cases(printed, count):
    assert is_share(printed, 90)
    assert f"{100 * count / 90:.1f}" == printed
    assert printed in {system.p70 for system in read_published().systems}


def test_what_no_number_of_cases_gives_is_no_pass_rate():
    assert not is_share("47.9", 90)
    assert not is_share("40.5", 90)
    assert is_share("100.0", 90)
    assert is_share("33", 90)


def test_an_average_must_be_possible_from_its_parts():
    assert is_possible("74.6", ["98.8", "62.6"])
    assert not is_possible("95.0", ["10.0", "20.0"])  # the other seven would have to average 117.9
    assert not is_possible("10.0", ["98.8", "62.6"])  # two parts alone give 17.9
    assert is_possible("50.0", ["50.0"] * 9)
    assert not is_possible("51.0", ["50.0"] * 9)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda value: value["systems"][0].update(p70="24.5"), "FP-Direct"),
        (lambda value: value["systems"][1].update(average="12.0"), "PD-Direct"),
        (lambda value: value["differences"][0].update(printed="4.8"), "OpenClaw + RPR - PD-Direct"),
        (lambda value: value["humans"][1].update(printed="7004"), "7004"),
    ],
)
def test_a_slip_of_the_pen_is_named(tmp_path, change, named):
    with pytest.raises(DataError, match=re.escape(named)):
        read_published(changed(tmp_path, change))


def test_the_panel_shows_numbers_as_printed_and_says_what_is_not_known():
    text = published_systems_table().markdown()
    assert "| OpenClaw " in text
    assert "40.0" in text
    assert "only that its pass rate is below that of OpenCode" in text
    assert "formula of the difficulty weights" in text
    assert "15.82" in published_judging_table().markdown()
