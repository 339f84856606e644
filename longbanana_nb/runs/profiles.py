"""Judge profiles from their files, shipped presets included."""

from __future__ import annotations

from pathlib import Path

from longbanana_nb.paths import presets_folder
from longbanana_nb.runs.judge_spec import JudgeSpec, parse_judge
from longbanana_nb.runs.strict_yaml import read_yaml


def read_profile(path: str | Path) -> JudgeSpec:
    """The profile of a file; `presets/...` means the shipped presets where no such file lies here."""
    file = Path(path)
    if not file.exists() and file.parts[:1] == ("presets",):
        file = presets_folder().joinpath(*file.parts[1:])
    return parse_judge(read_yaml(file), str(file))
