"""nbformat, imported quickly: without the grammars of internationalised addresses, which no notebook is checked for."""

from __future__ import annotations

import sys
from types import ModuleType

GRAMMARS = "rfc3987_syntax"


def import_nbformat() -> ModuleType:
    """The module nbformat; to be called before anything else that brings it, such as papermill or nbconvert.

    nbformat imports jsonschema, which checks the formats `iri` and `iri-reference` where this package is installed, as JupyterLab
    sees to, and builds its 38 grammars then and there: two seconds for nothing, as schemas of notebooks have no such format.
    jsonschema provides for its absence. What is imported already stays as it is.
    """
    if "jsonschema" in sys.modules or GRAMMARS in sys.modules:
        import nbformat

        return nbformat
    sys.modules[GRAMMARS] = None  # type: ignore[assignment]  # Python's own mark for a module that is not to be found
    try:
        import nbformat
    finally:
        sys.modules.pop(GRAMMARS, None)
    return nbformat
