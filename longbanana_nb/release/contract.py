"""The release as the rest of the workbench sees it: frozen records in three rooms, opened by separate calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from longbanana_nb.errors import Fault
from longbanana_nb.files import canonical_json, sha256_bytes
from longbanana_nb.release.manifest import Manifest
from longbanana_nb.release.probes import PROBE_VERSION

CheckKey = tuple[str, str]  # (case_id, check_id)


@dataclass(frozen=True, slots=True)
class Reference:
    """One public image of a case. `path` is the posix path the contract gives, `file` where its bytes lie here."""

    id: str
    path: str
    sha256: str
    file: Path
    role: Literal["background", "reference"]


@dataclass(frozen=True, slots=True)
class Case:
    """One task: a prompt and its ordered references; a background is extra to them."""

    case_id: str
    category: str
    prompt: str
    references: tuple[Reference, ...]
    background: Reference | None = None

    @property
    def inputs(self) -> tuple[Reference, ...]:
        """Everything a system is given: the background first, then the references in the order of the contract."""
        return (self.background, *self.references) if self.background else self.references

    def reference(self, reference_id: str) -> Reference | None:
        """The reference, or background, of that id; None if the case has none."""
        return next((found for found in self.inputs[::-1] if found.id == reference_id), None)


@dataclass(frozen=True, slots=True)
class Option:
    """One answer of a check: its value 0, 1 or 2, the word the release uses for it, and what that means."""

    value: Literal[0, 1, 2]
    name: str
    description: str


@dataclass(frozen=True, slots=True)
class Check:
    """One atomic obligation. `options` are in order of value; `option_note` is a description that is not one option's own."""

    case_id: str
    check_id: str
    category: str
    question: str
    guide: str
    options: tuple[Option, ...]
    reference_ids: tuple[str, ...]
    candidate_only_reason: str | None = None
    option_note: str = ""

    @property
    def sha256(self) -> str:
        """Hash of what a judge is asked: question, guide, options, bound reference ids in order, and the reason for none."""
        options = [[option.value, option.name, option.description] for option in self.options]
        text = {
            "question": self.question,
            "guide": self.guide,
            "options": options,
            "option_note": self.option_note,
            "reference_ids": list(self.reference_ids),
            "candidate_only_reason": self.candidate_only_reason,
        }
        return sha256_bytes(canonical_json(text))


@dataclass(frozen=True, slots=True)
class Unit:
    """The graph unit behind a check, with its dimension and polarity, and how that is known."""

    case_id: str
    check_id: str
    unit: str
    dimension: str
    polarity: Literal["positive", "negative"]
    source: Literal["units", "derived", "reviewed"]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The evaluation room: checks by case in the order they are written, units and probes by (case_id, check_id).

    `hashes` maps each file that was read to its SHA-256: `evaluation/...` within the release, `annotations/...` beside it.
    """

    checks: dict[str, tuple[Check, ...]]
    units: dict[CheckKey, Unit]
    probes: dict[CheckKey, dict[str, Any]]
    hashes: dict[str, str] = field(default_factory=dict)
    warnings: tuple[Fault, ...] = ()
    derived_probes: frozenset[CheckKey] = frozenset()  # probes that say they were derived and that nobody reviewed

    def probe_sha256(self, case_id: str, check_id: str) -> str | None:
        """Hash of a check's probe and of the grammar's version; None if it has no probe."""
        probe = self.probes.get((case_id, check_id))
        return None if probe is None else sha256_bytes(canonical_json({"version": PROBE_VERSION, "probe": probe}))


@dataclass(frozen=True, slots=True)
class Release:
    """A release whose public room was read. The other two rooms are opened by `evaluation()` and `privileged()`."""

    name: str
    revision: str
    root: Path
    manifest: Path
    manifest_sha256: str
    license: str | None
    cases: dict[str, Case]
    warnings: tuple[Fault, ...]
    contents: Manifest = field(repr=False)

    def evaluation(self, annotations: Path | None = None) -> Evaluation:
        """Open the evaluation room: checks, and units and probes where there are any.

        Args:
            annotations: the overlay folder; by default `annotations/<name>@<revision>/` in the project.

        Raises:
            DataError: with every fault of these files.
        """
        from longbanana_nb.release.evaluation import open_evaluation

        return open_evaluation(self, annotations)

    def privileged(self) -> Mapping[str, dict[str, Any]]:
        """Open the privileged room: the graph of each case that has one, by case id; empty if the release holds none.

        Raises:
            DataError: with every fault of that file.
        """
        from longbanana_nb.release.evaluation import open_privileged

        return open_privileged(self)
