"""What looks like an API key, so that none is ever written into a notebook, a page or a run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from longbanana_nb.errors import Fault

# Boundaries on both sides keep base64 and hashes from matching by chance.
SHAPES = {
    "an Anthropic or OpenAI key": rb"sk-(?:ant-|proj-|or-v1-|live_|test_)?[A-Za-z0-9_-]{20,}",
    "a Google API key": rb"AIza[0-9A-Za-z_-]{35}",
    "a Google access token": rb"ya29\.[0-9A-Za-z_-]{20,}",
    "a GitHub token": rb"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})",
    "a Hugging Face token": rb"hf_[A-Za-z0-9]{30,}",
    "an AWS access key": rb"(?:AKIA|ASIA)[0-9A-Z]{16}",
    "a Slack token": rb"xox[abpr]-[A-Za-z0-9-]{10,}",
    "a bearer token": rb"[Bb]earer\s+[A-Za-z0-9._~+/-]{24,}=*",
    "a key in an address": rb"[?&](?:api_?)?key=[A-Za-z0-9_-]{20,}",
    "a private key": rb"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----",
}
BEFORE, AFTER = rb"(?<![A-Za-z0-9+/_=-])", rb"(?![A-Za-z0-9])"
PATTERN = re.compile(
    b"|".join(
        b"(?P<k%d>%s)" % (number, shape if shape.startswith((b"[?", b"-----")) else BEFORE + shape + AFTER)
        for number, shape in enumerate(SHAPES.values())
    )
)
KEY_VARIABLE = re.compile(r"(?i)(?:^|_)(?:api_?key|key|token|secret|password)$")
BLOCK, OVERLAP = 1 << 23, 1 << 10


def looks_like_key(text: str | bytes, *, environment: Mapping[str, str] | None = None) -> str | None:
    """What kind of key `text` seems to hold, or None. The values of key variables of this environment count as keys."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    match = PATTERN.search(raw)
    if match:
        return list(SHAPES)[int((match.lastgroup or "k0")[1:])]
    for name, value in _set_keys(os.environ if environment is None else environment):
        if value in raw:
            return f"the value of ${name}"
    return None


def find_keys(files: Iterable[Path], root: Path) -> list[Fault]:
    """One fault for every file that seems to hold a key; the key itself is never repeated."""
    faults = []
    for path in files:
        kind = _kind_in_file(path)
        if kind:
            where = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
            faults.append(
                Fault(
                    where,
                    "key",
                    f"what looks like {kind}",
                    "no key in a run",
                    "Remove it there, and revoke the key if it was real.",
                )
            )
    return faults


def _kind_in_file(path: Path) -> str | None:
    tail = b""
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            kind = looks_like_key(tail + block)
            if kind:
                return kind
            tail = block[-OVERLAP:]
    return None


def _set_keys(environment: Mapping[str, str]) -> list[tuple[str, bytes]]:
    return [
        (name, value.encode("utf-8", "surrogateescape"))
        for name, value in sorted(environment.items())
        if KEY_VARIABLE.search(name) and len(value) >= 16
    ]
