"""Derived units and probes: what words say surely, what a model said of the rest, and how they become an overlay."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import read_json_lines, sha256_bytes, write_atomic
from longbanana_nb.judging.annotate.compiling import probe_from_words
from longbanana_nb.judging.annotate.rules import guess_dimension, guess_polarity
from longbanana_nb.runs.journal import Journal

if TYPE_CHECKING:
    from longbanana_nb.release import Check, Evaluation

UNITS, PROBES, MODEL_DRAFTS = "check_units.jsonl", "probes.jsonl", "drafts.jsonl"
Key = tuple[str, str]  # case_id, check_id


@dataclass(frozen=True, slots=True)
class Draft:
    """What is proposed for one check; a field is None where nothing is proposed. `cues` are the words a rule went by."""

    case_id: str
    check_id: str
    dimension: str | None
    polarity: str | None
    probe: dict[str, Any] | None
    by: str  # "rule", "model" or "reviewed"
    cues: tuple[str, ...] = ()
    doubt: str | None = None  # why a person should look

    @property
    def has_unit(self) -> bool:
        """Whether dimension and polarity are both proposed."""
        return self.dimension is not None and self.polarity is not None


class ModelDraft(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One answer of a text model, as it is journalled in the overlay's `drafts.jsonl`; `invalid` says why it cannot be used."""

    key: str
    case_id: str
    check_id: str
    dimension: str | None = None
    polarity: str | None = None
    probe: dict[str, Any] | None = None
    invalid: str | None = None
    doubt: str | None = None
    model: str | None = None
    raw: str | None = None
    usage: dict[str, Any] = {}
    cost_usd: float | None = None
    at: str = ""


def draft_from_words(check: Check) -> Draft:
    """What the words of a check say; a dimension or polarity that is not sure is left open, and said to be."""
    dimension, polarity = guess_dimension(check), guess_polarity(check)
    unsure = [
        f"{name}: {guess.value}?" for name, guess in (("dimension", dimension), ("polarity", polarity)) if not guess.is_sure
    ]
    return Draft(
        check.case_id,
        check.check_id,
        dimension.value if dimension.is_sure else None,
        polarity.value if polarity.is_sure else None,
        probe_from_words(check, polarity.value) if polarity.is_sure else None,
        "rule",
        (*dimension.cues, *polarity.cues),
        "; ".join(unsure) or None,
    )


def merged(ruled: Draft, asked: ModelDraft | None) -> Draft:
    """A rule's draft, with what a model said where the rule left something open."""
    if asked is None or asked.invalid is not None:
        return ruled
    return Draft(
        ruled.case_id,
        ruled.check_id,
        ruled.dimension or asked.dimension,
        ruled.polarity or asked.polarity,
        ruled.probe or asked.probe,
        "model",
        ruled.cues,
        asked.doubt,
    )


@dataclass(slots=True)
class Overlay:
    """What lies in an overlay folder: lines of units and probes by check, and which of them a person reviewed."""

    folder: Path
    units: dict[Key, dict[str, Any]] = field(default_factory=dict)
    probes: dict[Key, dict[str, Any]] = field(default_factory=dict)

    def is_reviewed(self, key: Key) -> bool:
        """Whether a person answers for the check's unit or probe: its line does not say `derived`."""
        lines = (self.units.get(key), self.probes.get(key))
        return any(line is not None and line.get("source") != "derived" for line in lines)

    def write(self, order: Iterable[Key]) -> None:
        """Write both files, in the order of the checks, atomically."""
        keys = list(order)
        for name, lines in ((UNITS, self.units), (PROBES, self.probes)):
            block = "".join(f"{json.dumps(lines[key], ensure_ascii=False)}\n" for key in keys if key in lines).encode()
            if block or (self.folder / name).exists():
                write_atomic(self.folder / name, block)


def read_overlay(folder: Path) -> Overlay:
    """The overlay as it stands; an empty one where there is none. Faults in it are found by opening the evaluation side."""
    overlay = Overlay(folder)
    for name, lines in ((UNITS, overlay.units), (PROBES, overlay.probes)):
        if (folder / name).exists():
            for _, record in read_json_lines(folder / name):
                lines[(str(record.get("case_id")), str(record.get("check_id")))] = record
    return overlay


def lay_over(overlay: Overlay, drafts: Iterable[Draft], source: str = "derived") -> int:
    """Put drafts into an overlay; checks that a person reviewed are left as they are. Returns how many those were."""
    kept = 0
    for draft in drafts:
        key = (draft.case_id, draft.check_id)
        if source == "derived" and overlay.is_reviewed(key):
            kept += 1
            continue
        named = {"case_id": draft.case_id, "check_id": draft.check_id}
        if draft.dimension is not None and draft.polarity is not None:
            said = {"unit": draft.check_id, "dimension": draft.dimension, "polarity": draft.polarity}
            overlay.units[key] = {**named, **said, "source": source}
        if draft.probe is not None:
            overlay.probes[key] = {**named, "probe": draft.probe, "source": source}
    return kept


def model_drafts(folder: Path) -> dict[str, ModelDraft]:
    """The model's drafts by key; of several the newest good one, else the newest."""
    path = folder / MODEL_DRAFTS
    try:
        lines = msgspec.json.Decoder(ModelDraft).decode_lines(Journal(path).read())
    except (msgspec.DecodeError, ValueError) as error:
        fault = Fault(str(path), "draft", str(error), "one draft a line", "Restore the file, or remove it; all is asked again.")
        raise DataError("The drafts of a text model cannot be read.", [fault]) from None
    newest: dict[str, ModelDraft] = {}
    for line in lines:
        if line.invalid is None or line.key not in newest:
            newest[line.key] = line
    return newest


def draft_key(check: Check, model: Mapping[str, Any], prompt_sha256: str) -> str:
    """What a model's draft depends on: the check's text, the model with its parameters, the prompt."""
    return sha256_bytes(json.dumps([check.sha256, model, prompt_sha256], sort_keys=True, ensure_ascii=False).encode())


def all_checks(evaluation: Evaluation) -> list[Check]:
    """Every check, in the release's order."""
    return [check for checks in evaluation.checks.values() for check in checks]
