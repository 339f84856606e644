"""Where the paths in an experiment file lead, and the systems and judges found there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longbanana_nb.errors import CallError, Fault
from longbanana_nb.paths import presets_folder
from longbanana_nb.runs.shapes import Shape, try_shape
from longbanana_nb.runs.strict_yaml import read_yaml
from longbanana_nb.runs.system_spec import SystemSpec

MANIFEST_VARIABLE = "DATASET_MANIFEST"


@dataclass(frozen=True, slots=True)
class Places:
    """Resolves what one experiment file names; what is wrong is added to `faults`."""

    file: Path
    faults: list[Fault]

    def resolve(self, field: str, text: str) -> Path:
        """A path of the file: absolute, below `presets/`, or relative to the file. Nothing is substituted."""
        if "${" in text:
            expected = f"a plain path; only `release: ${{{MANIFEST_VARIABLE}}}` is substituted"
            self.faults.append(Fault(f"{self.file} {field}", "substitution", repr(text), expected, "Write the path out."))
        return _below(self.file.parent, Path(text))

    def release(self, text: str) -> Path:
        """The release's manifest, from the variable where the text is exactly `${DATASET_MANIFEST}`."""
        if text != f"${{{MANIFEST_VARIABLE}}}":
            return self.resolve("release", text)
        named = os.environ.get(MANIFEST_VARIABLE, "")
        if not Path(named).is_absolute():
            found = repr(named) if named else "the variable unset"
            fix = f'For example: export {MANIFEST_VARIABLE}="$PWD/open_v1/manifest.json"'
            where = f"{self.file} release: ${{{MANIFEST_VARIABLE}}}"
            self.faults.append(Fault(where, "manifest_variable", found, "an absolute path of a manifest", fix))
        return Path(named)

    def read_each(self, shape: type[Shape], field: str, entries: Any) -> tuple[Shape, ...]:
        """Read a list of paths and mappings as shapes."""
        parsed = []
        for i, entry in enumerate(entries if isinstance(entries, list) else []):
            found = self._read(shape, f"{field}[{i}]", entry)
            parsed += [found] if found is not None else []
        return tuple(parsed)

    def _read(self, shape: type[Shape], field: str, entry: Any) -> Shape | None:
        where, value, folder = f"{self.file} {field}", entry, self.file.parent
        if isinstance(entry, str):
            path = _preset(field.split("[", maxsplit=1)[0], Path(entry)) or self.resolve(field, entry)
            if not path.is_file():
                fix = "Correct the path; it is relative to this file."
                self.faults.append(Fault(where, "missing_file", f"no file {path}", "a YAML file", fix))
                return None
            try:
                where, value, folder = str(path), read_yaml(path), path.parent
            except CallError as error:
                self.faults.append(Fault(where, "unreadable", str(error), "a YAML file", "Correct it there."))
                return None
        elif not isinstance(entry, dict):
            self.faults.append(Fault(where, "not_a_spec", repr(entry), "a path or a mapping", "Put a path in quotes."))
            return None
        found, faults = try_shape(shape, value, where)
        self.faults.extend(faults)
        return found.written_in(folder) if isinstance(found, SystemSpec) else found


def _below(folder: Path, path: Path) -> Path:
    if path.parts[:1] == ("presets",):
        return presets_folder().joinpath(*path.parts[1:])
    return Path(os.path.normpath(folder / path))


def _preset(field: str, path: Path) -> Path | None:
    """The shipped preset a path names, also without its subfolder: `presets/tools.yaml` among judges."""
    if path.parts[:1] != ("presets",):
        return None
    exact = presets_folder().joinpath(*path.parts[1:])
    return exact if exact.is_file() else presets_folder().joinpath(field, *path.parts[1:])
