"""Keys must never be written: finding them in a folder, and taking them out of a text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from longbanana_nb.errors import Fault

_PATTERNS = {
    "an Anthropic key": re.compile(r"sk-ant-[A-Za-z0-9_-]{8,}"),
    "an OpenAI key": re.compile(r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{8,}|\bsk-[A-Za-z0-9]{32,}"),
    "an OpenRouter key": re.compile(r"sk-or-[A-Za-z0-9_-]{16,}"),
    "a Google key": re.compile(r"\bAIza[A-Za-z0-9_-]{30,}"),
    "a Hugging Face token": re.compile(r"\bhf_[A-Za-z0-9]{20,}"),
    "a bearer token": re.compile(r"[Bb]earer\s+[A-Za-z0-9._~+/-]{20,}"),
}
_SECRET_NAME = re.compile(r"(API_KEY|_TOKEN|_SECRET)$")
_SHORTEST_SECRET = 12
_TEXT = {".json", ".jsonl", ".torn", ".txt", ".md", ".html", ".csv", ".tex", ".yaml", ".yml", ".ipynb", ".log", ".svg"}


def find_keys(text: str) -> list[str]:
    """What kinds of key stand in `text`, by pattern and by the values of this process's key variables."""
    kinds = [kind for kind, pattern in _PATTERNS.items() if pattern.search(text)]
    return kinds + [f"the value of {name}" for name, value in _environment_keys() if value in text]


def redact(text: str) -> str:
    """`text` with every key replaced by `[redacted]`; for errors, logs and replies that are kept."""
    for _, value in _environment_keys():
        text = text.replace(value, "[redacted]")
    for pattern in _PATTERNS.values():
        text = pattern.sub("[redacted]", text)
    return text


def key_faults(folder: Path) -> list[Fault]:
    """One fault for each text file below `folder` that holds something like a key. The key itself is never named."""
    faults = []
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for path in (Path(parent, name) for name in sorted(names)):
            if path.suffix.lower() not in _TEXT or path.is_symlink():
                continue
            for kind in find_keys(path.read_text("utf-8", errors="replace")):
                where = path.relative_to(folder).as_posix()
                fix = "Withdraw that key at its provider, remove it from the file, and keep keys in the environment only."
                faults.append(Fault(where, "key", f"what looks like {kind}", "no key in a run", fix))
    return faults


def _environment_keys() -> Iterator[tuple[str, str]]:
    for name, value in os.environ.items():
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET:
            yield name, value
