"""One notebook run under papermill in this process: checked before the kernel starts, verified afterwards."""

from __future__ import annotations

import logging
import os
import re
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import DataError, Fault, Incomplete, WorkbenchError
from longbanana_nb.reporting.executed_copy import settle
from longbanana_nb.reporting.notebook_format import import_nbformat
from longbanana_nb.reporting.notebook_parameters import checked_parameters

if TYPE_CHECKING:
    from nbformat import NotebookNode

LONGEST_SOCKET_FOLDER = 80  # systems take socket paths of about 100 bytes
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def run_notebook(
    path: Path, parameters: Mapping[str, Any], out: Path, *, expect_files: Iterable[Path] = (), quiet: bool = False
) -> Path:
    """Execute a notebook and write the executed copy to `out`, whose folder is made if it is missing.

    Args:
        path: the source notebook, which stays as it is.
        parameters: values by name; texts are read by the type that the notebook declares.
        out: where the executed copy goes. It is written also when a cell fails, with the failure in it.
        expect_files: files that must exist and hold something afterwards.
        quiet: no progress bar.

    Returns:
        `out`.

    Raises:
        CallError: for parameters that are unknown or of a wrong type, before any kernel starts.
        DataError: in one line, when a cell fails (its number, name and error), when the kernel dies, or when an expected
            file is absent.
        Incomplete: when a cell ends with `Incomplete` (budget, interruption), so that the exit code stays true.
    """
    path, out = Path(path), Path(out)
    values = checked_parameters(path, parameters)
    if out.resolve() == path.resolve():
        raise DataError(f"{path.name}: the executed copy would replace the notebook itself. Choose another place for it.")
    out.parent.mkdir(parents=True, exist_ok=True)
    failure = _execute(path, values, out, quiet=quiet)
    settle(out)
    if failure is not None:
        raise failure
    _verify(path, expect_files)
    return out


def _execute(path: Path, values: dict[str, Any], out: Path, *, quiet: bool) -> WorkbenchError | None:
    """Run under papermill; the failure of a cell comes back as an error to raise once the copy is settled."""
    import_nbformat()
    import papermill
    from jupyter_client.kernelspec import NoSuchKernel
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    try:
        with calm(), tempfile.TemporaryDirectory(prefix="lb-") as sockets:
            papermill.execute_notebook(
                str(path), str(out), parameters=values, kernel_name="python3", language="python", progress_bar=not quiet,
                start_timeout=120, config=_own_kernel(sockets),
            )  # fmt: skip
    except PapermillExecutionError as error:
        return _cell_failure(path, out, error)
    except (DeadKernelError, CellTimeoutError, NoSuchKernel, RuntimeError) as error:
        return DataError(
            f"{path.name}: the kernel stopped ({_first_line(str(error)) or type(error).__name__}). What ran is kept at {out}."
        )
    return None


def _own_kernel(sockets: str) -> Any:
    """A kernel of the interpreter that runs this, whatever kernels are installed; no TCP ports where sockets on disk exist.

    Args:
        sockets: a folder of this notebook's own. Left to itself, Jupyter numbers its sockets in the current folder, where two
            notebooks that start together take the same ones, and which need not be writable.
    """
    from traitlets.config import Config

    settings: dict[str, dict[str, Any]] = {"KernelSpecManager": {"kernel_dirs": [], "ensure_native_kernel": True}}
    # A kernel is interrupted before it is shut down, and would log that as an error; failures of cells come back anyway.
    settings["NotebookClient"] = {"extra_arguments": ["--IPKernelApp.log_level=CRITICAL"]}
    if os.name != "nt" and len(os.fsencode(sockets)) <= LONGEST_SOCKET_FOLDER:
        settings["KernelManager"] = {"transport": "ipc", "ip": f"{sockets}/kernel"}
    return Config(settings)


@contextmanager
def calm() -> Iterator[None]:
    """Papermill's own log lines and deprecation notes of its parts held back; failures are raised, not logged.

    This is a setting of the whole process: who runs notebooks in several threads enters it once around them all, for threads
    that leave it in another order than they entered it would not put back what was set before. What runs notebooks is imported
    here, whole: matplotlib fails where it meets an IPython that another thread is just importing.
    """
    import_nbformat()
    import IPython  # noqa: F401
    import papermill  # noqa: F401

    logger = logging.getLogger("papermill")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _cell_failure(path: Path, out: Path, error: Any) -> WorkbenchError:
    number, name = error.cell_index + 1, _cell_name(out, error.cell_index)
    text = _first_line(f"{error.ename}: {error.evalue}" if error.evalue else error.ename)
    kind = Incomplete if error.ename == Incomplete.__name__ else DataError
    return kind(f"{path.name}: cell {number} ({name}) failed with {text} The executed copy is kept at {out}.")


def _cell_name(out: Path, index: int) -> str:
    """The first line of the failing cell that says something, shortened."""
    nbformat = import_nbformat()
    notebook: NotebookNode = nbformat.read(out, as_version=4)
    # papermill sets its red mark before the failing cell, so the index may point at the mark
    cells = [cell for cell in notebook.cells if "papermill-error-cell-tag" not in cell.metadata.get("tags", [])]
    source = cells[index].source if index < len(cells) else ""
    lines = [line.strip().lstrip("#").strip() for line in source.splitlines()]
    return next((line[:60] for line in lines if line), "empty")


def _first_line(text: str) -> str:
    line = next((part.strip() for part in ANSI.sub("", text).splitlines() if part.strip()), "")
    return line if line.endswith((".", "!", "?")) else f"{line}."


def _verify(path: Path, expect_files: Iterable[Path]) -> None:
    faults = [
        Fault(
            str(expected),
            "absent",
            "nothing" if not expected.exists() else "an empty file",
            f"a file that {path.name} writes",
            "Run it again with its own parameters, and see the executed copy.",
        )
        for expected in map(Path, expect_files)
        if not expected.is_file() or expected.stat().st_size == 0
    ]
    if faults:
        raise DataError(f"{path.name} ran to its end, but files it declares are missing.", faults)
