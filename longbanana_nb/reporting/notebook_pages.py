"""An executed notebook as one self-contained page: outputs made safe, pictures with their words, nothing loaded."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.files import write_atomic
from longbanana_nb.reporting.executed_copy import settled
from longbanana_nb.reporting.notebook_format import import_nbformat
from longbanana_nb.reporting.pages import page, require_self_contained
from longbanana_nb.reporting.safe_html import safe_html
from longbanana_nb.reporting.sinks.html import escape

if TYPE_CHECKING:
    from nbformat import NotebookNode

STYLE = (Path(__file__).parent / "styles" / "notebook.css").read_text(encoding="utf-8").strip()
NO_ALT = "Figure drawn by the cell above."
IMAGES = ("image/png", "image/jpeg", "image/svg+xml")


def write_notebook_page(path: Path, out: Path, *, back: str | None = None, replace: Mapping[str, str] | None = None) -> str:
    """Write the page of an executed notebook and return its title; arguments as in `notebook_page`."""
    title, text = notebook_page(path, back=back, replace=replace)
    write_atomic(out, text.encode("utf-8"))
    return title


def notebook_page(path: Path, *, back: str | None = None, replace: Mapping[str, str] | None = None) -> tuple[str, str]:
    """The title and the page of an executed notebook.

    Args:
        path: an executed notebook.
        back: a relative address for a link back.
        replace: texts to show instead of others, such as the run's folder on this machine.

    Raises:
        DataError: if the page would load or run anything.
    """
    nbformat = import_nbformat()
    raw = path.read_text(encoding="utf-8")
    for old, new in sorted((replace or {}).items(), key=lambda pair: -len(pair[0])):
        raw = raw.replace(_json_text(old), _json_text(new))
    notebook = settled(nbformat.reads(raw, as_version=4))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell["outputs"] = [_page_output(output) for output in cell.outputs]
    title = notebook_title(notebook, path)
    link = f'<p class="back"><a href="{escape(back)}">Back to the report</a></p>\n' if back else ""
    body = link + safe_html(_body(notebook))
    return title, require_self_contained(page(title, body, extra_style=f"{STYLE}\n{_code_colours()}"), path.name)


def notebook_title(notebook: NotebookNode, path: Path) -> str:
    """The first heading of a notebook, else its file name."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for line in cell.source.splitlines():
                if line.startswith("# "):
                    return str(line[2:].strip())
    return path.stem


def _body(notebook: NotebookNode) -> str:
    body, _ = _exporter().from_notebook_node(notebook)
    return str(body)


@cache
def _exporter() -> Any:
    """nbconvert's plain template, which brings no scripts and no styles of its own; reading it takes longer than a page."""
    from nbconvert import HTMLExporter

    return HTMLExporter(  # type: ignore[no-untyped-call]
        template_name="basic", require_js_url="", mathjax_url="", mermaid_js_url="", mermaid_layout_elk_js_url="", jquery_url="",
        widget_renderer_url="", jupyter_widgets_base_url="",
    )  # fmt: skip


def _page_output(output: Any) -> Any:
    """One output with a single form that a page can show: a picture with its words, HTML, else text."""
    content = output.get("data")
    if content is None:
        return output
    for kind in IMAGES:
        if kind in content and "text/html" not in content:
            output["data"] = {"text/html": _picture(kind, content[kind], _alt(output, kind))}
            output["metadata"] = {}
            return output
    for kind in ("text/html", "text/markdown", "text/plain"):
        if kind in content:
            output["data"] = {kind: content[kind]}
            return output
    output["data"] = {"text/plain": f"(an output that needs a running kernel: {', '.join(sorted(content)) or 'empty'})"}
    return output


def _alt(output: Any, kind: str) -> str:
    described = output.get("metadata", {}).get(kind, {})
    return str(described.get("alt") or output.get("metadata", {}).get("alt") or NO_ALT)


def _picture(kind: str, content: str, alt: str) -> str:
    encoded = base64.b64encode(content.encode("utf-8")).decode() if kind == "image/svg+xml" else "".join(content.split())
    return f'<img alt="{escape(alt)}" src="data:{kind};base64,{encoded}">'


def _json_text(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False)[1:-1]


@cache
def _code_colours() -> str:
    """Colours of code for light and for dark."""
    from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]

    def rules(style: str) -> str:
        lines = HtmlFormatter(style=style).get_style_defs(".highlight").splitlines()
        return "\n".join(line for line in lines if re.match(r"\.highlight \.\w+ ", line))

    return f"{rules('friendly')}\n@media (prefers-color-scheme:dark){{\n{rules('github-dark')}\n}}\n"
