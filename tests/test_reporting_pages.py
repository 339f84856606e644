"""Pages: foreign HTML is made harmless, nothing loads, the report starts with the key table and is the same twice."""

import hashlib
import re
import shutil

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from reporting_fixtures import judged_run

from longbanana_nb.errors import DataError
from longbanana_nb.reporting import build_report, notebook_page
from longbanana_nb.reporting.pages import page, require_self_contained
from longbanana_nb.reporting.safe_html import safe_html
from longbanana_nb.runs import find_keys, looks_like_key

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
KEY = "sk-ant-REDACTED-" + "Zq9" * 10


@pytest.mark.parametrize(
    "foreign",
    [
        "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", '<a href="javascript:alert(1)">x</a>',
        "<svg onload=alert(1)>",
        '<iframe src="//e.example"></iframe>', '<img src="http://e.example/a.png">', "<style>@import 'http://e.example'</style>",
        '<p style="background:url(http://e.example)">x</p>', '<form action="/x"><input></form>', "<b onclick=alert(1)>b</b>",
        '<a href="//e.example">x</a>', '<img src="data:text/html;base64,AAAA">', "<scr<script>ipt>alert(1)</script>",
        "<!-- <script> -->",
        '<math><mtext></table><img src=x onerror=alert(1)>',
    ],
)  # fmt: skip
def test_foreign_html_becomes_harmless(foreign):
    cleaned = safe_html(foreign)
    assert require_self_contained(page("t", cleaned), "t")
    assert not re.search(r"<[^>]*(script|onerror|onload|onclick|javascript:|e\.example|style=)", cleaned)


def test_words_tables_and_embedded_pictures_survive():
    picture = f'<img alt="words" src="data:image/png;base64,{PNG * 5}">'
    kept = f'<table class="x"><tr><td>1 &lt; 2</td></tr></table>{picture}<a href="#a">a</a>'
    cleaned = safe_html(kept)
    assert picture in cleaned and "<td>1 &lt; 2</td>" in cleaned and '<a href="#a">' in cleaned


@pytest.mark.parametrize(
    "bad",
    ['<img src="https://e.example/x.png">', "<script></script>", '<link rel="x">', "<style>a{background:url(x.png)}</style>"],
)
def test_a_page_that_would_load_something_is_refused(bad):
    with pytest.raises(DataError, match="not self-contained"):
        require_self_contained(page("t", bad), "t")


def executed(path):
    outputs = [
        new_output("display_data", {"text/html": "<b>bold</b><script>alert(1)</script>", "text/plain": "b"}),
        new_output("display_data", {"image/png": PNG}, metadata={"image/png": {"alt": 'a "red" dot'}}),
        new_output("display_data", {"image/svg+xml": "<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>"}),
        new_output("display_data", {"application/javascript": "alert(1)", "text/plain": "js"}),
        new_output("stream", name="stdout", text="\x1b[31mred\x1b[0m <script>alert(2)</script> /tmp/somewhere/run\n"),
    ]
    cells = [
        new_markdown_cell(
            "# 04 Aggregate & more\n\n[link](https://e.example) ![x](https://e.example/x.png) <script>alert(3)</script>"
        ),
        new_code_cell("print('<hi>')", outputs=outputs, execution_count=1),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(new_notebook(cells=cells), path)
    return path


def test_an_executed_notebook_becomes_one_safe_page(tmp_path):
    path = executed(tmp_path / "04.ipynb")
    title, text = notebook_page(path, replace={"/tmp/somewhere/run": "my-run"})
    assert title == "04 Aggregate & more" and "<title>04 Aggregate &amp; more</title>" in text
    assert "alt='a \"red\" dot'" in text and "my-run" in text and "/tmp/somewhere" not in text
    tags = " ".join(re.findall(r"<[^>]+>", text))
    assert "<script" not in tags and "e.example" not in tags and "&lt;script&gt;alert(2)" in text
    assert len(text) < 60_000
    assert notebook_page(path, replace={"/tmp/somewhere/run": "my-run"}) == (title, text)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("a run")
    made = judged_run(folder, prompt='Compose <script>alert("p")</script> & "one" picture: a shelf.')
    executed(made.path / "notebooks" / "04_aggregate.ipynb")
    build_report(made.path)
    return made


def hashes(folder):
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "run.lock"
    }


def test_a_report_writes_every_table_and_figure_and_a_second_one_the_same_bytes(run):
    first = hashes(run.path)
    names = ("main", "dimensions", "coverage", "labels", "systems", "truth")
    expected = {f"tables/{name}.{suffix}" for name in names for suffix in ("csv", "tex", "md", "html")}
    figures = ("heatmap", "overall", "categories", "backends", "truth")
    expected |= {f"figures/{name}.{suffix}" for name in figures for suffix in ("pdf", "svg", "png")}
    assert expected | {"report.html", "notebooks/04_aggregate.html"} <= set(first)
    build_report(run.path)
    assert hashes(run.path) == first


def test_a_moved_run_gives_the_same_report(run, tmp_path):
    shutil.copytree(run.path.parent, tmp_path / "elsewhere")
    moved = tmp_path / "elsewhere" / run.path.name
    assert build_report(moved).read_bytes() == (run.path / "report.html").read_bytes()


def test_the_report_shows_the_key_table_then_the_key_figure_and_links_the_notebooks(run):
    text = (run.path / "report.html").read_text("utf-8")
    places = [
        text.index(words)
        for words in ('id="table-main"', 'id="figure-heatmap"', 'id="overall"', 'id="notebooks"', "@misc{cao2026longbanana")
    ]
    assert places == sorted(places)
    assert '<a href="notebooks/04_aggregate.html">04 Aggregate &amp; more</a>' in text
    for words in ("CC0-1.0", "Simulated", "fp-one and native-one are simulated", "truth-1 reads the scenes", ">blocked<"):
        assert words in text


def test_the_report_escapes_prompts_loads_nothing_and_describes_every_picture(run):
    text = (run.path / "report.html").read_text("utf-8")
    assert "<script" not in text and "&lt;script&gt;alert(&quot;p&quot;)" in text
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:|//|file:)""", text) and "url(" not in text
    pictures = re.findall(r"<img [^>]*>", text)
    assert len(pictures) > 10 and all(re.search(r'alt="[^"]{10,}"', picture) for picture in pictures)
    assert text.count("<svg") == 0 and str(run.path) not in text


def test_a_key_anywhere_in_the_run_stops_the_report_and_is_not_repeated(run, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(run.path, copy)
    (copy / "candidates" / "fp-one" / "note.txt").write_text(f"auth: {KEY}\n")
    (copy / "report.html").unlink()
    with pytest.raises(DataError, match=r"candidates/fp-one/note\.txt") as error:
        build_report(copy)
    assert KEY not in str(error.value) and not (copy / "report.html").exists()


def test_a_run_without_verdicts_says_what_to_do(tmp_path):
    from reporting_fixtures import create_run, load_release

    made = judged_run(tmp_path)
    empty = create_run(tmp_path / "empty", load_release(made.manifest))
    with pytest.raises(DataError, match="Judge it first"):
        build_report(empty.path)


@pytest.mark.parametrize(
    "text",
    [KEY, "AIza" + "b" * 35, "ghp_" + "a" * 36, "hf_" + "a" * 34, "AKIAABCDEFGHIJKLMNOP", "-----BEGIN RSA PRIVATE KEY-----"],
)
def test_shapes_of_keys_are_found(text):
    assert looks_like_key(f"x = '{text}'", environment={})


def test_the_value_of_a_key_variable_is_found_whatever_its_shape(tmp_path):
    assert (
        looks_like_key("..my own secret words..", environment={"HOUSE_API_KEY": "my own secret words"})
        == "the value of $HOUSE_API_KEY"
    )
    assert (
        looks_like_key("ordinary text, risk-assessment-of-the-long-banana", environment={"PATH": "ordinary text, risk"}) is None
    )


def test_a_key_across_two_blocks_is_found_and_base64_is_not(tmp_path):
    path = tmp_path / "big.txt"
    path.write_bytes(b"x" * ((1 << 23) - 10) + b" " + KEY.encode() + b" ")
    assert [fault.where for fault in find_keys([path], tmp_path)] == ["big.txt"]
    path.write_bytes(b"Zm9v" + b"AIza" + b"Q" * 35 + b"AKIAABCDEFGHIJKLMNOPQ")
    assert find_keys([path], tmp_path) == []
