"""Keys must never be written: what looks like one, finding them in texts and files, and taking them out."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from longbanana_nb.errors import Fault

# Keys with a dash or an underscore cannot occur in base64; the others are looked for between bounds that it does not have.
_WORD, _BASE64 = r"(?<![A-Za-z0-9])", r"(?<![A-Za-z0-9+/_-])"
SHAPES: dict[str, tuple[tuple[str, ...], str]] = {  # kind: (literals of which any key of the kind holds one, its shape)
    "an Anthropic key": (("sk-ant-",), r"sk-ant-[A-Za-z0-9_-]{8,}"),
    "an OpenAI key": (("sk-",), _WORD + r"sk-(?:proj|svcacct|admin|live|test)[-_][A-Za-z0-9_-]{8,}"),
    "an OpenAI or OpenRouter key": (("sk-",), _WORD + r"sk-[A-Za-z0-9_-]{20,}"),
    "a Google key": (("AIza",), _BASE64 + r"AIza[0-9A-Za-z_-]{30,}"),
    "a Google access token": (("ya29.",), _BASE64 + r"ya29\.[0-9A-Za-z_-]{20,}"),
    "a GitHub token": (
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        _WORD + r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})",
    ),
    "a Hugging Face token": (("hf_",), _WORD + r"hf_[A-Za-z0-9]{20,}"),
    "an AWS access key": (("AKIA", "ASIA"), _BASE64 + r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![A-Za-z0-9])"),
    "a Slack token": (("xox",), _WORD + r"xox[abpr]-[A-Za-z0-9-]{10,}"),
    "a bearer token": (("earer",), r"[Bb]earer\s+(?=[A-Za-z._~+/-]*[0-9])[A-Za-z0-9._~+/-]{20,}=*"),
    "a key in an address": (("key=",), r"[?&](?:api_?)?key=[A-Za-z0-9_-]{20,}"),
    "a private key": (("-----BEGIN ",), r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"),
}
# A literal is found in a small part of the time a pattern takes, and most files are pictures that hold none.
_IN_BYTES = [
    (kind, tuple(mark.encode() for mark in marks), re.compile(shape.encode("ascii"))) for kind, (marks, shape) in SHAPES.items()
]
_IN_TEXT = re.compile("|".join(shape for _, shape in SHAPES.values()), re.ASCII)
_KEY_VARIABLE = re.compile(r"(?i)(?:^|_)(?:api_?key|key|token|secret|password)$")
_SHORTEST_SECRET = 12
_BLOCK, _OVERLAP = 1 << 23, 1 << 10
_LOCKS = ("run.lock", "results.lock")


def looks_like_key(text: str | bytes, *, environment: Mapping[str, str] | None = None) -> str | None:
    """What kind of key `text` seems to hold, or None. The values of key variables of this environment count as keys."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    for kind, marks, shape in _IN_BYTES:
        if any(mark in raw for mark in marks) and shape.search(raw):
            return kind
    for name, value in _set_keys(os.environ if environment is None else environment):
        if value.encode("utf-8", "surrogateescape") in raw:
            return f"the value of ${name}"
    return None


def redact(text: str) -> str:
    """`text` with every key replaced by `[redacted]`; for errors, logs and replies that are kept."""
    for _, value in _set_keys(os.environ):
        text = text.replace(value, "[redacted]")
    return _IN_TEXT.sub("[redacted]", text)


def find_keys(files: Iterable[Path], root: Path) -> list[Fault]:
    """One fault for every file that seems to hold a key, in its name or inside; the key itself is never repeated."""
    faults = []
    for path in files:
        where = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
        kind = looks_like_key(where) or _kind_in_file(path)
        if kind:
            fix = "Remove it there, withdraw the key at its provider if it was real, and keep keys in the environment only."
            faults.append(Fault(redact(where), "key", f"what looks like {kind}", "no key in a run", fix))
    return faults


def key_faults(folder: Path) -> list[Fault]:
    """One fault for every file below `folder` that seems to hold a key; links, and locks, which others hold, are left aside."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink() and path.name not in _LOCKS)
    return find_keys(sorted(files), folder)


def _kind_in_file(path: Path) -> str | None:
    tail = b""
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            kind = looks_like_key(tail + block)
            if kind:
                return kind
            tail = block[-_OVERLAP:]
    return None


def _set_keys(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name in sorted(name for name in environment if _names_a_key(name)):
        if len(value := environment[name]) >= _SHORTEST_SECRET:
            yield name, value


@functools.lru_cache(maxsize=1024)
def _names_a_key(name: str) -> bool:
    return _KEY_VARIABLE.search(name) is not None
