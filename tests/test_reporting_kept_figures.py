"""Figures kept on disk: drawn once for all who ask, and never shown where what they were drawn from has changed."""

import os
from dataclasses import replace

from reporting_fixtures import judged_run

from longbanana_nb.reporting.gallery import Gallery
from longbanana_nb.reporting.measured import measure


def opened(run, *, scores=None, facts=None):
    known = measure(run)
    return Gallery(run.path, scores or known.scores, known.grid, facts or known.facts)


def times(run):
    return {path.name: path.stat().st_ino for path in (run.path / "figures").glob("overall.*")}


def test_a_figure_is_drawn_once_and_again_when_a_file_or_what_it_shows_has_changed(tmp_path):
    run = judged_run(tmp_path)
    first = opened(run)["overall"]
    drawn = times(run)
    assert len(drawn) == 3
    assert opened(run)["overall"] == first
    assert times(run) == drawn, "drawn a second time for the same scores"

    png = run.path / "figures" / "overall.png"
    whole = png.read_bytes()
    png.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert opened(run)["overall"] == first
    assert png.read_bytes() == whole, "a changed file is shown"

    known = measure(run)
    changed = known.scores.scores.copy()
    changed.loc[changed["scope"] == "overall", "score"] /= 2
    other = opened(run, scores=replace(known.scores, scores=changed))["overall"]
    assert other.svg != first.svg and other.alt != first.alt
    assert opened(run)["overall"] == first, "the figure of other scores is shown"


def test_a_note_that_cannot_be_read_has_its_figure_drawn_anew(tmp_path):
    run = judged_run(tmp_path)
    first = opened(run)["heatmap"]
    note = run.path / "figures" / "shown" / "heatmap.json"
    before = note.read_bytes()
    note.write_text("[1", "utf-8")
    os.truncate(run.path / "figures" / "heatmap.pdf", 10)
    assert opened(run)["heatmap"] == first
    assert note.read_bytes() == before
