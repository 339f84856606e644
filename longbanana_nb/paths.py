"""Where the project's own folders lie; never the current directory."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def project_root() -> Path:
    """The folder that holds `notebooks/` and `data/`: the checkout, or the packaged copy inside an installed wheel."""
    checkout = PACKAGE.parent
    return checkout if (checkout / "pyproject.toml").is_file() else PACKAGE / "_project"


def data_folder() -> Path:
    """Shipped data: demo assets, presets, published numbers."""
    return project_root() / "data"


def presets_folder() -> Path:
    """Shipped systems, judges and experiments."""
    return data_folder() / "presets"


def notebooks_folder() -> Path:
    """The shipped notebooks."""
    return project_root() / "notebooks"


def writable_root() -> Path:
    """The checkout, or for an installed wheel a folder of the user's (`LONGBANANA_HOME`, else `~/.longbanana`)."""
    if home := os.environ.get("LONGBANANA_HOME"):
        return Path(home).expanduser().absolute()
    root = project_root()
    return root if root.name != "_project" else Path.home() / ".longbanana"


def releases_folder() -> Path:
    """Where releases are unpacked and the demo release is built."""
    return writable_root() / "data" / "releases"


def annotations_folder() -> Path:
    """Where people's annotations of releases lie, one folder a release and revision."""
    return writable_root() / "annotations"


def reports_folder() -> Path:
    """Where runs go unless a path is given."""
    return writable_root() / "reports"


def agents_folder() -> Path:
    """Where agent command lines are installed: `LONGBANANA_AGENTS`, else `agents` among what is written."""
    if named := os.environ.get("LONGBANANA_AGENTS"):
        return Path(named).expanduser().absolute()
    return writable_root() / "agents"
