"""Figures: the same bytes twice, embedded fonts, labels that neither overlap nor lack glyphs, gaps shown as gaps."""

import itertools
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest
from reporting_fixtures import facts, grid, random_frames

from longbanana_nb.errors import CallError
from longbanana_nb.reporting.figures import (
    backend_harness,
    backend_harness_alt,
    category_dots,
    category_heatmap,
    category_heatmap_alt,
    judge_against_truth,
    judge_against_truth_alt,
    overall_dots,
    overall_dots_alt,
    save_figure,
)
from longbanana_nb.reporting.style import plain_labels, wrapped

JUDGE = "tools-1"
TWELVE = facts(*[f"system-with-a-very-long-name-of-48-characters-{n:02}" for n in range(11)], "香蕉$a$_^🍌")


def texts(figure):
    return [part.get_text() for part in figure.findobj(match=lambda artist: hasattr(artist, "get_text"))]


def test_two_runs_write_the_same_bytes(tmp_path):
    run = facts("one", "two")
    scores, verdicts = random_frames(run), grid(run, cases_per_category=1, checks=4)
    for folder in ("a", "b"):
        save_figure(overall_dots(scores, run, JUDGE), tmp_path / folder, "overall", alt="words")
        save_figure(judge_against_truth(verdicts, run, JUDGE, "truth-1"), tmp_path / folder, "truth")
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == ["overall.pdf", "overall.png", "overall.svg", "truth.pdf", "truth.png", "truth.svg"]
    assert all((tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes() for name in names)


def test_another_process_writes_the_same_bytes(tmp_path):
    code = """
        import sys; sys.path.insert(0, sys.argv[1])
        from pathlib import Path
        from reporting_fixtures import facts, random_frames
        from longbanana_nb.reporting.figures import category_heatmap, save_figure
        run = facts("one", "two")
        save_figure(category_heatmap(random_frames(run), run, "tools-1"), Path(sys.argv[2]), "heatmap")
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(Path(__file__).parent), str(tmp_path / "other")]
    subprocess.run(command, check=True, timeout=300)
    run = facts("one", "two")
    paths = save_figure(category_heatmap(random_frames(run), run, JUDGE), tmp_path / "here", "heatmap")
    assert all(path.read_bytes() == (tmp_path / "other" / path.name).read_bytes() for path in paths.values())


def test_fonts_are_embedded_and_svg_text_stays_text(tmp_path):
    run = facts("one", "two", floors=False)
    paths = save_figure(overall_dots(random_frames(run), run, JUDGE), tmp_path, "o", alt="what it shows")
    assert b"/FontFile2" in paths["pdf"].read_bytes() and b"/Type3" not in paths["pdf"].read_bytes()
    svg = paths["svg"].read_text("utf-8")
    assert "Overall score (0 to 100)" in svg and "what it shows" in svg and "<dc:date>" not in svg


def test_pyplot_is_left_alone():
    import matplotlib.pyplot as plt

    run = facts("one", floors=False)
    category_dots(random_frames(run), run, JUDGE)
    assert plt.get_fignums() == []


@pytest.mark.parametrize("run", [facts("one", floors=False), TWELVE], ids=["one system", "twelve systems"])
def test_every_figure_draws_without_a_warning_whatever_the_names(run):
    scores = random_frames(run, without=("AGG",))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figures = [category_heatmap, overall_dots, category_dots, backend_harness]
        drawn = [draw(scores, run, JUDGE) for draw in figures]
        drawn.append(judge_against_truth(grid(run, cases_per_category=1, checks=3), run, JUDGE, "truth-1"))
        for figure in drawn:
            figure.draw_without_rendering()


def test_long_labels_do_not_overlap():
    figure = overall_dots(random_frames(TWELVE), TWELVE, JUDGE)
    figure.draw_without_rendering()
    axes = figure.axes[0]
    boxes = [tick.get_window_extent() for tick in axes.get_yticklabels()]
    assert len(boxes) == 16
    assert all(low.y1 <= high.y0 + 1 for high, low in itertools.pairwise(boxes))
    assert min(box.x0 for box in boxes) >= 0


def test_a_category_without_data_keeps_its_column_and_says_so():
    run = facts("one", "two", floors=False)
    figure = category_heatmap(random_frames(run, without=("AGG",)), run, JUDGE)
    assert texts(figure).count("no data") == 2
    assert [label.get_text() for label in figure.axes[2].get_xticklabels()] == ["SEL", "TSR", "AGG"]
    assert "No data: AGG." in category_heatmap_alt(random_frames(run, without=("AGG",)), run, JUDGE)


def test_the_heatmap_prints_every_number():
    run = facts("one", "two", floors=False)
    scores = random_frames(run)
    printed = texts(category_heatmap(scores, run, JUDGE))
    rows = scores.scores[(scores.scores["judge"] == JUDGE) & scores.scores["scope"].isin(["category", "overall"])]
    assert len(rows) == 20 and all(f"{score:.1f}" in printed for score in rows["score"])


def test_alternative_texts_say_the_numbers():
    run = facts("one", "two", floors=False)
    scores, verdicts = random_frames(run), grid(run, cases_per_category=1, checks=4, error=0)
    value = scores.scores.query("judge == 'tools-1' and scope == 'overall' and system == 'one'")["score"].iloc[0]
    assert f"one {value:.1f} [" in overall_dots_alt(scores, run, JUDGE)
    assert "72 checks, 100.0 % of labels are equal and 0.0 % are opposite" in judge_against_truth_alt(
        verdicts, run, JUDGE, "truth-1"
    )


def test_comparison_joins_only_what_differs_in_one_thing():
    run = facts("a", "b", "c", floors=False)  # a: fp-direct medium, b: native medium, c: fp-direct strong
    text = backend_harness_alt(random_frames(run), run, JUDGE)
    assert "Same harness, different backends: fp-direct: sketch medium" in text and "sketch strong" in text
    assert "Same backend, different harnesses: sketch medium: fp-direct" in text


def test_an_unknown_lifted_system_is_named_with_the_nearest():
    run = facts("fp-direct", "native", floors=False)
    with pytest.raises(CallError, match="Nearest: native"):
        category_dots(random_frames(run), run, JUDGE, lifted=["natve"])


def test_names_that_the_font_lacks_stay_apart():
    assert plain_labels(["香", "蕉", "a\nb"]) == {"香": "□", "蕉": "□ (2)", "a\nb": "a b"}


def test_wrapping_loses_no_letter():
    name = "system-with-a-very-long-name-of-48-characters-01"
    assert wrapped(name, 20).replace("\n", "") == name and max(map(len, wrapped(name, 20).split("\n"))) <= 20
    assert wrapped("x" * 48, 20).replace("\n", "") == "x" * 48
