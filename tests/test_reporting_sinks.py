"""One table in four sinks: they agree, and foreign text can break none of them."""

import csv
import io
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest
from reporting_fixtures import facts, random_frames

from longbanana_nb.reporting.sinks import csv as csv_sink
from longbanana_nb.reporting.sinks import html as html_sink
from longbanana_nb.reporting.sinks import latex as latex_sink
from longbanana_nb.reporting.sinks import markdown as markdown_sink
from longbanana_nb.reporting.table import Cell, Column, Row, RowGroup, Table
from longbanana_nb.reporting.tables import main_table

NASTY = [
    "nano_banana_2", "P@70%", "a & b", "$x$", "#1", "{curly}", "~tilde^", "back\\slash", "=1+1",
    "+cmd|' /C calc'!A0", "-2", "@SUM(A1)",
    "<script>alert(1)</script>", '"quoted" <img src=x onerror=alert(1)>', "a|b", "*bold* _it_ `code` [x](http://e.example)",
    "line\nbreak",
    "香蕉", "🍌", "Ünïcödé ñ ş", "[75.1, 80.2]", "* star", "\u202egnp.exe",
    "--option ''", "1) list", "\x07bell", "– — “q” … ± ≥",
    "007", "1e5", "NA",
]  # fmt: skip


def nasty_table() -> Table:
    rows = tuple(Row((Cell(text), Cell("-3.5", number=True, flags=("provisional",)), Cell("—", missing=True))) for text in NASTY)
    columns = (Column("System_%", align="left"), Column("x & y", "Span #1"), Column("z", "Span #1"))
    return Table("nasty", "Title with % and <b>", columns, (RowGroup("Group_1 & 2", rows),), ("note with _ and % and |",))


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.rows, self.cell = [], [], None

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.cell = ""

    def handle_endtag(self, tag):
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append(self.cell)
            self.cell = None

    def handle_data(self, text):
        if self.cell is not None:
            self.cell += text


def test_all_sinks_show_the_same_numbers_for_every_system():
    run = facts("one", "two", "three")
    table = main_table(random_frames(run), run, "tools-1")
    number = re.compile(r"\d+\.\d")
    from_csv = {row[1]: number.findall(" ".join(row[2:-2])) for row in csv.reader(io.StringIO(table.csv())) if len(row) > 1}
    reader = Reader()
    reader.feed(table.html())
    from_html = {row[0].rstrip("†"): number.findall(" ".join(row[1:])) for row in reader.rows if row}
    lines = table.latex().splitlines()
    from_latex = {line.split("$^")[0].split(" &")[0]: number.findall(line) for line in lines if " & " in line}
    rows = [line.strip("| ").split(" | ") for line in table.markdown().splitlines() if line.startswith("|")]
    from_markdown = {row[0].rstrip("†"): number.findall(" ".join(row[1:])) for row in rows}
    for name in ("one", "two", "three", "floor-blank"):
        assert len(from_csv[name]) >= 12
        assert from_csv[name] == from_html[name] == from_latex[name] == from_markdown[name]


def test_csv_reads_back_unchanged_but_for_the_apostrophe_before_formulas():
    rows = list(csv.reader(io.StringIO(nasty_table().csv())))
    assert [row[1] for row in rows[1:]] == [f"'{text}" if text[0] in "=+-@" else text for text in NASTY]
    assert {row[2] for row in rows[1:]} == {"-3.5"}
    assert not any(value.startswith(("=", "+", "@")) for row in rows for value in row)


def test_html_holds_only_the_tags_of_a_table():
    reader = Reader()
    reader.feed(nasty_table().html(style=False))
    assert set(reader.tags) == {
        "figure",
        "div",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "span",
        "sup",
        "ul",
        "li",
    }
    shown = [row[0] for row in reader.rows if len(row) == 3 and row[1].startswith("-3.5")]
    assert shown[0] == "nano_banana_2" and "<script>alert(1)</script>" in shown


def test_html_makes_direction_marks_visible():
    assert html_sink.escape("\u202egnp.exe") == "[U+202E]gnp.exe"


def test_markdown_rows_keep_their_number_of_cells_and_hold_no_html():
    lines = [line for line in nasty_table().markdown().splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {4}
    assert "<script" not in "\n".join(lines) and "<img" not in "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("a_b%", r"a\_b\%"),
        ("é", r"\'{e}"),
        ("🍌", r"\texttt{U+1F34C}"),
        ("--x", "-{}-x"),
        ("\\", r"\textbackslash{}"),
        ("[1]", "{[}1{]}"),
    ],
)
def test_latex_escapes(text, latex):
    assert latex_sink.escape(text) == latex


def test_markdown_addresses_do_not_become_links():
    assert "https://" not in markdown_sink.escape("see https://e.example now")
    assert markdown_sink.escape("P@70") == "P@70"


def test_csv_leaves_plain_text_alone():
    assert csv_sink.escape("fp-direct") == "fp-direct" and csv_sink.escape("  =1") == "'  =1"


def test_latex_uses_booktabs_alone_and_balances_its_braces():
    text = nasty_table().latex()
    commands = set(re.findall(r"\\([a-z]+)", text))
    assert {"toprule", "midrule", "bottomrule", "cmidrule"} <= commands
    assert not commands & {"multirow", "cline", "hline", "resizebox", "usepackage"} - {"usepackage"}
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}") and bare.isascii()


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(tmp_path):
    run = facts("native_medium&co%", "two")
    tables = nasty_table().latex() + main_table(random_frames(run, without=("AGG",)), run, "tools-1").latex()
    source = f"\\documentclass[10pt]{{article}}\\usepackage{{booktabs}}\n\\begin{{document}}\n{tables}\\end{{document}}\n"
    (tmp_path / "t.tex").write_text(source, "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-1500:]
    assert (tmp_path / "t.pdf").stat().st_size > 5000
