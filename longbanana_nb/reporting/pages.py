"""The shell of every page: one self-contained HTML file that loads nothing, runs nothing, and reads on dark, light and paper."""

from __future__ import annotations

import re

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.reporting.sinks.html import STYLE as TABLE_STYLE
from longbanana_nb.reporting.sinks.html import escape

# Nothing but inline styles and inline images may load, even if something slipped through.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

STYLE = """
:root{color-scheme:light dark;--paper:#fffdf8;--ink:#1d1b16;--soft:#6a655a;--line:#e4ddcd;--card:#ffffff;--accent:#b98200;--wash:#f6f1e4}
@media (prefers-color-scheme:dark){:root{--paper:#16150f;--ink:#ece7da;--soft:#a9a290;--line:#3a372d;--card:#1f1d16;--accent:#f2c230;--wash:#24221a}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1240px;margin:0 auto;padding:3.5rem 1.5rem 5rem}
h1,h2,h3{font-family:"Iowan Old Style","Palatino Linotype",Palatino,"URW Palladio L",Georgia,"DejaVu Serif",serif;line-height:1.2;font-weight:600;
text-wrap:balance}
h1{font-size:2.5rem;margin:.2rem 0 .8rem;letter-spacing:-.01em;overflow-wrap:anywhere}
h2{font-size:1.5rem;margin:3.6rem 0 .6rem;padding-top:1.1rem;border-top:1px solid var(--line)}h3{font-size:1.1rem;margin:2rem 0 .4rem}
p,ul,ol{max-width:46rem;margin:.6rem 0}.lead{font-size:1.08rem;color:var(--soft)}
a{color:var(--accent);text-underline-offset:.18em}
.kicker{font-size:.8rem;letter-spacing:.09em;text-transform:uppercase;color:var(--accent);font-weight:600;margin:0}
.badge{display:inline-block;border:1px solid var(--accent);color:var(--accent);border-radius:99px;padding:.05rem .7rem;font-size:.82rem;font-weight:600}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(10rem,1fr));gap:1rem 2rem;margin:1.6rem 0 2.2rem;padding:1.1rem 0;
border-top:3px solid var(--accent);border-bottom:1px solid var(--line)}
.facts div{min-width:0}.facts dt{font-size:.78rem;color:var(--soft);margin:0}.facts dd{margin:.1rem 0 0;font-weight:600;overflow-wrap:anywhere}
.figure{margin:1.8rem 0;max-width:54rem}.figure.small{max-width:40rem}
.figure img{display:block;width:100%;height:auto;background:#fff;border-radius:4px;padding:.9rem;border:1px solid var(--line)}
.figure figcaption{font-size:.86rem;color:var(--soft);margin-top:.6rem;max-width:46rem}
.case{margin:1.6rem 0;padding:1.2rem 1.3rem;background:var(--card);border:1px solid var(--line);border-radius:6px}
.case h3{margin:.1rem 0 .3rem;overflow-wrap:anywhere}.case p{font-size:.9rem;color:var(--soft);max-width:62rem;overflow-wrap:anywhere}
.strip{display:grid;grid-template-columns:repeat(auto-fill,minmax(8.2rem,1fr));gap:1rem;margin-top:1rem}
.strip figure{margin:0;min-width:0}.strip img,.strip .none{display:block;width:100%;aspect-ratio:1;object-fit:contain;border-radius:3px;background:var(--wash)}
.strip .none{display:grid;place-items:center;text-align:center;font-size:.8rem;color:var(--soft);padding:.5rem;overflow-wrap:anywhere}
.strip figcaption{font-size:.78rem;line-height:1.35;margin-top:.35rem;overflow-wrap:anywhere}.strip b{font-variant-numeric:tabular-nums}
.index{list-style:none;padding:0;max-width:none;display:grid;grid-template-columns:repeat(auto-fill,minmax(19rem,1fr));gap:.9rem}
.index li{border:1px solid var(--line);border-radius:6px;padding:.8rem 1rem;background:var(--card)}.index a{font-weight:600}
.index span{display:block;font-size:.86rem;color:var(--soft);overflow-wrap:anywhere}
pre,code{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.84rem}
pre{background:var(--wash);padding:.8rem 1rem;border-radius:5px;overflow-x:auto;line-height:1.5;max-width:100%}
footer{margin-top:4rem;padding-top:1rem;border-top:1px solid var(--line);font-size:.82rem;color:var(--soft)}
@media print{:root{color-scheme:light;--paper:#fff;--ink:#000;--soft:#444;--line:#bbb;--card:#fff;--accent:#6b4b00;--wash:#f4f4f4}
main{max-width:none;padding:0}h2{break-after:avoid}.figure,.case,.lb-table tr{break-inside:avoid}.lb-table table{font-size:7.5pt}
.lb-table th,.lb-table td{padding:.15rem .25rem}}
""".strip()


def page(title: str, body: str, *, extra_style: str = "") -> str:
    """A whole HTML document around a body that is already safe; `title` is escaped here."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}\n{TABLE_STYLE}\n{extra_style}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )


LOADING = re.compile(
    r"""<\s*(?:script|iframe|object|embed|link|base|form)\b|\bon[a-z]+\s*=\s*["']?[^<>]*>|(?:src|srcset|href|poster|action|data)\s*=\s*["']?\s*(?:[a-z][a-z+.-]*:)?//"""
    r"""|(?:src|href)\s*=\s*["']?\s*(?:javascript|file|vbscript):|url\(\s*["']?(?!["']?data:|["']?#)|@import""",
    re.IGNORECASE,
)
TAG = re.compile(r"<[a-zA-Z/!][^>]*>|<style[^>]*>.*?</style>", re.DOTALL)


def require_self_contained(text: str, where: str) -> str:
    """Return the page if nothing in its markup loads from elsewhere or runs; else DataError naming the markup.

    Text between tags may mention addresses: they are only read.
    """
    faults = [
        Fault(where, "external", repr(match[0][:120]), "a page that loads nothing", "Report this page: its source was not made safe.")
        for match in TAG.finditer(text)
        if LOADING.search(match[0])
    ]
    if faults:
        raise DataError("A page is not self-contained.", faults)
    return text
