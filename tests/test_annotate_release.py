"""A release without units gets an overlay: derived, reviewed, never over what a person wrote."""

import csv
import io
import json

import pytest
from release_fixtures import check, entity, lines, small_release

from longbanana_nb.errors import CallError, DataError
from longbanana_nb.judging.annotate import annotate_release
from longbanana_nb.judging.annotate.measuring import measure_rules
from longbanana_nb.release import load_release
from longbanana_nb.reporting.review_sheet import read_sheet, sheet_text

CHECKS = [
    check("case_a", "c1", question="Is the teapot red?"),
    check("case_a", "=c2", question="Has the apple been bitten?"),
    check("case_b", "c1", "RGC", question="Is the backdrop red?"),
]


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A release that states neither units nor probes, and a home for its overlay."""
    monkeypatch.setenv("LONGBANANA_HOME", str(tmp_path / "home"))
    return small_release(tmp_path, checks=CHECKS, units=(), probes=())


def sheet_rows(path, done, **changes):
    """The sheet saved, with some cells changed, and read back."""
    path.write_text(sheet_text(done.sheet), "utf-8")
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8"), newline="")))
    for row in rows:
        row.update(changes.get(row["question"], {}))
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return read_sheet(path)


def test_derived_units_are_called_derived_and_unsure_ones_are_left_open(bare):
    done = annotate_release(load_release(bare))
    assert (done.checks, done.units, done.probes, done.reviewed) == (3, 2, 1, 0)
    evaluation = load_release(bare).evaluation()
    assert {key: unit.source for key, unit in evaluation.units.items()} == {
        ("case_a", "c1"): "derived",
        ("case_b", "c1"): "derived",
    }
    assert evaluation.derived_probes == {("case_b", "c1")}


def test_what_people_review_is_theirs_and_survives_the_next_derivation(bare, tmp_path):
    done = annotate_release(load_release(bare))
    fixed = {"dimension": "Relational Binding", "polarity": "negative", "probe": json.dumps({"absent": entity()})}
    rows = sheet_rows(
        tmp_path / "sheet.csv", done, **{"Has the apple been bitten?": fixed, "Is the teapot red?": {"reviewed": "x"}}
    )
    assert annotate_release(load_release(bare), reviewed=rows).reviewed == 2
    annotate_release(load_release(bare))
    evaluation = load_release(bare).evaluation()
    unit = evaluation.units["case_a", "=c2"]
    assert (unit.dimension, unit.polarity, unit.source) == ("Relational Binding", "negative", "reviewed")
    assert evaluation.units["case_a", "c1"].source == "reviewed"
    assert evaluation.probes["case_a", "=c2"] == {"absent": entity()}
    assert ("case_a", "=c2") not in evaluation.derived_probes


def test_an_id_that_looks_like_a_formula_is_harmless_in_the_sheet_and_comes_back_whole(bare, tmp_path):
    done = annotate_release(load_release(bare))
    assert ",'=c2," in sheet_text(done.sheet)
    assert "=c2" in {row["check_id"] for row in sheet_rows(tmp_path / "sheet.csv", done)}


def test_a_sheet_with_semicolons_is_read_and_one_without_a_column_is_refused(tmp_path):
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("\ufeffcase_id;check_id;reviewed;dimension;polarity;probe\na;c1;x;Content Fidelity;positive;\n", "utf-8")
    assert read_sheet(sheet)[0]["dimension"] == "Content Fidelity"
    sheet.write_text("case_id,check_id,reviewed,dimensions,polarity,probe\n", "utf-8")
    with pytest.raises(DataError, match="'dimensions' meant"):
        read_sheet(sheet)


def test_every_bad_row_of_a_sheet_is_named_and_nothing_is_changed(bare, tmp_path):
    done = annotate_release(load_release(bare))
    before = {path.name: path.read_bytes() for path in done.folder.iterdir()}
    wrong = {"dimension": "Content", "polarity": "positive", "probe": '{"present": '}
    unbound = {"reviewed": "x", "probe": json.dumps({"present": entity("ref_03")})}
    rows = sheet_rows(tmp_path / "s.csv", done, **{"Has the apple been bitten?": wrong, "Is the backdrop red?": unbound})
    with pytest.raises(DataError) as caught:
        annotate_release(load_release(bare), reviewed=[*rows, {**rows[0], "check_id": "c9"}])
    assert {fault.code for fault in caught.value.faults} == {"unit", "probe", "unknown_check"}
    assert {path.name: path.read_bytes() for path in done.folder.iterdir()} == before


def test_a_release_that_states_its_units_is_left_alone(tmp_path):
    with pytest.raises(CallError, match="nothing to derive"):
        annotate_release(load_release(small_release(tmp_path)))


def test_rules_are_measured_against_what_a_release_states(tmp_path):
    stated = [
        {"case_id": c, "check_id": k, "unit": "n", "dimension": d, "polarity": "positive"}
        for c, k, d in (
            ("case_a", "c1", "Content Fidelity"),
            ("case_a", "=c2", "Content Fidelity"),
            ("case_b", "c1", "Relational Binding"),
        )
    ]
    probes = [{"case_id": "case_b", "check_id": "c1", "probe": {"palette": {"colour": "red", "share": 0.4}}}]
    manifest = small_release(tmp_path, checks=CHECKS, units=stated, probes=probes)
    dimension, polarity, probe = measure_rules(load_release(manifest).evaluation())
    assert (dimension.checks, dimension.proposed, dimension.right) == (3, 2, 1)
    assert (polarity.checks, polarity.proposed, polarity.right) == (3, 3, 3)
    assert (probe.checks, probe.proposed, probe.right) == (1, 1, 1)


def test_the_overlay_is_written_once_a_check_in_the_order_of_the_release(bare):
    done = annotate_release(load_release(bare))
    annotate_release(load_release(bare))
    assert [(line["case_id"], line["check_id"]) for line in lines(done.folder / "check_units.jsonl")] == [
        ("case_a", "c1"),
        ("case_b", "c1"),
    ]
