"""Where a program of the user lies, and what of this machine it needs to run: its environment, past its links."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from longbanana_nb.errors import CallError

SEEN_ANYWAY = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store")
MOST_LINKS = 16


def found_program(word: str, system: str) -> Path:
    """The program that a first word without a slash names, on PATH, where this Python's own folder comes first.

    Raises:
        CallError: where there is none, or it only stands for another program, which a sandbox would not find.
    """
    own = Path(sys.executable).parent
    found = shutil.which(word, path=os.pathsep.join([str(own), os.environ.get("PATH", os.defpath)]))
    if found is None:
        raise CallError(
            f"system {system!r}: harness.argv begins with {word!r}, and no such program is on PATH. Install or correct it."
        )
    path = Path(found).absolute()
    if path.parent.name == "shims":
        raise CallError(
            f"system {system!r}: {word!r} is {path}, which only chooses among others. Name the program itself in harness.argv; "
            "for a Python it is what `import sys; print(sys.executable)` prints."
        )
    return path


def needed_by(program: Path) -> list[Path]:
    """Folders and files to show so that `program` can run: whole environments, else the file alone.

    An environment is a folder with `bin` and a `pyvenv.cfg`, a `conda-meta`, a `lib/python3*` or a `lib/node_modules`; a home
    folder is none, whatever lies in it.
    """
    shown: list[Path] = []
    waiting = [program.absolute(), program.resolve()]
    for _ in range(MOST_LINKS):
        if not waiting:
            break
        path = waiting.pop(0)
        prefix = path.parent.parent
        is_inside = path.parent.name == "bin" and _is_environment(prefix)
        if not str(path).startswith(tuple(f"{place}/" for place in SEEN_ANYWAY)):
            shown.append(prefix if is_inside else path)
        if path.is_symlink():
            waiting.append(Path(os.path.normpath(path.parent / path.readlink())))
        if is_inside and (base := _base_of(prefix)) is not None:
            waiting.append(base)
    return [path for path in dict.fromkeys(shown) if path.exists()]


def _is_environment(prefix: Path) -> bool:
    home = Path.home()
    if prefix in (Path("/"), home, home / ".local"):
        return False
    signs = ((prefix / "pyvenv.cfg").is_file(), (prefix / "conda-meta").is_dir(), (prefix / "lib" / "node_modules").is_dir())
    return any(signs) or any((prefix / "lib").glob("python3*"))


def _base_of(environment: Path) -> Path | None:
    """The Python that a virtual environment was made from, by its `pyvenv.cfg`."""
    try:
        lines = (environment / "pyvenv.cfg").read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    for line in lines:
        key, _, value = line.partition("=")
        if key.strip() == "home" and value.strip():
            return Path(value.strip()) / "python3"
    return None
