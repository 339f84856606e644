"""The shell of every page: one self-contained HTML file that loads nothing, runs nothing, and reads on dark, light and paper."""

from __future__ import annotations

import re
from pathlib import Path

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.reporting.sinks.html import STYLE as TABLE_STYLE
from longbanana_nb.reporting.sinks.html import escape

# Nothing but inline styles and inline images may load, even if something slipped through.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

STYLE = (Path(__file__).parent / "styles" / "page.css").read_text(encoding="utf-8").strip()


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
TAG = re.compile(r"<style[^>]*>.*?</style>|<[a-zA-Z/!][^>]*>", re.DOTALL)


def require_self_contained(text: str, where: str) -> str:
    """Return the page if nothing in its markup loads from elsewhere or runs; else DataError naming the markup.

    Text between tags may mention addresses: they are only read.
    """
    faults = [
        Fault(
            where,
            "external",
            repr(match[0][:120]),
            "a page that loads nothing",
            "Report this page: its source was not made safe.",
        )
        for match in TAG.finditer(text)
        if LOADING.search(match[0])
    ]
    if faults:
        raise DataError("A page is not self-contained.", faults)
    return text
