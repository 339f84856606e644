"""Executed notebooks made the same on every run: no times, no random ids, no traces of this machine's temporary files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.files import write_atomic
from longbanana_nb.reporting.notebook_format import import_nbformat

if TYPE_CHECKING:
    from nbformat import NotebookNode

ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")
KERNEL_FILE = re.compile(r"(?:/[^\s\"':]*)?/ipykernel_\d+/\d+\.py")
PROGRESS = re.compile(r"\d+%\|.*\||\d+/\d+ \[|\bit/s\b|\bs/it\b|\?it")
FAILED = "papermill-error-cell-tag"


def settle(path: Path) -> None:
    """Rewrite an executed notebook in its settled form, atomically."""
    nbformat = import_nbformat()
    notebook = nbformat.read(path, as_version=4)
    settled(notebook)
    text: str = nbformat.writes(notebook)
    write_atomic(path, (text.rstrip("\n") + "\n").encode("utf-8"))


def keep_unexecuted(path: Path, out: Path, reason: str) -> Path:
    """Write a notebook to `out` without running it, with the reason as its second cell; returns `out`."""
    nbformat = import_nbformat()
    notebook = nbformat.read(path, as_version=4)
    fenced = "\n".join(f"    {line}" for line in reason.splitlines())
    note = nbformat.v4.new_markdown_cell(f"**Not executed.**\n\n{fenced}\n")
    notebook.cells.insert(1, note)
    text: str = nbformat.writes(settled(notebook))
    write_atomic(out, (text.rstrip("\n") + "\n").encode("utf-8"))
    return out


def settled(notebook: NotebookNode) -> NotebookNode:
    """The notebook, changed in place: cell ids count from 0; timings, machine paths and progress bars are gone."""
    notebook.metadata.pop("papermill", None)
    notebook.metadata.pop("widgets", None)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number:03}"
        for key in ("papermill", "execution", "collapsed", "scrolled"):
            cell.metadata.pop(key, None)
        if FAILED in cell.metadata.get("tags", []):
            cell["source"] = _visible_failure(cell.source)
        if cell.cell_type == "code":
            cell["outputs"] = [kept for output in cell.outputs if (kept := _settled_output(output)) is not None]
    return notebook


def _visible_failure(source: str) -> str:
    return re.sub(r"#papermill-error-cell", "#failed", source)


def _settled_output(output: Any) -> Any:
    """One output without addresses and temporary names; None for what was only a progress bar."""
    if output.output_type == "stream":
        output["text"] = _steady(_without_progress(output.text))
        return output if output["text"] else None
    if output.output_type == "error":
        output["traceback"] = [_steady(line) for line in output.traceback]
        output["evalue"] = _steady(output.evalue)
        return output
    if "application/vnd.jupyter.widget-view+json" in output.get("data", {}):
        output["data"].pop("application/vnd.jupyter.widget-view+json")
        if PROGRESS.search(str(output["data"].get("text/plain", ""))) or list(output["data"]) == ["text/plain"]:
            return None
    for kind in ("text/plain", "text/html"):
        if isinstance(output.get("data", {}).get(kind), str):
            output["data"][kind] = _steady(output["data"][kind])
    return output


def _without_progress(text: str) -> str:
    lines = [line.rsplit("\r", 1)[-1] for line in text.split("\n")]
    return "\n".join(line for line in lines if not PROGRESS.search(line)) if any(map(PROGRESS.search, lines)) else text


def _steady(text: str) -> str:
    """Without what changes from run to run; what is mostly an embedded picture is searched by its literals alone."""
    text = KERNEL_FILE.sub("<cell>", text) if "/ipykernel_" in text else text
    return ADDRESS.sub("0x…", text) if "0x" in text else text
