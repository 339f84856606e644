"""Judgments: one line an answer, and the journal of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.runs.journal import Journal
from longbanana_nb.runs.judge_spec import InvalidReason

Label = Literal[0, 1, 2]
INVALID_REASONS: tuple[str, ...] = get_args(InvalidReason)


class EvidenceImage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which picture, and which part of it, an evidence is about."""

    id: str
    sha256: str
    box: list[float] | None = None


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing a judge did to answer: the tool, what it was given and what it gave."""

    n: int
    tool: str
    args: dict[str, Any] = {}
    result: Any = None
    image: EvidenceImage | None = None


class ImageSent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One image a judge was shown, before and after the named transcode."""

    role: str
    id: str
    source_sha256: str
    sent_sha256: str
    transcode: str | None = None


class Judgment(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One answer. Exactly one of `label` and `invalid` is present; `sample` is the system's, `judge_sample` the judge's."""

    key: str
    judge: str
    judge_sha256: str
    system: str
    case_id: str
    sample: int
    judge_sample: int = 0
    check_id: str
    check_sha256: str
    candidate_sha256: str
    label: Label | None
    invalid: InvalidReason | None = None
    attempt: int = 1
    rationale: str | None = None
    evidence: list[Evidence] = []
    images: list[ImageSent] = []
    opened: list[str] = []
    raw: str | None = None
    request_id: str | None = None
    model: str | None = None
    usage: dict[str, Any] | None = None
    cost_usd: float = 0.0
    simulated: bool = False
    at: str = ""

    def __post_init__(self) -> None:
        if (self.label is None) == (self.invalid is None):
            raise ValueError(f"label {self.label!r} with invalid {self.invalid!r}; exactly one of them is null")

    @property
    def unit(self) -> tuple[int, int, str]:
        """Sample, judge sample and check: what the answer is about, within its judge, system and case."""
        return (self.sample, self.judge_sample, self.check_id)


class JudgmentJournal:
    """The answers of one judge on one system and case, in the order they were given."""

    def __init__(self, path: Path) -> None:
        self._journal = Journal(path)
        self.path = path

    def append_many(self, judgments: Iterable[Judgment]) -> None:
        """Add answers; when this returns they are on disk and count."""
        self._journal.append_many([encode_judgment(judgment) for judgment in judgments])

    def read(self) -> list[Judgment]:
        """All answers, whole; DataError names every line that cannot be read, for a field unknown or of another type too."""
        return _decoded_lines(self._journal.read(), self.path)


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Judgment)


def encode_judgment(judgment: Judgment) -> bytes:
    """The judgment as one JSON line without its newline, keys in the order of the schema."""
    return _encoder.encode(judgment)


def _decoded_lines(block: bytes, path: Path) -> list[Judgment]:
    try:
        return _decoder.decode_lines(block)
    except (msgspec.DecodeError, ValueError):
        raise DataError("A journal of judgments cannot be read.", _broken_lines(block, path)) from None


def _broken_lines(block: bytes, path: Path) -> list[Fault]:
    faults = []
    for number, line in enumerate(block.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            _decoder.decode(line)
        except (msgspec.DecodeError, ValueError) as error:
            fix = "The file was changed or damaged: restore it, or remove the line; it is then asked again."
            faults.append(Fault(f"{path} line {number}", "judgment", str(error), "a judgment", fix))
    return faults
